//===- ExpandSmallFloats.cpp - 8 and 16 bit floats on a CPU -----*- C++ -*-===//
//
// Arithmetic on f16, bf16, f8E4M3FN and f8E5M2 is done in f32; the conversions
// become integer code that LLVM vectorises, without calls of the compiler's
// runtime library. All narrowing rounds once, to nearest even. The 8-bit
// formats saturate: overflow and infinity give the largest finite value, as
// PTX's cvt.rn.satfinite does.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilemlir {
#define GEN_PASS_DEF_EXPANDSMALLFLOATS
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;

namespace {

/// The encoding of a float type.
struct Format {
  int64_t bits, mantissa, bias;
  bool hasInfinity; ///< else the largest exponent holds numbers and one NaN
  bool saturates;

  int64_t exponentBits() const { return bits - 1 - mantissa; }
  /// The pattern that a too large magnitude becomes.
  int64_t overflow() const {
    int64_t infinity = ((int64_t(1) << exponentBits()) - 1) << mantissa;
    if (!hasInfinity)
      return infinity | ((int64_t(1) << mantissa) - 2);
    return saturates ? infinity - 1 : infinity;
  }
  int64_t nan() const {
    int64_t all = (int64_t(1) << (bits - 1)) - 1;
    if (bits == 8)
      return all;
    return overflow() | (int64_t(1) << (mantissa - 1));
  }
};

std::optional<Format> getFormat(Type type) {
  if (type.isF16())
    return Format{16, 10, 15, true, false};
  if (type.isBF16())
    return Format{16, 7, 127, true, false};
  if (isa<Float8E4M3FNType>(type))
    return Format{8, 3, 7, false, true};
  if (isa<Float8E5M2Type>(type))
    return Format{8, 2, 15, true, true};
  return std::nullopt;
}

bool isSmall(Type type) {
  return getFormat(getElementTypeOrSelf(type)).has_value();
}

Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

/// Builds the conversions at one place, for scalars and vectors.
struct Expander {
  OpBuilder &b;
  Location loc;
  bool nativeF16;

  template <typename OpT, typename... Args> Value op(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...);
  }
  Value integer(Type type, int64_t value) {
    auto element = cast<IntegerType>(getElementTypeOrSelf(type));
    Attribute attribute = IntegerAttr::get(
        element, APInt(element.getWidth(), value, false, true));
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return op<arith::ConstantOp>(cast<TypedAttr>(attribute));
  }
  Value powerOfTwo(Type type, int exponent) {
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    APFloat value = scalbn(APFloat(element.getFloatSemantics(), 1), exponent,
                           APFloat::rmNearestTiesToEven);
    Attribute attribute = FloatAttr::get(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return op<arith::ConstantOp>(cast<TypedAttr>(attribute));
  }

  /// Small float to f32, exactly.
  Value extend(Value value) {
    Type type = value.getType();
    Type small = getElementTypeOrSelf(type);
    Type f32 = withElement(type, b.getF32Type());
    if (small.isF16() && nativeF16)
      return op<arith::ExtFOp>(f32, value);
    Format format = *getFormat(small);
    Type i32 = withElement(type, b.getI32Type());
    Value bits = op<arith::BitcastOp>(
        withElement(type, b.getIntegerType(format.bits)), value);
    Value wide = op<arith::ExtUIOp>(i32, bits);
    if (small.isBF16())
      return op<arith::BitcastOp>(f32,
                                  op<arith::ShLIOp>(wide, integer(i32, 16)));
    Value magnitude =
        op<arith::AndIOp>(wide, integer(i32, (1 << (format.bits - 1)) - 1));
    Value sign = op<arith::ShLIOp>(op<arith::XOrIOp>(wide, magnitude),
                                   integer(i32, 32 - format.bits));
    Value shifted =
        op<arith::ShLIOp>(magnitude, integer(i32, 23 - format.mantissa));
    Value normal =
        op<arith::AddIOp>(shifted, integer(i32, (127 - format.bias) << 23));
    // A subnormal is its mantissa times the smallest step.
    Value scaled =
        op<arith::MulFOp>(op<arith::SIToFPOp>(f32, magnitude),
                          powerOfTwo(f32, 1 - format.bias - format.mantissa));
    Value isSubnormal =
        op<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                          integer(i32, int64_t(1) << format.mantissa));
    Value result = op<arith::SelectOp>(
        isSubnormal, op<arith::BitcastOp>(i32, scaled), normal);
    if (format.hasInfinity) {
      int64_t infinity = ((int64_t(1) << format.exponentBits()) - 1)
                         << format.mantissa;
      Value isSpecial = op<arith::CmpIOp>(arith::CmpIPredicate::uge, magnitude,
                                          integer(i32, infinity));
      result = op<arith::SelectOp>(
          isSpecial, op<arith::OrIOp>(shifted, integer(i32, 0x7f800000)),
          result);
    } else {
      Value isNaN = op<arith::CmpIOp>(arith::CmpIPredicate::eq, magnitude,
                                      integer(i32, format.nan()));
      result = op<arith::SelectOp>(isNaN, integer(i32, 0x7fc00000), result);
    }
    return op<arith::BitcastOp>(f32, op<arith::OrIOp>(result, sign));
  }

