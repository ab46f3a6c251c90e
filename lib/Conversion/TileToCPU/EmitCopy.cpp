//===- EmitCopy.cpp - copies, fills and converts ----------------*- C++ -*-===//
//
// A copy is a loop nest over the dimensions larger than one. Where a tensor may
// be left, a run-time test per tile selects between that nest and one clipped
// to the tensor, whose innermost loop falls in three: fill, copy, fill.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

LogicalResult KernelEmitter::emitFill(FillOp op) {
  Storage dest = getStorage(op.getDest());
  Value value = lookup(op.getValue());
  if (dest.isContiguous()) {
    int64_t count = op.getDest().getType().getNumElements();
    dest = getContiguous(dest.base, dest.elementType, {count});
  }
  s.nest(dest.sizes,
         [&](ValueRange indices) { storeElement(dest, indices, value); });
  return success();
}

LogicalResult KernelEmitter::emitConvert(ConvertOp op) {
  Storage source = getStorage(op.getSource());
  Storage dest = getStorage(op.getDest());
  s.nest(dest.sizes, [&](ValueRange indices) {
    storeElement(dest, indices, loadElement(source, indices));
  });
  return success();
}

namespace {

/// One side of a copy: storage, and for each loop the dimension it walks.
struct CopySide {
  Storage storage;
  SmallVector<Value> offsets;
  SmallVector<unsigned> loopDims;
  bool checked;

  CopySide(Storage from, SmallVector<Value> start, ArrayRef<int64_t> sizes,
           bool isChecked)
      : storage(std::move(from)), offsets(std::move(start)),
        checked(isChecked && storage.isTensor) {
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (size != 1)
        loopDims.push_back(dim);
  }

  SmallVector<Value> indices(ScalarBuilder &s, ValueRange loopIndices) const {
    SmallVector<Value> result = offsets;
    for (auto [dim, index] : llvm::zip(loopDims, loopIndices))
      result[dim] = s.add(result[dim], index);
    return result;
  }

  /// Whether the dimensions without a loop are inside of the tensor.
  Value fixedInside(ScalarBuilder &s) const {
    Value result = s.boolean(true);
    if (!checked)
      return result;
    for (size_t dim = 0; dim < offsets.size(); ++dim)
      if (!llvm::is_contained(loopDims, dim))
        result = s.both(result, s.inside(offsets[dim], storage.sizes[dim]));
    return result;
  }

  /// First and one past the last iteration of a loop inside of the tensor.
  std::pair<Value, Value> range(ScalarBuilder &s, size_t loop,
                                Value extent) const {
    Value zero = s.i64(0);
    if (!checked)
      return {zero, extent};
    Value start = offsets[loopDims[loop]];
    Value size = storage.sizes[loopDims[loop]];
    Value lower = s.minimum(s.maximum(s.sub(zero, start), zero), extent);
    Value upper = s.maximum(s.minimum(s.sub(size, start), extent), lower);
    return {lower, upper};
  }
};

} // namespace

template <typename OpT> LogicalResult KernelEmitter::emitCopy(OpT op) {
  bool isChecked = needsTest(op, op.getBounds());
  CopySide source(getStorage(op.getSource()), lookupI64(op.getSourceOffsets()),
                  op.getSourceSizes(), isChecked);
  CopySide dest(getStorage(op.getDest()), lookupI64(op.getDestOffsets()),
                op.getDestSizes(), isChecked);
  SmallVector<Value> extents;
  for (int64_t size : dropUnitSizes(op.getDestSizes()))
    extents.push_back(s.i64(size));
  size_t loops = extents.size();

  Type from = source.storage.elementType, to = dest.storage.elementType;
  auto moveElement = [&](ValueRange loopIndices) {
    Value value = loadElement(source.storage, source.indices(s, loopIndices));
    storeElement(dest.storage, dest.indices(s, loopIndices),
                 s.convert(value, from, to));
  };
  // The safe value has the type of the source.
  Value safe = s.convert(safeValue(op.getSafeAttr(), from), from, to);
  auto fillElement = [&](ValueRange loopIndices) {
    storeElement(dest.storage, dest.indices(s, loopIndices), safe);
  };

  Value sourceFixed = source.fixedInside(s), destFixed = dest.fixedInside(s);
  SmallVector<std::pair<Value, Value>> sourceRange, destRange;
  Value wholeTile = s.both(sourceFixed, destFixed);
  for (size_t i = 0; i < loops; ++i) {
    sourceRange.push_back(source.range(s, i, extents[i]));
    destRange.push_back(dest.range(s, i, extents[i]));
    for (auto [lower, upper] : {sourceRange[i], destRange[i]}) {
      wholeTile = s.both(
          wholeTile,
          s.both(s.compare(arith::CmpIPredicate::eq, lower, s.i64(0)),
                 s.compare(arith::CmpIPredicate::eq, upper, extents[i])));
    }
  }

  s.branch(
      wholeTile, [&] { s.nest(extents, moveElement); },
      [&] {
        s.guard(destFixed, [&] {
          if (loops == 0) {
            s.branch(
                sourceFixed, [&] { moveElement({}); },
                [&] { fillElement({}); });
            return;
          }
          SmallVector<Value> indices;
          std::function<void(Value)> descend = [&](Value rowInside) {
            size_t i = indices.size();
            auto [lower, upper] = destRange[i];
            auto [first, last] = sourceRange[i];
            auto step = [&](auto body) {
              return [&, body](Value index) {
                indices.push_back(index);
                body(index);
                indices.pop_back();
              };
            };
            if (i + 1 < loops) {
              s.loop(lower, upper, 1, step([&](Value index) {
                       Value inside = s.both(s.lessEqual(first, index),
                                             s.less(index, last));
                       descend(s.both(rowInside, inside));
                     }));
              return;
            }
            // A row outside of the source is all fill.
            Value begin = s.minimum(s.maximum(first, lower), upper);
            Value end = s.maximum(s.minimum(last, upper), begin);
            begin = s.fold<arith::SelectOp>(rowInside, begin, upper);
            end = s.fold<arith::SelectOp>(rowInside, end, upper);
            s.loop(lower, begin, 1, step([&](Value) { fillElement(indices); }));
            s.loop(begin, end, 1, step([&](Value) { moveElement(indices); }));
            s.loop(end, upper, 1, step([&](Value) { fillElement(indices); }));
          };
          descend(sourceFixed);
        });
      });
  return success();
}

template LogicalResult KernelEmitter::emitCopy(CopyOp);
template LogicalResult KernelEmitter::emitCopy(CopyAsyncOp);
