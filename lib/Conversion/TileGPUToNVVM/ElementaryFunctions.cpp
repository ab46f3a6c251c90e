//===- ElementaryFunctions.cpp - expansion of math functions ----*- C++ -*-===//
//
// No function becomes a library call. On f32, with errors in units in the last
// place (ulp) of the result:
//
// | function | how | error |
// |---|---|---|
// | exp2 | ex2.approx.ftz | 2 ulp (PTX ISA); 0 below 2^-126 |
// | exp | reduction by multiples of ln 2 in two parts, ex2.approx | 3 ulp |
// | rsqrt | rsqrt.approx | 2^-22.9 relative (PTX ISA) |
// | sqrt, division, fma | correctly rounded instructions | 0.5 ulp |
// | division by a shared divisor, rounded to 16 bits | its reciprocal | 0.501
// ulp of the 16-bit type |
// | log, log2, log1p, expm1, tanh, erf, sin, cos, tan, asin, acos, atan, ... |
// polynomials of
//   MLIR's math transforms | a few ulp; sin and cos on |x| < 10^4 |
// | pow | exp(y log x) with the sign rules of C | grows with abs(y log x) |
//
// exp2 is one instruction: results that f32 holds only as subnormal numbers
// would take a test and two products more for each element.
//
// Fast math uses ex2.approx, lg2.approx, sin.approx, cos.approx and
// tanh.approx directly. 16-bit types compute in f32 and round once. Functions
// of f64 are arithmetic already (tile-gpu-expand-double-math); those that are
// not are refused.
//
//===----------------------------------------------------------------------===//
#include "ElementaryFunctions.h"
#include "SharedFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace tilemlir::to_nvvm;

namespace {

Value constantF32(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

/// A hardware approximation by its intrinsic or instruction.
Value approximate(OpBuilder &b, Location loc, StringRef intrinsic, Value x) {
  return callIntrinsic(b, loc, b.getF32Type(), intrinsic, x);
}

constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2 = 0.69314718055994530942;

Value exp2Of(OpBuilder &b, Location loc, Value x) {
  return approximate(b, loc, "llvm.nvvm.ex2.approx", x);
}

/// e^x: x = j ln 2 + f with |f| <= ln 2 / 2; j is clamped so that neither
/// factor overflows where the product does not, and infinities come out right.
Value expOf(OpBuilder &b, Location loc, Value x, bool fast) {
  Value log2e = constantF32(b, loc, kLog2E);
  if (fast)
    return exp2Of(b, loc, arith::MulFOp::create(b, loc, x, log2e));
  const float high = 0.693359375f; // 9 bits: products with j are exact
  Value j = math::RoundEvenOp::create(b, loc,
                                      arith::MulFOp::create(b, loc, x, log2e));
  j = arith::MinNumFOp::create(b, loc, j, constantF32(b, loc, 127.0));
  j = arith::MaxNumFOp::create(b, loc, j, constantF32(b, loc, -160.0));
  Value f = math::FmaOp::create(b, loc, j, constantF32(b, loc, -high), x);
  f = math::FmaOp::create(
      b, loc, j, constantF32(b, loc, -(kLn2 - static_cast<double>(high))), f);
  Value fraction = exp2Of(b, loc, arith::MulFOp::create(b, loc, f, log2e));
  return arith::MulFOp::create(b, loc, fraction, exp2Of(b, loc, j));
}

/// Functions that instructions or LLVM handle for all float types.
bool isNative(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::FloorOp,
             math::TruncOp, math::RoundOp, math::RoundEvenOp, math::CopySignOp,
             math::FmaOp, math::SqrtOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::IPowIOp>(op);
}

/// 16-bit and 8-bit floats compute in f32.
struct Widen : RewritePattern {
  explicit Widen(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 20, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        op->getNumResults() != 1)
      return failure();
    auto type = dyn_cast<FloatType>(op->getResult(0).getType());
    bool small = type && type.getWidth() < 32;
    for (Value operand : op->getOperands())
      if (auto operandType = dyn_cast<FloatType>(operand.getType()))
        small |= operandType.getWidth() < 32;
    if (!small || (isNative(op) && !isa<math::SqrtOp>(op)))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto operandType = dyn_cast<FloatType>(operand.getType());
      operands.push_back(operandType && operandType.getWidth() < 32
                             ? arith::ExtFOp::create(rewriter, op->getLoc(),
                                                     rewriter.getF32Type(),
                                                     operand)
                                   .getResult()
                             : operand);
    }
    OperationState state(
        op->getLoc(), op->getName(), operands,
        {type ? Type(rewriter.getF32Type()) : op->getResult(0).getType()},
        op->getAttrs());
    Value wide = rewriter.create(state)->getResult(0);
    if (type)
      wide = arith::TruncFOp::create(rewriter, op->getLoc(), type, wide);
    rewriter.replaceOp(op, wide);
    return success();
  }
};