  /// f32 or f64 to a small float, rounded once.
  Value truncate(Value value, Type small) {
    Type type = value.getType();
    bool isDouble = getElementTypeOrSelf(type).isF64();
    Type result = withElement(type, small);
    if (small.isF16() && nativeF16 && !isDouble)
      return op<arith::TruncFOp>(result, value);
    Format format = *getFormat(small);
    int64_t width = isDouble ? 64 : 32, mantissa = isDouble ? 52 : 23;
    int64_t bias = isDouble ? 1023 : 127;
    int64_t shift = mantissa - format.mantissa;
    Type bitsType = withElement(type, b.getIntegerType(width));
    auto constant = [&](int64_t bits) { return integer(bitsType, bits); };

    Value bits = op<arith::BitcastOp>(bitsType, value);
    int64_t signBit = isDouble ? INT64_MIN : int64_t(INT32_MIN);
    Value magnitude = op<arith::AndIOp>(bits, constant(~signBit));
    Value sign = op<arith::ShRUIOp>(op<arith::AndIOp>(bits, constant(signBit)),
                                    constant(width - format.bits));
    // Half of the last place minus one, plus the last kept bit: ties to even.
    Value odd = op<arith::AndIOp>(
        op<arith::ShRUIOp>(magnitude, constant(shift)), constant(1));
    Value rounded = op<arith::AddIOp>(
        op<arith::AddIOp>(magnitude, constant((int64_t(1) << (shift - 1)) - 1)),
        odd);
    Value encoded =
        op<arith::SubIOp>(op<arith::ShRUIOp>(rounded, constant(shift)),
                          constant((bias - format.bias) << format.mantissa));
    if (format.bias != bias) {
      // Adding a power of two whose last place is the smallest step rounds a
      // subnormal result.
      int exponent = 1 - format.bias - format.mantissa + mantissa;
      Value magic = powerOfTwo(type, exponent);
      Value sum =
          op<arith::AddFOp>(op<arith::BitcastOp>(type, magnitude), magic);
      Value subnormal =
          op<arith::SubIOp>(op<arith::BitcastOp>(bitsType, sum),
                            op<arith::BitcastOp>(bitsType, magic));
      Value isSubnormal =
          op<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                            constant((bias - format.bias + 1) << mantissa));
      encoded = op<arith::SelectOp>(isSubnormal, subnormal, encoded);
    }
    encoded = op<arith::MinUIOp>(encoded, constant(format.overflow()));
    int64_t infinity = (isDouble ? int64_t(0x7ff) : int64_t(0xff)) << mantissa;
    Value isNaN = op<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude,
                                    constant(infinity));
    encoded = op<arith::SelectOp>(isNaN, constant(format.nan()), encoded);
    Value packed =
        op<arith::TruncIOp>(withElement(type, b.getIntegerType(format.bits)),
                            op<arith::OrIOp>(encoded, sign));
    return op<arith::BitcastOp>(result, packed);
  }

  /// Any float to any other.
  Value convert(Value value, Type target) {
    Type source = getElementTypeOrSelf(value.getType());
    if (source == target)
      return value;
    if (isSmall(source)) {
      Value wide = extend(value);
      return convert(wide, target);
    }
    if (isSmall(target))
      return truncate(value, target);
    Type result = withElement(value.getType(), target);
    if (source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth())
      return op<arith::ExtFOp>(result, value);
    return op<arith::TruncFOp>(result, value);
  }

  /// Float to integer, rounded to zero; NaN gives zero and values out of range
  /// the nearest bound of the (at least 32 bit) integer, as PTX's cvt.rzi does.
  Value toInteger(Value value, Type result, bool isUnsigned) {
    auto target = cast<IntegerType>(getElementTypeOrSelf(result));
    unsigned width = std::max(32u, target.getWidth());
    Type wide = withElement(result, b.getIntegerType(width));
    Value converted =
        LLVM::CallIntrinsicOp::create(
            b, loc, wide,
            b.getStringAttr(isUnsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat"),
            ValueRange{value})
            .getResult(0);
    if (width == target.getWidth())
      return converted;
    return op<arith::TruncIOp>(result, converted);
  }
};

