//===- WarpPartition.h - Dividing a matrix tile among warps -----*- C++ -*-===//
//
// The warp policies of a tile-level gemm.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_WARPPARTITION_H
#define TILEMLIR_LAYOUT_WARPPARTITION_H

#include "tilemlir/Layout/Result.h"

#include <cstdint>

namespace tilemlir::layout {

enum class WarpPolicy {
  /// Smallest sum of operand rows and columns per warp.
  Square,
  /// Warps along M as far as the atoms of M divide among them, rest along N.
  FullRow,
  /// Warps along N as far as the atoms of N divide among them, rest along M.
  FullCol,
};

/// warpsM * warpsN * replicas == number of warps. Every warp gets equally many
/// whole atoms (after partitionRows, those beyond M are padding); leftover
/// warps repeat the work of others and store nothing.
struct WarpGrid {
  int64_t warpsM = 1;
  int64_t warpsN = 1;
  int64_t replicas = 1;

  int64_t numWarps() const { return warpsM * warpsN * replicas; }
  bool operator==(const WarpGrid &other) const {
    return warpsM == other.warpsM && warpsN == other.warpsN &&
           replicas == other.replicas;
  }
};

/// Divides an M x N tile among `warps` warps whose instruction covers
/// atomM x atomN. The grid always covers the tile exactly: warpsM divides
/// M / atomM and warpsN divides N / atomN, also for N = 8, 24, 40 with several
/// warps. Errors name the sizes: M or N not a multiple of its atom, no warps.
///
/// For wgmma pass the number of warp groups, atomM = 64 and atomN = 8, and read
/// the result in units of warp groups.
Result<WarpGrid> partitionWarps(int64_t m, int64_t n, int64_t warps,
                                WarpPolicy policy, int64_t atomM = 16,
                                int64_t atomN = 8);

/// All warps along M, each with all columns, whether or not the atoms of M
/// divide among them: as many atoms for each as the fullest warp needs, the
/// last warps having fewer or none (`warpsM` need not divide M / atomM). Warps
/// that divide into equal groups of which one suffices repeat the work instead.
Result<WarpGrid> partitionRows(int64_t m, int64_t n, int64_t warps,
                               int64_t atomM = 16, int64_t atomN = 8);

/// Rows of a warp under `grid`: whole atoms, as many as the fullest warp needs.
int64_t rowsOfWarp(int64_t m, const WarpGrid &grid, int64_t atomM = 16);

/// Checks a grid chosen by the user: `warpsM * warpsN` must divide `warps` and
/// the atoms must divide among the warps; leftover warps become replicas.
Result<WarpGrid> checkWarpGrid(int64_t m, int64_t n, int64_t warps,
                               int64_t warpsM, int64_t warpsN,
                               int64_t atomM = 16, int64_t atomN = 8);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_WARPPARTITION_H
