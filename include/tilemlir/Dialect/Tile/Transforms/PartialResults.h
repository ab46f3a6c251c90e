//===- PartialResults.h - lanes that reduce for themselves ------*- C++ -*-===//
//
// What tile-defer-reductions says about reductions of a loop whose lanes are
// combined behind it, and about the conversion that combines them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PARTIALRESULTS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PARTIALRESULTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// How the replicas of a fragment become one result.
struct LaneCombination {
  ReduceKind kind;
  bool nanPropagate;
  /// Distances (xor) of the lanes that exchange results, in order.
  SmallVector<int64_t> distances;

  bool operator==(const LaneCombination &other) const {
    return kind == other.kind && nanPropagate == other.nanPropagate &&
           distances == other.distances;
  }
};

/// Whether the lanes of `op` leave their results apart.
bool isPartial(ReduceOp op);

/// How `op` combines the replicas of its source; nothing for conversions that
/// only move elements.
std::optional<LaneCombination> getLaneCombination(ConvertOp op);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PARTIALRESULTS_H
