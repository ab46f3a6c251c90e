//===- ScalarBuilder.cpp - building scalar and vector code ------*- C++ -*-===//
//
// Folded arithmetic, loops, element access and conversion.
//
//===----------------------------------------------------------------------===//
#include "ScalarBuilder.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tilemlir::cpu;

Value ScalarBuilder::integer(Type type, int64_t value) {
  return create<arith::ConstantOp>(b.getIntegerAttr(type, value));
}

Value ScalarBuilder::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  if (value.getType().isIndex())
    return fold<arith::IndexCastOp>(b.getI64Type(), value);
  if (value.getType().isInteger(1))
    return fold<arith::ExtUIOp>(b.getI64Type(), value);
  return fold<arith::ExtSIOp>(b.getI64Type(), value);
}

std::optional<int64_t> ScalarBuilder::constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getBitWidth() == 1 ? constant.getZExtValue()
                                     : constant.getSExtValue();
}

void ScalarBuilder::loop(Value lower, Value upper, int64_t step,
                         function_ref<void(Value)> body) {
  auto first = constantOf(lower), last = constantOf(upper);
  if (first && last && *last - *first <= step) {
    if (*last > *first)
      body(lower);
    return;
  }
  auto loop = create<scf::ForOp>(lower, upper, i64(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ScalarBuilder::nest(ArrayRef<Value> extents,
                         function_ref<void(ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<void()> descend = [&] {
    if (indices.size() == extents.size())
      return body(indices);
    loop(i64(0), extents[indices.size()], 1, [&](Value index) {
      indices.push_back(index);
      descend();
      indices.pop_back();
    });
  };
  descend();
}

SmallVector<Value>
ScalarBuilder::loop(Value lower, Value upper, int64_t step, ValueRange initial,
                    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = create<scf::ForOp>(lower, upper, i64(step), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  create<scf::YieldOp>(next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void ScalarBuilder::guard(Value condition, function_ref<void()> body) {
  branch(condition, body, nullptr);
}

void ScalarBuilder::branch(Value condition, function_ref<void()> yes,
                           function_ref<void()> no) {
  if (auto constant = constantOf(condition)) {
    if (*constant)
      yes();
    else if (no)
      no();
    return;
  }
  auto op = create<scf::IfOp>(condition, /*withElseRegion=*/bool(no));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  yes();
  if (no) {
    b.setInsertionPointToStart(op.elseBlock());
    no();
  }
}

Value ScalarBuilder::choose(Value condition, Type type,
                            function_ref<Value()> yes,
                            function_ref<Value()> no) {
  if (auto constant = constantOf(condition))
    return *constant ? yes() : no();
  auto op = create<scf::IfOp>(TypeRange{type}, condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  create<scf::YieldOp>(yes());
  b.setInsertionPointToStart(op.elseBlock());
  create<scf::YieldOp>(no());
  return op.getResult(0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value ScalarBuilder::offset(Value base, Value bytes) {
  if (constantOf(bytes) == 0)
    return base;
  return create<LLVM::GEPOp>(pointerType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

/// The type an element is loaded with: what LLVM has no type for is loaded as
/// an integer.
static Type getMemoryType(Type elementType) {
  int64_t bits = tile::getElementBits(elementType);
  if (isa<IntegerType>(elementType) || bits == 8 || elementType.isBF16())
    return IntegerType::get(elementType.getContext(), bits);
  return elementType;
}

Value ScalarBuilder::load(Value pointer, Type elementType, int64_t lanes) {
  Type memory = getMemoryType(elementType);
  Type scalar = tile::getScalarType(elementType);
  Value value = create<LLVM::LoadOp>(withLanes(memory, lanes), pointer,
                                     memory.getIntOrFloatBitWidth() / 8);
  if (memory == scalar)
    return value;
  if (scalar.isInteger(1))
    return create<arith::CmpIOp>(arith::CmpIPredicate::ne, value,
                                 zero(value.getType()));
  return create<arith::BitcastOp>(withLanes(scalar, lanes), value);
}

void ScalarBuilder::store(Value value, Value pointer, Type elementType,
                          int64_t lanes) {
  Type memory = getMemoryType(elementType);
  Type scalar = tile::getScalarType(elementType);
  if (scalar.isInteger(1))
    value = create<arith::ExtUIOp>(withLanes(memory, lanes), value);
  else if (memory != scalar)
    value = create<arith::BitcastOp>(withLanes(memory, lanes), value);
  create<LLVM::StoreOp>(value, pointer, memory.getIntOrFloatBitWidth() / 8);
}

Value ScalarBuilder::stackSlot(Type type, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  Operation *function = b.getInsertionBlock()->getParentOp();
  if (!isa<FunctionOpInterface>(function))
    function = function->getParentOfType<FunctionOpInterface>();
  b.setInsertionPointToStart(
      &cast<FunctionOpInterface>(function).getFunctionBody().front());
  return create<LLVM::AllocaOp>(pointerType(), type, i64(count), 64);
}

//===----------------------------------------------------------------------===//
// Element values
//===----------------------------------------------------------------------===//

Value ScalarBuilder::splat(Value scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  return create<vector::BroadcastOp>(VectorType::get({lanes}, scalar.getType()),
                                     scalar);
}

Value ScalarBuilder::convert(Value value, Type from, Type to) {
  Type source = tile::getScalarType(from), target = tile::getScalarType(to);
  if (source == target)
    return value;
  int64_t lanes = 1;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    lanes = vector.getNumElements();
  Type result = withLanes(target, lanes);
  unsigned sourceBits = source.getIntOrFloatBitWidth();
  unsigned targetBits = target.getIntOrFloatBitWidth();
  bool fromFloat = isa<FloatType>(source), toFloat = isa<FloatType>(target);
  if (fromFloat && toFloat) {
    if (sourceBits < targetBits)
      return create<arith::ExtFOp>(result, value);
    if (sourceBits > targetBits)
      return create<arith::TruncFOp>(result, value);
    // Two formats of one size: through f32, which holds both exactly.
    Value wide = create<arith::ExtFOp>(withLanes(b.getF32Type(), lanes), value);
    return create<arith::TruncFOp>(result, wide);
  }
  if (target.isInteger(1)) {
    Value none = zero(value.getType());
    if (fromFloat)
      return create<arith::CmpFOp>(arith::CmpFPredicate::UNE, value, none);
    return create<arith::CmpIOp>(arith::CmpIPredicate::ne, value, none);
  }
  bool fromUnsigned = from.isUnsignedInteger() || source.isInteger(1);
  if (!fromFloat && toFloat) {
    if (fromUnsigned)
      return create<arith::UIToFPOp>(result, value);
    return create<arith::SIToFPOp>(result, value);
  }
  if (fromFloat) {
    if (to.isUnsignedInteger())
      return create<arith::FPToUIOp>(result, value);
    return create<arith::FPToSIOp>(result, value);
  }
  if (sourceBits > targetBits)
    return create<arith::TruncIOp>(result, value);
  if (fromUnsigned)
    return create<arith::ExtUIOp>(result, value);
  return create<arith::ExtSIOp>(result, value);
}
