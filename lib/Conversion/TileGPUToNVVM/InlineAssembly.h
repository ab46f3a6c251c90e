//===- InlineAssembly.h - instructions as inline assembly -------*- C++ -*-===//
//
// For what NVVM lacks, or what must not be reordered: text with operands, and
// values as the registers that PTX instructions take.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_INLINEASSEMBLY_H
#define TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_INLINEASSEMBLY_H

#include "Patterns.h"

namespace tilemlir::to_nvvm {

/// Type of the register that holds a scalar.
Type registerType(Type scalar);

/// Appends the registers of `value` to `registers`: words of 32 bits for
/// vectors of narrow elements, integers for 16-bit floats.
void splitRegisters(OpBuilder &b, Location loc, Value value,
                    SmallVectorImpl<Value> &registers);

/// The inverse: takes what a value of `type` needs from the front of
/// `registers`.
Value joinRegisters(OpBuilder &b, Location loc, Type type,
                    ArrayRef<Value> &registers);

/// Collects the operands of one piece of assembly. Outputs come first.
class InlineAssembly {
public:
  InlineAssembly(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// "$n" of a new output.
  std::string output(Type type);
  /// Outputs that are tied to `values` and begin with their contents.
  void tie(ArrayRef<Value> values);
  /// "$n" of an input; the number itself for a constant integer when
  /// `immediate`.
  std::string input(Value value, bool immediate = false);
  /// "@$n " for a predicate, "" for null.
  std::string guard(Value predicate);

  /// Emits it. Gives the outputs. `ordered`: with side effects, on memory too.
  SmallVector<Value> emit(StringRef text, bool sideEffects, bool memory);
  SmallVector<Value> emitOrdered(StringRef text) {
    return emit(text, /*sideEffects=*/true, /*memory=*/true);
  }

private:
  OpBuilder &b;
  Location loc;
  SmallVector<Type> outputs;
  SmallVector<Value> operands;
  std::string outputConstraints, inputConstraints;
};

/// Address in the shared window of byte `offset` of the arena.
Value sharedAddress(OpBuilder &b, Location loc, Value offset);

} // namespace tilemlir::to_nvvm

#endif // TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_INLINEASSEMBLY_H
