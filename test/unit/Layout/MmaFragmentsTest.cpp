//===- MmaFragmentsTest.cpp - Fragments against the PTX ISA ---------------===//
//
// The expected coordinates are written as the PTX ISA gives them, per element
// number i of a lane, independently of the library's mode lists.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MmaFragments.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/FragmentAccess.h"

using namespace oracle;
using namespace tilemlir::layout;

using Position = std::pair<int64_t, int64_t>; // (row, column)

/// Accumulator of m16n8: c0, c1 in row groupID, c2, c3 in row groupID + 8.
static Position accumulatorElement(int64_t lane, int64_t i) {
  const int64_t group = lane >> 2, inGroup = lane % 4;
  return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
}

/// A of m16n8k*: as listed for each type and k.
static Position operandA(int64_t bits, int64_t k, int64_t lane, int64_t i) {
  const int64_t group = lane >> 2, inGroup = lane % 4;
  if (bits == 16 && k == 16)
    return {(i >= 0 && i < 2) || (i >= 4 && i < 6) ? group : group + 8,
            inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  if (bits == 16 && k == 8)
    return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
  if (bits == 8 && k == 32)
    return {(i >= 0 && i < 4) || (i >= 8 && i < 12) ? group : group + 8,
            inGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  if (bits == 8 && k == 16)
    return {i < 4 ? group : group + 8, inGroup * 4 + (i & 3)};
  if (bits == 32 && k == 8)
    return {i == 0 || i == 2 ? group : group + 8,
            i == 0 || i == 1 ? inGroup : inGroup + 4};
  // tf32, k = 4.
  return {i == 0 ? group : group + 8, inGroup};
}

/// B of m16n8k*: (k, n).
static Position operandB(int64_t bits, int64_t k, int64_t lane, int64_t i) {
  const int64_t group = lane >> 2, inGroup = lane % 4;
  if (bits == 16 && k == 16)
    return {inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
  if (bits == 16 && k == 8)
    return {inGroup * 2 + i, group};
  if (bits == 8 && k == 32)
    return {inGroup * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
  if (bits == 8 && k == 16)
    return {inGroup * 4 + i, group};
  if (bits == 32 && k == 8)
    return {i == 0 ? inGroup : inGroup + 4, group};
  return {inGroup, group};
}

struct InstructionShape {
  int64_t bits, k;
};
static const InstructionShape kShapes[] = {{16, 16}, {16, 8}, {8, 32},
                                           {8, 16},  {32, 8}, {32, 4}};

/// Expects element `i` of atom (outer, inner) of `thread` at `expected`.
static void checkElement(const MmaFragment &fragment, int64_t thread,
                         int64_t outer, int64_t inner, int64_t i,
                         Position expected) {
  const int64_t r = fragment.firstRegister(outer, inner) + i;
  EXPECT_EQ(fragment.layout.coordinates(thread, r),
            (Coordinate{expected.first, expected.second}));
}

TEST(mmaFragmentsFollowThePtxIsa) {
  for (int64_t n : {8, 24, 40, 48, 56, 72, 88, 96, 128, 192})
    for (int64_t m : {16, 48, 64, 128})
      for (int64_t warps : {1, 2, 3, 4, 6, 8})
        for (WarpPolicy policy :
             {WarpPolicy::Square, WarpPolicy::FullRow, WarpPolicy::FullCol}) {
          const WarpGrid grid = *partitionWarps(m, n, warps, policy);
          const int64_t rows = m / grid.warpsM, columns = n / grid.warpsN;
          auto accumulator = mmaAccumulator(m, n, grid);
          REQUIRE(accumulator);
          EXPECT_EQ(accumulator->layout.numThreads(), 32 * warps);
          EXPECT_EQ(accumulator->layout.numReplicas(), grid.replicas);
          EXPECT_FALSE(accumulator->layout.hasPadding());
          EXPECT_EQ(accumulator->outerAtoms, rows / 16);
          EXPECT_EQ(accumulator->innerAtoms, columns / 8);
          const InstructionShape shape = kShapes[unittest::random(0, 5)];
          const int64_t k = shape.k * unittest::random(1, 4);
          auto a = mmaOperandA(m, k, shape.bits, shape.k, grid);
          auto at = mmaOperandA(m, k, shape.bits, shape.k, grid, true);
          auto b = mmaOperandB(k, n, shape.bits, shape.k, grid);
          auto bt = mmaOperandB(k, n, shape.bits, shape.k, grid, true);
          REQUIRE(a && b && at && bt);
          for (int64_t thread = 0; thread < 32 * warps; thread += 5) {
            const int64_t lane = thread % 32, warp = thread / 32;
            const int64_t row0 = warp % grid.warpsM * rows;
            const int64_t column0 = warp / grid.warpsM % grid.warpsN * columns;
            for (int64_t im = 0; im < rows / 16; ++im)
              for (int64_t in = 0; in < columns / 8; ++in)
                for (int64_t i = 0; i < 4; ++i) {
                  Position p = accumulatorElement(lane, i);
                  checkElement(
                      *accumulator, thread, im, in, i,
                      {row0 + 16 * im + p.first, column0 + 8 * in + p.second});
                }
            for (int64_t ik = 0; ik < k / shape.k; ++ik) {
              for (int64_t im = 0; im < rows / 16; ++im)
                for (int64_t i = 0; i < a->registersPerAtom; ++i) {
                  Position p = operandA(shape.bits, shape.k, lane, i);
                  p = {row0 + 16 * im + p.first, shape.k * ik + p.second};
                  checkElement(*a, thread, im, ik, i, p);
                  checkElement(*at, thread, im, ik, i, {p.second, p.first});
                }
              for (int64_t in = 0; in < columns / 8; ++in)
                for (int64_t i = 0; i < b->registersPerAtom; ++i) {
                  Position p = operandB(shape.bits, shape.k, lane, i);
                  p = {shape.k * ik + p.first, column0 + 8 * in + p.second};
                  checkElement(*b, thread, in, ik, i, p);
                  checkElement(*bt, thread, in, ik, i, {p.second, p.first});
                }
            }
          }
          const int64_t perLane = 16 * shape.k / 32;
          EXPECT_EQ(a->registersPerAtom, perLane);
          EXPECT_EQ(b->registersPerAtom, perLane / 2);
          EXPECT_EQ(a->layout.numReplicas(), grid.warpsN * grid.replicas);
          EXPECT_EQ(b->layout.numReplicas(), grid.warpsM * grid.replicas);
        }
}

TEST(runsAlongKPermuteTheSumsOfBothOperandsAlike) {
  for (InstructionShape shape : kShapes)
    for (int64_t factor : {1, 2, 4}) {
      const int64_t run = factor * shape.k / 4, k = 8 * run;
      const WarpGrid grid{2, 2, 1};
      auto a = mmaOperandA(64, k, shape.bits, shape.k, grid, false, run);
      auto b = mmaOperandB(k, 32, shape.bits, shape.k, grid, false, run);
      REQUIRE(a && b);
      EXPECT_EQ(a->innerAtoms, k / shape.k);
      EXPECT_FALSE(a->layout.hasPadding());
      std::set<int64_t> multiplied;
      for (int64_t lane = 0; lane < 32; ++lane) {
        for (int64_t atom = 0; atom < k / shape.k; ++atom)
          for (int64_t i = 0; i < b->registersPerAtom; ++i) {
            // Where the instruction expects one element along K of A and B,
            // both hold the same one.
            const int64_t atB =
                b->layout.coordinates(lane, b->firstRegister(0, atom) + i)[0];
            multiplied.insert(atB);
            const Position wantB = operandB(shape.bits, shape.k, lane, i);
            for (int64_t j = 0; j < a->registersPerAtom; ++j)
              if (operandA(shape.bits, shape.k, lane, j).second == wantB.first)
                EXPECT_EQ(a->layout.coordinates(
                              lane, a->firstRegister(0, atom) + j)[1],
                          atB);
          }
        // A thread's part of the first run are neighbours.
        for (int64_t r = 0; r < run; ++r)
          EXPECT_EQ(b->layout.coordinates(lane, r)[0], lane % 4 * run + r);
      }
      EXPECT_EQ(static_cast<int64_t>(multiplied.size()), k);
    }
  EXPECT_FALSE(mmaOperandA(64, 64, 16, 16, WarpGrid{}, false, 6));
  EXPECT_FALSE(mmaOperandA(64, 32, 16, 16, WarpGrid{}, false, 16));
}

TEST(accumulatorsFeed16BitOperandsWithoutMovement) {
  // The second product of attention: P = S of the first, 16-bit.
  auto s = mmaAccumulator(64, 96, WarpGrid{4, 1, 1});
  auto p = mmaOperandA(64, 96, 16, 16, WarpGrid{4, 1, 1});
  REQUIRE(s && p);
  EXPECT_TRUE(s->layout.isSameMap(p->layout));
  EXPECT_EQ(s->layout.str(), p->layout.str());
  // 8-bit operands pack four columns: data must move.
  auto p8 = mmaOperandA(64, 96, 8, 32, WarpGrid{4, 1, 1});
  REQUIRE(p8);
  EXPECT_FALSE(s->layout.registerPermutation(p8->layout));
}

TEST(rowStatisticsServeTheRows) {
  for (const WarpGrid &grid : {WarpGrid{4, 1, 1}, WarpGrid{2, 2, 1}}) {
    auto tile = mmaAccumulator(64, 48, grid);
    REQUIRE(tile);
    auto rows = rowStatistics(tile->layout);
    REQUIRE(rows);
    auto access =
        projectedAccess(tile->layout, *rows, {AccessIndex::iteration(0)});
    REQUIRE(access);
    for (int64_t r = 0; r < tile->layout.numRegisters(); ++r)
      EXPECT_EQ(rows->registerOffset(access->operandRegister[r])[0],
                tile->layout.registerOffset(r)[0]);
    EXPECT_FALSE(rowStatistics(*rows));
  }
}

TEST(rowsBeyondTheTileArePadding) {
  // 7 row blocks on 8 warps, 11 on 8: the last ones have fewer or none.
  for (int64_t m : {112, 176})
    for (bool transposed : {false, true}) {
      const WarpGrid grid{8, 1, 1};
      const int64_t rows = rowsOfWarp(m, grid);
      auto c = mmaAccumulator(m, 64, grid);
      auto a = mmaOperandA(m, 64, 16, 16, grid, transposed);
      REQUIRE(c && a);
      EXPECT_TRUE(c->layout.isBijectiveModuloReplicas());
      EXPECT_EQ(c->layout.numRegisters(), rows * 64 / 32);
      for (int64_t thread = 0; thread < 256; ++thread)
        for (int64_t r = 0; r < c->layout.numRegisters(); ++r) {
          const int64_t atom = r / 4;
          auto [row, column] = accumulatorElement(thread % 32, r % 4);
          row += thread / 32 * rows + atom / 8 * 16;
          column += atom % 8 * 8;
          EXPECT_EQ(c->layout.isPadding(thread, r), row >= m);
          if (row < m)
            EXPECT_EQ(c->layout.coordinates(thread, r),
                      (std::vector<int64_t>{row, column}));
        }
      // The weights of attention: the sums are the operand.
      if (!transposed)
        EXPECT_TRUE(c->layout.isSameMap(a->layout));
    }
}

TEST(fragmentErrorsNameTheSizes) {
  EXPECT_EQ(mmaAccumulator(64, 24, WarpGrid{1, 2, 1}).error(),
            "N = 24 is not a multiple of 8 for each of 2 warps along N");
  EXPECT_EQ(mmaAccumulator(40, 24, WarpGrid{1, 1, 1}).error(),
            "M = 40 is not a multiple of 16");
  EXPECT_EQ(mmaOperandA(64, 24, 16, 16, WarpGrid{}).error(),
            "K = 24 is not a multiple of 16");
  EXPECT_EQ(mmaOperandA(64, 64, 16, 32, WarpGrid{}).error(),
            "instructions on 16-bit elements have k = 8 or 16, not 32");
  EXPECT_EQ(mmaOperandB(64, 64, 64, 8, WarpGrid{}).error(),
            "matrix operands have elements of 8, 16 or 32 bits, not 64");
}
