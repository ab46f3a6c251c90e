//===- FragmentAccessTest.cpp - Reading one fragment under another --------===//
//
// Compares containment, register permutations and projected accesses with
// enumeration.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/FragmentAccess.h"
#include "RandomLayouts.h"

using namespace oracle;
using namespace tilemlir::layout;

/// The table by enumeration, or nullopt.
static std::optional<std::vector<int64_t>>
accessByEnumeration(const FragmentLayout &iteration,
                    const FragmentLayout &operand,
                    const std::vector<AccessIndex> &access) {
  const Map operandMap = enumerate(operand);
  std::vector<int64_t> table(iteration.numRegisters(), -1);
  for (int64_t t = 0; t < iteration.numThreads(); ++t) {
    std::map<int64_t, int64_t> registerOf;
    for (int64_t r = 0; r < operand.numRegisters(); ++r)
      if (operandMap[t][r] >= 0)
        registerOf[operandMap[t][r]] = r;
    for (int64_t r = 0; r < iteration.numRegisters(); ++r) {
      Coordinate i = coordinate(iteration.shape(), iteration.threadModes(),
                                iteration.registerModes(), t, r);
      if (!inside(i, iteration.shape()))
        continue;
      Coordinate o;
      for (const AccessIndex &index : access)
        o.push_back(index.offset +
                    (index.iterationDim < 0 ? 0 : i[index.iterationDim]));
      if (!inside(o, operand.shape()))
        return std::nullopt;
      auto found = registerOf.find(linearize(o, operand.shape()));
      if (found == registerOf.end())
        return std::nullopt;
      if (table[r] >= 0 && table[r] != found->second)
        return std::nullopt;
      table[r] = found->second;
    }
  }
  return table;
}

static void checkAccess(const FragmentLayout &iteration,
                        const FragmentLayout &operand,
                        const std::vector<AccessIndex> &access, int &legal,
                        int &illegal) {
  auto result = projectedAccess(iteration, operand, access);
  auto expected = accessByEnumeration(iteration, operand, access);
  unittest::setContext(iteration.str() + " reads " + operand.str() + ": " +
                       result.error());
  EXPECT_EQ(static_cast<bool>(result), expected.has_value());
  if (result && expected)
    EXPECT_EQ(result->operandRegister, *expected);
  ++(expected ? legal : illegal);
}

