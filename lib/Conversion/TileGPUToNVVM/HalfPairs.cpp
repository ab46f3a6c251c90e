//===- HalfPairs.cpp - f32 to pairs of 16-bit floats ------------*- C++ -*-===//
//
// Rounding a pair is one instruction, also where the two halves part afterwards
// (a transposed store). The backend splits vectors into scalars and joins them
// again only where they stay together; single roundings of accumulators of
// wgmma moreover make the assembler serialise the products (ptxas 13.0, C7514).
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir::to_nvvm;

namespace {
struct TruncPairPattern : LoweringPattern<arith::TruncFOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || type.getNumElements() != 2 ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return failure();
    Type element = type.getElementType();
    if (!element.isF16() && !element.isBF16())
      return failure();
    if (op.getRoundingmode() &&
        *op.getRoundingmode() != arith::RoundingMode::to_nearest_even)
      return failure();
    Location loc = op.getLoc();
    auto at = [&](int64_t index) -> Value {
      return LLVM::ExtractElementOp::create(rewriter, loc, adaptor.getIn(),
                                            constant32(rewriter, loc, index));
    };
    // The first operand becomes the upper half.
    rewriter.replaceOp(op,
                       callIntrinsic(rewriter, loc, type,
                                     element.isF16() ? "llvm.nvvm.ff2f16x2.rn"
                                                     : "llvm.nvvm.ff2bf16x2.rn",
                                     {at(1), at(0)}));
    return success();
  }
};
} // namespace

void tilemlir::to_nvvm::populateHalfPairPatterns(const Lowering &lowering,
                                                 RewritePatternSet &patterns) {
  patterns.add<TruncPairPattern>(lowering);
}
