//===- WarpStores.h - stores that each warp does by itself ------*- C++ -*-===//
//
// A tile that goes from registers through shared memory to a tensor needs no
// barrier of the block if each warp stores the rectangles that it has written
// itself. Two discardable attributes say so:
//
//   tile.warp_layout  On the copy of a fragment to a staging buffer (or the
//                     loop that stores it transposed), and on the copy_async of
//                     that buffer to a tensor: each warp touches in the whole
//                     buffer what it holds under this layout.
//   tile.per_warp     On the tile.bulk_commit and tile.bulk_wait of such
//                     stores: one thread of each warp does it, the one that
//                     starts the warp's stores.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_WARPSTORES_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_WARPSTORES_H

#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Layout/WarpBoxes.h"

namespace mlir::tile {

constexpr llvm::StringLiteral kWarpLayout = "tile.warp_layout";
constexpr llvm::StringLiteral kPerWarp = "tile.per_warp";

/// The layout by which warps share the work of `op`; null for operations of the
/// whole block.
FragmentLayoutAttr getWarpLayout(Operation *op);

/// Whether each warp executes `op` (a store by TMA, commit or wait) by itself.
bool isPerWarp(Operation *op);

/// How a warp stores its part of a staging buffer.
struct WarpStorePlan {
  ::tilemlir::layout::WarpBoxes parts;
  /// Dimension of the tensor along each one of the buffer; -1 where its extent
  /// is 1.
  SmallVector<int64_t> tensorDims;
  /// By part: bytes from the beginning of the buffer, without the warp's own.
  SmallVector<int64_t> partBytes;
  /// By warp: bytes from the beginning of the buffer.
  SmallVector<int64_t> warpBytes;
  /// The boxes of TMA that one part is made of.
  TmaPlan boxes;
};

/// The plan for a store of a whole staging buffer whose elements are spread
/// over warps by `layout`; or why TMA cannot store the parts of single warps.
::tilemlir::layout::Result<WarpStorePlan>
planWarpStore(Operation *store, FragmentLayoutAttr layout);

/// Marks the stores among `stores` that warps can do by themselves, and the
/// copies that fill their staging buffers. The choices say why, or why not.
void storeByWarps(KernelOp kernel, ArrayRef<CopyAsyncOp> stores);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_WARPSTORES_H
