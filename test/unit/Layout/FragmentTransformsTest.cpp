//===- FragmentTransformsTest.cpp - New layouts from old ------------------===//
//
// Compares permuted, reshaped, sliced and extended layouts with enumeration.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"
#include "tilemlir/Layout/Reduction.h"

using namespace oracle;
using tilemlir::layout::RegisterSlice;

TEST(permuteDimsMovesCoordinates) {
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> shape = randomShape(1024);
    FragmentLayout layout = randomLayout(shape, randomThreads());
    std::vector<int> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    shuffle(permutation);
    auto permuted = layout.permuteDims(permutation);
    REQUIRE(permuted);
    for (int64_t t = 0; t < layout.numThreads(); t += 3)
      for (int64_t r = 0; r < layout.numRegisters(); ++r) {
        Coordinate from = layout.coordinates(t, r);
        Coordinate to = permuted->coordinates(t, r);
        for (size_t i = 0; i < permutation.size(); ++i)
          EXPECT_EQ(to[i], from[permutation[i]]);
      }
  }
  FragmentLayout layout = randomLayout({4, 8}, 4);
  EXPECT_FALSE(layout.permuteDims({0}));
  EXPECT_FALSE(layout.permuteDims({0, 0}));
  EXPECT_FALSE(layout.permuteDims({0, 2}));
}

TEST(reshapeKeepsElements) {
  int reshaped = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> shape = randomShape(1024);
    FragmentLayout layout =
        randomLayout(shape, randomThreads(), unittest::chance(50));
    // A random shape with as many elements: merge all, cut at random.
    std::vector<int64_t> newShape = randomFactors(product(shape));
    if (unittest::chance(30))
      newShape.insert(newShape.begin() + unittest::random(0, newShape.size()),
                      1);
    if (newShape.empty())
      newShape.push_back(1);
    auto result = layout.reshape(newShape);
    unittest::setContext(layout.str() + " " + (result ? result->str() : ""));
    if (!result) {
      ++refused;
      continue;
    }
    ++reshaped;
    EXPECT_EQ(result->shape(), newShape);
    EXPECT_TRUE(enumerate(layout) == enumerate(*result));
    // What was reshaped can be reshaped back.
    auto back = result->reshape(shape);
    REQUIRE(back);
    EXPECT_TRUE(enumerate(layout) == enumerate(*back));
  }
  EXPECT_TRUE(reshaped > 400);
  EXPECT_TRUE(refused > 100);
}

TEST(reshapeRefusesWhatIsNotStrided) {
  // 12 columns, 4 threads with 3 each; 2 x 6 would cut a digit of 3 x 4.
  auto layout = FragmentLayout::create({12}, {{4, 0, 3}}, {{3, 0, 1}});
  REQUIRE(layout);
  EXPECT_TRUE(layout->reshape({4, 3}));
  EXPECT_TRUE(layout->reshape({2, 6}));
  EXPECT_FALSE(layout->reshape({3, 4}));
  EXPECT_FALSE(layout->reshape({5, 2}));
  EXPECT_FALSE(layout->reshape({-3, -4}));
  EXPECT_TRUE(layout->flatten());
  auto padded = FragmentLayout::create({4, 6}, {{8, 1, 1}}, {{4, 0, 1}});
  REQUIRE(padded);
  EXPECT_EQ(padded->flatten().error(),
            "cannot reshape 4x6 to 24: dim 1 has padding");
  // The padded dim stays as it is: fine.
  EXPECT_TRUE(padded->reshape({2, 2, 6}));
}

TEST(sliceTakesTheSameRegistersInEveryThread) {
  int sliced = 0, refused = 0, boxes = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    const bool padded = unittest::chance(30);
    FragmentLayout layout =
        randomLayout(shape, unittest::random(1, 16), padded, 40);
    const int dim = static_cast<int>(unittest::random(0, shape.size() - 1));
    const int64_t start = unittest::random(0, shape[dim] - 1);
    const int64_t extent = unittest::random(1, shape[dim] - start);
    auto result = layout.sliceRegisters(dim, start, extent);
    unittest::setContext(layout.str() + " dim " + std::to_string(dim) + " [" +
                         std::to_string(start) + " + " +
                         std::to_string(extent) + ") " + result.error());
    if (!layout.hasPadding()) {
      // Possible exactly if membership does not depend on the thread.
      bool uniform = true;
      for (int64_t r = 0; r < layout.numRegisters(); ++r) {
        int64_t members = 0;
        for (int64_t t = 0; t < layout.numThreads(); ++t) {
          int64_t c = layout.coordinates(t, r)[dim];
          members += c >= start && c < start + extent;
        }
        uniform &= members == 0 || members == layout.numThreads();
      }
      EXPECT_EQ(static_cast<bool>(result), uniform);
    }
    if (!result) {
      ++refused;
      continue;
    }
    ++sliced;
    const FragmentLayout &part = result->layout;
    std::vector<int64_t> partShape = shape;
    partShape[dim] = extent;
    EXPECT_EQ(part.shape(), partShape);
    EXPECT_EQ(part.numRegisters(),
              static_cast<int64_t>(result->registers.size()));
    std::set<int64_t> distinct(result->registers.begin(),
                               result->registers.end());
    EXPECT_EQ(distinct.size(), result->registers.size());
    for (int64_t t = 0; t < layout.numThreads(); ++t)
      for (int64_t r = 0; r < part.numRegisters(); ++r) {
        const int64_t whole = result->registers[r];
        EXPECT_EQ(part.isPadding(t, r), layout.isPadding(t, whole));
        if (part.isPadding(t, r))
          continue;
        Coordinate expected = layout.coordinates(t, whole);
        expected[dim] -= start;
        EXPECT_EQ(part.coordinates(t, r), expected);
      }
    boxes += std::is_sorted(result->registers.begin(), result->registers.end());
  }
  EXPECT_TRUE(sliced > 300);
  EXPECT_TRUE(refused > 300);
  EXPECT_TRUE(boxes > 100);
}

