//===- BufferAccess.h - which elements an operation touches -----*- C++ -*-===//
//
// Enumerates the accesses of an operation to tensors and buffers, each as a box
// of elements of the allocation behind the handle, seen through views. Shared
// by the passes that pipeline, synchronise and allocate.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_BUFFERACCESS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_BUFFERACCESS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// The elements [base + offset, base + offset + size) of one dimension. `base`
/// is null for constant positions.
struct IndexRange {
  Value base;
  int64_t offset = 0;
  int64_t size = 0;

  bool operator==(const IndexRange &other) const {
    return base == other.base && offset == other.offset && size == other.size;
  }
};

/// How the elements of a box are spread over threads, if that is known: thread
/// `t` touches exactly what it holds under `layout`, with dimension i of the
/// box being dimension i of the layout.
struct ThreadMap {
  FragmentLayoutAttr layout;
  /// The same for warps, where threads are not known: each warp touches what it
  /// holds under this layout of the whole buffer.
  FragmentLayoutAttr warps;
};

/// One access of an operation to an allocation or tensor.
struct BufferAccess {
  Operation *op = nullptr;
  /// Result of the tile.alloc, or the tensor (through casts and subviews).
  Value root;
  bool isWrite = false;
  /// An atomic read-modify-write; isWrite is set too.
  bool isAtomic = false;
  /// Written by hardware after the operation has been issued.
  bool isAsync = false;
  /// Scratch memory of one operation: written, then, after a barrier inside of
  /// the operation, read.
  bool isScratch = false;
  /// One range for each dimension of the allocation or tensor.
  SmallVector<IndexRange, 4> region;
  /// Every element of the region is accessed whenever the operation runs.
  bool isExact = false;
  ThreadMap threads;
};

/// Appends the accesses of `op`. Bodies of tile.parallel belong to the
/// operation; regions of other operations are not entered.
void collectAccesses(Operation *op, SmallVectorImpl<BufferAccess> &accesses);

/// Appends the accesses of `op` and of everything inside of it, in program
/// order.
void collectNestedAccesses(Operation *op,
                           SmallVectorImpl<BufferAccess> &accesses);

/// The tensor or allocation behind `value`, through views.
Value getStorageRoot(Value value);

/// True unless the two boxes provably share no element. Bases are compared as
/// SSA values: both boxes must be of the same iteration of every loop.
bool mayOverlap(ArrayRef<IndexRange> lhs, ArrayRef<IndexRange> rhs);

/// True when `outer` provably holds all elements of `inner`.
bool contains(ArrayRef<IndexRange> outer, ArrayRef<IndexRange> inner);

/// True when the constant boxes among `parts` together hold all of `box`.
bool isCovered(ArrayRef<IndexRange> box, ArrayRef<ArrayRef<IndexRange>> parts);

/// True when everything in the buffer of `read` was certainly written before
/// it, among `accesses`, in the same iteration of every loop inside of `scope`.
bool isWrittenBefore(const BufferAccess &read, ArrayRef<BufferAccess> accesses,
                     Operation *scope);

/// The box of all elements of a buffer or tensor; dynamic extents are taken to
/// be larger than any coordinate.
SmallVector<IndexRange, 4> getWholeRegion(Type type);

/// Whether `op` runs its body again and again, one iteration after the other.
bool isLoop(Operation *op);

/// The innermost loop of the kernel around `op`; null if there is none.
Operation *getLoopAround(Operation *op);

/// "gemm (line 12)": how users know an operation.
std::string describeForUser(Operation *op);

/// The first file position in `loc`; null when there is none.
FileLineColLoc getFileLocation(Location loc);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_BUFFERACCESS_H
