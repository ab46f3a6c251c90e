//===- EmitStorage.cpp - where elements lie in memory -----------*- C++ -*-===//
//
// Views resolve to strided storage; a reshape that has no strides keeps its
// source and goes through the row-major index.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

bool Storage::hasUnitStride() const {
  return !inner &&
         (strides.empty() || ScalarBuilder::constantOf(sizes.back()) == 1 ||
          ScalarBuilder::constantOf(strides.back()) == elementBytes());
}

bool Storage::isContiguous() const {
  if (inner)
    return false;
  int64_t expected = elementBytes();
  for (size_t axis = rank(); axis-- > 0;) {
    auto size = ScalarBuilder::constantOf(sizes[axis]);
    if (!size)
      return false;
    if (*size != 1 && ScalarBuilder::constantOf(strides[axis]) != expected)
      return false;
    expected *= *size;
  }
  return true;
}

Storage KernelEmitter::getContiguous(Value base, Type elementType,
                                     ArrayRef<int64_t> shape) {
  Storage storage;
  storage.base = base;
  storage.elementType = elementType;
  int64_t stride = storage.elementBytes();
  storage.strides.resize(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    storage.strides[axis] = s.i64(stride);
    stride *= shape[axis];
  }
  for (int64_t size : shape)
    storage.sizes.push_back(s.i64(size));
  return storage;
}

Storage KernelEmitter::getSubview(const Storage &source,
                                  ArrayRef<Value> offsets,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> shape) {
  // The dimensions of the result in order; unit ones have no stride of their
  // own.
  Storage result = source;
  result.sizes.clear();
  result.strides.clear();
  SmallVector<Value> kept;
  for (auto [axis, size] : llvm::enumerate(sizes))
    if (size != 1)
      kept.push_back(source.strides[axis]);
  size_t next = 0;
  for (int64_t size : shape) {
    result.sizes.push_back(s.i64(size));
    result.strides.push_back(size == 1 ? s.i64(source.elementBytes())
                                       : kept[next++]);
  }
  for (auto [offset, stride] : llvm::zip(offsets, source.strides))
    result.base = s.offset(result.base, s.mul(offset, stride));
  return result;
}

/// Strides of `shape` over storage of static sizes and strides; nothing when a
/// dimension of the result spans dimensions that are not adjacent.
static std::optional<SmallVector<int64_t>>
reshapeStrides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> shape) {
  // Merge the source into maximal runs of adjacent dimensions.
  SmallVector<std::pair<int64_t, int64_t>> runs; // extent, innermost stride
  for (auto [size, stride] : llvm::zip(sizes, strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().second == stride * size)
      runs.back() = {runs.back().first * size, stride};
    else
      runs.push_back({size, stride});
  }
  SmallVector<int64_t> result(shape.size(), 0);
  size_t run = runs.size();
  int64_t remaining = 1, stride = 0;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1)
      continue;
    if (remaining == 1) {
      if (run == 0)
        return std::nullopt;
      remaining = runs[--run].first;
      stride = runs[run].second;
    }
    if (remaining % shape[axis] != 0)
      return std::nullopt;
    result[axis] = stride;
    stride *= shape[axis];
    remaining /= shape[axis];
  }
  return result;
}

Storage KernelEmitter::getReshape(const Storage &source,
                                  ArrayRef<int64_t> shape) {
  Storage result = getContiguous(source.base, source.elementType, shape);
  SmallVector<int64_t> sizes, strides;
  for (auto [size, stride] : llvm::zip(source.sizes, source.strides)) {
    sizes.push_back(*ScalarBuilder::constantOf(size));
    strides.push_back(*ScalarBuilder::constantOf(stride));
  }
  std::optional<SmallVector<int64_t>> direct;
  if (!source.inner)
    direct = reshapeStrides(sizes, strides, shape);
  if (direct) {
    for (auto [axis, stride] : llvm::enumerate(*direct))
      if (shape[axis] != 1)
        result.strides[axis] = s.i64(stride);
  } else {
    result.inner = std::make_shared<Storage>(source);
  }
  return result;
}

