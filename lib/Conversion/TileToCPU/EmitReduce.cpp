//===- EmitReduce.cpp - reductions along one dimension ----------*- C++ -*-===//
//
// Along the last dimension, several vectors of partial results run over the row
// and are combined at its end; along another dimension, a vector of
// neighbouring columns is reduced together. Sums of small floats are kept in
// f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

namespace {

/// The combining function of a reduction in its compute type, for scalars and
/// vectors.
struct Combiner {
  ScalarBuilder &s;
  mutable ReduceOp op;
  Type compute;
  bool isUnsigned;

  bool isFloat() const { return isa<FloatType>(compute); }

  /// What an element contributes.
  Value prepare(Value element) const {
    if (op.getKind() != ReduceKind::AbsSum &&
        op.getKind() != ReduceKind::AbsMax)
      return element;
    if (isFloat())
      return absolute(element);
    if (isUnsigned)
      return element;
    Value none = s.zero(element.getType());
    Value negative =
        s.create<arith::CmpIOp>(arith::CmpIPredicate::slt, element, none);
    return s.create<arith::SelectOp>(
        negative, s.create<arith::SubIOp>(none, element), element);
  }

  Value absolute(Value element) const {
    int64_t lanes = 1;
    if (auto vector = dyn_cast<VectorType>(element.getType()))
      lanes = vector.getNumElements();
    unsigned width = compute.getIntOrFloatBitWidth();
    Type bits = IntegerType::get(s.context(), width);
    Type bitsType = s.withLanes(bits, lanes);
    Value mask = s.splat(s.create<arith::ConstantOp>(IntegerAttr::get(
                             bits, APInt::getSignedMaxValue(width))),
                         lanes);
    Value cleared = s.create<arith::AndIOp>(
        s.create<arith::BitcastOp>(bitsType, element), mask);
    return s.create<arith::BitcastOp>(element.getType(), cleared);
  }

  Value combine(Value a, Value b) const {
    switch (op.getKind()) {
    case ReduceKind::Sum:
    case ReduceKind::AbsSum:
      return isFloat() ? Value(s.create<arith::AddFOp>(a, b))
                       : Value(s.create<arith::AddIOp>(a, b));
    case ReduceKind::Max:
    case ReduceKind::AbsMax:
      if (isFloat())
        return op.getNanPropagate() ? Value(s.create<arith::MaximumFOp>(a, b))
                                    : Value(s.create<arith::MaxNumFOp>(a, b));
      return isUnsigned ? Value(s.create<arith::MaxUIOp>(a, b))
                        : Value(s.create<arith::MaxSIOp>(a, b));
    case ReduceKind::Min:
      if (isFloat())
        return op.getNanPropagate() ? Value(s.create<arith::MinimumFOp>(a, b))
                                    : Value(s.create<arith::MinNumFOp>(a, b));
      return isUnsigned ? Value(s.create<arith::MinUIOp>(a, b))
                        : Value(s.create<arith::MinSIOp>(a, b));
    case ReduceKind::BitAnd:
      return s.create<arith::AndIOp>(a, b);
    case ReduceKind::BitOr:
      return s.create<arith::OrIOp>(a, b);
    case ReduceKind::BitXor:
      return s.create<arith::XOrIOp>(a, b);
    }
    llvm_unreachable("all kinds are handled");
  }

  Value neutral() const {
    unsigned width = compute.getIntOrFloatBitWidth();
    auto floating = [&](APFloat value) -> Value {
      return s.create<arith::ConstantOp>(FloatAttr::get(compute, value));
    };
    auto integer = [&](APInt value) -> Value {
      return s.create<arith::ConstantOp>(IntegerAttr::get(compute, value));
    };
    switch (op.getKind()) {
    case ReduceKind::Sum:
    case ReduceKind::AbsSum:
    case ReduceKind::AbsMax:
    case ReduceKind::BitOr:
    case ReduceKind::BitXor:
      return s.zero(compute);
    case ReduceKind::BitAnd:
      return integer(APInt::getAllOnes(width));
    case ReduceKind::Max:
    case ReduceKind::Min: {
      bool isMax = op.getKind() == ReduceKind::Max;
      if (isFloat())
        return floating(APFloat::getInf(
            cast<FloatType>(compute).getFloatSemantics(), isMax));
      if (isUnsigned)
        return integer(isMax ? APInt::getZero(width)
                             : APInt::getMaxValue(width));
      return integer(isMax ? APInt::getSignedMinValue(width)
                           : APInt::getSignedMaxValue(width));
    }
    }
    llvm_unreachable("all kinds are handled");
  }

  /// All lanes of a vector combined, by halves.
  Value combineLanes(Value vector, int64_t lanes) const {
    while (lanes > 1) {
      SmallVector<int64_t> low, high;
      for (int64_t i = 0; i < lanes / 2; ++i) {
        low.push_back(i);
        high.push_back(lanes / 2 + i);
      }
      Value a = s.create<vector::ShuffleOp>(vector, vector, low);
      Value b = s.create<vector::ShuffleOp>(vector, vector, high);
      vector = combine(a, b);
      lanes /= 2;
    }
    return s.create<vector::ExtractOp>(vector, ArrayRef<int64_t>{0});
  }
};

} // namespace

