//===- ClusterAccess.h - other blocks, as the program says ------*- C++ -*-===//
//
// A program with clusters may load for other blocks, and arrive at their
// barriers. Two discardable attributes say so:
//
//   tile.cluster_mask   i64 on a load by TMA: the block with rank r receives it
//                       too if bit r is set, at the same place of its shared
//                       memory and on the same barrier of its own.
//   tile.cluster_index  Unit, on an arrival of threads: the index counts the
//                       barriers of all blocks of the cluster, those of rank 0
//                       first.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERACCESS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERACCESS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

constexpr llvm::StringLiteral kClusterMask = "tile.cluster_mask";
constexpr llvm::StringLiteral kClusterIndex = "tile.cluster_index";

/// The mask of a load that the program shares; 0 for other copies.
inline int64_t getClusterMask(Operation *copy) {
  auto mask = copy->getAttrOfType<IntegerAttr>(kClusterMask);
  return mask ? mask.getInt() : 0;
}

/// Whether `arrive` is at a barrier of any block of the cluster.
inline bool countsThroughCluster(Operation *arrive) {
  return arrive->hasAttr(kClusterIndex);
}

/// Ranks of the blocks in a mask.
inline SmallVector<int64_t, 4> getRanks(int64_t mask) {
  SmallVector<int64_t, 4> ranks;
  for (int64_t rank = 0; mask >> rank; ++rank)
    if (mask >> rank & 1)
      ranks.push_back(rank);
  return ranks;
}

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_CLUSTERACCESS_H
