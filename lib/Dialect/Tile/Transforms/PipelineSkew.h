//===- PipelineSkew.h - computation ahead of a pipelined loop ---*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PIPELINESKEW_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PIPELINESKEW_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include <string>

namespace mlir::tile {

/// The result of an attempt to run operations of a loop in different
/// iterations.
struct Skew {
  /// The loop that replaces the old one; null if there is none.
  PipelinedOp loop;
  /// What was done, or why it could not be.
  std::string reason;
};

/// Rewrites `loop` so that in step k an operation with stage s does the work of
/// iteration k - s, in the user's order within the step:
///
///     for k = lower to upper + 1:          // stages 0 and 1
///       if k < upper:  early(k)
///       if k > lower:  late(k - 1)
///
/// `ops` are the scheduled operations, with the user's `stage` and `order`; -1
/// leaves the choice open. Loads of shared memory go with their first use: how
/// far they run ahead of it is num_stages. The loop is left alone if an
/// operation would overwrite what another one still needs.
Skew skewLoop(PipelinedOp loop, ArrayRef<Operation *> ops,
              ArrayRef<int64_t> stage, ArrayRef<int64_t> order);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PIPELINESKEW_H