template <typename Op> struct Expand : OpRewritePattern<Op> {
  using Emit = Value (*)(OpBuilder &, Location, Value, bool fast);
  Expand(MLIRContext *context, Emit emit, bool fast)
      : OpRewritePattern<Op>(context, /*benefit=*/10), emit(emit), fast(fast) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(op,
                       emit(rewriter, op.getLoc(), op->getOperand(0), fast));
    return success();
  }
  Emit emit;
  bool fast;
};

} // namespace

LogicalResult tilemlir::to_nvvm::expandElementaryFunctions(Operation *root,
                                                           bool fast) {
  bool any =
      root->walk([](Operation *op) {
            return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                           (!isNative(op) || isa<math::SqrtOp>(op))
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (!any)
    return success();
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  patterns.add<Widen>(context);
  populateSharedFactorPatterns(patterns);
  patterns.add<Expand<math::Exp2Op>>(
      context,
      [](OpBuilder &b, Location loc, Value x, bool) {
        return approximate(b, loc, "llvm.nvvm.ex2.approx.ftz", x);
      },
      fast);
  patterns.add<Expand<math::ExpOp>>(context, expOf, fast);
  patterns.add<Expand<math::RsqrtOp>>(
      context,
      [](OpBuilder &b, Location loc, Value x, bool) {
        return approximate(b, loc, "llvm.nvvm.rsqrt.approx.f", x);
      },
      fast);
  if (fast) {
    patterns.add<Expand<math::Log2Op>>(
        context,
        [](OpBuilder &b, Location loc, Value x, bool) {
          return approximate(b, loc, "llvm.nvvm.lg2.approx.f", x);
        },
        fast);
    patterns.add<Expand<math::LogOp>>(
        context,
        [](OpBuilder &b, Location loc, Value x, bool) -> Value {
          Value log2 = approximate(b, loc, "llvm.nvvm.lg2.approx.f", x);
          return arith::MulFOp::create(b, loc, log2, constantF32(b, loc, kLn2));
        },
        fast);
    patterns.add<Expand<math::SinOp>>(
        context,
        [](OpBuilder &b, Location loc, Value x, bool) {
          return inlineAsm(b, loc, b.getF32Type(), "sin.approx.f32 $0, $1;",
                           "=f,f", x, false);
        },
        fast);
    patterns.add<Expand<math::CosOp>>(
        context,
        [](OpBuilder &b, Location loc, Value x, bool) {
          return inlineAsm(b, loc, b.getF32Type(), "cos.approx.f32 $0, $1;",
                           "=f,f", x, false);
        },
        fast);
    patterns.add<Expand<math::TanhOp>>(
        context,
        [](OpBuilder &b, Location loc, Value x, bool) {
          return inlineAsm(b, loc, b.getF32Type(), "tanh.approx.f32 $0, $1;",
                           "=f,f", x, false);
        },
        fast);
  }
  // log10 x = log2 x * log10 2; tan and the hyperbolic functions by their
  // definitions; pow with the special cases of C.
  math::populateExpansionPatterns(patterns,
                                  {"tan", "sinh", "cosh", "asinh", "acosh",
                                   "atanh", "powf", "fpowi", "ipowi"});
  patterns.add<Expand<math::Log10Op>>(
      context,
      [](OpBuilder &b, Location loc, Value x, bool) -> Value {
        Value log2 = math::Log2Op::create(b, loc, x);
        return arith::MulFOp::create(b, loc, log2,
                                     constantF32(b, loc, std::log10(2.0)));
      },
      fast);
  populateMathPolynomialApproximationPatterns(patterns,
                                              [](StringRef) { return true; });
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(root, std::move(patterns), config)))
    return failure();

  WalkResult left = root->walk([](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) || isNative(op))
      return WalkResult::advance();
    op->emitOpError() << "has no implementation for "
                      << op->getResult(0).getType()
                      << " on this target; use f32";
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}
