//===- Float8.cpp - conversions of 8-bit floats -----------------*- C++ -*-===//
//
// To nearest even with saturation to the largest finite number (what
// cvt.rn.satfinite does); NaN stays NaN. Before sm_89 by integer arithmetic,
// bit by bit the same.
//
//===----------------------------------------------------------------------===//
#include "ElementaryFunctions.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tilemlir::to_nvvm;

namespace {

bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

StringRef formatName(Type type) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)) ? "e4m3x2"
                                                           : "e5m2x2";
}

Value extractAt(OpBuilder &b, Location loc, Value vector, int64_t i) {
  return LLVM::ExtractElementOp::create(b, loc, vector, constant32(b, loc, i));
}

/// Applies `convertPair` to two elements at a time of a scalar or vector.
template <typename ConvertPair>
Value inPairs(OpBuilder &b, Location loc, Value source, Type resultType,
              ConvertPair convertPair) {
  auto vector = dyn_cast<VectorType>(resultType);
  if (!vector) {
    auto [first, second] = convertPair(source, source);
    (void)second;
    return first;
  }
  Value result = LLVM::PoisonOp::create(b, loc, vector);
  for (int64_t i = 0, e = vector.getNumElements(); i < e; i += 2) {
    bool both = i + 1 < e;
    Value x = extractAt(b, loc, source, i);
    Value y = both ? extractAt(b, loc, source, i + 1) : x;
    auto [first, second] = convertPair(x, y);
    result = LLVM::InsertElementOp::create(b, loc, result, first,
                                           constant32(b, loc, i));
    if (both)
      result = LLVM::InsertElementOp::create(b, loc, result, second,
                                             constant32(b, loc, i + 1));
  }
  return result;
}

struct TruncPattern : LoweringPattern<arith::TruncFOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    std::string name =
        "llvm.nvvm.ff.to." + formatName(op.getType()).str() + ".rn";
    auto wide = [&](Value value) -> Value {
      if (value.getType().isF64())
        return LLVM::FPTruncOp::create(rewriter, loc, f32, value);
      return value.getType() == f32
                 ? value
                 : LLVM::FPExtOp::create(rewriter, loc, f32, value).getResult();
    };
    Type result = getTypeConverter()->convertType(op.getType());
    rewriter.replaceOp(
        op,
        inPairs(rewriter, loc, adaptor.getIn(), result, [&](Value x, Value y) {
          // The first operand becomes the upper byte.
          Value both = callIntrinsic(rewriter, loc, rewriter.getI16Type(), name,
                                     {wide(y), wide(x)});
          Value pair = LLVM::BitcastOp::create(
              rewriter, loc, VectorType::get({2}, rewriter.getI8Type()), both);
          return std::make_pair(extractAt(rewriter, loc, pair, 0),
                                extractAt(rewriter, loc, pair, 1));
        }));
    return success();
  }
};

/// Integers to 8-bit floats, which arith's canonicalisation makes of a
/// truncation of an exact float32. Where float32 is not exact, the result is
/// the largest number either way.
template <typename Op, typename LLVMOp>
struct FromIntegerPattern : LoweringPattern<Op> {
  using LoweringPattern<Op>::LoweringPattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    std::string name =
        "llvm.nvvm.ff.to." + formatName(op.getType()).str() + ".rn";
    Type result = this->getTypeConverter()->convertType(op.getType());
    rewriter.replaceOp(
        op,
        inPairs(rewriter, loc, adaptor.getIn(), result, [&](Value x, Value y) {
          Value low = LLVMOp::create(rewriter, loc, f32, x);
          Value high = LLVMOp::create(rewriter, loc, f32, y);
          Value both = callIntrinsic(rewriter, loc, rewriter.getI16Type(), name,
                                     {high, low});
          Value pair = LLVM::BitcastOp::create(
              rewriter, loc, VectorType::get({2}, rewriter.getI8Type()), both);
          return std::make_pair(extractAt(rewriter, loc, pair, 0),
                                extractAt(rewriter, loc, pair, 1));
        }));
    return success();
  }
};

