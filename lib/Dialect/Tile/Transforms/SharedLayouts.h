//===- SharedLayouts.h - Layouts of shared buffers --------------*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SHAREDLAYOUTS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SHAREDLAYOUTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Gives every shared allocation without a layout the swizzle with the fewest
/// bank conflicts over all its uses. Fragments and loops have their layouts.
void assignSharedLayouts(KernelOp kernel);

/// With all layouts known: copies between fragments and shared memory become
/// `ldmatrix` or `stmatrix` where the layouts suit, and `cp_async` copies whose
/// destination is not contiguous enough are narrowed or demoted.
void refineCopies(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SHAREDLAYOUTS_H