TEST(insertedDimsProjectBack) {
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> shape = randomShape(24, 0, 2);
    FragmentLayout layout =
        randomLayout(shape, randomThreads(), unittest::chance(50), 50);
    const int dim = static_cast<int>(unittest::random(0, shape.size()));
    const int64_t vector = unittest::random(1, 4);
    const int64_t extent = vector * unittest::random(1, 24);
    unittest::setContext(layout.str() + " dim " + std::to_string(dim) +
                         " extent " + std::to_string(extent) + " vector " +
                         std::to_string(vector));
    auto inRegisters = layout.insertDimInRegisters(dim, extent);
    auto overReplicas = layout.insertDimOverReplicas(dim, extent, vector);
    REQUIRE(inRegisters && overReplicas);
    for (const FragmentLayout &wider : {*inRegisters, *overReplicas}) {
      std::vector<int64_t> expected = shape;
      expected.insert(expected.begin() + dim, extent);
      EXPECT_EQ(wider.shape(), expected);
      EXPECT_TRUE(
          isBijective(expected, wider.threadModes(), wider.registerModes()));
      auto projected = tilemlir::layout::project(wider, dim);
      REQUIRE(projected);
      EXPECT_TRUE(projected->isSameMap(layout));
    }
    EXPECT_TRUE(overReplicas->contiguousElements(dim) % vector == 0);
    EXPECT_TRUE(overReplicas->numRegisters() <= layout.numRegisters() * extent);
    EXPECT_EQ(inRegisters->numReplicas(), layout.numReplicas());
  }
  FragmentLayout layout = randomLayout({8}, 8);
  EXPECT_FALSE(layout.insertDimInRegisters(2, 4));
  EXPECT_FALSE(layout.insertDimOverReplicas(0, 6, 4));
}

TEST(insertingOverReplicasUsesThem) {
  // A row statistic: rows over 8 lanes, replicated over 4; expand to 16
  // columns.
  auto rows =
      FragmentLayout::create({16}, {replicaMode(4), {8, 0, 1}}, {{2, 0, 8}});
  REQUIRE(rows);
  auto tile = rows->insertDimOverReplicas(1, 16, 2);
  REQUIRE(tile);
  EXPECT_EQ(tile->str(), "16x16 threads(4@1*2, 8@0*1) registers(2@1*1, 2@0*8, "
                         "2@1*8)");
  auto narrow = rows->insertDimOverReplicas(1, 2);
  REQUIRE(narrow);
  EXPECT_EQ(narrow->str(), "16x2 threads(2@1*1, 2@r, 8@0*1) registers(2@0*8)");
}

TEST(unitDimsComeAndGo) {
  for (int round = 0; round < 100; ++round) {
    std::vector<int64_t> shape = randomShape(256, 1, 2);
    FragmentLayout layout = randomLayout(shape, randomThreads());
    const int dim = static_cast<int>(unittest::random(0, shape.size()));
    FragmentLayout wider = layout.insertUnitDim(dim);
    EXPECT_TRUE(wider.isBijectiveModuloReplicas());
    EXPECT_EQ(wider.shape()[dim], 1);
    EXPECT_TRUE(enumerate(wider) == enumerate(layout));
    auto narrower = wider.dropUnitDim(dim);
    REQUIRE(narrower);
    EXPECT_TRUE(narrower->isSameMap(layout));
  }
  // Idle threads along the dropped dim stay idle.
  auto padded = FragmentLayout::create({1, 4}, {{4, 1, 1}, {2, 0, 1}}, {});
  REQUIRE(padded);
  auto dropped = padded->dropUnitDim(0);
  REQUIRE(dropped);
  EXPECT_TRUE(enumerate(*dropped) == enumerate(*padded));
  EXPECT_FALSE(padded->dropUnitDim(1));
}

TEST(splitThreadModesKeepsTheMap) {
  for (int round = 0; round < 300; ++round) {
    FragmentLayout layout = randomLayout(randomShape(512), randomThreads());
    auto split = layout.splitThreadModes({32});
    unittest::setContext(layout.str());
    if (!split)
      continue;
    EXPECT_TRUE(enumerate(*split) == enumerate(layout));
    int64_t threadStride = 1;
    bool startsAtWarp = layout.numThreads() <= 32;
    for (const Mode &mode : split->threadModes()) {
      startsAtWarp |= threadStride == 32;
      threadStride *= mode.extent;
    }
    EXPECT_TRUE(startsAtWarp);
  }
  auto odd = FragmentLayout::create({48}, {{48, 0, 1}}, {});
  REQUIRE(odd);
  EXPECT_FALSE(odd->splitThreadModes({32}));
  EXPECT_TRUE(odd->splitThreadModes({16}));
}