struct ExtPattern : LoweringPattern<arith::ExtFOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    Location loc = op.getLoc();
    Type target = getElementTypeOrSelf(op.getType());
    Type f16 = rewriter.getF16Type(), f32 = rewriter.getF32Type();
    // The pair is the low half of a register. Taken as a high half, ptxas 13.0
    // and 13.5 fold a constant zero wrongly (where a load is known to be out of
    // bounds): the conversion reads the modifier of the operand as its bits,
    // and gave 0.0156 instead of 0 for e4m3 on an H200.
    std::string text = "{ .reg .b16 pair; cvt.u16.u32 pair, $1; cvt.rn.f16x2." +
                       formatName(op.getIn().getType()).str() + " $0, pair; }";
    auto narrow = [&](Value half) -> Value {
      if (target == f16)
        return half;
      Value real = LLVM::FPExtOp::create(rewriter, loc,
                                         target.isF64() ? target : f32, half);
      return target.isBF16()
                 ? LLVM::FPTruncOp::create(rewriter, loc, target, real)
                       .getResult()
                 : real;
    };
    rewriter.replaceOp(
        op,
        inPairs(rewriter, loc, adaptor.getIn(), op.getType(),
                [&](Value x, Value y) {
                  Type pairType = VectorType::get({2}, rewriter.getI8Type());
                  Value pair = LLVM::PoisonOp::create(rewriter, loc, pairType);
                  pair = LLVM::InsertElementOp::create(
                      rewriter, loc, pair, x, constant32(rewriter, loc, 0));
                  pair = LLVM::InsertElementOp::create(
                      rewriter, loc, pair, y, constant32(rewriter, loc, 1));
                  Value both = LLVM::BitcastOp::create(
                      rewriter, loc, rewriter.getI16Type(), pair);
                  Value word = LLVM::ZExtOp::create(
                      rewriter, loc, rewriter.getI32Type(), both);
                  word = inlineAsm(rewriter, loc, rewriter.getI32Type(), text,
                                   "=r,r", word, /*volatileMemory=*/false);
                  Value halves = LLVM::BitcastOp::create(
                      rewriter, loc, VectorType::get({2}, f16), word);
                  return std::make_pair(
                      narrow(extractAt(rewriter, loc, halves, 0)),
                      narrow(extractAt(rewriter, loc, halves, 1)));
                }));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Integer arithmetic
//===----------------------------------------------------------------------===//

struct Format {
  int64_t mantissaBits, bias, largest, nan;
  bool hasInfinity;
};

Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 0x7e, 0x7f, false};
  return {2, 15, 0x7b, 0x7f, true};
}

Value i32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value encode(OpBuilder &b, Location loc, Value x, FloatType type) {
  Format format = formatOf(type);
  int64_t drop = 23 - format.mantissaBits;
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  Value magnitude =
      arith::AndIOp::create(b, loc, bits, i32(b, loc, 0x7fffffff));
  Value sign = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, i32(b, loc, 24)),
      i32(b, loc, 0x80));
  // Normal numbers: round to nearest even in place, then change the bias.
  Value odd = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, magnitude, i32(b, loc, drop)),
      i32(b, loc, 1));
  Value rounded = arith::AddIOp::create(
      b, loc, magnitude,
      arith::AddIOp::create(b, loc, odd,
                            i32(b, loc, (int64_t(1) << (drop - 1)) - 1)));
  Value normal = arith::SubIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, rounded, i32(b, loc, drop)),
      i32(b, loc, (127 - format.bias) << format.mantissaBits));
  normal = arith::MinUIOp::create(b, loc, normal, i32(b, loc, format.largest));
  // Below the smallest normal number the sum with a power of two whose unit is
  // the smallest subnormal rounds in hardware.
  int64_t unitExponent = 1 - format.bias - format.mantissaBits;
  Value anchorBits = i32(b, loc, (unitExponent + 23 + 127) << 23);
  Value anchor = arith::BitcastOp::create(b, loc, b.getF32Type(), anchorBits);
  Value absolute = arith::BitcastOp::create(b, loc, b.getF32Type(), magnitude);
  Value sum = arith::AddFOp::create(b, loc, absolute, anchor);
  Value subnormal = arith::SubIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, b.getI32Type(), sum),
      anchorBits);
  Value isNormal =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude,
                            i32(b, loc, (1 - format.bias + 127) << 23));
  Value code = arith::SelectOp::create(b, loc, isNormal, normal, subnormal);
  Value isNaN = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt,
                                      magnitude, i32(b, loc, 0x7f800000));
  code = arith::SelectOp::create(b, loc, isNaN, i32(b, loc, format.nan), code);
  code = arith::OrIOp::create(b, loc, code, sign);
  Value byte = arith::TruncIOp::create(b, loc, b.getI8Type(), code);
  return arith::BitcastOp::create(b, loc, type, byte);
}

