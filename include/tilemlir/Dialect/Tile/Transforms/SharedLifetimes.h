//===- SharedLifetimes.h - when shared buffers hold data --------*- C++ -*-===//
//
// Lifetimes of shared allocations as intervals of a numbering of the kernel in
// program order.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_SHAREDLIFETIMES_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_SHAREDLIFETIMES_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::tile {

/// A shared allocation and the part of the kernel in which it holds data.
struct SharedLifetime {
  AllocOp alloc;
  int64_t bytes = 0;
  int64_t alignment = 16;
  /// First and last position; empty (first > last) when never used.
  int64_t first = 1, last = 0;
  /// Loops without loops inside that use the buffer.
  llvm::SmallDenseSet<Operation *> innermostLoops;

  bool isUsed() const { return first <= last; }
  bool overlaps(const SharedLifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Lifetimes of all shared allocations of `kernel`, in program order. A buffer
/// whose contents pass from one iteration of a loop to the next, or into or out
/// of the loop, lives in the whole loop. With `slotsEndWithLoops`, slots that a
/// pipeline loads ahead are free behind its loop, which has waited for all that
/// it loaded; otherwise from the next wait on.
SmallVector<SharedLifetime> getSharedLifetimes(KernelOp kernel,
                                               bool slotsEndWithLoops = false);

/// Bytes of a shared buffer; row-major when its layout is open.
int64_t getSharedBytes(BufferType type);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_SHAREDLIFETIMES_H