/// Floats are combined in f32 or f64, integers in the wider of both types.
static Type getComputeType(Type from, Type to) {
  MLIRContext *context = from.getContext();
  bool isFloat = isa<FloatType>(from) || isa<FloatType>(to);
  int64_t bits = std::max(getElementBits(from), getElementBits(to));
  if (isFloat)
    return from.isF64() || to.isF64() ? Type(Float64Type::get(context))
                                      : Type(Float32Type::get(context));
  return IntegerType::get(context, bits);
}

LogicalResult KernelEmitter::emitReduce(ReduceOp op) {
  Storage source = getStorage(op.getSource());
  Storage dest = getStorage(op.getDest());
  Type from = source.elementType, to = dest.elementType;
  Type compute = getComputeType(from, to);
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  Combiner combiner{s, op, compute, isUnsigned};
  ArrayRef<int64_t> shape = op.getSource().getType().getShape();
  size_t rank = shape.size(), dim = op.getDim();
  int64_t extent = shape[dim];
  int64_t width =
      std::max<int64_t>(lanes * 32 / compute.getIntOrFloatBitWidth(), 1);

  // The type that says how the accumulated value converts to `to`.
  Type computeStorage = compute;
  if (isUnsigned && isa<IntegerType>(compute))
    computeStorage = IntegerType::get(
        b.getContext(), compute.getIntOrFloatBitWidth(), IntegerType::Unsigned);

  auto destIndices = [&](ValueRange indices) {
    SmallVector<Value> result;
    for (size_t axis = 0; axis < rank; ++axis)
      if (axis != dim)
        result.push_back(indices[axis]);
      else if (dest.rank() == rank)
        result.push_back(s.i64(0));
    return result;
  };
  auto read = [&](SmallVector<Value> indices, Value position, int64_t count) {
    indices[dim] = position;
    Value element = s.load(address(source, indices), from, count);
    return combiner.prepare(s.convert(element, from, compute));
  };
  auto finish = [&](ValueRange indices, Value result, int64_t count) {
    Value pointer = address(dest, destIndices(indices));
    if (!op.getClear()) {
      Value old = s.convert(s.load(pointer, to, count), to, compute);
      if (op.getKind() == ReduceKind::AbsMax)
        old = combiner.prepare(old);
      result = combiner.combine(old, result);
    }
    s.store(s.convert(result, computeStorage, to), pointer, to, count);
  };

  SmallVector<Value> kept;
  for (size_t axis = 0; axis < rank; ++axis)
    kept.push_back(axis == dim ? s.i64(1) : source.sizes[axis]);

  if (dim + 1 == rank) {
    int64_t step = source.hasUnitStride() ? width : 1;
    int64_t parts = extent >= 4 * step ? 4 : 1;
    int64_t whole = step > 1 ? extent / (step * parts) * (step * parts) : 0;
    s.nest(kept, [&](ValueRange indices) {
      SmallVector<Value> base(indices);
      Value neutral = combiner.neutral(), result;
      if (whole > 0) {
        SmallVector<Value> partial(parts, s.splat(neutral, step));
        partial = s.loop(
            s.i64(0), s.i64(whole), step * parts, partial,
            [&](Value position, ValueRange carried) {
              SmallVector<Value> next;
              for (auto [part, value] : llvm::enumerate(carried))
                next.push_back(combiner.combine(
                    value,
                    read(base, s.add(position, s.i64(part * step)), step)));
              return next;
            });
        for (size_t part = 1; part < partial.size(); ++part)
          partial[0] = combiner.combine(partial[0], partial[part]);
        result = combiner.combineLanes(partial[0], step);
      } else {
        result = neutral;
      }
      if (whole < extent)
        result = s.loop(s.i64(whole), s.i64(extent), 1, result,
                        [&](Value position, ValueRange carried) {
                          return SmallVector<Value>{combiner.combine(
                              carried[0], read(base, position, 1))};
                        })[0];
      finish(indices, result, 1);
    });
    return success();
  }

  // Neighbouring columns together; the last dimension walks in steps.
  bool isVector = source.hasUnitStride() && dest.hasUnitStride();
  int64_t columns = shape.back();
  int64_t step = isVector && columns >= width ? width : 1;
  int64_t whole = columns / step * step;
  SmallVector<Value> outer(kept.begin(), kept.end() - 1);
  auto column = [&](ValueRange indices, Value position, int64_t count) {
    SmallVector<Value> base(indices);
    base.push_back(position);
    Value result =
        s.loop(s.i64(0), s.i64(extent), 1, s.splat(combiner.neutral(), count),
               [&](Value row, ValueRange carried) {
                 return SmallVector<Value>{
                     combiner.combine(carried[0], read(base, row, count))};
               })[0];
    finish(base, result, count);
  };
  s.nest(outer, [&](ValueRange indices) {
    SmallVector<Value> base(indices);
    s.loop(s.i64(0), s.i64(whole), step,
           [&](Value position) { column(base, position, step); });
    s.loop(s.i64(whole), s.i64(columns), 1,
           [&](Value position) { column(base, position, 1); });
  });
  return success();
}
