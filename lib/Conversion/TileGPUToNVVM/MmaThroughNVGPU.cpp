//===- MmaThroughNVGPU.cpp - f16 and tf32 mma through NVGPU -----*- C++ -*-===//
//
// nvgpu.mma.sync expresses these types right. It takes operands as vectors of
// registers, which are arrays after conversion; building the arrays directly
// spares a detour through vector reshapes.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

struct MmaToNVGPU : LoweringPattern<tile_gpu::MmaOp> {
  // Above the pattern of Matrix.cpp.
  explicit MmaToNVGPU(const Lowering &lowering)
      : LoweringPattern(lowering, kOurBenefit + 1) {}

  /// A vector of 32-bit registers as nvgpu's operand type `type`.
  Value operand(OpBuilder &b, Location loc, Value words,
                VectorType type) const {
    auto arrayType =
        cast<LLVM::LLVMArrayType>(getTypeConverter()->convertType(type));
    Value array = LLVM::PoisonOp::create(b, loc, arrayType);
    for (int64_t i = 0, e = type.getDimSize(0); i < e; ++i) {
      Value word =
          LLVM::ExtractElementOp::create(b, loc, words, constant32(b, loc, i));
      array = LLVM::InsertValueOp::create(
          b, loc, array,
          LLVM::BitcastOp::create(b, loc, arrayType.getElementType(), word), i);
    }
    return UnrealizedConversionCastOp::create(b, loc, type, array).getResult(0);
  }

  LogicalResult
  matchAndRewrite(tile_gpu::MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    bool f16 = op.getAType() == tile_gpu::MatrixType::F16;
    if (!f16 && op.getAType() != tile_gpu::MatrixType::TF32)
      return failure();
    Location loc = op.getLoc();
    Type element =
        f16 ? Type(rewriter.getF16Type()) : Type(rewriter.getF32Type());
    int64_t packed = f16 ? 2 : 1;
    int64_t aCount = cast<VectorType>(op.getA().getType()).getNumElements();
    auto aType = VectorType::get({aCount, packed}, element);
    auto bType = VectorType::get({aCount / 2, packed}, element);
    auto sumType = cast<VectorType>(op.getC().getType());
    Type sumElement = sumType.getElementType();
    auto cType = VectorType::get({2, 2}, sumElement);
    auto cArray =
        cast<LLVM::LLVMArrayType>(getTypeConverter()->convertType(cType));
    Value c = LLVM::PoisonOp::create(rewriter, loc, cArray);
    for (int64_t row = 0; row < 2; ++row) {
      Value pair =
          LLVM::PoisonOp::create(rewriter, loc, cArray.getElementType());
      for (int64_t i = 0; i < 2; ++i) {
        Value value = LLVM::ExtractElementOp::create(
            rewriter, loc, adaptor.getC(),
            constant32(rewriter, loc, 2 * row + i));
        pair = LLVM::InsertElementOp::create(rewriter, loc, pair, value,
                                             constant32(rewriter, loc, i));
      }
      c = LLVM::InsertValueOp::create(rewriter, loc, c, pair, row);
    }
    Value cVector = UnrealizedConversionCastOp::create(rewriter, loc, cType, c)
                        .getResult(0);
    auto mma = nvgpu::MmaSyncOp::create(
        rewriter, loc, cType, operand(rewriter, loc, adaptor.getA(), aType),
        operand(rewriter, loc, adaptor.getB(), bType), cVector,
        rewriter.getI64ArrayAttr(op.getShape()),
        f16 ? UnitAttr() : rewriter.getUnitAttr());
    Value array =
        UnrealizedConversionCastOp::create(rewriter, loc, cArray, mma.getRes())
            .getResult(0);
    Value result = LLVM::PoisonOp::create(rewriter, loc, sumType);
    for (int64_t row = 0; row < 2; ++row) {
      Value pair = LLVM::ExtractValueOp::create(rewriter, loc, array, row);
      for (int64_t i = 0; i < 2; ++i) {
        Value value = LLVM::ExtractElementOp::create(
            rewriter, loc, pair, constant32(rewriter, loc, i));
        result = LLVM::InsertElementOp::create(
            rewriter, loc, result, value,
            constant32(rewriter, loc, 2 * row + i));
      }
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateNVGPUPatterns(const Lowering &lowering,
                                              RewritePatternSet &patterns) {
  patterns.add<MmaToNVGPU>(lowering);
  populateNVGPUToNVVMConversionPatterns(lowering.converter, patterns);
}