TEST(projectedAccessAgreesWithEnumeration) {
  int legal = 0, illegal = 0;
  for (int round = 0; round < 800; ++round) {
    std::vector<int64_t> shape = randomShape(512);
    FragmentLayout iteration =
        randomLayout(shape, randomThreads(), unittest::chance(50));
    // A random access: each operand dim an iteration dim or unit, any order.
    std::vector<AccessIndex> access;
    std::vector<int64_t> operandShape;
    std::vector<int> dims(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    shuffle(dims);
    for (int dim : dims) {
      if (unittest::chance(60)) {
        access.push_back(AccessIndex::iteration(dim));
        operandShape.push_back(shape[dim]);
      }
      if (unittest::chance(10)) {
        access.push_back(AccessIndex::constant(0));
        operandShape.push_back(1);
      }
    }
    auto fitting = layoutForAccess(iteration, access, operandShape);
    REQUIRE(fitting);
    EXPECT_TRUE(fitting->isBijectiveModuloReplicas());
    checkAccess(iteration, *fitting, access, legal, illegal);
    FragmentLayout other = replicateSome(shuffleRegisters(*fitting));
    checkAccess(iteration, other, access, legal, illegal);
    checkAccess(iteration, randomLayout(operandShape, iteration.numThreads()),
                access, legal, illegal);
  }
  EXPECT_TRUE(legal > 800);
  EXPECT_TRUE(illegal > 250);
}

TEST(shiftedAndConstantAccesses) {
  int legal = 0, illegal = 0;
  for (int round = 0; round < 3000; ++round) {
    // The operand is larger than the iteration space; constants pick a row.
    const int64_t extent = unittest::random(1, 24);
    const int64_t rows = unittest::random(1, 4);
    const int64_t offset = unittest::random(0, 12);
    FragmentLayout operand =
        randomLayout({rows, extent + offset + unittest::random(0, 8)},
                     unittest::random(1, 6), unittest::chance(50), 50);
    FragmentLayout iteration =
        randomLayout({extent}, operand.numThreads(), unittest::chance(50), 50);
    checkAccess(iteration, operand,
                {AccessIndex::constant(unittest::random(0, rows - 1)),
                 AccessIndex::iteration(0, offset)},
                legal, illegal);
  }
  EXPECT_TRUE(legal > 100);
  EXPECT_TRUE(illegal > 500);
}

TEST(diagonalAccess) {
  int legal = 0, illegal = 0;
  for (int round = 0; round < 1000; ++round) {
    const int64_t extent = unittest::random(1, 12);
    FragmentLayout operand =
        randomLayout({extent, extent}, unittest::random(1, 6), true, 60);
    FragmentLayout iteration =
        randomLayout({extent}, operand.numThreads(), true, 60);
    checkAccess(iteration, operand,
                {AccessIndex::iteration(0), AccessIndex::iteration(0)}, legal,
                illegal);
  }
  EXPECT_TRUE(legal > 50);
  EXPECT_TRUE(illegal > 50);
}

TEST(threadIdsWithoutCommonFactors) {
  // 2 x 3 against 3 x 2: no digit is common, yet both put element i on thread
  // i.
  auto a = FragmentLayout::create({6}, {{2, 0, 1}, {3, 0, 2}}, {});
  auto b = FragmentLayout::create({6}, {{3, 0, 1}, {2, 0, 3}}, {});
  auto c = FragmentLayout::create({6}, {{3, 0, 2}, {2, 0, 1}}, {});
  REQUIRE(a && b && c);
  int legal = 0, illegal = 0;
  checkAccess(*a, *b, identityAccess(1), legal, illegal);
  checkAccess(*a, *c, identityAccess(1), legal, illegal);
  EXPECT_EQ(legal, 1);
  EXPECT_EQ(illegal, 1);
  EXPECT_TRUE(a->isSameMap(*b));
}

TEST(accessErrorsSayWhatIsWrong) {
  auto tile = FragmentLayout::create({8, 8}, {{8, 0, 1}}, {{8, 1, 1}});
  auto column = FragmentLayout::create({8}, {{8, 0, 1}}, {});
  auto shorter = FragmentLayout::create({8}, {{4, 0, 1}}, {{2, 0, 4}});
  REQUIRE(tile && column && shorter);
  auto error = [&](const FragmentLayout &operand,
                   std::vector<AccessIndex> access) {
    return projectedAccess(*tile, operand, access).error();
  };
  EXPECT_EQ(error(*column, {AccessIndex::iteration(0)}), "");
  EXPECT_EQ(error(*column, {AccessIndex::iteration(1)}),
            "dim 0 of the operand lies along digit thread % 8, which does not "
            "follow its index");
  EXPECT_EQ(error(*column, {AccessIndex::iteration(0, 1)}),
            "indices [1, 8] leave dim 0 of extent 8");
  EXPECT_EQ(error(*column, {AccessIndex::iteration(2)}),
            "index 0 uses iteration dim 2 of 2");
  EXPECT_EQ(error(*column, {}),
            "the access has 0 indices, the operand has rank 1");
  EXPECT_EQ(error(*shorter, {AccessIndex::iteration(0)}),
            "the iterations run on 8 threads, the operand is held by 4");
}

TEST(containsAgreesWithEnumeration) {
  int yes = 0, no = 0;
  for (int round = 0; round < 800; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    FragmentLayout small = randomLayout(shape, randomThreads());
    FragmentLayout large =
        unittest::chance(60)
            ? replicateSome(small)
            : randomLayout(shape, small.numThreads(), true, 60);
    unittest::setContext(large.str() + " contains " + small.str());
    const Map a = enumerate(large), b = enumerate(small);
    bool expected = true;
    for (size_t t = 0; t < a.size(); ++t) {
      std::set<int64_t> held(a[t].begin(), a[t].end());
      for (int64_t element : b[t])
        expected &= element < 0 || held.count(element) > 0;
    }
    EXPECT_EQ(large.contains(small), expected);
    ++(expected ? yes : no);
  }
  EXPECT_TRUE(yes > 200);
  EXPECT_TRUE(no > 80);
}

TEST(registerPermutationAgreesWithEnumeration) {
  int permuted = 0, refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    FragmentLayout a = randomLayout(shape, randomThreads());
    FragmentLayout b = a;
    switch (unittest::random(0, 2)) {
    case 0:
      b = shuffleRegisters(a);
      break;
    case 1:
      b = replicateSome(a);
      break;
    case 2:
      b = randomLayout(shape, a.numThreads());
      break;
    }
    unittest::setContext(a.str() + " to " + b.str());
    const Map mapA = enumerate(a), mapB = enumerate(b);
    bool sameSets = true;
    for (size_t t = 0; t < mapA.size(); ++t) {
      std::set<int64_t> x(mapA[t].begin(), mapA[t].end());
      std::set<int64_t> y(mapB[t].begin(), mapB[t].end());
      x.erase(-1);
      y.erase(-1);
      sameSets &= x == y;
    }
    auto table = a.registerPermutation(b);
    if (!sameSets)
      EXPECT_FALSE(table);
    if (!table) {
      ++refused;
      continue;
    }
    ++permuted;
    EXPECT_EQ(static_cast<int64_t>(table->size()), a.numRegisters());
    std::set<int64_t> targets;
    for (int64_t r = 0; r < a.numRegisters(); ++r) {
      const int64_t target = (*table)[r];
      if (target >= 0)
        EXPECT_TRUE(targets.insert(target).second);
      for (size_t t = 0; t < mapA.size(); ++t)
        if (mapA[t][r] >= 0)
          EXPECT_EQ(mapB[t][target], mapA[t][r]);
    }
    if (a.numRegisters() == b.numRegisters())
      EXPECT_EQ(targets.size(), table->size());
  }
  EXPECT_TRUE(permuted > 250);
  EXPECT_TRUE(refused > 150);
}

TEST(layoutForAccessRefusesOtherAccesses) {
  FragmentLayout tile = randomLayout({8, 12}, 8);
  auto row = AccessIndex::iteration(0);
  EXPECT_FALSE(layoutForAccess(tile, {row, row}, {8, 8}));
  EXPECT_FALSE(layoutForAccess(tile, {row}, {12}));
  EXPECT_FALSE(layoutForAccess(tile, {AccessIndex::iteration(0, 1)}, {8}));
  EXPECT_FALSE(layoutForAccess(tile, {AccessIndex::constant(0)}, {2}));
  EXPECT_FALSE(layoutForAccess(tile, {row}, {8, 1}));
  EXPECT_TRUE(layoutForAccess(tile, {row, AccessIndex::constant(0)}, {8, 1}));
}
