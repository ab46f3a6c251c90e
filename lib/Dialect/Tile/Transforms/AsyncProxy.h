//===- AsyncProxy.h - accesses outside of the threads -----------*- C++ -*-===//
//
// TMA and wgmma access shared memory through a proxy of their own. Parts of
// tile-insert-sync: stores by TMA that must be waited for, and fences between
// what threads write and what the proxy accesses.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPROXY_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPROXY_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// A store by TMA: a tile.copy_async from shared memory to a tensor.
bool isBulkStore(Operation *op);

/// Commits stores by TMA and waits for them: until they have read their source
/// before something overwrites it, and at the end of the kernel or role; until
/// they are complete before a store that may write the same elements. The
/// offsets of shared memory are known.
void waitForBulkStores(KernelOp kernel);

/// Lets the lanes of a warp meet around what one of them does for the warp: in
/// front of its stores, and behind its waits for them. Fences have been
/// inserted.
void syncWarps(KernelOp kernel);

/// Puts fences behind operations by which threads write shared memory that TMA
/// or wgmma accesses as well. Barriers have been inserted.
void insertProxyFences(KernelOp kernel);

/// Whether the places in shared memory of two allocations meet; true for the
/// same allocation.
bool sharesMemory(AllocOp lhs, AllocOp rhs);

/// Does `op` access other elements of `tensor` in each iteration of `loop`?
bool staysApart(Operation *op, Value tensor, Operation *loop);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPROXY_H
