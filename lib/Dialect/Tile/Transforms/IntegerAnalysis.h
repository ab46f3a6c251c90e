//===- IntegerAnalysis.h - Ranges and divisors of indices -------*- C++ -*-===//
//
// What is known about i32 values of a function: an inclusive range, a divisor,
// and whether an offset plus a size stays within a (maybe dynamic) extent.
// Facts come from constants, grid extents, loop bounds, and tile.assume.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INTEGERANALYSIS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INTEGERANALYSIS_H

#include "LinearForm.h"

namespace mlir::tile {

/// Inclusive bounds.
struct IntegerRange {
  int64_t lower = std::numeric_limits<int32_t>::min();
  int64_t upper = std::numeric_limits<int32_t>::max();
};

class IntegerAnalysis {
public:
  /// Collects the assumptions of the function around (or equal to) `op`.
  explicit IntegerAnalysis(Operation *op);

  /// Values are assumed not to wrap around: coordinates are below 2^31.
  IntegerRange getRange(Value value);
  IntegerRange getRange(const LinearForm &form);

  /// A positive integer that divides the value; 0 if the value is 0.
  int64_t getDivisor(Value value);
  int64_t getDivisor(const LinearForm &form);

  /// True if 0 <= offset and offset + size <= extent is proven for every
  /// execution of `user`. `extent` is a constant, or dynamic and then equal to
  /// `memref.dim` of `tensor` in dimension `dim`.
  bool isInside(Value offset, int64_t size, Operation *user,
                TypedValue<MemRefType> tensor, int64_t dim);

private:
  IntegerRange computeRange(Value value);
  int64_t computeDivisor(Value value);
  /// Range of a loop counter or block index.
  IntegerRange getArgumentRange(BlockArgument argument);
  IntegerRange getDivisorRange(Operation *op);
  /// If value <= ceildiv(extent, step) - 1 for a symbolic extent: that pair.
  std::optional<std::pair<Value, int64_t>> getCeilDivBound(Value value);
  bool isBelowSymbol(const LinearForm &offset, int64_t size, Value symbol);
  bool isGuarded(const LinearForm &offset, int64_t size, Operation *user,
                 std::optional<int64_t> extent, Value symbol, bool upper);
  void addAssumption(Value condition);

  llvm::DenseMap<Value, IntegerRange> assumedRanges;
  llvm::DenseMap<Value, int64_t> assumedDivisors;
  llvm::DenseMap<Value, IntegerRange> ranges;
  llvm::DenseMap<Value, int64_t> divisors;
  /// From assumptions value < limit.
  llvm::DenseMap<Value, Value> assumedLimits;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INTEGERANALYSIS_H
