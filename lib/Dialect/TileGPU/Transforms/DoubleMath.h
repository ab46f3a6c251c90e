//===- DoubleMath.h - elementary functions of f64 ---------------*- C++ -*-===//
//
// Emits the functions as arithmetic, fused multiply-adds and square roots. The
// algorithms are the usual ones: argument reduction, a polynomial that was
// fitted at Chebyshev points with 60 digits, and pairs of doubles where one
// double is not enough.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILEGPU_TRANSFORMS_DOUBLEMATH_H
#define TILEMLIR_LIB_DIALECT_TILEGPU_TRANSFORMS_DOUBLEMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tilemlir {

class DoubleMath {
public:
  using Value = mlir::Value;

  DoubleMath(mlir::OpBuilder &builder, mlir::Location location)
      : b(builder), loc(location) {}

  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x);
  Value log1p(Value x);
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value rsqrt(Value x);
  Value pow(Value x, Value y);
  /// x to the power of a signed integer.
  Value powi(Value x, Value exponent);

private:
  /// An unevaluated sum; `low` is below half a unit in the last place of
  /// `high`, or nearly so.
  struct Pair {
    Value high, low;
  };

  //--- operations
  template <typename OpT, typename... Args> Value create(Args &&...args);
  Value f(double value);
  Value i(int64_t value);
  Value i1(bool value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value neg(Value x);
  Value abs(Value x);
  Value copySign(Value magnitude, Value sign);
  Value nearest(Value x);
  Value select(Value condition, Value yes, Value no);
  Value test(mlir::arith::CmpFPredicate predicate, Value x, Value y);
  Value testInt(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value isNaN(Value x);
  Value toBits(Value x);
  Value fromBits(Value x);
  Value toInt(Value x);
  Value toFloat(Value x);
  Value clamp(Value x, double lower, double upper);
  Value keepNaN(Value x, Value result);

  //--- pairs
  Pair twoSum(Value x, Value y);
  /// For |x| >= |y|.
  Pair fastTwoSum(Value x, Value y);
  Pair twoProduct(Value x, Value y);

  //--- parts of functions
  Value horner(Value x, llvm::ArrayRef<double> coefficients);
  /// p * 2^n for |n| < 2000, rounded once.
  Value scale(Value p, Value n);
  /// x - n ln 2 for the nearest integer n to x / ln 2.
  struct Reduced {
    Value n, high, low;
  };
  Reduced reduceExp(Value x);
  /// e^(high + low) - 1 for |high| < 0.36.
  Value expm1Reduced(Value high, Value low);
  /// Positive x = 2^k m with m in [sqrt(1/2), sqrt(2)).
  struct Split {
    Value k, m;
  };
  Split split(Value x);
  /// log(1 + f) as a pair, for 1 + f in that range.
  Pair logOfMantissa(Value fraction);
  /// The same to about 2^-65.
  Pair preciseLog(Value x);
  Value logBase(Value x, double inverseHigh, double inverseLow, double kHigh,
                double kLow);
  Value logSpecial(Value x, Value result);
  /// The angle in [-pi/4, pi/4] and the quadrant (i64) of x.
  struct Angle {
    Value high, low, quadrant;
  };
  Angle reduceAngle(Value x);
  Angle reduceHugeAngle(Value x);
  Value sinReduced(const Angle &angle);
  Value cosReduced(const Angle &angle);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace tilemlir

#endif // TILEMLIR_LIB_DIALECT_TILEGPU_TRANSFORMS_DOUBLEMATH_H
