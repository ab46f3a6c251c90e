//===- UnitFactors.h - multiplications that may be by one -------*- C++ -*-===//
//
// Parallel loops that only scale fragments, as tile-skip-unit-factors marks
// them and lowering executes them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_UNITFACTORS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_UNITFACTORS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// `element = element * factor` for an element of a fragment.
struct Scaling {
  LoadOp element;
  StoreOp store;
  Value factor;
};

/// The scalings that the body of `loop` consists of; nothing when it does
/// anything else, or when a factor depends on what is scaled.
std::optional<SmallVector<Scaling>> matchScalings(ParallelOp loop);

/// How many multiplications of a thread a vote may skip, in loops that
/// tile-skip-unit-factors has marked.
std::optional<int64_t> getSkippedMultiplications(ParallelOp loop);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_UNITFACTORS_H
