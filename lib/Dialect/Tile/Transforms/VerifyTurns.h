//===- VerifyTurns.h - warp groups that take turns --------------*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_VERIFYTURNS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_VERIFYTURNS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Checks that the warp groups of each role take and pass the turn in a way
/// that cannot block; emits an error otherwise.
LogicalResult verifyTurns(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_VERIFYTURNS_H
