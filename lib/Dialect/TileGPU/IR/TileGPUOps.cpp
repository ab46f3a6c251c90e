//===- TileGPUOps.cpp - verifiers and folders of `tile_gpu` -----*- C++ -*-===//
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile_gpu;

#define GET_OP_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static LogicalResult verifyAxis(Operation *op, Value tensor, uint64_t axis) {
  auto rank = cast<MemRefType>(tensor.getType()).getRank();
  if (static_cast<int64_t>(axis) >= rank)
    return op->emitOpError()
           << "axis " << axis << " of a tensor of rank " << rank;
  return success();
}

LogicalResult ExtentOp::verify() {
  return verifyAxis(*this, getTensor(), getAxis());
}

OpFoldResult ExtentOp::fold(FoldAdaptor) {
  int64_t size = cast<MemRefType>(getTensor().getType()).getDimSize(getAxis());
  if (ShapedType::isDynamic(size) || !llvm::isInt<32>(size))
    return {};
  return IntegerAttr::get(getType(), size);
}

LogicalResult StrideOp::verify() {
  return verifyAxis(*this, getTensor(), getAxis());
}

OpFoldResult StrideOp::fold(FoldAdaptor) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(getTensor().getType())
                 .getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[getAxis()]))
    return {};
  return IntegerAttr::get(getType(), strides[getAxis()]);
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

static LogicalResult verifyFragmentAccess(Operation *op, Value buffer,
                                          VectorType registers) {
  auto type = cast<tile::BufferType>(buffer.getType());
  if (!buffer.getDefiningOp<tile::AllocOp>())
    return op->emitOpError("buffer must be an allocation, not a view");
  if (!type.isFragment() && !type.isLocal())
    return op->emitOpError("buffer must be in fragment or local space");
  VectorType expected = getRegisterType(type);
  if (!expected)
    return op->emitOpError("the fragment has no layout yet");
  if (registers != expected)
    return op->emitOpError() << "a thread holds " << expected
                             << " of this buffer, not " << registers;
  return success();
}

LogicalResult ReadFragmentOp::verify() {
  return verifyFragmentAccess(*this, getBuffer(),
                              cast<VectorType>(getResult().getType()));
}

