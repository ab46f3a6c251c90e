//===- DoubleMath.cpp - elementary functions of f64 -------------*- C++ -*-===//
//
// Errors are those of the tests, in units in the last place: exp, exp2, expm1,
// log, log2, log10, log1p, sin, cos and rsqrt below 1.5; tanh, erf, pow below
// 2; tan below 3.
//
//===----------------------------------------------------------------------===//
#include "DoubleMath.h"

#include "tilemlir/Dialect/TileGPU/Transforms/ExactArithmetic.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace tilemlir;
using Predicate = arith::CmpFPredicate;
using IntPredicate = arith::CmpIPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ln 2, with a head whose product with an exponent is exact; and what else is
// needed in two or three doubles.
static constexpr double kLn2Head = 0x1.62e42fefa3800p-1;
static constexpr double kLn2Tail = 0x1.ef35793c76730p-45;
static constexpr double kLn2High = 0x1.62e42fefa39efp-1;
static constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
static constexpr double kLog2EHigh = 0x1.71547652b82fep+0;
static constexpr double kLog2ELow = 0x1.777d0ffda0d24p-56;
static constexpr double kLog10EHigh = 0x1.bcb7b1526e50ep-2;
static constexpr double kLog10ELow = 0x1.95355baaafad3p-57;
static constexpr double kLog10Of2Head = 0x1.34413509f7000p-2;
static constexpr double kLog10Of2Tail = 0x1.3fde623e2566bp-43;
static constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
static constexpr double kHalfPiMiddle = 0x1.1a62633145c07p-54;
static constexpr double kHalfPiLow = -1.4973849048591698e-33;
static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// (e^r - 1 - r) / r^2 for |r| < 0.348; error 2^-65.
static constexpr double kExpTail[] = {0.5,
                                      0.16666666666666666,
                                      0.04166666666666668,
                                      0.008333333333333333,
                                      0.0013888888888878854,
                                      0.00019841269841263152,
                                      2.480158733702903e-05,
                                      2.755731924760984e-06,
                                      2.75572626528368e-07,
                                      2.5052070676884162e-08,
                                      2.091836877654225e-09,
                                      1.6086781948613066e-10};

/// (2 atanh(s) / s - 2) / z in z = s^2 for |s| < 0.172; error 2^-58.
static constexpr double kLogTail[] = {0.6666666666666666,  0.40000000000000885,
                                      0.28571428570799784, 0.22222222392581045,
                                      0.18181795547521137, 0.15386244737621665,
                                      0.13268638369266825, 0.13088034850927555};

/// The same without its first term 2/3, divided by z; error 2^-66.
static constexpr double kLogSecondTail[] = {0.4,
                                            0.28571428571428564,
                                            0.2222222222222847,
                                            0.1818181817964499,
                                            0.1538461576290815,
                                            0.13333296397963834,
                                            0.11766819021629554,
                                            0.10456195110401492,
                                            0.1076362151501126};

/// (sin(r) / r - 1) / z in z = r^2 for |r| < 0.8; error 2^-65.
static constexpr double kSinTail[] = {
    -0.16666666666666666, 0.008333333333333331,   -0.00019841269841263702,
    2.75573192183055e-06, -2.505210588256116e-08, 1.6058477566369284e-10,
    -7.58359092308199e-13};

/// (cos(r) - 1 + z / 2) / z^2; error 2^-69.
static constexpr double kCosTail[] = {
    0.041666666666666664,    -0.0013888888888888887, 2.480158730158389e-05,
    -2.7557319220828123e-07, 2.0876755596547824e-09, -1.1470430834864356e-11,
    4.7441448801126805e-14};

/// erf(x) / x in x^2 for |x| < 1; error 2^-62.
static constexpr double kErfCentre[] = {
    1.1283791670955126,      -0.3761263890318375,     0.11283791670954879,
    -0.026866170645076792,   0.0052239776248180145,   -0.000854832698083379,
    0.0001205533111164271,   -1.4925595266831182e-05, 1.6461000484121368e-06,
    -1.6350312701054695e-07, 1.4659775274047436e-08,  -1.1372848856791674e-09,
    5.957176147748911e-11};

