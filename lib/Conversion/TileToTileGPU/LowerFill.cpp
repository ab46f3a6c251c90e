//===- LowerFill.cpp - tile.fill --------------------------------*- C++ -*-===//
#include "KernelLowering.h"

#include "tilemlir/Layout/BlockedLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

LogicalResult KernelLowering::lowerFill(tile::FillOp op) {
  auto type = cast<tile::BufferType>(op.getDest().getType());
  Value value = op.getValue();
  if (type.isFragment()) {
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
