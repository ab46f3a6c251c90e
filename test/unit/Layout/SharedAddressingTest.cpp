//===- SharedAddressingTest.cpp - Address decompositions ------------------===//
//
// Checks every stated relation on all coordinates, and that the addresses of
// typical matrix loads need few bases.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/SharedAddressing.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/MatrixAccess.h"
#include "tilemlir/Layout/MmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

static Coordinate plus(const Coordinate &a, const Coordinate &b) {
  Coordinate sum = a;
  for (size_t i = 0; i < b.size(); ++i)
    sum[i] += b[i];
  return sum;
}

TEST(addressDeltasHoldForAllBases) {
  int add = 0, flip = 0, none = 0;
  for (int round = 0; round < 4000; ++round) {
    static const std::vector<std::vector<int64_t>> shapes = {
        {64, 64},  {32, 128}, {64, 96}, {48, 192},
        {128, 32}, {64, 16},  {24, 40}};
    auto layout = SharedLayout::swizzled(
        shapes[unittest::random(0, shapes.size() - 1)], 16);
    REQUIRE(layout);
    // Bases on a grid, deltas small enough to stay inside.
    const int64_t rowStep = int64_t(1) << unittest::random(0, 4);
    const int64_t columnStep = 8 << unittest::random(0, 2);
    Coordinate delta = {rowStep * unittest::random(0, 3) *
                            (unittest::chance(50) ? 1 : 8),
                        8 * unittest::random(0, 3)};
    std::vector<Coordinate> bases;
    for (int64_t i = 0; i + delta[0] < layout->shape()[0]; i += rowStep)
      for (int64_t j = 0; j + delta[1] < layout->shape()[1]; j += columnStep)
        bases.push_back({i, j});
    if (bases.empty())
      continue;
    auto result = addressDelta(*layout, bases, delta);
    unittest::setContext(
        layout->str() + " row step " + std::to_string(rowStep) +
        " column step " + std::to_string(columnStep) + " delta " +
        std::to_string(delta[0]) + "," + std::to_string(delta[1]));
    // Is there any relation of the form? All constants that touch chunk and row
    // bits are tried.
    bool exists = false;
    for (int64_t x = 0; x < 1024 && !exists; x += 16) {
      std::set<int64_t> differences;
      for (const Coordinate &base : bases)
        differences.insert(layout->byteOffset(plus(base, delta)) -
                           (layout->byteOffset(base) ^ x));
      exists = differences.size() == 1;
    }
    if (result)
      for (const Coordinate &base : bases)
        EXPECT_EQ((layout->byteOffset(base) ^ result->xorBytes) +
                      result->addBytes,
                  layout->byteOffset(plus(base, delta)));
    // With few bases an accidental relation may exist that is not worth a
    // search.
    if (bases.size() > 16)
      EXPECT_EQ(result.has_value(), exists);
    ++(!result ? none : result->xorBytes ? flip : add);
  }
  EXPECT_TRUE(add > 300);
  EXPECT_TRUE(flip > 100);
  EXPECT_TRUE(none > 100);
}

TEST(addressPlansReachEveryAddress) {
  for (int round = 0; round < 500; ++round) {
    auto layout = SharedLayout::swizzled({64, 96 * unittest::random(1, 2)}, 16);
    REQUIRE(layout);
    std::vector<Coordinate> bases, deltas;
    for (int i = 0; i < 8; ++i)
      bases.push_back({unittest::random(0, 31), 8 * unittest::random(0, 3)});
    for (int i = 0; i < 12; ++i)
      deltas.push_back({unittest::random(0, 32), 8 * unittest::random(0, 8)});
    AddressPlan plan = planAddresses(*layout, bases, deltas);
    EXPECT_EQ(plan.uses.size(), deltas.size());
    EXPECT_TRUE(plan.bases.size() <= deltas.size());
    for (size_t i = 0; i < deltas.size(); ++i) {
      REQUIRE(plan.uses[i].base < plan.bases.size());
      const AddressPlan::Base &base = plan.bases[plan.uses[i].base];
      for (const Coordinate &c : bases)
        EXPECT_EQ(
            (layout->byteOffset(plus(c, deltas[base.seed])) ^ base.xorBytes) +
                plan.uses[i].addBytes,
            layout->byteOffset(plus(c, deltas[i])));
    }
  }
}

/// Bases of all ldmatrix.x4 of a fragment.
static AddressPlan planOperand(const FragmentLayout &fragment,
                               const SharedLayout &layout) {
  auto access = matchMatrixAccess(fragment, 16, layout.fastestDim());
  if (!access) {
    unittest::reportFailure(__FILE__, __LINE__, access.error());
    return {};
  }
  std::vector<Coordinate> bases, deltas;
  for (int64_t thread = 0; thread < fragment.numThreads(); ++thread)
    bases.push_back(
        matrixRowCoordinate(fragment, *access, thread, {0, 1, 2, 3}));
  for (int64_t i = 0; i < access->numMatrices; i += 4) {
    Coordinate delta = matrixOffset(fragment, *access, i);
    Coordinate first = matrixOffset(fragment, *access, 0);
    for (size_t dim = 0; dim < delta.size(); ++dim)
      delta[dim] -= first[dim];
    deltas.push_back(delta);
  }
  return planAddresses(layout, bases, deltas);
}

TEST(matrixLoadsNeedFewBases) {
  const WarpGrid grid{2, 2, 1};
  auto a = mmaOperandA(128, 64, 16, 16, grid);
  auto bt = mmaOperandB(64, 128, 16, 16, grid, true);
  auto b = mmaOperandB(64, 128, 16, 16, grid);
  auto sharedA = SharedLayout::swizzled({128, 64}, 16);
  auto sharedB = SharedLayout::swizzled({64, 128}, 16);
  REQUIRE(a && bt && b && sharedA && sharedB);
  // One base per k step of 32 bytes, the rest are immediate offsets.
  AddressPlan planA = planOperand(a->layout, *sharedA);
  EXPECT_EQ(planA.bases.size(), size_t(4));
  EXPECT_EQ(planA.uses.size(), size_t(16));
  size_t seeds = 0;
  for (const AddressPlan::Base &base : planA.bases)
    seeds += base.xorBytes == 0;
  EXPECT_EQ(seeds, size_t(1));
  EXPECT_TRUE(planOperand(bt->layout, *sharedA).bases.size() <= 4);
  EXPECT_TRUE(planOperand(b->layout, *sharedB).bases.size() <= 8);
}
