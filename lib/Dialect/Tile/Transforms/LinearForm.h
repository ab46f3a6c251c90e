//===- LinearForm.h - Index expressions as linear forms ---------*- C++ -*-===//
//
// Seen through additions and multiplications by constants, an i32 index is a
// constant plus a sum of multiples of other values ("terms").
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LINEARFORM_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LINEARFORM_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/FragmentAccess.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

struct LinearForm {
  llvm::SmallMapVector<Value, int64_t, 4> terms;
  int64_t constant = 0;

  void add(const LinearForm &other, int64_t factor = 1);
  bool isConstant() const { return terms.empty(); }
  int64_t getCoefficient(Value value) const;
  /// The form without the term of `value`.
  LinearForm without(Value value) const;
  bool operator==(const LinearForm &other) const;
};

/// `value` as a linear form. Casts between integer widths that keep the value
/// are looked through; what is not linear is a term of its own.
LinearForm getLinearForm(Value value);

/// A value that stands for all values known to equal `value`: one `memref.dim`
/// for all extents that are equal (of one tensor and dimension, or declared
/// with the same symbol), and the source of index casts.
Value getRepresentative(Value value);

/// The representative of a dynamic extent; null if no operation reads it.
Value findDynamicExtent(Value tensor, int64_t dim);

/// What an access inside of `loop` does with the iteration coordinates.
struct LoopAccess {
  /// The access in the form that layouts understand: per dimension one
  /// iteration coordinate plus a constant, or a constant.
  std::optional<std::vector<::tilemlir::layout::AccessIndex>> projected;
  /// Otherwise: the dimension that is not of this form.
  unsigned irregularDim = 0;
};

/// Analyses `indices`, used inside of `loop`.
LoopAccess analyzeAccess(OperandRange indices, ParallelOp loop);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LINEARFORM_H
