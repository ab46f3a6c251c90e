//===- WarpBoxes.h - The parts of a tile that warps hold --------*- C++ -*-===//
//
// Which rectangles of a tile are held by one warp alone: what a warp can store
// by itself once it has written them to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_WARPBOXES_H
#define TILEMLIR_LAYOUT_WARPBOXES_H

#include "tilemlir/Layout/FragmentLayout.h"

namespace tilemlir::layout {

/// Every warp holds the boxes that begin at `origins[warp] + offsets[i]` and
/// have `sizes` elements along the dimensions of the tile. Together the boxes
/// of all warps are the tile, and no two of them meet.
struct WarpBoxes {
  std::vector<int64_t> sizes;
  /// By warp, then dimension.
  std::vector<std::vector<int64_t>> origins;
  /// By box, then dimension; the first is zero.
  std::vector<std::vector<int64_t>> offsets;
};

/// The boxes of a fragment, as large as each warp's elements allow; or why the
/// tile does not fall into boxes of single warps: several threads hold the same
/// elements, some registers hold none, or the threads are no whole warps.
Result<WarpBoxes> getWarpBoxes(const FragmentLayout &layout);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_WARPBOXES_H
