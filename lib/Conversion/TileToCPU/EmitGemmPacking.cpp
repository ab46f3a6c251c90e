//===- EmitGemmPacking.cpp - operands of the gemm micro kernel --*- C++ -*-===//
//
// A keeps its order and is only converted. B becomes panels of the micro
// kernel's columns, k by k; a transposed B goes through register transposes.
//
//===----------------------------------------------------------------------===//
#include "EmitGemm.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

/// Storage type of an operand with the signedness that the operation gives it.
static Type getOperandType(Value operand, bool isUnsigned) {
  Type type = getStorageElementType(operand.getType());
  if (auto integer = dyn_cast<IntegerType>(type); integer && isUnsigned)
    return IntegerType::get(type.getContext(), integer.getWidth(),
                            IntegerType::Unsigned);
  return type;
}

SmallVector<Value> KernelEmitter::matrixIndices(const Storage &storage,
                                                Value row, Value column) {
  SmallVector<Value> indices(storage.rank() - 2, s.i64(0));
  indices.append({row, column});
  return indices;
}

Value KernelEmitter::roundToTF32(Value value) {
  // Nearest with ties away from zero: add half of the last kept place to the
  // magnitude and cut. NaNs keep their payload, since the carry could make them
  // infinite or negative.
  Type type = value.getType();
  int64_t lanes = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    lanes = vector.getNumElements();
  Type bitsType = s.withLanes(b.getI32Type(), lanes);
  auto constant = [&](int32_t bits) { return s.splat(s.i32(bits), lanes); };
  Value bits = s.create<arith::BitcastOp>(bitsType, value);
  Value rounded =
      s.create<arith::AndIOp>(s.add(bits, constant(0x1000)), constant(~0x1fff));
  Value result = s.create<arith::BitcastOp>(type, rounded);
  Value isNaN =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
  return s.create<arith::SelectOp>(isNaN, value, result);
}

Value KernelEmitter::loadOperand(Value pointer, Type from,
                                 const GemmShape &shape, int64_t lanes,
                                 bool toTF32) {
  Value value = s.load(pointer, from, lanes);
  if (toTF32)
    value = roundToTF32(value);
  return s.convert(value, from, shape.compute);
}

static bool usesTF32(GemmOp op, Value operand) {
  return op.getPrecision() == Precision::TF32 &&
         getStorageElementType(operand.getType()).isF32() &&
         op.getC().getType().getElementType().getIntOrFloatBitWidth() <= 32;
}

KernelEmitter::PackedOperand KernelEmitter::packA(GemmOp op,
                                                  const GemmShape &shape) {
  Storage source = getStorage(op.getA());
  Type from = getOperandType(op.getA(), op.getAUnsigned());
  bool toTF32 = usesTF32(op, op.getA());
  bool transposed = op.getTransposeA();
  int64_t rows = transposed ? shape.k : shape.m;
  int64_t columns = transposed ? shape.m : shape.k;

  // Nothing to convert: used in place, unless the results go to the same place.
  size_t rank = source.rank();
  bool inPlace = getStorageRoot(op.getA()) != getStorageRoot(op.getC());
  auto stride = [&](size_t axis) {
    return ScalarBuilder::constantOf(source.strides[axis]);
  };
  if (inPlace && getScalarType(from) == shape.compute && !toTF32 &&
      !source.inner && stride(rank - 2) && stride(rank - 1)) {
    int64_t outer = *stride(rank - 2), inner = *stride(rank - 1);
    return transposed ? PackedOperand{source.base, inner, outer}
                      : PackedOperand{source.base, outer, inner};
  }

  Value base = scratch(Scratch::PackedA);
  int64_t pitch = columns * shape.bytes;
  int64_t step = source.hasUnitStride() ? shape.lanes : 1;
  s.loop(s.i64(0), s.i64(rows), 1, [&](Value row) {
    Value target = s.offset(base, s.mul(row, s.i64(pitch)));
    auto move = [&](Value column, int64_t lanes) {
      Value value =
          loadOperand(address(source, matrixIndices(source, row, column)), from,
                      shape, lanes, toTF32);
      s.store(value, s.offset(target, s.mul(column, s.i64(shape.bytes))),
              shape.compute, lanes);
    };
    int64_t whole = columns / step * step;
    s.loop(s.i64(0), s.i64(whole), step,
           [&](Value column) { move(column, step); });
    s.loop(s.i64(whole), s.i64(columns), 1,
           [&](Value column) { move(column, 1); });
  });
  return transposed ? PackedOperand{base, shape.bytes, pitch}
                    : PackedOperand{base, pitch, shape.bytes};
}