/// erfc(x) e^(x^2) in (x - 3) / (x + 3) for 1 <= x <= 6; error 2^-62.
static constexpr double kErfcTail[] = {
    0.17900115118138996,     -0.3262335600430372,    0.24560380171233093,
    -0.15011593650077582,    0.07166583719797331,    -0.024392499318790735,
    0.004269136333077869,    0.0007077464435611972,  -0.0005970619531815352,
    4.525520140579536e-05,   6.405657794051666e-05,  -1.2859347351455289e-05,
    -7.977696579644072e-06,  2.1124428949403864e-06, 1.2459620847174093e-06,
    -2.6915157592850126e-07, -2.0355575642200858e-07};

/// Bits of 2 / pi, most significant first: a word before the binary point, and
/// those after it.
static constexpr uint64_t kTwoOverPiBits[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <typename OpT, typename... Args>
Value DoubleMath::create(Args &&...args) {
  Operation *op = OpT::create(b, loc, std::forward<Args>(args)...);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::NegFOp, math::FmaOp, math::SqrtOp>(op))
    setExactArithmetic(op);
  return op->getResult(0);
}

Value DoubleMath::f(double value) {
  return create<arith::ConstantOp>(b.getF64FloatAttr(value));
}
Value DoubleMath::i(int64_t value) {
  return create<arith::ConstantOp>(b.getI64IntegerAttr(value));
}
Value DoubleMath::i1(bool value) {
  return create<arith::ConstantOp>(b.getBoolAttr(value));
}
Value DoubleMath::add(Value x, Value y) { return create<arith::AddFOp>(x, y); }
Value DoubleMath::sub(Value x, Value y) { return create<arith::SubFOp>(x, y); }
Value DoubleMath::mul(Value x, Value y) { return create<arith::MulFOp>(x, y); }
Value DoubleMath::div(Value x, Value y) { return create<arith::DivFOp>(x, y); }
Value DoubleMath::fma(Value x, Value y, Value z) {
  return create<math::FmaOp>(x, y, z);
}
Value DoubleMath::neg(Value x) { return create<arith::NegFOp>(x); }
Value DoubleMath::abs(Value x) { return create<math::AbsFOp>(x); }
Value DoubleMath::copySign(Value magnitude, Value sign) {
  return create<math::CopySignOp>(magnitude, sign);
}
Value DoubleMath::nearest(Value x) { return create<math::RoundEvenOp>(x); }
Value DoubleMath::select(Value condition, Value yes, Value no) {
  return create<arith::SelectOp>(condition, yes, no);
}
Value DoubleMath::test(Predicate predicate, Value x, Value y) {
  return create<arith::CmpFOp>(predicate, x, y);
}
Value DoubleMath::testInt(IntPredicate predicate, Value x, Value y) {
  return create<arith::CmpIOp>(predicate, x, y);
}
Value DoubleMath::both(Value x, Value y) { return create<arith::AndIOp>(x, y); }
Value DoubleMath::either(Value x, Value y) {
  return create<arith::OrIOp>(x, y);
}
Value DoubleMath::isNaN(Value x) { return test(Predicate::UNO, x, x); }
Value DoubleMath::toBits(Value x) {
  return create<arith::BitcastOp>(b.getI64Type(), x);
}
Value DoubleMath::fromBits(Value x) {
  return create<arith::BitcastOp>(b.getF64Type(), x);
}
Value DoubleMath::toInt(Value x) {
  return create<arith::FPToSIOp>(b.getI64Type(), x);
}
Value DoubleMath::toFloat(Value x) {
  return create<arith::SIToFPOp>(b.getF64Type(), x);
}
/// NaN gives the lower bound.
Value DoubleMath::clamp(Value x, double lower, double upper) {
  Value low = select(test(Predicate::OGT, x, f(lower)), x, f(lower));
  return select(test(Predicate::OLT, low, f(upper)), low, f(upper));
}
Value DoubleMath::keepNaN(Value x, Value result) {
  return select(isNaN(x), x, result);
}

