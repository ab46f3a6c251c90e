//===- WarpgroupOps.cpp - verification of wgmma and of roles ----*- C++ -*-===//
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::tile_gpu;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static LogicalResult verifyNamedBarrier(Operation *op, Value id,
                                        uint64_t threads) {
  if (threads == 0 || threads % 32 || threads > 1024)
    return op->emitOpError() << threads
                             << " threads; a barrier counts whole warps, up to "
                                "1024 threads";
  return success();
}

LogicalResult NamedBarrierSyncOp::verify() {
  return verifyNamedBarrier(*this, getId(), getThreads());
}

LogicalResult NamedBarrierArriveOp::verify() {
  return verifyNamedBarrier(*this, getId(), getThreads());
}

LogicalResult SetMaxRegistersOp::verify() {
  uint64_t count = getCount();
  if (count < 24 || count > 256 || count % 8)
    return emitOpError() << "a warp can have 24 to 256 registers in steps of "
                            "8, not "
                         << count;
  return success();
}

LogicalResult PtxOp::verify() {
  auto legal = [](Type type) {
    return isa<MemRefType>(type) ||
           llvm::is_contained({16u, 32u, 64u}, type.getIntOrFloatBitWidth());
  };
  for (Type type : getOperandTypes())
    if (!legal(type))
      return emitOpError() << "operands have 16, 32 or 64 bits; convert "
                           << type << " before";
  for (Type type : getResultTypes())
    if (!legal(type))
      return emitOpError() << "results have 16, 32 or 64 bits, not " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

LogicalResult WgmmaDescriptorOp::verify() {
  int64_t swizzle = getSwizzle();
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitOpError() << "swizzle is 0, 32, 64 or 128 bytes, found "
                         << swizzle;
  auto verifyDistance = [&](StringRef name, int64_t bytes) -> LogicalResult {
    if (bytes < 0 || bytes % 16 || bytes >= (1 << 18))
      return emitOpError() << name
                           << " must be a multiple of 16 below 256 KiB, "
                           << "found " << bytes;
    return success();
  };
  return failure(
      failed(verifyDistance("leading_bytes", getLeadingBytes())) ||
      failed(verifyDistance("stride_bytes", getStrideBytes())) ||
      failed(verifyDistance("offset", static_cast<int32_t>(getOffset()))));
}

LogicalResult WgmmaOp::verify() {
  ArrayRef<int64_t> shape = getShape();
  MatrixType a = getAType(), b = getBType();
  auto isInt = [](MatrixType type) {
    return type == MatrixType::S8 || type == MatrixType::U8;
  };
  auto isFloat8 = [](MatrixType type) {
    return type == MatrixType::F8E4M3 || type == MatrixType::F8E5M2;
  };
  if (a != b && !(isInt(a) && isInt(b)) && !(isFloat8(a) && isFloat8(b)))
    return emitOpError() << "cannot multiply " << stringifyMatrixType(a)
                         << " by " << stringifyMatrixType(b);
  int64_t k = 256 / getElementBits(a);
  if (shape.size() != 3 || shape[0] != 64 || shape[2] != k)
    return emitOpError() << "shape must be [64, n, " << k << "] for "
                         << stringifyMatrixType(a);
  int64_t n = shape[1];
  if (n < 8 || n > 256 || n % 8)
    return emitOpError() << "n is a multiple of 8 from 8 to 256, not " << n;
  if (isInt(a) && n > 24 && n % 16)
    return emitOpError() << "n of 8-bit integers is 8, 16, 24 or a multiple of "
                            "16, not "
                         << n;
  auto sums = cast<VectorType>(getC().getType());
  Type sum = sums.getElementType();
  bool legal = isInt(a)
                   ? sum.isInteger(32)
                   : sum.isF32() ||
                         (sum.isF16() && (a == MatrixType::F16 || isFloat8(a)));
  if (!legal)
    return emitOpError() << "cannot accumulate " << stringifyMatrixType(a)
                         << " products in " << sum;
  if (sums.getNumElements() != n / 2)
    return emitOpError() << "a thread holds " << n / 2
                         << " elements of c for n = " << n << ", not "
                         << sums.getNumElements();
  bool fromRegisters = isa<VectorType>(getA().getType());
  if (getTransposeA() && fromRegisters)
    return emitOpError("a in registers cannot be transposed");
  if ((getTransposeA() || getTransposeB()) && getElementBits(a) != 16)
    return emitOpError() << "only 16-bit operands can be transposed, not "
                         << stringifyMatrixType(a);
  if ((getNegateA() || getNegateB()) && isInt(a))
    return emitOpError("integer operands cannot be negated");
  if (getSaturate() && !isInt(a))
    return emitOpError("only integer sums saturate");
  return success();
}
