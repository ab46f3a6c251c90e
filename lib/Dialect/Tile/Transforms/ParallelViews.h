//===- ParallelViews.h - views that change with the iteration ---*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PARALLELVIEWS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PARALLELVIEWS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Rewrites element accesses inside of parallel loops, through views made
/// there, as accesses to what the first of these views is of, at explicit
/// indices. A change of the element type moves in front of the loop.
void foldParallelViews(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_PARALLELVIEWS_H