DoubleMath::Pair DoubleMath::twoSum(Value x, Value y) {
  Value sum = add(x, y);
  Value part = sub(sum, x);
  Value error = add(sub(x, sub(sum, part)), sub(y, part));
  return {sum, error};
}

DoubleMath::Pair DoubleMath::fastTwoSum(Value x, Value y) {
  Value sum = add(x, y);
  return {sum, sub(y, sub(sum, x))};
}

DoubleMath::Pair DoubleMath::twoProduct(Value x, Value y) {
  Value product = mul(x, y);
  return {product, fma(x, y, neg(product))};
}

Value DoubleMath::horner(Value x, ArrayRef<double> coefficients) {
  Value result = f(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, f(c));
  return result;
}

Value DoubleMath::scale(Value p, Value n) {
  // In two steps, so that each factor is a normal number; only the second
  // product rounds.
  Value half = create<arith::ShRSIOp>(n, i(1));
  Value rest = create<arith::SubIOp>(n, half);
  auto power = [&](Value k) {
    return fromBits(
        create<arith::ShLIOp>(create<arith::AddIOp>(k, i(1023)), i(52)));
  };
  return mul(mul(p, power(half)), power(rest));
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

DoubleMath::Reduced DoubleMath::reduceExp(Value x) {
  Value n = nearest(mul(x, f(kLog2EHigh)));
  // The head has few bits: the first difference is exact.
  Value high = fma(n, f(-kLn2Head), x);
  Value tail = mul(n, f(kLn2Tail));
  Value r = sub(high, tail);
  return {toInt(n), r, sub(sub(high, r), tail)};
}

Value DoubleMath::expm1Reduced(Value high, Value low) {
  Value tail = mul(mul(high, high), horner(high, kExpTail));
  // low contributes low * e^high.
  Value correction = fma(low, add(high, tail), low);
  return add(high, add(tail, correction));
}

Value DoubleMath::exp(Value x) {
  Reduced r = reduceExp(clamp(x, -746.0, 710.0));
  Value p = add(f(1.0), expm1Reduced(r.high, r.low));
  return keepNaN(x, scale(p, r.n));
}

Value DoubleMath::exp2(Value x) {
  Value bounded = clamp(x, -1076.0, 1025.0);
  Value n = nearest(bounded);
  Value fraction = sub(bounded, n);
  Pair r = twoProduct(fraction, f(kLn2High));
  Value low = fma(fraction, f(kLn2Low), r.low);
  Value p = add(f(1.0), expm1Reduced(r.high, low));
  return keepNaN(x, scale(p, toInt(n)));
}

Value DoubleMath::expm1(Value x) {
  // Below -40 the result is -1; beyond 709.8 it is infinite.
  Value bounded = clamp(x, -40.0, 709.9);
  Reduced r = reduceExp(bounded);
  Value q = expm1Reduced(r.high, r.low);
  // 2^n q + (2^n - 1), the sum being of numbers that differ in size: halves
  // avoid the overflow of 2^1024.
  Value half = fromBits(
      create<arith::ShLIOp>(create<arith::AddIOp>(r.n, i(1022)), i(52)));
  Value sum = fma(half, q, sub(half, f(0.5)));
  Value result = add(sum, sum);
  // With n = 0 that is q, but for the sign of zero and tiny numbers.
  result = select(testInt(IntPredicate::eq, r.n, i(0)), q, result);
  result = select(test(Predicate::OEQ, x, f(0.0)), x, result);
  return keepNaN(x, result);
}

Value DoubleMath::tanh(Value x) {
  Value magnitude = abs(x);
  Value t = expm1(clamp(add(magnitude, magnitude), 0.0, 80.0));
  // For t < 2, with what the sum and the division lost.
  Pair sum = fastTwoSum(f(2.0), t);
  Value small = div(t, sum.high);
  Value rest = fma(neg(small), sum.low, fma(neg(small), sum.high, t));
  small = add(small, div(rest, sum.high));
  Value large = sub(f(1.0), div(f(2.0), sum.high));
  Value result = select(test(Predicate::OLT, magnitude, f(0.55)), small, large);
  return keepNaN(x, copySign(result, x));
}

Value DoubleMath::erf(Value x) {
  Value magnitude = abs(x);
  Value small = mul(magnitude, horner(mul(x, x), kErfCentre));
  Value bounded = clamp(magnitude, 1.0, 6.0);
  Value t = div(sub(bounded, f(3.0)), add(bounded, f(3.0)));
  Value decay = exp(neg(mul(bounded, bounded)));
  Value large = fma(neg(decay), horner(t, kErfcTail), f(1.0));
  Value result = select(test(Predicate::OLT, magnitude, f(1.0)), small, large);
  return keepNaN(x, copySign(result, x));
}

Value DoubleMath::rsqrt(Value x) {
  // One correction of 1 / sqrt(x): y + y (1 - x y^2) / 2. Zero and infinity
  // have none.
  Value y = div(f(1.0), create<math::SqrtOp>(x));
  Pair square = twoProduct(y, y);
  Value rest = fma(neg(x), square.high, f(1.0));
  rest = fma(neg(x), square.low, rest);
  Value better = fma(mul(y, f(0.5)), rest, y);
  Value isFinite = test(Predicate::OLT, abs(better), f(kInfinity));
  Value isPlain = both(isFinite, test(Predicate::OLT, x, f(kInfinity)));
  return select(isPlain, better, y);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

DoubleMath::Split DoubleMath::split(Value x) {
  Value isSubnormal = test(Predicate::OLT, x, f(0x1p-1022));
  Value bits = toBits(select(isSubnormal, mul(x, f(0x1p54)), x));
  // The exponent of x / sqrt(1/2).
  Value k = create<arith::ShRSIOp>(
      create<arith::SubIOp>(bits, i(0x3fe6a09e667f3bcd)), i(52));
  Value m =
      fromBits(create<arith::SubIOp>(bits, create<arith::ShLIOp>(k, i(52))));
  k = create<arith::SubIOp>(k, select(isSubnormal, i(54), i(0)));
  return {toFloat(k), m};
}

/// Results where x is no positive finite number.
Value DoubleMath::logSpecial(Value x, Value result) {
  result = select(test(Predicate::OEQ, x, f(kInfinity)), x, result);
  result = select(test(Predicate::OEQ, x, f(0.0)), f(-kInfinity), result);
  result = select(test(Predicate::OLT, x, f(0.0)), f(kNaN), result);
  return keepNaN(x, result);
}

DoubleMath::Pair DoubleMath::logOfMantissa(Value fraction) {
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f); since f - s f = 2 s, this is
  // f - (f^2 / 2 - s (f^2 / 2 + R)). The square is kept exactly.
  Value s = div(fraction, add(fraction, f(2.0)));
  Value z = mul(s, s);
  Value tail = mul(z, horner(z, kLogTail));
  Pair square = twoProduct(mul(f(0.5), fraction), fraction);
  Pair difference = fastTwoSum(fraction, neg(square.high));
  Value low = fma(s, add(square.high, tail), sub(difference.low, square.low));
  return fastTwoSum(difference.high, low);
}

Value DoubleMath::log(Value x) {
  Split parts = split(x);
  Pair m = logOfMantissa(sub(parts.m, f(1.0)));
  Pair high = fastTwoSum(mul(parts.k, f(kLn2Head)), m.high);
  Value low = add(fma(parts.k, f(kLn2Tail), m.low), high.low);
  // With k = 0 the sum of zero and the larger mantissa is no fast two-sum.
  Value isMantissa = test(Predicate::OEQ, parts.k, f(0.0));
  Value result = select(isMantissa, add(m.high, m.low), add(high.high, low));
  return logSpecial(x, result);
}

Value DoubleMath::logBase(Value x, double inverseHigh, double inverseLow,
                          double kHigh, double kLow) {
  Split parts = split(x);
  Pair m = logOfMantissa(sub(parts.m, f(1.0)));
  Pair product = twoProduct(m.high, f(inverseHigh));
  Value low = fma(m.low, f(inverseHigh), product.low);
  low = fma(m.high, f(inverseLow), low);
  Pair sum = twoSum(mul(parts.k, f(kHigh)), product.high);
  low = add(sum.low, fma(parts.k, f(kLow), low));
  return logSpecial(x, add(sum.high, low));
}

Value DoubleMath::log2(Value x) {
  return logBase(x, kLog2EHigh, kLog2ELow, 1.0, 0.0);
}

Value DoubleMath::log10(Value x) {
  return logBase(x, kLog10EHigh, kLog10ELow, kLog10Of2Head, kLog10Of2Tail);
}

Value DoubleMath::log1p(Value x) {
  // u + c = 1 + x; log(u + c) = log(u) + c / u as far as it matters.
  Pair u = twoSum(f(1.0), x);
  Split parts = split(u.high);
  Pair m = logOfMantissa(sub(parts.m, f(1.0)));
  Value correction = div(u.low, u.high);
  Value k = parts.k;
  Pair high = twoSum(mul(k, f(kLn2Head)), m.high);
  Value low = add(fma(k, f(kLn2Tail), m.low), add(high.low, correction));
  Value result = add(high.high, low);
  result = select(test(Predicate::OEQ, x, f(kInfinity)), x, result);
  result = select(test(Predicate::OEQ, x, f(-1.0)), f(-kInfinity), result);
  result = select(test(Predicate::OLT, x, f(-1.0)), f(kNaN), result);
  result = select(test(Predicate::OLT, abs(x), f(0x1p-54)), x, result);
  return keepNaN(x, result);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

DoubleMath::Pair DoubleMath::preciseLog(Value x) {
  Split parts = split(x);
  Value fraction = sub(parts.m, f(1.0));
  // s = f / (2 + f) as a pair: the remainder of the division is exact.
  Pair denominator = fastTwoSum(f(2.0), fraction);
  Value s = div(fraction, denominator.high);
  Value remainder = fma(neg(s), denominator.high, fraction);
  Value sLow = div(fma(neg(s), denominator.low, remainder), denominator.high);
  // z = s^2 as a pair; 2 s + s z (2/3 + z P(z)).
  Pair z = twoProduct(s, s);
  z.low = fma(add(s, s), sLow, z.low);
  Pair inner =
      fastTwoSum(f(2.0 / 3), fma(z.high, horner(z.high, kLogSecondTail),
                                 f(0x1.5555555555555p-55)));
  Pair cubic = twoProduct(z.high, inner.high);
  cubic.low = fma(z.high, inner.low, fma(z.low, inner.high, cubic.low));
  Pair tail = twoProduct(s, cubic.high);
  tail.low = fma(s, cubic.low, fma(sLow, cubic.high, tail.low));
  Pair sum = fastTwoSum(add(s, s), tail.high);
  Value low = add(sum.low, add(add(sLow, sLow), tail.low));
  // The exponent's part.
  Pair total = twoSum(mul(parts.k, f(kLn2Head)), sum.high);
  low = add(total.low, fma(parts.k, f(kLn2Tail), low));
  return fastTwoSum(total.high, low);
}

Value DoubleMath::pow(Value x, Value y) {
  Value magnitude = abs(x);
  Pair logarithm = preciseLog(magnitude);
  // Larger exponents overflow or underflow whatever x is, but for x = 1.
  Value exponent = clamp(y, -0x1p65, 0x1p65);
  Pair product = twoProduct(exponent, logarithm.high);
  product.low = fma(exponent, logarithm.low, product.low);
  Value bounded = clamp(product.high, -746.0, 710.0);
  Value wasBounded = test(Predicate::ONE, bounded, product.high);
  product.low = select(wasBounded, f(0.0), product.low);
  Reduced r = reduceExp(bounded);
  Value p = add(f(1.0), expm1Reduced(r.high, add(r.low, product.low)));
  Value result = scale(p, r.n);

  Value zero = f(0.0), one = f(1.0), infinity = f(kInfinity);
  Value isInteger = test(Predicate::OEQ, create<math::FloorOp>(y), y);
  Value halfOfY = mul(y, f(0.5));
  Value isOdd = both(
      isInteger, test(Predicate::ONE, create<math::FloorOp>(halfOfY), halfOfY));
  // Zero and infinity to a finite power, and numbers to an infinite one.
  Value isNegativePower = test(Predicate::OLT, y, zero);
  auto choose = [&](Value shrinks) { return select(shrinks, zero, infinity); };
  Value isZero = test(Predicate::OEQ, magnitude, zero);
  Value isInfinite = test(Predicate::OEQ, magnitude, infinity);
  Value notNegativePower = create<arith::XOrIOp>(isNegativePower, i1(true));
  result = select(isZero, choose(notNegativePower), result);
  result = select(isInfinite, choose(isNegativePower), result);
  Value isSmall = test(Predicate::OLT, magnitude, one);
  Value hasInfinitePower = test(Predicate::OEQ, abs(y), infinity);
  Value vanishes = create<arith::XOrIOp>(isSmall, isNegativePower);
  result = select(hasInfinitePower, choose(vanishes), result);
  // Signs.
  Value isNegative = testInt(IntPredicate::slt, toBits(x), i(0));
  result = select(both(isNegative, isOdd), neg(result), result);
  Value isInvalid = both(both(test(Predicate::OLT, x, zero),
                              test(Predicate::OGT, x, f(-kInfinity))),
                         create<arith::XOrIOp>(isInteger, i1(true)));
  result = select(isInvalid, f(kNaN), result);
  result = select(isNaN(x), x, result);
  result = select(isNaN(y), y, result);
  Value isUnit = test(Predicate::OEQ, magnitude, one);
  Value givesOne =
      either(test(Predicate::OEQ, x, one), both(isUnit, hasInfinitePower));
  return select(either(givesOne, test(Predicate::OEQ, y, zero)), one, result);
}

Value DoubleMath::powi(Value x, Value exponent) {
  unsigned width = exponent.getType().getIntOrFloatBitWidth();
  if (width < 64)
    exponent = create<arith::ExtSIOp>(b.getI64Type(), exponent);
  return pow(x, toFloat(exponent));
}

//===----------------------------------------------------------------------===//
// Circular functions
//===----------------------------------------------------------------------===//

DoubleMath::Angle DoubleMath::reduceHugeAngle(Value x) {
  // Payne and Hanek: |x| = M 2^e with a 53-bit integer M and e >= -12. Bits of
  // 2 / pi that M 2^e makes multiples of 4 do not matter; of the next 192 bits,
  // the product gives the quadrant and a fraction that is right to 2^-126.
  Value bits = create<arith::AndIOp>(toBits(x), i(INT64_MAX));
  Value exponent =
      create<arith::SubIOp>(create<arith::ShRUIOp>(bits, i(52)), i(1075));
  Value mantissa = create<arith::OrIOp>(
      create<arith::AndIOp>(bits, i((int64_t(1) << 52) - 1)),
      i(int64_t(1) << 52));
  // The bit of weight 2^-p after the point has the weight M 2^(e - p): the
  // window begins with p = e - 1, behind the 64 bits before the point.
  Value first = create<arith::AddIOp>(exponent, i(62));
  Value word = create<arith::ShRUIOp>(first, i(6));
  Value shift = create<arith::AndIOp>(first, i(63));
  constexpr int64_t kWords = std::size(kTwoOverPiBits);
  auto wordAt = [&](int64_t offset) {
    Value result = i(0);
    for (int64_t w = kWords - 1; w >= 0; --w) {
      if (w < offset || w - offset > 16) // e <= 971
        continue;
      Value here = testInt(IntPredicate::eq, word, i(w - offset));
      result = select(here, i(static_cast<int64_t>(kTwoOverPiBits[w])), result);
    }
    return result;
  };
  Value words[4];
  for (int64_t offset = 0; offset < 4; ++offset)
    words[offset] = wordAt(offset);
  // The window, shifted into place; a shift by 64 is undefined.
  Value window[3];
  Value back = create<arith::SubIOp>(i(63), shift);
  for (int n = 0; n < 3; ++n)
    window[n] = create<arith::OrIOp>(
        create<arith::ShLIOp>(words[n], shift),
        create<arith::ShRUIOp>(create<arith::ShRUIOp>(words[n + 1], i(1)),
                               back));
  // The product modulo 2^192.
  auto multiply = [&](Value lhs, Value rhs) {
    auto op = arith::MulUIExtendedOp::create(b, loc, lhs, rhs);
    return std::make_pair(Value(op.getLow()), Value(op.getHigh()));
  };
  auto carry = [&](Value sum, Value addend) {
    return create<arith::ExtUIOp>(b.getI64Type(),
                                  testInt(IntPredicate::ult, sum, addend));
  };
  auto [low0, low1] = multiply(window[2], mantissa);
  auto [middle0, middle1] = multiply(window[1], mantissa);
  Value high = create<arith::MulIOp>(window[0], mantissa);
  Value middle = create<arith::AddIOp>(low1, middle0);
  high = create<arith::AddIOp>(create<arith::AddIOp>(high, middle1),
                               carry(middle, low1));

  // The top two bits are the quadrant; round to the nearest one.
  Value quadrant = create<arith::ShRUIOp>(high, i(62));
  Value fractionHigh = create<arith::OrIOp>(
      create<arith::ShLIOp>(high, i(2)), create<arith::ShRUIOp>(middle, i(62)));
  Value fractionLow = create<arith::OrIOp>(create<arith::ShLIOp>(middle, i(2)),
                                           create<arith::ShRUIOp>(low0, i(62)));
  Value isUpper = testInt(IntPredicate::slt, fractionHigh, i(0));
  quadrant = create<arith::AddIOp>(
      quadrant, create<arith::ExtUIOp>(b.getI64Type(), isUpper));
  // The fraction in [-1/2, 1/2) as a two's complement number of 128 bits: its
  // magnitude is normalised, so that small angles keep all their bits.
  Value mask = create<arith::ShRSIOp>(fractionHigh, i(63));
  Value magnitudeHigh = create<arith::XOrIOp>(fractionHigh, mask);
  Value magnitudeLow = create<arith::XOrIOp>(fractionLow, mask);
  Value zeros = create<math::CountLeadingZerosOp>(magnitudeHigh);
  zeros = select(testInt(IntPredicate::ugt, zeros, i(63)), i(63), zeros);
  Value spread = create<arith::SubIOp>(i(63), zeros);
  magnitudeHigh = create<arith::OrIOp>(
      create<arith::ShLIOp>(magnitudeHigh, zeros),
      create<arith::ShRUIOp>(create<arith::ShRUIOp>(magnitudeLow, i(1)),
                             spread));
  magnitudeLow = create<arith::ShLIOp>(magnitudeLow, zeros);
  // 53 bits, and what follows.
  Value head = create<arith::ShRUIOp>(magnitudeHigh, i(11));
  Value tail = create<arith::OrIOp>(
      create<arith::ShLIOp>(
          create<arith::AndIOp>(magnitudeHigh, i((1 << 11) - 1)), i(42)),
      create<arith::ShRUIOp>(magnitudeLow, i(22)));
  Value highPart = mul(toFloat(head), f(0x1p-53));
  Value lowPart = mul(toFloat(tail), f(0x1p-106));
  Pair turn = twoProduct(highPart, f(kHalfPiHigh));
  Value low =
      fma(highPart, f(kHalfPiMiddle), fma(lowPart, f(kHalfPiHigh), turn.low));
  // Undo the normalisation, and apply both signs.
  Value factor = fromBits(
      create<arith::ShLIOp>(create<arith::SubIOp>(i(1023), zeros), i(52)));
  Value isNegative = testInt(IntPredicate::slt, toBits(x), i(0));
  Value flips = create<arith::XOrIOp>(isUpper, isNegative);
  factor = select(flips, neg(factor), factor);
  quadrant =
      select(isNegative, create<arith::SubIOp>(i(0), quadrant), quadrant);
  return {mul(turn.high, factor), mul(low, factor), quadrant};
}

DoubleMath::Angle DoubleMath::reduceAngle(Value x) {
  // n pi/2 in three parts. x and the first product are multiples of 2^-52, so
  // their difference is exact; this holds far beyond the limit.
  constexpr double kLimit = 0x1p40;
  Value isHuge =
      create<arith::XOrIOp>(test(Predicate::OLT, abs(x), f(kLimit)), i1(true));
  Value safe = select(isHuge, f(0.0), x);
  Value n = nearest(mul(safe, f(kTwoOverPi)));
  Value t = fma(n, f(-kHalfPiHigh), safe);
  Pair product = twoProduct(n, f(kHalfPiMiddle));
  Pair r = twoSum(t, neg(product.high));
  Value low = sub(r.low, fma(n, f(kHalfPiLow), product.low));
  Pair sum = fastTwoSum(r.high, low);
  Angle angle{sum.high, sum.low, toInt(n)};

  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  auto branch = scf::IfOp::create(b, loc, TypeRange{f64, f64, i64}, isHuge,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Angle huge = reduceHugeAngle(x);
  scf::YieldOp::create(b, loc, ValueRange{huge.high, huge.low, huge.quadrant});
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc,
                       ValueRange{angle.high, angle.low, angle.quadrant});
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

Value DoubleMath::sinReduced(const Angle &angle) {
  Value r = angle.high;
  Value z = mul(r, r);
  // sin(r + low) = sin(r) + low cos(r).
  Value cosine = fma(z, f(-0.5), f(1.0));
  Value tail = mul(mul(z, r), horner(z, kSinTail));
  return add(r, fma(angle.low, cosine, tail));
}

Value DoubleMath::cosReduced(const Angle &angle) {
  Value r = angle.high;
  Value z = mul(r, r);
  Value half = mul(z, f(0.5));
  Value w = sub(f(1.0), half);
  // What 1 - z/2 lost, then the rest of the series, less low sin(r).
  Value lost = sub(sub(f(1.0), w), half);
  Value tail = fma(mul(z, z), horner(z, kCosTail), lost);
  return add(w, fma(neg(r), angle.low, tail));
}

// Infinite and NaN arguments give NaN; zero keeps its sign.

Value DoubleMath::sin(Value x) {
  Angle angle = reduceAngle(x);
  Value odd = create<arith::AndIOp>(angle.quadrant, i(1));
  Value isOdd = testInt(IntPredicate::ne, odd, i(0));
  Value result = select(isOdd, cosReduced(angle), sinReduced(angle));
  Value upper = create<arith::AndIOp>(angle.quadrant, i(2));
  result = select(testInt(IntPredicate::ne, upper, i(0)), neg(result), result);
  result = select(test(Predicate::OEQ, x, f(0.0)), x, result);
  return select(test(Predicate::OLT, abs(x), f(kInfinity)), result, f(kNaN));
}

Value DoubleMath::cos(Value x) {
  Angle angle = reduceAngle(x);
  Value odd = create<arith::AndIOp>(angle.quadrant, i(1));
  Value isOdd = testInt(IntPredicate::ne, odd, i(0));
  Value result = select(isOdd, sinReduced(angle), cosReduced(angle));
  Value next = create<arith::AddIOp>(angle.quadrant, i(1));
  Value upper = create<arith::AndIOp>(next, i(2));
  result = select(testInt(IntPredicate::ne, upper, i(0)), neg(result), result);
  return select(test(Predicate::OLT, abs(x), f(kInfinity)), result, f(kNaN));
}

Value DoubleMath::tan(Value x) {
  Angle angle = reduceAngle(x);
  Value sine = sinReduced(angle), cosine = cosReduced(angle);
  Value odd = create<arith::AndIOp>(angle.quadrant, i(1));
  Value isOdd = testInt(IntPredicate::ne, odd, i(0));
  Value result =
      div(select(isOdd, neg(cosine), sine), select(isOdd, sine, cosine));
  result = select(test(Predicate::OEQ, x, f(0.0)), x, result);
  return select(test(Predicate::OLT, abs(x), f(kInfinity)), result, f(kNaN));
}
