//===- LowerFill.cpp - tile.fill --------------------------------*- C++ -*-===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Layout/BlockedLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

LogicalResult KernelLowering::fillPart(tile::FillOp op) {
  // How the elements are numbered does not matter: they all become the same.
  Value part = op.getDest();
  while (Operation *reshape = part.getDefiningOp<tile::ReshapeOp>())
    part = reshape->getOperand(0);
  Coordinates start;
  SmallVector<int64_t> sizes;
  while (!tile::getFragmentView(part)) {
    auto subview = part.getDefiningOp<tile::SubviewOp>();
    if (!subview) {
      // Says what cannot be viewed.
      (void)viewFragment(op, part);
      return failure();
    }
    SmallVector<int64_t> kept =
        keptDimensions(subview.getSizes(),
                       cast<tile::BufferType>(subview.getType()).getShape());
    Coordinates outer;
    SmallVector<int64_t> outerSizes(subview.getSizes());
    for (Value offset : subview.getOffsets())
      outer.push_back(ix.fromValue(offset));
    if (!sizes.empty())
      for (auto [inner, dim] : llvm::enumerate(kept)) {
        outer[dim] = ix.add(outer[dim], start[inner]);
        outerSizes[dim] = sizes[inner];
      }
    start = std::move(outer);
    sizes = std::move(outerSizes);
    part = subview.getSource();
  }
  FailureOr<FragmentView> view = viewFragment(op, part);
  if (failed(view))
    return failure();
  SmallVector<Value> registers = readRegisters(view->alloc);
  ArrayRef<Coordinate> threadPart = threadOffsets(view->layout);
  for (auto [r, held] : llvm::enumerate(view->registers)) {
    if (held < 0 || view->layout.occupancy(r) == layout::Occupancy::Never)
      continue;
    Coordinates coordinates(threadPart);
    std::vector<int64_t> constants = view->layout.registerOffset(r);
    for (int d = 0; d < view->layout.rank(); ++d)
      coordinates[d].constant += constants[d];
    Value predicate = occupancyPredicate(view->layout, r);
    if (!restrictToPart(coordinates, predicate, start, sizes))
      continue;
    registers[held] =
        predicate ? arith::SelectOp::create(b, ix.loc(), predicate,
                                            op.getValue(), registers[held])
                        .getResult()
                  : op.getValue();
  }
  writeRegisters(view->alloc, registers);
  return success();
}

LogicalResult KernelLowering::lowerFill(tile::FillOp op) {
  auto type = cast<tile::BufferType>(op.getDest().getType());
  Value value = op.getValue();
  if (type.isFragment()) {
    if (!tile::getFragmentView(op.getDest()))
      return fillPart(op);
    FailureOr<FragmentView> view = viewFragment(op, op.getDest());
    if (failed(view))
      return failure();
    SmallVector<Value> registers = readRegisters(view->alloc);
    for (auto [r, held] : llvm::enumerate(view->registers)) {
      if (held < 0)
        continue;
      // Padding registers hold zero.
      switch (view->layout.occupancy(r)) {
      case layout::Occupancy::Always:
        registers[held] = value;
        break;
      case layout::Occupancy::Never:
        registers[held] = zero(type.getScalarType());
        break;
      case layout::Occupancy::Sometimes:
        registers[held] = arith::SelectOp::create(
            b, ix.loc(), occupancyPredicate(view->layout, r), value,
            zero(type.getScalarType()));
        break;
      }
    }
    writeRegisters(view->alloc, registers);
    return success();
  }
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  if (type.isLocal()) {
    SmallVector<LaneAccess> lanes;
    SmallVector<Value> values(std::max<int64_t>(1, type.getNumElements()),
                              value);
    for (size_t i = 0; i < values.size(); ++i) {
      Coordinates coordinates(shape.size());
      int64_t rest = i;
      for (size_t d = shape.size(); d-- > 0;) {
        coordinates[d] = Coordinate::get(rest % shape[d]);
        rest /= shape[d];
      }
      lanes.push_back({coordinates, {}});
    }
    return store(op, op.getDest(), values, lanes, false);
  }

  // Shared memory: vectors along the dimension that is contiguous there.
  std::optional<int> contiguous = contiguousDimension(op, op.getDest());
  int64_t vector = 1;
  std::vector<int> order;
  if (contiguous) {
    vector = std::max<int64_t>(1, 16 / elementBytes(type.getElementType()));
    order.push_back(*contiguous);
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d)
      if (d != *contiguous)
        order.push_back(d);
  }
  auto blocked = layout::blocked(shape, threads, vector, order);
  if (!blocked)
    return op.emitOpError(blocked.error());
  ArrayRef<Coordinate> threadPart = threadOffsets(*blocked);
  Value primary = primaryPredicate(*blocked);
  int64_t run = contiguous ? blocked->contiguousElements(*contiguous) : 1;
  SmallVector<LaneAccess> lanes;
  for (int64_t r = 0; r < blocked->numRegisters(); ++r) {
    if (blocked->occupancy(r) == layout::Occupancy::Never)
      continue;
    Coordinates coordinates(threadPart);
    std::vector<int64_t> constants = blocked->registerOffset(r);
    for (int d = 0; d < blocked->rank(); ++d)
      coordinates[d].constant += constants[d];
    lanes.push_back(
        {coordinates,
         ix.both(occupancyPredicate(*blocked, r - r % run), primary)});
  }
  SmallVector<Value> values(lanes.size(), value);
  return store(op, op.getDest(), values, lanes, false);
}