/// Transposes the square matrix of `rows`, vectors of as many lanes, by
/// log2(lanes) rounds of interleaving row i with row i + lanes / 2.
static void transpose(ScalarBuilder &s, SmallVectorImpl<Value> &rows) {
  int64_t lanes = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes / 2; ++i) {
    low.append({i, lanes + i});
    high.append({lanes / 2 + i, lanes + lanes / 2 + i});
  }
  for (int64_t round = 1; round < lanes; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      Value upper = rows[i], lower = rows[i + lanes / 2];
      next.push_back(s.create<vector::ShuffleOp>(upper, lower, low));
      next.push_back(s.create<vector::ShuffleOp>(upper, lower, high));
    }
    rows = next;
  }
}

Value KernelEmitter::packB(GemmOp op, const GemmShape &shape) {
  Storage source = getStorage(op.getB());
  Type from = getOperandType(op.getB(), op.getBUnsigned());
  bool toTF32 = usesTF32(op, op.getB());
  bool transposed = op.getTransposeB();
  Value base = scratch(Scratch::PackedB);
  int64_t pitch = shape.columns * shape.bytes;
  int64_t fullPanels = shape.n / shape.columns;
  int64_t step = source.hasUnitStride() ? shape.lanes : 1;

  auto target = [&](Value panel, Value k, Value column) {
    Value row = s.add(s.mul(panel, s.i64(shape.k)), k);
    return s.offset(base, s.add(s.mul(row, s.i64(pitch)),
                                s.mul(column, s.i64(shape.bytes))));
  };
  auto element = [&](Value k, Value n, int64_t lanes) {
    auto indices =
        transposed ? matrixIndices(source, n, k) : matrixIndices(source, k, n);
    return loadOperand(address(source, indices), from, shape, lanes, toTF32);
  };
  auto moveElement = [&](Value panel, Value k, Value column) {
    Value n = s.add(s.mul(panel, s.i64(shape.columns)), column);
    s.store(element(k, n, 1), target(panel, k, column), shape.compute);
  };

  s.loop(s.i64(0), s.i64(fullPanels), 1, [&](Value panel) {
    Value firstColumn = s.mul(panel, s.i64(shape.columns));
    if (!transposed || step == 1) {
      s.loop(s.i64(0), s.i64(shape.k), 1, [&](Value k) {
        int64_t width = transposed ? 1 : step;
        s.loop(s.i64(0), s.i64(shape.columns), width, [&](Value column) {
          s.store(element(k, s.add(firstColumn, column), width),
                  target(panel, k, column), shape.compute, width);
        });
      });
      return;
    }
    int64_t whole = shape.k / step * step;
    s.loop(s.i64(0), s.i64(whole), step, [&](Value k) {
      for (int64_t block = 0; block < shape.columns; block += step) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < step; ++i)
          rows.push_back(
              element(k, s.add(firstColumn, s.i64(block + i)), step));
        transpose(s, rows);
        for (int64_t i = 0; i < step; ++i)
          s.store(rows[i], target(panel, s.add(k, s.i64(i)), s.i64(block)),
                  shape.compute, step);
      }
    });
    s.loop(s.i64(whole), s.i64(shape.k), 1, [&](Value k) {
      s.loop(s.i64(0), s.i64(shape.columns), 1,
             [&](Value column) { moveElement(panel, k, column); });
    });
  });

  // The last columns, padded with zeros.
  int64_t rest = shape.n % shape.columns;
  if (rest != 0) {
    Value panel = s.i64(fullPanels);
    s.loop(s.i64(0), s.i64(shape.k), 1, [&](Value k) {
      s.loop(s.i64(0), s.i64(rest), 1,
             [&](Value column) { moveElement(panel, k, column); });
      Value none = s.zero(shape.compute);
      s.loop(s.i64(rest), s.i64(shape.columns), 1, [&](Value column) {
        s.store(none, target(panel, k, column), shape.compute);
      });
    });
  }
  return base;
}
