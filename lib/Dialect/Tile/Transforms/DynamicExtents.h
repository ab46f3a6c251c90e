//===- DynamicExtents.h - Static extents for parallel loops -----*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_DYNAMICEXTENTS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_DYNAMICEXTENTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Rewrites parallel loops with dynamic extents as guarded loops with static
/// ones, and removes loops with an extent of zero.
void makeExtentsStatic(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_DYNAMICEXTENTS_H