LogicalResult WriteFragmentOp::verify() {
  return verifyFragmentAccess(*this, getBuffer(),
                              cast<VectorType>(getValue().getType()));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type elementOf(Type registers) {
  if (auto vector = dyn_cast<VectorType>(registers))
    return vector.getElementType();
  return registers;
}

/// Alignment is a power of two and at least what one element needs.
static LogicalResult verifyAlignment(Operation *op, Type registers,
                                     std::optional<uint64_t> alignment) {
  if (!alignment)
    return success();
  if (!llvm::isPowerOf2_64(*alignment))
    return op->emitOpError()
           << "alignment " << *alignment << " is no power of two";
  int64_t bytes = tile::getElementBits(elementOf(registers)) / 8;
  if (static_cast<int64_t>(*alignment) < bytes)
    return op->emitOpError()
           << "alignment " << *alignment << " is less than an element of "
           << bytes << " bytes";
  return success();
}

static LogicalResult verifyElement(Operation *op, Value tensor,
                                   Type registers) {
  Type stored =
      tile::getScalarType(cast<MemRefType>(tensor.getType()).getElementType());
  if (elementOf(registers) != stored)
    return op->emitOpError() << "accesses " << elementOf(registers)
                             << " in a tensor of " << stored;
  return success();
}

LogicalResult GlobalLoadOp::verify() {
  if (failed(verifyElement(*this, getTensor(), getResult().getType())))
    return failure();
  return verifyAlignment(*this, getResult().getType(), getAlignment());
}

LogicalResult GlobalStoreOp::verify() {
  if (failed(verifyElement(*this, getTensor(), getValue().getType())))
    return failure();
  return verifyAlignment(*this, getValue().getType(), getAlignment());
}

static LogicalResult verifyAtomic(Operation *op, tile::AtomicKind kind,
                                  Type type, Value result) {
  if (result && result.getType() != type)
    return op->emitOpError("the old value has the type of the operand");
  using Kind = tile::AtomicKind;
  bool bitwise = kind == Kind::And || kind == Kind::Or || kind == Kind::Xor;
  if (bitwise && !isa<IntegerType>(type))
    return op->emitOpError() << tile::stringifyAtomicKind(kind) << " of "
                             << type << "; bitwise atomics need integers";
  return success();
}

LogicalResult GlobalAtomicOp::verify() {
  if (failed(verifyElement(*this, getTensor(), getValue().getType())))
    return failure();
  return verifyAtomic(*this, getKind(), getValue().getType(), getResult());
}

LogicalResult SharedAtomicOp::verify() {
  return verifyAtomic(*this, getKind(), getValue().getType(), getResult());
}

LogicalResult SharedLoadOp::verify() {
  return verifyAlignment(*this, getResult().getType(), getAlignment());
}

LogicalResult SharedStoreOp::verify() {
  return verifyAlignment(*this, getValue().getType(), getAlignment());
}

LogicalResult AsyncCopyOp::verify() {
  uint64_t bytes = getBytes();
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return emitOpError() << "copies 4, 8 or 16 bytes, not " << bytes;
  if (getBypassL1() && bytes != 16)
    return emitOpError("bypass_l1 needs copies of 16 bytes");
  int64_t elementBytes =
      tile::getElementBits(
          cast<MemRefType>(getTensor().getType()).getElementType()) /
      8;
  if (bytes % elementBytes)
    return emitOpError() << bytes
                         << " bytes are no whole number of elements of "
                         << elementBytes << " bytes";
  return success();
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

LogicalResult BarrierOp::verify() {
  if (getId() && (*getId() < 0 || *getId() > 15))
    return emitOpError() << "barrier " << *getId()
                         << "; the hardware has 0 to 15";
  if (getCount() && (*getCount() <= 0 || *getCount() % 32))
    return emitOpError() << "count " << *getCount()
                         << " is no positive multiple of a warp's 32 threads";
  if (getCount() && !getId())
    return emitOpError("a barrier of some threads needs an id");
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix operations
//===----------------------------------------------------------------------===//

static LogicalResult verifyMatrixCount(Operation *op, Type type) {
  int64_t count = cast<VectorType>(type).getNumElements();
  if (count != 1 && count != 2 && count != 4)
    return op->emitOpError() << "moves 1, 2 or 4 matrices, not " << count;
  return success();
}

LogicalResult LdmatrixOp::verify() {
  return verifyMatrixCount(*this, getResult().getType());
}

LogicalResult StmatrixOp::verify() {
  return verifyMatrixCount(*this, getValue().getType());
}

LogicalResult MmaOp::verify() {
  ArrayRef<int64_t> shape = getShape();
  if (shape.size() != 3 || shape[0] != 16 || shape[1] != 8)
    return emitOpError("shape must be [16, 8, k]");
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
  int64_t fullK = 256 / getElementBits(a);
  bool half = shape[2] * 2 == fullK && !isFloat8(a);
  if (shape[2] != fullK && !half)
    return emitOpError() << "k must be " << fullK
                         << (isFloat8(a) ? "" : " or half of it") << " for "
                         << stringifyMatrixType(a) << ", not " << shape[2];
  int64_t registersA = half ? 2 : 4;
  if (cast<VectorType>(getA().getType()).getNumElements() != registersA ||
      cast<VectorType>(getB().getType()).getNumElements() != registersA / 2)
    return emitOpError() << "k = " << shape[2] << " takes " << registersA
                         << " registers of a and " << registersA / 2 << " of b";
  Type sum = cast<VectorType>(getC().getType()).getElementType();
  bool legal = isInt(a) ? sum.isInteger(32)
                        : sum.isF32() || (a == MatrixType::F16 && sum.isF16());
  if (!legal)
    return emitOpError() << "cannot accumulate " << stringifyMatrixType(a)
                         << " products in " << sum;
  return success();
}