Value decode(OpBuilder &b, Location loc, Value x, FloatType type) {
  Format format = formatOf(type);
  Value byte = arith::BitcastOp::create(b, loc, b.getI8Type(), x);
  Value code = arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
  Value magnitude = arith::AndIOp::create(b, loc, code, i32(b, loc, 0x7f));
  Value sign = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, code, i32(b, loc, 0x80)),
      i32(b, loc, 24));
  // Exponent and mantissa in place; a product corrects the bias, exactly and
  // for subnormal numbers too.
  Value placed = arith::ShLIOp::create(b, loc, magnitude,
                                       i32(b, loc, 23 - format.mantissaBits));
  Value scaled = arith::MulFOp::create(
      b, loc, arith::BitcastOp::create(b, loc, b.getF32Type(), placed),
      arith::BitcastOp::create(b, loc, b.getF32Type(),
                               i32(b, loc, (127 + 127 - format.bias) << 23)));
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), scaled);
  int64_t firstSpecial = format.hasInfinity ? 0x7c : format.nan;
  Value special = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        magnitude, i32(b, loc, firstSpecial));
  Value specialBits =
      format.hasInfinity
          ? arith::OrIOp::create(b, loc, placed, i32(b, loc, 0x7f800000))
                .getResult()
          : i32(b, loc, 0x7fc00000);
  bits = arith::SelectOp::create(b, loc, special, specialBits, bits);
  bits = arith::OrIOp::create(b, loc, bits, sign);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
}

/// Elementwise on vectors.
template <typename Op, typename Convert>
LogicalResult rewriteElements(Op op, PatternRewriter &rewriter,
                              Convert convert) {
  Location loc = op.getLoc();
  auto vector = dyn_cast<VectorType>(op.getType());
  if (!vector) {
    rewriter.replaceOp(op, convert(op.getIn()));
    return success();
  }
  auto parts = vector::ToElementsOp::create(rewriter, loc, op.getIn());
  SmallVector<Value> results;
  for (Value element : parts.getElements())
    results.push_back(convert(element));
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, results);
  return success();
}

struct ExpandTrunc : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    auto type = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    return rewriteElements(op, rewriter, [&](Value x) {
      Type f32 = rewriter.getF32Type();
      if (x.getType().isF64())
        x = arith::TruncFOp::create(rewriter, op.getLoc(), f32, x);
      else if (!x.getType().isF32())
        x = arith::ExtFOp::create(rewriter, op.getLoc(), f32, x);
      return encode(rewriter, op.getLoc(), x, type);
    });
  }
};

template <typename Op> struct ExpandFromInteger : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    auto type = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    return rewriteElements(op, rewriter, [&](Value x) {
      Value wide = Op::create(rewriter, op.getLoc(), rewriter.getF32Type(), x);
      return encode(rewriter, op.getLoc(), wide, type);
    });
  }
};

struct ExpandExt : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    auto from = cast<FloatType>(getElementTypeOrSelf(op.getIn().getType()));
    Type to = getElementTypeOrSelf(op.getType());
    return rewriteElements(op, rewriter, [&](Value x) -> Value {
      Value wide = decode(rewriter, op.getLoc(), x, from);
      if (to.isF32())
        return wide;
      if (to.isF64())
        return arith::ExtFOp::create(rewriter, op.getLoc(), to, wide);
      return arith::TruncFOp::create(rewriter, op.getLoc(), to, wide);
    });
  }
};

} // namespace

void tilemlir::to_nvvm::populateFloat8Patterns(const Lowering &lowering,
                                               RewritePatternSet &patterns) {
  patterns.add<TruncPattern, ExtPattern,
               FromIntegerPattern<arith::SIToFPOp, LLVM::SIToFPOp>,
               FromIntegerPattern<arith::UIToFPOp, LLVM::UIToFPOp>>(lowering);
}

LogicalResult tilemlir::to_nvvm::expandFloat8(Operation *root) {
  bool any =
      root->walk([](Operation *op) {
            bool converts =
                isa<arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op) &&
                isFloat8(op->getResult(0).getType());
            converts |=
                isa<arith::ExtFOp>(op) && isFloat8(op->getOperand(0).getType());
            return converts ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (!any)
    return success();
  RewritePatternSet patterns(root->getContext());
  patterns.add<ExpandTrunc, ExpandExt, ExpandFromInteger<arith::SIToFPOp>,
               ExpandFromInteger<arith::UIToFPOp>>(root->getContext());
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(root, std::move(patterns), config);
}
