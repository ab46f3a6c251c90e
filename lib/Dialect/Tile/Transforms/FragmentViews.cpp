//===- FragmentViews.cpp - Layouts of views of fragments --------*- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"

#include "LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Brings `layout` to `shape`, which differs by unit dimensions only or is
/// another row-major shape of the same elements.
static layout::Result<layout::FragmentLayout>
reshapeTo(const layout::FragmentLayout &from, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(from.shape()) == shape)
    return from;
  return from.reshape(shape.vec());
}

static layout::Result<FragmentView> viewOfSubview(SubviewOp op,
                                                  FragmentView view) {
  for (auto [dim, size] : llvm::enumerate(op.getSizes())) {
    if (size == view.layout.shape()[dim])
      continue;
    APInt offset;
    if (!matchPattern(op.getOffsets()[dim], m_ConstantInt(&offset)))
      return layout::Error{"the offset of a fragment view in dimension " +
                           std::to_string(dim) + " is not constant"};
    layout::Result<layout::RegisterSlice> slice = view.layout.sliceRegisters(
        static_cast<int>(dim), offset.getSExtValue(), size);
    if (!slice)
      return layout::Error{slice.error()};
    std::vector<int64_t> registers;
    for (int64_t reg : slice->registers)
      registers.push_back(view.registers[reg]);
    view = FragmentView{slice->layout, std::move(registers)};
  }
  layout::Result<layout::FragmentLayout> result =
      reshapeTo(view.layout, op.getType().getShape());
  if (!result)
    return layout::Error{result.error()};
  view.layout = *result;
  return view;
}

layout::Result<FragmentView>
mlir::tile::getFragmentView(Value buffer,
                            const layout::FragmentLayout &allocation) {
  Operation *op = buffer.getDefiningOp();
  if (isa<AllocOp>(op)) {
    FragmentView view;
    view.layout = allocation;
    view.registers.resize(allocation.numRegisters());
    std::iota(view.registers.begin(), view.registers.end(), 0);
    return view;
  }
  layout::Result<FragmentView> view =
      getFragmentView(op->getOperand(0), allocation);
  if (!view)
    return view;
  if (auto subview = dyn_cast<SubviewOp>(op))
    return viewOfSubview(subview, *view);
  auto type = cast<BufferType>(buffer.getType());
  if (isa<BitcastOp>(op) &&
      cast<BufferType>(op->getOperand(0).getType()).getElementBits() !=
          type.getElementBits())
    return layout::Error{
        "a fragment cannot be seen under elements of another width"};
  layout::Result<layout::FragmentLayout> reshaped =
      reshapeTo(view->layout, type.getShape());
  if (!reshaped)
    return layout::Error{reshaped.error()};
  view->layout = *reshaped;
  return view;
}

layout::Result<FragmentView> mlir::tile::getFragmentView(Value buffer) {
  auto attr = dyn_cast_or_null<FragmentLayoutAttr>(getLayout(buffer));
  if (!attr)
    return layout::Error{"the fragment has no layout yet"};
  return getFragmentView(buffer, attr.getLayout());
}

/// Layout of the source of a subview: each dimension is seen as
/// (parts, size), with the parts in registers.
static layout::Result<layout::FragmentLayout>
sourceOfSubview(SubviewOp op, layout::FragmentLayout view) {
  ArrayRef<int64_t> shape = op.getSource().getType().getShape();
  layout::Result<layout::FragmentLayout> full = reshapeTo(view, op.getSizes());
  if (!full)
    return full;
  for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim) {
    int64_t size = op.getSizes()[dim];
    if (size == shape[dim])
      continue;
    if (shape[dim] % size != 0)
      return layout::Error{"a part of " + std::to_string(size) +
                           " elements does not divide dimension " +
                           std::to_string(dim) + " of extent " +
                           std::to_string(shape[dim])};
    full = full->insertDimInRegisters(dim, shape[dim] / size);
    if (!full)
      return full;
    std::vector<int64_t> merged = full->shape();
    merged[dim] *= merged[dim + 1];
    merged.erase(merged.begin() + dim + 1);
    full = full->reshape(merged);
    if (!full)
      return full;
  }
  return full;
}

layout::Result<layout::FragmentLayout>
mlir::tile::getAllocationLayoutForView(Value buffer,
                                       const layout::FragmentLayout &view) {
  Operation *op = buffer.getDefiningOp();
  if (isa<AllocOp>(op))
    return view;
  Value source = op->getOperand(0);
  auto sourceType = cast<BufferType>(source.getType());
  layout::Result<layout::FragmentLayout> outer = view;
  if (auto subview = dyn_cast<SubviewOp>(op)) {
    outer = sourceOfSubview(subview, view);
  } else {
    if (isa<BitcastOp>(op) &&
        sourceType.getElementBits() !=
            cast<BufferType>(buffer.getType()).getElementBits())
      return layout::Error{
          "a fragment cannot be seen under elements of another width"};
    outer = reshapeTo(view, sourceType.getShape());
  }
  if (!outer)
    return outer;
  return getAllocationLayoutForView(source, *outer);
}

/// Are `indices` the variables `dims` of `loop`, in this order?
static bool areVariables(OperandRange indices, ParallelOp loop,
                         ArrayRef<unsigned> dims) {
  if (indices.size() != dims.size())
    return false;
  for (auto [index, dim] : llvm::zip_equal(indices, dims)) {
    LinearForm form = getLinearForm(index);
    BlockArgument variable = loop.getBodyBlock()->getArgument(dim);
    if (form.constant != 0 || form.terms.size() != 1 ||
        form.getCoefficient(variable) != 1)
      return false;
  }
  return true;
}

std::optional<TransposedStore>
mlir::tile::matchTransposedStore(ParallelOp loop) {
  if (!loop.hasStaticExtents() || loop.getStaticExtents().size() != 2)
    return std::nullopt;
  TransposedStore found;
  for (Operation &op : loop.getBodyBlock()->without_terminator()) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (found.load)
        return std::nullopt;
      found.load = load;
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      if (found.store)
        return std::nullopt;
      found.store = store;
    } else if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op)) {
      return std::nullopt;
    }
  }
  if (!found.load || !found.store)
    return std::nullopt;
  // Nothing but a conversion may happen to the elements on their way.
  Value value = found.store.getValue();
  if (Operation *cast = value.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(cast)) {
    if (auto truncate = dyn_cast<arith::TruncFOp>(cast))
      if (truncate.getRoundingmode() &&
          *truncate.getRoundingmode() != arith::RoundingMode::to_nearest_even)
        return std::nullopt;
    value = cast->getOperand(0);
  }
  auto source = dyn_cast<BufferType>(found.load.getSource().getType());
  auto dest = dyn_cast<BufferType>(found.store.getDest().getType());
  ArrayRef<int64_t> extents = loop.getStaticExtents();
  if (value != found.load.getResult() || !source || !source.isFragment() ||
      !dest || !dest.isShared() || source.getShape() != extents ||
      dest.getRank() != 2 || dest.getShape()[0] != extents[1] ||
      dest.getShape()[1] != extents[0] ||
      !areVariables(found.load.getIndices(), loop, {0, 1}) ||
      !areVariables(found.store.getIndices(), loop, {1, 0}))
    return std::nullopt;
  return found;
}
