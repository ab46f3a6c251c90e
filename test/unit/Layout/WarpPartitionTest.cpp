//===- WarpPartitionTest.cpp - Warp policies on many sizes ----------------===//
//
// Checks every tile, warp count and policy against exhaustive search.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/WarpPartition.h"
#include "UnitTest.h"
#include "tilemlir/Layout/MmaFragments.h"

using namespace tilemlir::layout;

TEST(partitionsCoverTheTile) {
  for (int64_t atomM : {16, 64})
    for (int64_t m = atomM; m <= 256; m += atomM)
      for (int64_t n = 8; n <= 256; n += 8)
        for (int64_t warps = 1; warps <= 16; ++warps) {
          int64_t mostUsed = 0, mostM = 0, mostN = 0;
          for (int64_t wm = 1; wm <= warps; ++wm)
            for (int64_t wn = 1; wm * wn <= warps; ++wn)
              if (warps % (wm * wn) == 0 && (m / atomM) % wm == 0 &&
                  (n / 8) % wn == 0) {
                mostUsed = std::max(mostUsed, wm * wn);
                mostM = std::max(mostM, wm);
                mostN = std::max(mostN, wn);
              }
          for (WarpPolicy policy :
               {WarpPolicy::Square, WarpPolicy::FullRow, WarpPolicy::FullCol}) {
            auto grid = partitionWarps(m, n, warps, policy, atomM, 8);
            REQUIRE(grid);
            EXPECT_EQ(grid->numWarps(), warps);
            EXPECT_EQ(m % (grid->warpsM * atomM), 0);
            EXPECT_EQ(n % (grid->warpsN * 8), 0);
            if (policy == WarpPolicy::FullRow)
              EXPECT_EQ(grid->warpsM, mostM);
            if (policy == WarpPolicy::FullCol)
              EXPECT_EQ(grid->warpsN, mostN);
            if (policy == WarpPolicy::Square)
              EXPECT_EQ(grid->warpsM * grid->warpsN, mostUsed);
            EXPECT_TRUE(checkWarpGrid(m, n, warps, grid->warpsM, grid->warpsN,
                                      atomM, 8));
          }
        }
}

TEST(squareBalancesTheWarpTile) {
  auto grid = [](int64_t m, int64_t n, int64_t warps) {
    return *partitionWarps(m, n, warps, WarpPolicy::Square);
  };
  EXPECT_TRUE(grid(128, 128, 4) == (WarpGrid{2, 2, 1}));
  EXPECT_TRUE(grid(128, 256, 8) == (WarpGrid{2, 4, 1}));
  EXPECT_TRUE(grid(256, 128, 8) == (WarpGrid{4, 2, 1}));
  EXPECT_TRUE(grid(64, 256, 4) == (WarpGrid{1, 4, 1}));
  EXPECT_TRUE(grid(128, 24, 4) == (WarpGrid{4, 1, 1}));
}

TEST(fullPoliciesSpillTheRest) {
  EXPECT_TRUE(*partitionWarps(32, 128, 8, WarpPolicy::FullRow) ==
              (WarpGrid{2, 4, 1}));
  EXPECT_TRUE(*partitionWarps(128, 24, 8, WarpPolicy::FullCol) ==
              (WarpGrid{8, 1, 1}));
  // Neither dimension can use all warps: the rest repeats.
  EXPECT_TRUE(*partitionWarps(16, 8, 4, WarpPolicy::FullRow) ==
              (WarpGrid{1, 1, 4}));
  EXPECT_TRUE(*partitionWarps(16, 40, 4, WarpPolicy::FullCol) ==
              (WarpGrid{1, 1, 4}));
  EXPECT_TRUE(*partitionWarps(16, 40, 5, WarpPolicy::FullRow) ==
              (WarpGrid{1, 5, 1}));
}

TEST(rowsGoToAllWarps) {
  for (int64_t atoms = 1; atoms <= 16; ++atoms)
    for (int64_t warps = 1; warps <= 16; ++warps) {
      auto grid = partitionRows(16 * atoms, 64, warps);
      REQUIRE(grid);
      EXPECT_EQ(grid->numWarps(), warps);
      EXPECT_EQ(grid->warpsN, 1);
      // No warp has more rows than it must, and all rows are there.
      const int64_t rows = rowsOfWarp(16 * atoms, *grid);
      EXPECT_EQ(rows, (atoms + warps - 1) / warps * 16);
      EXPECT_TRUE(rows * grid->warpsM >= 16 * atoms);
    }
  EXPECT_TRUE(*partitionRows(112, 64, 8) == (WarpGrid{8, 1, 1}));
  EXPECT_TRUE(*partitionRows(96, 64, 12) == (WarpGrid{6, 1, 2}));
  EXPECT_TRUE(*partitionRows(128, 64, 8) == (WarpGrid{8, 1, 1}));
  EXPECT_FALSE(partitionRows(40, 64, 4));
}

TEST(partitionErrorsNameTheSizes) {
  EXPECT_EQ(partitionWarps(24, 64, 4, WarpPolicy::Square).error(),
            "M = 24 of the 24x64 tile is not a positive multiple of 16");
  EXPECT_EQ(partitionWarps(64, 12, 4, WarpPolicy::Square).error(),
            "N = 12 of the 64x12 tile is not a positive multiple of 8");
  EXPECT_EQ(partitionWarps(64, 64, 0, WarpPolicy::Square).error(),
            "the 64x64 tile needs at least one warp");
  EXPECT_EQ(checkWarpGrid(64, 64, 4, 3, 1).error(),
            "a grid of 3x1 warps does not divide 4 warps");
  EXPECT_EQ(
      checkWarpGrid(64, 24, 4, 1, 2).error(),
      "N = 24 has 3 column blocks of 8, which do not divide among 2 warps");
  EXPECT_EQ(checkWarpGrid(48, 64, 4, 2, 2).error(),
            "M = 48 has 3 row blocks of 16, which do not divide among 2 warps");
}