struct ExpandSmallFloats
    : public tilemlir::impl::ExpandSmallFloatsBase<ExpandSmallFloats> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      bool isConversion = isa<arith::FPToSIOp, arith::FPToUIOp>(op);
      bool usesSmall = llvm::any_of(op->getOperandTypes(), isSmall) ||
                       llvm::any_of(op->getResultTypes(), isSmall);
      bool isArithmetic =
          op->getDialect() &&
          isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
      if (isArithmetic && (isConversion || usesSmall))
        worklist.push_back(op);
    });
    for (Operation *op : worklist)
      expand(op);
    retype();
  }

  /// The integer type that stands for a small float; null for other types.
  Type getBits(Type type) {
    Type element = getElementTypeOrSelf(type);
    std::optional<Format> format = getFormat(element);
    if (!format || (element.isF16() && nativeF16))
      return {};
    return withElement(type, IntegerType::get(&getContext(), format->bits));
  }

  /// What is left of the small types are selections, carried values and memory
  /// accesses. They become integers: LLVM would widen some of them, and call
  /// the compiler's runtime library to narrow them again.
  void retype() {
    auto convert = [&](Value value) {
      if (Type bits = getBits(value.getType()))
        value.setType(bits);
    };
    SmallVector<arith::BitcastOp> casts;
    getOperation()->walk([&](Operation *op) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (Type bits = getBits(constant.getType()))
          constant.setValueAttr(getConstantBits(constant.getValue(), bits));
      llvm::for_each(op->getResults(), convert);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), convert);
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        auto bitsOr = [&](Type type) {
          Type bits = getBits(type);
          return bits ? bits : type;
        };
        FunctionType type = function.getFunctionType();
        function.setFunctionType(FunctionType::get(
            &getContext(), llvm::map_to_vector(type.getInputs(), bitsOr),
            llvm::map_to_vector(type.getResults(), bitsOr)));
      }
      if (auto cast = dyn_cast<arith::BitcastOp>(op))
        casts.push_back(cast);
    });
    for (arith::BitcastOp cast : casts)
      if (cast.getIn().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getIn());
        cast.erase();
      }
  }

  static TypedAttr getConstantBits(TypedAttr value, Type bits) {
    if (auto dense = dyn_cast<DenseFPElementsAttr>(value))
      return cast<TypedAttr>(
          cast<Attribute>(dense.bitcast(getElementTypeOrSelf(bits))));
    return IntegerAttr::get(bits,
                            cast<FloatAttr>(value).getValue().bitcastToAPInt());
  }

  void expand(Operation *op) {
    OpBuilder builder(op);
    Expander expander{builder, op->getLoc(), nativeF16};
    Type f32 = builder.getF32Type();
    auto widened = [&](Value value) {
      return isSmall(value.getType()) ? expander.convert(value, f32) : value;
    };
    Value replacement;
    if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      replacement = expander.convert(
          op->getOperand(0), getElementTypeOrSelf(op->getResult(0).getType()));
    } else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
      replacement = expander.toInteger(widened(op->getOperand(0)),
                                       op->getResult(0).getType(),
                                       isa<arith::FPToUIOp>(op));
    } else if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      // Through a format that holds the integer exactly where there is one.
      Type result = op->getResult(0).getType();
      unsigned width = getElementTypeOrSelf(op->getOperand(0).getType())
                           .getIntOrFloatBitWidth();
      Type wide = withElement(result, width <= 16 ? f32 : builder.getF64Type());
      Operation *exact = Operation::create(op->getLoc(), op->getName(), {wide},
                                           op->getOperands(), op->getAttrs(),
                                           OpaqueProperties(nullptr), {}, 0);
      builder.insert(exact);
      replacement =
          expander.convert(exact->getResult(0), getElementTypeOrSelf(result));
    } else if (isa<arith::BitcastOp, arith::SelectOp, arith::ConstantOp>(op)) {
      return;
    } else {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, widened(operand));
      Operation *wide = builder.clone(*op, mapping);
      if (op->getNumResults() != 1)
        return;
      Value result = wide->getResult(0);
      replacement = result;
      if (isSmall(result.getType())) {
        Type element = getElementTypeOrSelf(result.getType());
        result.setType(withElement(result.getType(), f32));
        replacement = expander.truncate(result, element);
      }
    }
    op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
  }
};

} // namespace
