//===- ScalarBuilder.h - building scalar and vector code --------*- C++ -*-===//
//
// A builder of folded i64 arithmetic, counted loops, and of element access and
// conversion, for one lane or a vector of lanes alike.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_CONVERSION_TILETOCPU_SCALARBUILDER_H
#define TILEMLIR_CONVERSION_TILETOCPU_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace tilemlir::cpu {

using namespace mlir;

class ScalarBuilder {
public:
  explicit ScalarBuilder(OpBuilder &builder) : b(builder) {}

  void setLoc(Location location) { loc = location; }
  Location getLoc() const { return loc; }
  OpBuilder &builder() { return b; }
  MLIRContext *context() { return b.getContext(); }

  /// Creates an operation, folded when its operands are constants.
  template <typename OpT, typename... Args> Value fold(Args &&...args) {
    return b.createOrFold<OpT>(loc, std::forward<Args>(args)...);
  }
  template <typename OpT, typename... Args> OpT create(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...);
  }

  //--- integers
  Value integer(Type type, int64_t value);
  Value i64(int64_t value) { return integer(b.getI64Type(), value); }
  Value i32(int32_t value) { return integer(b.getI32Type(), value); }
  Value boolean(bool value) { return integer(b.getI1Type(), value); }
  Value add(Value lhs, Value rhs) { return fold<arith::AddIOp>(lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return fold<arith::SubIOp>(lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return fold<arith::MulIOp>(lhs, rhs); }
  Value minimum(Value a, Value b) { return fold<arith::MinSIOp>(a, b); }
  Value maximum(Value a, Value b) { return fold<arith::MaxSIOp>(a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return fold<arith::CmpIOp>(predicate, a, b);
  }
  Value less(Value a, Value b) {
    return compare(arith::CmpIPredicate::slt, a, b);
  }
  Value lessEqual(Value a, Value b) {
    return compare(arith::CmpIPredicate::sle, a, b);
  }
  Value both(Value a, Value b) { return fold<arith::AndIOp>(a, b); }
  /// 0 <= index < size
  Value inside(Value index, Value size) {
    return both(lessEqual(i64(0), index), less(index, size));
  }
  /// An i32 or index value as i64.
  Value toI64(Value value);
  /// The value of a constant; nothing when it is none.
  static std::optional<int64_t> constantOf(Value value);

  //--- loops
  /// for (i64 iv = lower; iv < upper; iv += step) body(iv)
  void loop(Value lower, Value upper, int64_t step,
            function_ref<void(Value)> body);
  /// A nest from 0 to each extent, first one outermost.
  void nest(ArrayRef<Value> extents, function_ref<void(ValueRange)> body);
  /// The same loop with values carried from one iteration to the next.
  SmallVector<Value>
  loop(Value lower, Value upper, int64_t step, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// if (condition) body(); folded for a constant condition.
  void guard(Value condition, function_ref<void()> body);
  void branch(Value condition, function_ref<void()> yes,
              function_ref<void()> no);
  /// condition ? yes() : no(), one value.
  Value choose(Value condition, Type type, function_ref<Value()> yes,
               function_ref<Value()> no);

  //--- memory
  Type pointerType() { return LLVM::LLVMPointerType::get(context()); }
  /// base + bytes
  Value offset(Value base, Value bytes);
  /// Reads `lanes` consecutive elements as scalars or a vector of the element
  /// type without signedness.
  Value load(Value pointer, Type elementType, int64_t lanes = 1);
  void store(Value value, Value pointer, Type elementType, int64_t lanes = 1);
  /// A stack slot of the current function.
  Value stackSlot(Type type, int64_t count);

  //--- element values
  static Type withLanes(Type type, int64_t lanes) {
    return lanes == 1 ? type : VectorType::get({lanes}, type);
  }
  Value splat(Value scalar, int64_t lanes);
  Value zero(Type type) {
    return create<arith::ConstantOp>(type,
                                     cast<TypedAttr>(b.getZeroAttr(type)));
  }
  /// Converts a value of storage type `from` to the scalar form of `to`:
  /// floats round to nearest even, floats to integers round to zero.
  Value convert(Value value, Type from, Type to);

private:
  OpBuilder &b;
  Location loc = b.getUnknownLoc();
};

} // namespace tilemlir::cpu

#endif // TILEMLIR_CONVERSION_TILETOCPU_SCALARBUILDER_H
