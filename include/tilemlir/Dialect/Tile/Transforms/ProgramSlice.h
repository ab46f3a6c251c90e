//===- ProgramSlice.h - the part of a program that others need --*- C++ -*-===//
//
// Finds what a set of operations depends on, so that a copy of the program can
// be reduced to them: the issue parts of pipelines, the regions of producers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PROGRAMSLICE_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PROGRAMSLICE_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::tile {

/// The operations of a region that must stay when only `roots` are to happen,
/// and the local variables that they read.
class ProgramSlice {
public:
  ProgramSlice(Region &scope, ArrayRef<Operation *> roots);

  /// Whether `op` is a root, or writes a variable that the slice reads.
  bool contains(Operation *op) const { return kept.contains(op); }
  ArrayRef<Value> getVariables() const { return variables.getArrayRef(); }

private:
  void keep(Operation *op);
  void needOperands(Operation *op);
  void readVariable(LoadOp load);
  void need(Value value);

  Region &scope;
  llvm::DenseSet<Operation *> kept;
  llvm::DenseSet<Value> seen;
  llvm::SetVector<Value> variables;
};

/// Erases from `block` the operations with an effect for which `isKept` is
/// false, and then the values that nothing needs.
void pruneTo(Block &block, function_ref<bool(Operation *)> isKept);

/// Erases pure operations, unread loads and empty control flow.
void eraseDead(Block &block);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PROGRAMSLICE_H
