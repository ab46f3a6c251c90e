//===- AsyncGroups.h - completion of asynchronous copies --------*- C++ -*-===//
//
// The parts of tile-insert-mbarriers, one for each kind of completion.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Commits the `cp.async` copies of `kernel` in groups and waits for them.
LogicalResult insertCpAsyncGroups(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H
