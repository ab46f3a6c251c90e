//===- ExpandMath.cpp - elementary functions as arithmetic ----------------===//
//
// exp, exp2, log, log2 and tanh of f32 become branch-free code, which LLVM
// vectorises together with the loop around it; a call of libm would not be. All
// are within 2 ulp and exact for infinities, NaN, zeros and subnormals. The
// other functions, and f64, stay calls of libm.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace tilemlir {
#define GEN_PASS_DEF_EXPANDMATH
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;

namespace {

/// Builds the functions for f32 and vectors of it.
struct MathBuilder {
  OpBuilder &b;
  Location loc;
  Type type;     ///< of the argument
  Type bitsType; ///< i32 of the same shape
  using Predicate = arith::CmpFPredicate;

  MathBuilder(Operation *op, OpBuilder &builder)
      : b(builder), loc(op->getLoc()), type(op->getResult(0).getType()),
        bitsType(b.getI32Type()) {
    if (auto vector = dyn_cast<VectorType>(type))
      bitsType = vector.clone(b.getI32Type());
  }

  template <typename OpT, typename... Args> Value op(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...);
  }
  Value shaped(Type of, Attribute element) {
    if (auto vector = dyn_cast<VectorType>(of))
      element = DenseElementsAttr::get(vector, element);
    return op<arith::ConstantOp>(cast<TypedAttr>(element));
  }
  Value f(float value) { return shaped(type, b.getF32FloatAttr(value)); }
  Value i(int32_t value) {
    return shaped(bitsType, b.getI32IntegerAttr(value));
  }
  Value toBits(Value x) { return op<arith::BitcastOp>(bitsType, x); }
  Value fromBits(Value x) { return op<arith::BitcastOp>(type, x); }
  Value add(Value x, Value y) { return op<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return op<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return op<arith::MulFOp>(x, y); }
  /// x * y + z, fused where the host can.
  Value mad(Value x, Value y, Value z) { return op<LLVM::FMulAddOp>(x, y, z); }
  Value test(Predicate predicate, Value x, Value y) {
    return op<arith::CmpFOp>(predicate, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return op<arith::SelectOp>(condition, yes, no);
  }
  Value clamp(Value x, float lower, float upper) {
    Value low = select(test(Predicate::OLT, x, f(lower)), f(lower), x);
    return select(test(Predicate::OGT, low, f(upper)), f(upper), low);
  }
  /// Nearest integer, for magnitudes below 2^22: adding 1.5 * 2^23 leaves no
  /// room for a fraction.
  Value nearest(Value x) {
    Value magic = f(12582912.0f);
    return sub(add(x, magic), magic);
  }
  /// p * 2^n for -160 < n < 140, in two steps so that subnormal results round
  /// once and large ones become infinite.
  Value scale(Value p, Value n) {
    Value exponent = op<arith::FPToSIOp>(bitsType, n);
    Value half = op<arith::ShRSIOp>(exponent, i(1));
    Value rest = op<arith::SubIOp>(exponent, half);
    auto power = [&](Value k) {
      return fromBits(op<arith::ShLIOp>(op<arith::AddIOp>(k, i(127)), i(23)));
    };
    return mul(mul(p, power(half)), power(rest));
  }
  Value horner(Value x, ArrayRef<double> coefficients) {
    Value result = f(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      result = mad(result, x, f(c));
    return result;
  }
  Value keepNaN(Value x, Value result) {
    return select(test(Predicate::UNO, x, x), x, result);
  }

  /// 2^x = 2^n 2^r with |r| <= 1/2; Taylor to degree 7, error below 2^-27.
  Value exp2(Value x) {
    Value bounded = clamp(x, -151.0f, 129.0f);
    Value n = nearest(bounded);
    Value r = sub(bounded, n);
    SmallVector<double> taylor;
    double term = 1;
    for (int k = 1; k <= 8; ++k) {
      taylor.push_back(term);
      term *= M_LN2 / k;
    }
    return keepNaN(x, scale(horner(r, taylor), n));
  }

  /// e^x = 2^n e^r with |r| <= ln(2)/2. ln 2 is split (Cody and Waite) so that
  /// n times its head is exact.
  Value exp(Value x) {
    Value bounded = clamp(x, -104.5f, 89.5f);
    Value n = nearest(mul(bounded, f(M_LOG2E)));
    Value r = mad(n, f(-0.693359375f), bounded);
    r = mad(n, f(2.12194440e-4f), r);
    SmallVector<double> taylor;
    double term = 1;
    for (int k = 1; k <= 8; ++k) {
      taylor.push_back(term);
      term /= k;
    }
    return keepNaN(x, scale(horner(r, taylor), n));
  }

  /// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) by the
  /// series in s = f / (2 + f), arranged as f - (f^2/2 - s (f^2/2 + R)).
  struct LogParts {
    Value k, f, halfSquare, tail; ///< tail = s * (halfSquare + R)
  };
  LogParts splitLog(Value x) {
    Value isSubnormal = test(Predicate::OLT, x, f(1.17549435e-38f));
    Value scaled = select(isSubnormal, mul(x, f(8388608.0f)), x);
    Value bits = toBits(scaled);
    Value exponent =
        op<arith::ShRSIOp>(op<arith::SubIOp>(bits, i(0x3f3504f3)), i(23));
    Value m =
        fromBits(op<arith::SubIOp>(bits, op<arith::ShLIOp>(exponent, i(23))));
    Value k = op<arith::SIToFPOp>(type, exponent);
    k = sub(k, select(isSubnormal, f(23.0f), f(0.0f)));
    Value fraction = sub(m, f(1.0f));
    Value s = op<arith::DivFOp>(fraction, add(fraction, f(2.0f)));
    Value z = mul(s, s);
    Value r = mul(z, horner(z, {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9}));
    Value halfSquare = mul(mul(f(0.5f), fraction), fraction);
    return {k, fraction, halfSquare, mul(s, add(halfSquare, r))};
  }
  /// Values outside of (0, inf), shared by the logarithms.
  Value logSpecial(Value x, Value result) {
    Value zero = f(0.0f), infinity = f(INFINITY);
    result = select(test(Predicate::OEQ, x, zero), f(-INFINITY), result);
    result = select(test(Predicate::OLT, x, zero), f(NAN), result);
    result = select(test(Predicate::OEQ, x, infinity), infinity, result);
    return keepNaN(x, result);
  }
  Value log(Value x) {
    LogParts p = splitLog(x);
    Value low = mad(p.k, f(9.0580006145e-06f), p.tail);
    Value log1p = sub(p.f, sub(p.halfSquare, low));
    return logSpecial(x, mad(p.k, f(6.9313812256e-01f), log1p));
  }
  Value log2(Value x) {
    LogParts p = splitLog(x);
    // log(1 + f) as a head of 12 bits, whose product with the head of
    // 1 / ln 2 is exact, and a tail.
    Value head = sub(p.f, p.halfSquare);
    head = fromBits(op<arith::AndIOp>(toBits(head), i(~0xfff)));
    Value tail = add(sub(sub(p.f, head), p.halfSquare), p.tail);
    Value high = f(1.4428710938e+00f), low = f(-1.7605285393e-04f);
    Value result = mul(add(tail, head), low);
    result = mad(tail, high, result);
    result = mad(head, high, result);
    return logSpecial(x, add(result, p.k));
  }

  /// Odd polynomial below 0.625, else 1 - 2 / (e^2|x| + 1). Coefficients as in
  /// S. Moshier's Cephes library (public domain).
  Value tanh(Value x) {
    Value bits = toBits(x);
    Value magnitude = fromBits(op<arith::AndIOp>(bits, i(0x7fffffff)));
    Value sign = op<arith::AndIOp>(bits, i(INT32_MIN));
    Value z = mul(x, x);
    Value p = horner(z, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                         2.06390887954e-2, -5.70498872745e-3});
    Value small = mad(mul(p, z), x, x);
    Value e = exp(add(magnitude, magnitude));
    Value large = sub(f(1.0f), op<arith::DivFOp>(f(2.0f), add(e, f(1.0f))));
    Value result =
        select(test(Predicate::OLT, magnitude, f(0.625f)), small, large);
    // The function is odd; this also keeps the sign of zero.
    result = fromBits(op<arith::OrIOp>(toBits(result), sign));
    return keepNaN(x, result);
  }
};

struct ExpandMath : public tilemlir::impl::ExpandMathBase<ExpandMath> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
              math::TanhOp>(op) &&
          getElementTypeOrSelf(op->getResult(0).getType()).isF32())
        worklist.push_back(op);
    });
    for (Operation *op : worklist) {
      OpBuilder builder(op);
      MathBuilder math(op, builder);
      Value x = op->getOperand(0);
      Value result = llvm::TypeSwitch<Operation *, Value>(op)
                         .Case([&](math::ExpOp) { return math.exp(x); })
                         .Case([&](math::Exp2Op) { return math.exp2(x); })
                         .Case([&](math::LogOp) { return math.log(x); })
                         .Case([&](math::Log2Op) { return math.log2(x); })
                         .Case([&](math::TanhOp) { return math.tanh(x); });
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};

} // namespace
