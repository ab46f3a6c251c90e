//===- RingBarriers.h - mbarriers between roles -----------------*- C++ -*-===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGBARRIERS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGBARRIERS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Lets the roles of `kernel` meet on mbarriers: for every slot of a ring one
/// that says that it is full, and one that says that it is empty.
LogicalResult insertRingBarriers(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGBARRIERS_H
