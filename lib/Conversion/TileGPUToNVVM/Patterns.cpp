//===- Patterns.cpp - pieces of tile-gpu-to-nvvm ----------------*- C++ -*-===//
#include "Patterns.h"

using namespace tilemlir::to_nvvm;

Value tilemlir::to_nvvm::constant32(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

Value tilemlir::to_nvvm::sharedPointer(OpBuilder &b, Location loc,
                                       Value address, int64_t offset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  Value arena = LLVM::AddressOfOp::create(b, loc, type, kArenaName);
  Value pointer = LLVM::GEPOp::create(b, loc, type, b.getI8Type(), arena,
                                      ValueRange{address});
  if (offset == 0)
    return pointer;
  return LLVM::GEPOp::create(
      b, loc, type, b.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Type tilemlir::to_nvvm::memoryType(Type scalar) {
  return scalar.isInteger(1) ? IntegerType::get(scalar.getContext(), 8)
                             : scalar;
}

Value tilemlir::to_nvvm::globalPointer(OpBuilder &b, Location loc,
                                       Value pointer, Type element,
                                       Value offset) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), memoryType(element),
                             pointer, ValueRange{offset});
}

Value tilemlir::to_nvvm::callIntrinsic(OpBuilder &b, Location loc, Type result,
                                       StringRef name, ValueRange operands) {
  auto call = LLVM::CallIntrinsicOp::create(b, loc, result,
                                            b.getStringAttr(name), operands);
  return call.getResult(0);
}

Value tilemlir::to_nvvm::inlineAsm(OpBuilder &b, Location loc, Type result,
                                   StringRef text, StringRef constraints,
                                   ValueRange operands, bool volatileMemory) {
  auto op = LLVM::InlineAsmOp::create(
      b, loc, result ? TypeRange(result) : TypeRange(), operands, text,
      constraints,
      /*has_side_effects=*/volatileMemory, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  return result ? op.getResult(0) : Value();
}
