//===- WgmmaFragmentsTest.cpp - Fragments of wgmma, the PTX ISA's ---------===//
//
// The expected coordinates are written as the PTX ISA gives them, per element
// number of a lane, independently of the library's mode lists.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/WgmmaFragments.h"
#include "RandomLayouts.h"

using namespace oracle;
using namespace tilemlir::layout;

static const WarpGrid kGroups[] = {WarpGrid{1, 1, 1}, WarpGrid{2, 1, 1},
                                   WarpGrid{1, 2, 1}, WarpGrid{3, 1, 1},
                                   WarpGrid{1, 3, 1}, WarpGrid{1, 1, 2}};

TEST(accumulatorsFollowThePtxIsa) {
  for (int64_t n : {8, 24, 72, 96, 176, 192, 256, 320, 512, 768})
    for (int64_t m : {64, 128, 192, 256})
      for (const WarpGrid &groups : kGroups) {
        const int64_t columns = n / groups.warpsN, rows = m / groups.warpsM;
        const int64_t pieceN = wgmmaColumns(columns, /*integers=*/false);
        auto accumulator = wgmmaAccumulator(m, n, groups, pieceN);
        const bool fits =
            m % (64 * groups.warpsM) == 0 && n % (8 * groups.warpsN) == 0;
        EXPECT_EQ(static_cast<bool>(accumulator), fits);
        if (!fits)
          continue;
        EXPECT_TRUE(pieceN > 0 && pieceN <= 256 && columns % pieceN == 0);
        EXPECT_EQ(accumulator->registersPerAtom, pieceN / 2);
        EXPECT_EQ(accumulator->outerAtoms, rows / 64);
        EXPECT_EQ(accumulator->innerAtoms, columns / pieceN);
        const int64_t threads = 128 * groups.numWarps();
        EXPECT_EQ(accumulator->layout.numThreads(), threads);
        EXPECT_EQ(accumulator->layout.numReplicas(), groups.replicas);
        EXPECT_EQ(accumulator->layout.numRegisters(), rows * columns / 128);
        for (int64_t thread = 0; thread < threads; thread += 3) {
          const int64_t group = thread / 128, warp = thread / 32 % 4,
                        lane = thread % 32;
          const int64_t row0 = group % groups.warpsM * rows;
          const int64_t column0 =
              group / groups.warpsM % groups.warpsN * columns;
          for (int64_t im = 0; im < rows / 64; ++im)
            for (int64_t in = 0; in < columns / pieceN; ++in)
              for (int64_t d = 0; d < pieceN / 2; ++d) {
                const int64_t h = d / 2 % 2, j = d / 4, e = d % 2;
                const int64_t r = accumulator->firstRegister(im, in) + d;
                EXPECT_EQ(
                    accumulator->layout.coordinates(thread, r),
                    (Coordinate{row0 + 64 * im + 16 * warp + lane / 4 + 8 * h,
                                column0 + in * pieceN + 8 * j + 2 * (lane % 4) +
                                    e}));
              }
        }
      }
}

TEST(registerOperandsFollowThePtxIsa) {
  for (int64_t bits : {8, 16, 32}) {
    const int64_t packed = 32 / bits, atomK = 8 * packed;
    for (const WarpGrid &groups : {WarpGrid{2, 2, 1}, WarpGrid{1, 1, 1}}) {
      auto a = wgmmaOperandA(128, 3 * atomK, bits, groups);
      auto at = wgmmaOperandA(128, 3 * atomK, bits, groups, true);
      REQUIRE(a && at);
      EXPECT_EQ(a->registersPerAtom, 4 * packed);
      const int64_t rows = 128 / groups.warpsM;
      for (int64_t thread = 0; thread < 128 * groups.numWarps(); thread += 7) {
        const int64_t lane = thread % 32, warp = thread / 32 % 4,
                      group = thread / 128;
        for (int64_t im = 0; im < rows / 64; ++im)
          for (int64_t ik = 0; ik < 3; ++ik)
            for (int64_t i = 0; i < 4 * packed; ++i) {
              // 32-bit registers a0 .. a3: rows g, g + 8, g, g + 8, the last
              // two 16 bytes further along k.
              const int64_t word = i / packed, e = i % packed;
              const int64_t row = group % groups.warpsM * rows + 64 * im +
                                  16 * warp + lane / 4 + 8 * (word % 2);
              const int64_t column = atomK * ik + packed * (lane % 4) + e +
                                     4 * packed * (word / 2);
              const int64_t r = a->firstRegister(im, ik) + i;
              EXPECT_EQ(a->layout.coordinates(thread, r),
                        (Coordinate{row, column}));
              EXPECT_EQ(at->layout.coordinates(thread, r),
                        (Coordinate{column, row}));
            }
      }
    }
  }
}

TEST(accumulatorsFeed16BitRegisterOperandsWithoutMovement) {
  auto s = wgmmaAccumulator(128, 176, WarpGrid{2, 1, 1});
  auto p = wgmmaOperandA(128, 176, 16, WarpGrid{2, 1, 1});
  REQUIRE(s && p);
  auto table = s->layout.registerPermutation(p->layout);
  REQUIRE(table.has_value());
  for (size_t r = 0; r < table->size(); ++r)
    EXPECT_EQ((*table)[r], static_cast<int64_t>(r));
}

TEST(sumsFitTheRegistersAtLaunch) {
  EXPECT_EQ(wgmmaColumnsForThreads(128, 32), 256);
  EXPECT_EQ(wgmmaColumnsForThreads(384, 32), 256);
  EXPECT_EQ(wgmmaColumnsForThreads(512, 32), 200);
  EXPECT_EQ(wgmmaColumnsForThreads(512, 16), 256);
  EXPECT_EQ(wgmmaColumnsForThreads(1024, 32), 72);
}

TEST(columnsAreLegalAndCoverTheTile) {
  EXPECT_EQ(wgmmaColumns(176, false), 176);
  EXPECT_EQ(wgmmaColumns(512, false), 256);
  EXPECT_EQ(wgmmaColumns(264, false), 88);
  EXPECT_EQ(wgmmaColumns(40, true), 8);
  EXPECT_EQ(wgmmaColumns(24, true), 24);
  EXPECT_EQ(wgmmaColumns(72, true), 24);
  EXPECT_EQ(wgmmaColumns(256, false, 200), 128);
  EXPECT_EQ(wgmmaColumns(264, false, 64), 24);
  EXPECT_EQ(wgmmaColumns(12, false), 0);
  EXPECT_EQ(wgmmaAccumulator(64, 512, WarpGrid{}).error(),
            "N = 512 gives each of 1 warp groups 512 columns in one "
            "instruction, at most 256 are possible");
  EXPECT_EQ(wgmmaAccumulator(64, 96, WarpGrid{}, 64).error(),
            "instructions of 64 columns do not cover 96 columns");
  EXPECT_EQ(wgmmaAccumulator(96, 64, WarpGrid{}).error(),
            "M = 96 is not a multiple of 64 for each of 1 warp groups along M");
  EXPECT_EQ(wgmmaOperandA(64, 24, 16, WarpGrid{}).error(),
            "K = 24 is not a multiple of 16");
}