Storage KernelEmitter::getStorage(Value original) {
  if (auto tensor = tensors.find(original); tensor != tensors.end())
    return tensor->second;
  auto type = cast<BufferType>(original.getType());
  Operation *op = original.getDefiningOp();
  if (auto alloc = dyn_cast<AllocOp>(op)) {
    Value base = buffers.lookup(original);
    if (type.isLocal() && !threads.isSingle()) {
      int64_t bytes = type.getNumElements() * (type.getElementBits() / 8);
      base = s.offset(base, s.mul(thread ? thread : s.i64(0), s.i64(bytes)));
    }
    return getContiguous(base, type.getElementType(), type.getShape());
  }
  if (auto subview = dyn_cast<SubviewOp>(op)) {
    Storage source = getStorage(subview.getSource());
    SmallVector<Value> offsets = lookupI64(subview.getOffsets());
    if (!source.inner)
      return getSubview(source, offsets, subview.getSizes(), type.getShape());
    // A part of a reshape without strides: offsets move the row-major index.
    // Its own row-major strides over that index stay valid.
    Storage result =
        getSubview(source, SmallVector<Value>(offsets.size(), s.i64(0)),
                   subview.getSizes(), type.getShape());
    Value start = s.i64(0);
    for (auto [offset, stride] : llvm::zip(offsets, source.strides))
      start = s.add(start, s.mul(offset, stride));
    result.base = source.base;
    result.start = source.start ? s.add(source.start, start) : start;
    return result;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return getReshape(getStorage(reshape.getSource()), type.getShape());
  auto bitcast = cast<BitcastOp>(op);
  Storage source = getStorage(bitcast.getSource());
  Storage result = source;
  result.elementType = type.getElementType();
  // Row-major strides of the reshaped index count bytes, which stay.
  result.sizes.back() = s.i64(type.getShape().back());
  result.strides.back() = s.i64(result.elementBytes());
  return result;
}

Value KernelEmitter::address(const Storage &storage, ValueRange indices) {
  if (!storage.inner) {
    Value pointer = storage.base;
    Value bytes;
    for (auto [index, stride] : llvm::zip(indices, storage.strides)) {
      Value part = s.mul(index, stride);
      bytes = bytes ? s.add(bytes, part) : part;
    }
    return bytes ? s.offset(pointer, bytes) : pointer;
  }
  // Row-major element index, split over the sizes of the inner storage.
  Value linear = storage.start ? storage.start : s.i64(0);
  for (auto [index, stride] : llvm::zip(indices, storage.strides))
    linear = s.add(linear, s.mul(index, stride));
  // The element types may differ after a bitcast.
  Value bytes = s.i64(storage.inner->elementBytes());
  Value rest = s.fold<arith::RemUIOp>(linear, bytes);
  linear = s.fold<arith::DivUIOp>(linear, bytes);
  SmallVector<Value> inner(storage.inner->rank());
  for (size_t axis = inner.size(); axis-- > 0;) {
    inner[axis] = s.fold<arith::RemUIOp>(linear, storage.inner->sizes[axis]);
    linear = s.fold<arith::DivUIOp>(linear, storage.inner->sizes[axis]);
  }
  return s.offset(address(*storage.inner, inner), rest);
}

Value KernelEmitter::loadElement(const Storage &storage, ValueRange indices) {
  return s.load(address(storage, indices), storage.elementType);
}

void KernelEmitter::storeElement(const Storage &storage, ValueRange indices,
                                 Value value) {
  s.store(value, address(storage, indices), storage.elementType);
}

Value KernelEmitter::insideTensor(const Storage &storage, ValueRange indices) {
  Value result = s.boolean(true);
  for (auto [index, size] : llvm::zip(indices, storage.sizes))
    result = s.both(result, s.inside(index, size));
  return result;
}

Value KernelEmitter::safeValue(TypedAttr safe, Type elementType) {
  if (safe)
    return s.create<arith::ConstantOp>(safe);
  return s.zero(getScalarType(elementType));
}
