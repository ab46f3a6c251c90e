//===- EmitGemm.cpp - the register-blocked gemm -----------------*- C++ -*-===//
//
// C += A * B on tiles: both operands are converted to the compute type and
// packed once per tile (EmitGemmPacking.cpp), then a micro kernel keeps a block
// of accumulators in vector registers over all of K. Accumulation is in f32
// (f64 for f64, i32 or i64 for integers); a narrower C is rounded once, when
// stored.
//
//===----------------------------------------------------------------------===//
#include "EmitGemm.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

static Type getComputeType(GemmOp op) {
  MLIRContext *context = op.getContext();
  Type c = op.getC().getType().getElementType();
  int64_t bits = 0;
  for (Value operand : {op.getA(), op.getB(), op.getC()})
    bits = std::max(bits,
                    getElementBits(getStorageElementType(operand.getType())));
  if (isa<FloatType>(c))
    return bits == 64 ? Type(Float64Type::get(context))
                      : Type(Float32Type::get(context));
  return IntegerType::get(context, bits == 64 ? 64 : 32);
}

KernelEmitter::GemmShape KernelEmitter::getGemmShape(GemmOp op, int64_t lanes) {
  GemmShape shape;
  shape.m = op.getM();
  shape.n = op.getN();
  shape.k = op.getK();
  shape.compute = getComputeType(op);
  shape.bytes = shape.compute.getIntOrFloatBitWidth() / 8;
  shape.lanes = std::max<int64_t>(lanes * 4 / shape.bytes, 1);
  shape.vectors = shape.n <= shape.lanes ? 1 : 2;
  shape.columns = shape.lanes * shape.vectors;
  // Twelve accumulators, two operand vectors and a broadcast fit 16 registers;
  // eight accumulators just cover the latency of the multiply-add.
  int64_t padded6 = llvm::divideCeil(shape.m, 6) * 60;
  int64_t padded4 = llvm::divideCeil(shape.m, 4) * 44;
  shape.rows = std::min<int64_t>(shape.m, padded6 <= padded4 ? 6 : 4);
  shape.unroll = shape.k % 4 == 0 ? 4 : 1;
  return shape;
}

void KernelEmitter::requestGemmScratch(GemmOp op) {
  GemmShape shape = getGemmShape(op, lanes);
  requestScratch(Scratch::PackedA, shape.m * shape.k * shape.bytes);
  requestScratch(Scratch::PackedB, llvm::divideCeil(shape.n, shape.columns) *
                                       shape.columns * shape.k * shape.bytes);
  requestScratch(Scratch::Tile, shape.rows * shape.columns * shape.bytes);
}

namespace {

/// One block of C: `rows` x `columns` of the micro kernel, of which `valid`
/// columns exist.
struct MicroKernel {
  ScalarBuilder &s;
  const KernelEmitter::GemmShape &shape;
  int64_t rows, valid;

  Type vectorType() const {
    return ScalarBuilder::withLanes(shape.compute, shape.lanes);
  }
  Value multiplyAdd(Value a, Value b, Value c) const {
    if (isa<FloatType>(shape.compute))
      return s.create<LLVM::FMulAddOp>(a, b, c);
    return s.add(s.mul(a, b), c);
  }

  /// All of K. `a` is the address of row 0, k 0; `panel` that of the packed
  /// columns.
  SmallVector<Value> run(Value a, int64_t rowStride, int64_t kStride,
                         Value panel, ValueRange initial) const {
    return s.loop(
        s.i64(0), s.i64(shape.k), shape.unroll, initial,
        [&](Value k, ValueRange carried) {
          SmallVector<Value> sums(carried);
          Value aK = s.offset(a, s.mul(k, s.i64(kStride)));
          Value bK =
              s.offset(panel, s.mul(k, s.i64(shape.columns * shape.bytes)));
          for (int64_t step = 0; step < shape.unroll; ++step) {
            SmallVector<Value> columns;
            for (int64_t v = 0; v < shape.vectors; ++v)
              columns.push_back(s.load(
                  s.offset(bK, s.i64((step * shape.columns + v * shape.lanes) *
                                     shape.bytes)),
                  shape.compute, shape.lanes));
            for (int64_t row = 0; row < rows; ++row) {
              Value element =
                  s.load(s.offset(aK, s.i64(row * rowStride + step * kStride)),
                         shape.compute);
              Value wide = s.splat(element, shape.lanes);
              for (int64_t v = 0; v < shape.vectors; ++v) {
                Value &sum = sums[row * shape.vectors + v];
                sum = multiplyAdd(wide, columns[v], sum);
              }
            }
          }
          return sums;
        });
  }
};

} // namespace

