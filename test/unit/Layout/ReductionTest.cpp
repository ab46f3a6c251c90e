//===- ReductionTest.cpp - Reductions executed thread by thread -----------===//
//
// Runs reduction plans on random integers with a model of the threads.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/Reduction.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/WgmmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

/// values[thread][register of the result] after running the plan on `data`
/// (row-major). Padding contributes the neutral element.
static std::vector<std::vector<int64_t>>
runPlan(const FragmentLayout &source, const ReductionPlan &plan,
        const std::vector<int64_t> &data) {
  const Map map = enumerate(source);
  std::vector<std::vector<int64_t>> values(source.numThreads());
  for (int64_t t = 0; t < source.numThreads(); ++t)
    for (const std::vector<int64_t> &registers : plan.sources) {
      int64_t sum = 0;
      for (int64_t r : registers)
        if (map[t][r] >= 0)
          sum += data[map[t][r]];
      values[t].push_back(sum);
    }
  for (const ReductionStep &step : plan.steps) {
    if (step.kind == ReductionStep::Kind::LaneButterfly) {
      for (int64_t distance : step.xorDistances) {
        auto before = values;
        for (int64_t t = 0; t < source.numThreads(); ++t) {
          const int64_t partner = t ^ distance;
          EXPECT_EQ(partner / kWarpSize, t / kWarpSize);
          if (partner >= source.numThreads()) {
            unittest::reportFailure(__FILE__, __LINE__,
                                    "partner does not exist");
            return values;
          }
          for (size_t r = 0; r < values[t].size(); ++r)
            values[t][r] = before[t][r] + before[partner][r];
        }
      }
      continue;
    }
    if (step.kind == ReductionStep::Kind::AcrossWarps)
      EXPECT_EQ(step.threadStride % kWarpSize, 0);
    auto before = values;
    for (int64_t t = 0; t < source.numThreads(); ++t) {
      const int64_t digit = t / step.threadStride % step.extent;
      for (size_t r = 0; r < values[t].size(); ++r) {
        values[t][r] = 0;
        for (int64_t other = 0; other < step.extent; ++other)
          values[t][r] += before[t + (other - digit) * step.threadStride][r];
      }
    }
  }
  return values;
}

static void checkReduction(const FragmentLayout &source, int dim) {
  unittest::setContext(source.str() + " over dim " + std::to_string(dim));
  auto plan = planReduction(source, dim);
  REQUIRE(plan);
  std::vector<int64_t> data(source.numElements());
  for (int64_t &value : data)
    value = unittest::random(-1000, 1000);
  std::vector<int64_t> resultShape = source.shape();
  resultShape.erase(resultShape.begin() + dim);
  EXPECT_EQ(plan->result.shape(), resultShape);
  std::vector<int64_t> expected(product(resultShape), 0);
  for (const Coordinate &c : allCoordinates(source.shape())) {
    Coordinate kept = c;
    kept.erase(kept.begin() + dim);
    expected[linearize(kept, resultShape)] +=
        data[linearize(c, source.shape())];
  }
  const auto values = runPlan(source, *plan, data);
  const Map resultMap = enumerate(plan->result);
  for (int64_t t = 0; t < plan->result.numThreads(); ++t)
    for (int64_t r = 0; r < plan->result.numRegisters(); ++r)
      if (resultMap[t][r] >= 0)
        EXPECT_EQ(values[t][r], expected[resultMap[t][r]]);
  for (const std::vector<int64_t> &registers : plan->sources)
    for (size_t i = 1; i < registers.size(); ++i)
      EXPECT_TRUE(source.registerOffset(registers[i - 1])[dim] <
                  source.registerOffset(registers[i])[dim]);
}

TEST(randomReductionsGiveTheSums) {
  for (int round = 0; round < 800; ++round) {
    std::vector<int64_t> shape = randomShape(512);
    FragmentLayout source =
        randomLayout(shape, randomThreads(), unittest::chance(50));
    checkReduction(source,
                   static_cast<int>(unittest::random(0, shape.size() - 1)));
  }
}

TEST(neutralElementIsAskedForWherePaddingIs) {
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> shape = randomShape(256, 1, 2);
    FragmentLayout source = randomLayout(shape, randomThreads());
    const int dim = static_cast<int>(unittest::random(0, shape.size() - 1));
    auto plan = planReduction(source, dim);
    REQUIRE(plan);
    bool padded = false;
    for (const std::vector<int64_t> &registers : plan->sources)
      for (int64_t r : registers)
        for (int64_t t = 0; t < source.numThreads(); ++t)
          padded |= source.coordinates(t, r)[dim] >= shape[dim];
    EXPECT_EQ(plan->needsNeutralElement, padded);
  }
}

TEST(wgmmaRowReductionUsesTwoShuffles) {
  auto accumulator = wgmmaAccumulator(128, 176, WarpGrid{2, 1, 1});
  REQUIRE(accumulator);
  checkReduction(accumulator->layout, 1);
  auto plan = planReduction(accumulator->layout, 1);
  REQUIRE(plan);
  EXPECT_EQ(plan->steps.size(), size_t(1));
  EXPECT_TRUE(plan->steps[0].kind == ReductionStep::Kind::LaneButterfly);
  EXPECT_EQ(plan->steps[0].xorDistances, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(plan->needsSharedMemory());
  EXPECT_FALSE(plan->needsNeutralElement);
  EXPECT_EQ(plan->result.numRegisters(), 2);
  EXPECT_EQ(plan->result.numReplicas(), 4);
  EXPECT_EQ(plan->sources[0].size(), size_t(44));
}

TEST(columnReductionCrossesWarps) {
  auto accumulator = mmaAccumulator(64, 48, WarpGrid{2, 2, 1});
  REQUIRE(accumulator);
  for (int dim : {0, 1})
    checkReduction(accumulator->layout, dim);
  auto rows = planReduction(accumulator->layout, 1);
  auto columns = planReduction(accumulator->layout, 0);
  REQUIRE(rows && columns);
  EXPECT_EQ(rows->sharedPartials(), 2);
  EXPECT_EQ(columns->sharedPartials(), 2);
  REQUIRE(columns->steps.size() == 2);
  EXPECT_EQ(columns->steps[0].xorDistances, (std::vector<int64_t>{4, 8, 16}));
  EXPECT_TRUE(columns->steps[1].kind == ReductionStep::Kind::AcrossWarps);
  EXPECT_EQ(columns->steps[1].threadStride, 32);
}

TEST(wideDigitsAreCutAtTheWarp) {
  auto row = FragmentLayout::create({96}, {{96, 0, 1}}, {});
  REQUIRE(row);
  checkReduction(*row, 0);
  auto plan = planReduction(*row, 0);
  REQUIRE(plan && plan->steps.size() == 2);
  EXPECT_EQ(plan->steps[0].xorDistances,
            (std::vector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_TRUE(plan->steps[1].kind == ReductionStep::Kind::AcrossWarps);
  EXPECT_EQ(plan->steps[1].extent, 3);
  EXPECT_EQ(plan->sharedPartials(), 3);
  // 48 lanes are no whole warps: thread by thread.
  auto odd = FragmentLayout::create({48}, {{48, 0, 1}}, {});
  REQUIRE(odd);
  checkReduction(*odd, 0);
  auto oddPlan = planReduction(*odd, 0);
  REQUIRE(oddPlan && oddPlan->steps.size() == 1);
  EXPECT_TRUE(oddPlan->steps[0].kind == ReductionStep::Kind::AcrossThreads);
  EXPECT_FALSE(planReduction(*odd, 1));
}
