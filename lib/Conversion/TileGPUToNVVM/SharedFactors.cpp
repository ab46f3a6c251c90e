//===- SharedFactors.cpp - factors and divisors of many values --*- C++ -*-===//
//
// Factors: rounding is monotonous, so that max(a c, b c) = max(a, b) c for
// every positive c, bit by bit. Scores that are scaled before their maximum is
// taken need one product for the maximum, and what else is done with the scaled
// scores (an exponential of the difference to the maximum) can take the factor
// into a fused multiply-add. A mask in between, which puts an infinity in place
// of some values, changes nothing.
//
// Divisors: a division is correctly rounded, which takes some fifteen
// instructions and a branch. If its result is only rounded to 16 bits
// afterwards, a product with the reciprocal is as good: its error of 1.5 units
// in the last place of f32 changes the 16-bit result in one of some thousand
// cases, by one unit. Divisors whose reciprocal is no normal number are scaled.
//
//===----------------------------------------------------------------------===//
#include "SharedFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

/// Divisions by one divisor from which on its reciprocal pays.
static constexpr size_t kSharedDivisions = 4;

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {
/// A product with a positive constant.
struct Scaled {
  arith::MulFOp product;
  Value value, factor;
  llvm::APFloat constant = llvm::APFloat(0.0f);
};

/// Keeps the larger, or the smaller, of two scaled values.
template <typename Op> struct HoistFactorOfExtreme : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override;
};

/// A scaled value, or an infinity.
struct HoistFactorOfMask : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

static std::optional<Scaled> matchScaled(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  Scaled result;
  result.product = product;
  for (unsigned index : {1u, 0u}) {
    result.factor = product->getOperand(index);
    result.value = product->getOperand(1 - index);
    if (matchPattern(result.factor, m_ConstantFloat(&result.constant)))
      return result.constant.isFiniteNonZero() && !result.constant.isNegative()
                 ? std::optional(result)
                 : std::nullopt;
  }
  return std::nullopt;
}

template <typename Op>
LogicalResult
HoistFactorOfExtreme<Op>::matchAndRewrite(Op op,
                                          PatternRewriter &rewriter) const {
  std::optional<Scaled> lhs = matchScaled(op.getLhs()),
                        rhs = matchScaled(op.getRhs());
  if (!lhs || !rhs || !lhs->constant.bitwiseIsEqual(rhs->constant))
    return failure();
  Value extreme = Op::create(rewriter, op.getLoc(), lhs->value, rhs->value);
  rewriter.replaceOpWithNewOp<arith::MulFOp>(op, extreme, lhs->factor);
  return success();
}

LogicalResult
HoistFactorOfMask::matchAndRewrite(arith::SelectOp op,
                                   PatternRewriter &rewriter) const {
  for (bool first : {true, false}) {
    std::optional<Scaled> scaled =
        matchScaled(first ? op.getTrueValue() : op.getFalseValue());
    Value other = first ? op.getFalseValue() : op.getTrueValue();
    llvm::APFloat infinity(0.0f);
    if (!scaled || !scaled->product->hasOneUse() ||
        !matchPattern(other, m_ConstantFloat(&infinity)) ||
        !infinity.isInfinity())
      continue;
    Value masked = arith::SelectOp::create(
        rewriter, op.getLoc(), op.getCondition(), first ? scaled->value : other,
        first ? other : scaled->value);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, masked, scaled->factor);
    return success();
  }
  return failure();
}

void tilemlir::to_nvvm::populateSharedFactorPatterns(
    RewritePatternSet &patterns) {
  patterns.add<HoistFactorOfExtreme<arith::MaxNumFOp>,
               HoistFactorOfExtreme<arith::MinNumFOp>,
               HoistFactorOfExtreme<arith::MaximumFOp>,
               HoistFactorOfExtreme<arith::MinimumFOp>, HoistFactorOfMask>(
      patterns.getContext());
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

/// Is `value` only rounded to a 16-bit float, alone or as part of a vector?
static bool becomesHalf(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (auto vector = dyn_cast<vector::FromElementsOp>(user))
      return becomesHalf(vector.getResult());
    auto rounding = dyn_cast<arith::TruncFOp>(user);
    if (!rounding)
      return false;
    Type type = getElementTypeOrSelf(rounding.getType());
    return type.isF16() || type.isBF16();
  });
}

static void multiplyByReciprocal(ArrayRef<arith::DivFOp> divisions) {
  arith::DivFOp first = divisions.front();
  OpBuilder b(first);
  Location loc = first.getLoc();
  Value divisor = first.getRhs();
  auto number = [&](double value) {
    return arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value lhs, double value) {
    return arith::CmpFOp::create(b, loc, predicate, lhs, number(value));
  };
  // Keeps the reciprocal, and the product with it, among the normal numbers
  // where the quotient is.
  Value size = math::AbsFOp::create(b, loc, divisor);
  Value large = compare(arith::CmpFPredicate::OGT, size, 0x1p64);
  Value small = compare(arith::CmpFPredicate::OLT, size, 0x1p-64);
  Value scale =
      arith::SelectOp::create(b, loc, small, number(0x1p64), number(1.0));
  scale = arith::SelectOp::create(b, loc, large, number(0x1p-64), scale);
  Value scaled = arith::MulFOp::create(b, loc, divisor, scale);
  Value reciprocal = arith::DivFOp::create(b, loc, number(1.0), scaled);
  for (arith::DivFOp division : divisions) {
    b.setInsertionPoint(division);
    Value quotient = arith::MulFOp::create(b, division.getLoc(),
                                           division.getLhs(), reciprocal);
    quotient = arith::MulFOp::create(b, division.getLoc(), quotient, scale);
    division.replaceAllUsesWith(quotient);
    division.erase();
  }
}

void tilemlir::to_nvvm::shareDivisors(Operation *root) {
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<arith::DivFOp>> groups;
  root->walk([&](arith::DivFOp division) {
    if (division.getType().isF32() && becomesHalf(division.getResult()))
      groups[{division->getBlock(), division.getRhs()}].push_back(division);
  });
  for (auto &[key, divisions] : groups)
    if (divisions.size() >= kSharedDivisions)
      multiplyByReciprocal(divisions);
}