LogicalResult KernelEmitter::emitGemm(GemmOp op) {
  GemmShape shape = getGemmShape(op, lanes);
  Storage c = getStorage(op.getC());
  PackedOperand a = packA(op, shape);
  Value packedB = packB(op, shape);
  Value tile = scratch(Scratch::Tile);
  Type type = c.elementType;
  Type vectorType = s.withLanes(shape.compute, shape.lanes);

  auto emitBlockOfC = [&](Value firstRow, Value panel, int64_t rows,
                          int64_t valid) {
    MicroKernel kernel{s, shape, rows, valid};
    bool direct = valid == shape.columns && c.hasUnitStride();
    Value firstColumn = s.mul(panel, s.i64(shape.columns));
    auto at = [&](int64_t row, Value column) {
      return matrixIndices(c, s.add(firstRow, s.i64(row)), column);
    };
    auto inTile = [&](int64_t row, Value column) {
      return s.offset(tile, s.mul(s.add(s.i64(row * shape.columns), column),
                                  s.i64(shape.bytes)));
    };
    auto vectorColumn = [&](int64_t v) {
      return s.add(firstColumn, s.i64(v * shape.lanes));
    };

    // Without a direct path, the existing part of C goes through a small tile.
    if (!direct && !op.getClearAccum())
      for (int64_t row = 0; row < rows; ++row)
        s.loop(s.i64(0), s.i64(valid), 1, [&](Value column) {
          Value old = loadElement(c, at(row, s.add(firstColumn, column)));
          s.store(s.convert(old, type, shape.compute), inTile(row, column),
                  shape.compute);
        });
    SmallVector<Value> sums;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < shape.vectors; ++v) {
        if (op.getClearAccum())
          sums.push_back(s.zero(vectorType));
        else if (direct)
          sums.push_back(s.convert(
              s.load(address(c, at(row, vectorColumn(v))), type, shape.lanes),
              type, shape.compute));
        else
          sums.push_back(s.load(inTile(row, s.i64(v * shape.lanes)),
                                shape.compute, shape.lanes));
      }
    Value rowBase = s.offset(a.base, s.mul(firstRow, s.i64(a.rowStride)));
    Value panelBase = s.offset(
        packedB, s.mul(panel, s.i64(shape.k * shape.columns * shape.bytes)));
    sums = kernel.run(rowBase, a.rowStride, a.kStride, panelBase, sums);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < shape.vectors; ++v) {
        Value sum = sums[row * shape.vectors + v];
        if (direct)
          s.store(s.convert(sum, shape.compute, type),
                  address(c, at(row, vectorColumn(v))), type, shape.lanes);
        else
          s.store(sum, inTile(row, s.i64(v * shape.lanes)), shape.compute,
                  shape.lanes);
      }
    if (!direct)
      for (int64_t row = 0; row < rows; ++row)
        s.loop(s.i64(0), s.i64(valid), 1, [&](Value column) {
          Value sum = s.load(inTile(row, column), shape.compute);
          storeElement(c, at(row, s.add(firstColumn, column)),
                       s.convert(sum, shape.compute, type));
        });
  };

  auto emitPanel = [&](Value panel, int64_t valid) {
    int64_t fullRows = shape.m / shape.rows * shape.rows;
    s.loop(s.i64(0), s.i64(fullRows), shape.rows,
           [&](Value row) { emitBlockOfC(row, panel, shape.rows, valid); });
    if (fullRows < shape.m)
      emitBlockOfC(s.i64(fullRows), panel, shape.m - fullRows, valid);
  };
  int64_t fullPanels = shape.n / shape.columns;
  s.loop(s.i64(0), s.i64(fullPanels), 1,
         [&](Value panel) { emitPanel(panel, shape.columns); });
  if (shape.n % shape.columns != 0)
    emitPanel(s.i64(fullPanels), shape.n % shape.columns);
  return success();
}
