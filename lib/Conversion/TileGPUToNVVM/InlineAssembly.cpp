//===- InlineAssembly.cpp - instructions as inline assembly -----*- C++ -*-===//
#include "InlineAssembly.h"

#include "mlir/IR/Matchers.h"

using namespace tilemlir::to_nvvm;

Type tilemlir::to_nvvm::registerType(Type scalar) {
  MLIRContext *context = scalar.getContext();
  if (scalar.isF32() || scalar.isF64() || isa<LLVM::LLVMPointerType>(scalar))
    return scalar;
  unsigned bits = scalar.getIntOrFloatBitWidth();
  return IntegerType::get(context, bits < 16 ? 32 : bits);
}

static StringRef constraintOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return "l";
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "b";
  case 16:
    return "h";
  case 32:
    return "r";
  default:
    return "l";
  }
}

static Value toRegister(OpBuilder &b, Location loc, Value scalar) {
  Type type = scalar.getType(), wanted = registerType(type);
  if (type == wanted)
    return scalar;
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    scalar = LLVM::BitcastOp::create(b, loc, b.getIntegerType(bits), scalar);
  return bits < 16 ? LLVM::ZExtOp::create(b, loc, wanted, scalar).getResult()
                   : scalar;
}

static Value fromRegister(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(bits);
  if (value.getType() != integer)
    value = LLVM::TruncOp::create(b, loc, integer, value);
  return type == integer
             ? value
             : LLVM::BitcastOp::create(b, loc, type, value).getResult();
}

/// Vector of words that a vector of narrow elements is, or null.
static VectorType wordsOf(VectorType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t total = type.getNumElements() * bits;
  if (bits >= 32 || bits < 8 || total % 32)
    return {};
  return VectorType::get({total / 32}, IntegerType::get(type.getContext(), 32));
}

void tilemlir::to_nvvm::splitRegisters(OpBuilder &b, Location loc, Value value,
                                       SmallVectorImpl<Value> &registers) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type) {
    registers.push_back(toRegister(b, loc, value));
    return;
  }
  if (VectorType words = wordsOf(type)) {
    value = LLVM::BitcastOp::create(b, loc, words, value);
    type = words;
  }
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    registers.push_back(toRegister(
        b, loc,
        LLVM::ExtractElementOp::create(b, loc, value, constant32(b, loc, i))));
}

Value tilemlir::to_nvvm::joinRegisters(OpBuilder &b, Location loc, Type type,
                                       ArrayRef<Value> &registers) {
  auto take = [&](Type scalar) {
    Value value = fromRegister(b, loc, registers.front(), scalar);
    registers = registers.drop_front();
    return value;
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return take(type);
  VectorType words = wordsOf(vector);
  VectorType built = words ? words : vector;
  Value result = LLVM::PoisonOp::create(b, loc, built);
  for (int64_t i = 0; i < built.getNumElements(); ++i)
    result = LLVM::InsertElementOp::create(
        b, loc, result, take(built.getElementType()), constant32(b, loc, i));
  return words ? LLVM::BitcastOp::create(b, loc, type, result).getResult()
               : result;
}

std::string InlineAssembly::output(Type type) {
  outputs.push_back(type);
  if (!outputConstraints.empty())
    outputConstraints += ',';
  outputConstraints += '=';
  outputConstraints += constraintOf(type);
  return "$" + std::to_string(outputs.size() - 1);
}

void InlineAssembly::tie(ArrayRef<Value> values) {
  for (Value value : values) {
    std::string number = output(value.getType()).substr(1);
    operands.push_back(value);
    inputConstraints += ',' + number;
  }
}

std::string InlineAssembly::input(Value value, bool immediate) {
  APInt constant;
  if (immediate && matchPattern(value, m_ConstantInt(&constant)))
    return std::to_string(constant.getSExtValue());
  operands.push_back(value);
  inputConstraints += ',';
  inputConstraints += constraintOf(value.getType());
  return "$" + std::to_string(outputs.size() + operands.size() - 1);
}

std::string InlineAssembly::guard(Value predicate) {
  return predicate ? "@" + input(predicate) + " " : std::string();
}

SmallVector<Value> InlineAssembly::emit(StringRef text, bool sideEffects,
                                        bool memory) {
  std::string constraints = outputConstraints + inputConstraints;
  if (memory)
    constraints += ",~{memory}";
  if (StringRef(constraints).starts_with(","))
    constraints.erase(0, 1);
  Type type;
  if (outputs.size() == 1)
    type = outputs.front();
  else if (!outputs.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(), outputs);
  Value result =
      inlineAsm(b, loc, type, text, constraints, operands, sideEffects);
  SmallVector<Value> values;
  if (outputs.size() == 1)
    values.push_back(result);
  else
    for (size_t i = 0; i < outputs.size(); ++i)
      values.push_back(LLVM::ExtractValueOp::create(b, loc, result,
                                                    static_cast<int64_t>(i)));
  return values;
}

Value tilemlir::to_nvvm::sharedAddress(OpBuilder &b, Location loc,
                                       Value offset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  Value arena = LLVM::AddressOfOp::create(b, loc, type, kArenaName);
  Value base = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), arena);
  return LLVM::AddOp::create(b, loc, base, offset);
}
