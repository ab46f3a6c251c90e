//===- Clusters.h - blocks that share loads ---------------------*- C++ -*-===//
//
// Blocks of a cluster have a rank, x fastest, and a coordinate along each of
// the three axes of the grid. Sets of blocks are named by axes: the blocks that
// differ from one in its coordinates along these axes only, itself included.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include <array>

namespace mlir::tile {

/// Axes of the grid, in ascending order: 0 is x.
using ClusterAxes = SmallVector<int64_t, 3>;

struct ClusterShape {
  std::array<int64_t, 3> extents = {1, 1, 1};

  explicit ClusterShape(KernelOp kernel);

  int64_t getBlocks() const { return extents[0] * extents[1] * extents[2]; }
  /// Number of blocks that differ along `axes`.
  int64_t getBlocks(ArrayRef<int64_t> axes) const;
  /// What a step along `axis` adds to the rank.
  int64_t getStride(int64_t axis) const;
  /// Coordinate of the block with rank `rank`.
  int64_t getCoordinate(int64_t rank, int64_t axis) const {
    return rank / getStride(axis) % extents[axis];
  }
  /// Ranks of the blocks that differ from `rank` along `axes`, in the order of
  /// their coordinates there, x fastest.
  SmallVector<int64_t> getGroup(int64_t rank, ArrayRef<int64_t> axes) const;
};

/// The axes along which blocks share the load `copy` (argument `multicast` of
/// its choice); empty if it is a load of one block.
ClusterAxes getMulticastAxes(Operation *copy);
/// Number of blocks that share it.
int64_t getMulticastBlocks(Operation *copy);

/// Attribute of an arrival: the sets of blocks whose barriers it reaches, each
/// by its axes. Only the own block's without it.
inline constexpr llvm::StringLiteral kReach = "tile.reach";
SmallVector<ClusterAxes> getReach(Operation *arrival);
void setReach(Operation *arrival, ArrayRef<ClusterAxes> reach);

/// Adds `axes` to the sets of `reach`, none of which holds another one. False
/// if it shares some axes with one of them without holding it or being held:
/// such sets have no use.
bool addReach(SmallVectorImpl<ClusterAxes> &reach, ArrayRef<int64_t> axes);

/// Ranks of the blocks in the union of the sets, seen from `rank`: those of the
/// first set, then those of the others without `rank` itself.
SmallVector<int64_t> getReached(const ClusterShape &cluster, int64_t rank,
                                ArrayRef<ClusterAxes> reach);

/// "x", "x and y".
std::string nameAxes(ArrayRef<int64_t> axes);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERS_H
