//===- ConversionTest.cpp - Conversions executed thread by thread ---------===//
//
// Runs the planned conversions on element numbers with a model of registers,
// shuffles and shared memory.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/Conversion.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/BlockedLayout.h"
#include "tilemlir/Layout/MmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

/// Checks that the plan delivers every element of `to`.
static void runConversion(const FragmentLayout &from, const FragmentLayout &to,
                          const Conversion &conversion) {
  const Map source = enumerate(from), target = enumerate(to);
  for (int64_t t = 0; t < to.numThreads(); ++t)
    for (int64_t r = 0; r < to.numRegisters(); ++r) {
      if (target[t][r] < 0)
        continue;
      int64_t value = -2;
      if (conversion.kind == ConversionKind::InWarpShuffle) {
        const int64_t lane = t % 32;
        bool isFirst = true;
        for (const ShuffleStep &step : conversion.shuffles[r]) {
          const int64_t sourceThread = t - lane + step.sourceLane[lane];
          const bool selected = step.laneMask >> lane & 1;
          if (step.isLocal && selected)
            EXPECT_EQ(sourceThread, t);
          if (step.laneIsLinear) {
            int sum = step.laneBase;
            for (int bit = 0; bit < 5; ++bit)
              if (lane >> bit & 1)
                sum += step.laneBits[bit];
            EXPECT_EQ(sum, step.sourceLane[lane]);
          }
          EXPECT_TRUE(step.sourceLane[lane] >= 0 && step.sourceLane[lane] < 32);
          if (selected || isFirst) {
            EXPECT_TRUE(sourceThread < from.numThreads());
            if (selected)
              value = source[sourceThread][step.sourceRegister];
          }
          isFirst = false;
        }
      } else {
        const int64_t s = conversion.sourceRegister[r];
        if (conversion.kind == ConversionKind::Identity)
          EXPECT_EQ(s, r);
        value = s < 0 ? -2 : source[t][s];
      }
      EXPECT_EQ(value, target[t][r]);
    }
}

static void runSharedConversion(const FragmentLayout &from,
                                const FragmentLayout &to,
                                const SharedConversion &plan) {
  const Map source = enumerate(from), target = enumerate(to);
  const int64_t elementBytes = plan.scratch.elementBits() / 8;
  std::vector<int64_t> memory(plan.scratch.sizeBytes() / elementBytes, -3);
  std::vector<int64_t> writerWarp(memory.size(), -1);
  auto access = [&](const FragmentLayout &layout, int64_t t, int64_t r,
                    int64_t elements) -> int64_t {
    Coordinate c = coordinate(layout.shape(), layout.threadModes(),
                              layout.registerModes(), t, r);
    if (!inside(c, layout.shape()))
      return -1;
    const int64_t address = plan.scratch.byteOffset(c);
    EXPECT_EQ(address % (elements * elementBytes), 0);
    return address / elementBytes;
  };
  EXPECT_EQ(from.numRegisters() % plan.storeElements, 0);
  EXPECT_EQ(to.numRegisters() % plan.loadElements, 0);
  for (int64_t t = 0; t < from.numThreads(); ++t) {
    if (!from.isPrimary(t))
      continue;
    for (int64_t r = 0; r < from.numRegisters(); r += plan.storeElements) {
      int64_t slot = access(from, t, r, plan.storeElements);
      for (int64_t i = 0; i < plan.storeElements; ++i) {
        if (slot < 0) {
          EXPECT_EQ(source[t][r + i], -1);
          continue;
        }
        memory[slot + i] = source[t][r + i];
        writerWarp[slot + i] = t / 32;
      }
    }
  }
  bool warpLocal = true;
  for (int64_t t = 0; t < to.numThreads(); ++t)
    for (int64_t r = 0; r < to.numRegisters(); r += plan.loadElements) {
      int64_t slot = access(to, t, r, plan.loadElements);
      for (int64_t i = 0; i < plan.loadElements; ++i) {
        if (slot < 0) {
          EXPECT_EQ(target[t][r + i], -1);
          continue;
        }
        EXPECT_EQ(memory[slot + i], target[t][r + i]);
        warpLocal &= writerWarp[slot + i] == t / 32;
      }
    }
  EXPECT_EQ(plan.warpLocal, warpLocal);
}

/// The table "register of `to` -> register of `from`" by enumeration.
static bool staysInThread(const FragmentLayout &from,
                          const FragmentLayout &to) {
  const Map source = enumerate(from), target = enumerate(to);
  for (int64_t r = 0; r < to.numRegisters(); ++r) {
    bool found = false;
    for (int64_t s = 0; s < from.numRegisters() && !found; ++s) {
      found = true;
      for (int64_t t = 0; t < to.numThreads() && found; ++t)
        found = target[t][r] < 0 || source[t][s] == target[t][r];
    }
    if (!found)
      return false;
  }
  return true;
}

TEST(randomConversionsDeliverEveryElement) {
  std::map<ConversionKind, int> count;
  for (int round = 0; round < 1000; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    FragmentLayout from =
        randomLayout(shape, randomThreads(), unittest::chance(50));
    FragmentLayout to = from;
    switch (unittest::random(0, 5)) {
    case 0:
      to = shuffleRegisters(from);
      break;
    case 1:
      to = from;
      from = replicateSome(to);
      break;
    case 2:
      to = splitModes(from);
      break;
    case 3: {
      // Lanes exchange digits with registers: stays in the warp.
      std::vector<Mode> threads = from.threadModes();
      std::vector<Mode> registers = shuffleRegisters(from).registerModes();
      for (Mode &mode : threads)
        for (Mode &other : registers)
          if (mode.dim != kReplica && mode.extent == other.extent &&
              unittest::chance(60))
            std::swap(mode, other);
      to = *FragmentLayout::create(shape, threads, registers);
      break;
    }
    default:
      to = randomLayout(shape, from.numThreads());
      break;
    }
    unittest::setContext(from.str() + " -> " + to.str());
    auto conversion = classifyConversion(from, to);
    REQUIRE(conversion);
    ++count[conversion->kind];
    const bool inThread =
        conversion->kind == ConversionKind::Identity ||
        conversion->kind == ConversionKind::RegisterPermutation;
    EXPECT_EQ(inThread, staysInThread(from, to));
    if (conversion->kind == ConversionKind::Identity)
      EXPECT_TRUE(conversion->reason.empty());
    else
      EXPECT_FALSE(conversion->reason.empty());
    if (conversion->kind != ConversionKind::ThroughShared)
      runConversion(from, to, *conversion);
    const int64_t bits = int64_t(8) << unittest::random(0, 2);
    auto plan = planSharedConversion(from, to, bits);
    REQUIRE(plan);
    runSharedConversion(from, to, *plan);
  }
  for (ConversionKind kind :
       {ConversionKind::Identity, ConversionKind::RegisterPermutation,
        ConversionKind::InWarpShuffle, ConversionKind::ThroughShared})
    EXPECT_TRUE(count[kind] > 40);
}

TEST(accumulatorToOperandConversions) {
  const WarpGrid grid{4, 1, 1};
  auto s = mmaAccumulator(64, 64, grid);
  auto p16 = mmaOperandA(64, 64, 16, 16, grid);
  auto p8 = mmaOperandA(64, 64, 8, 32, grid);
  REQUIRE(s && p16 && p8);
  auto same = classifyConversion(s->layout, p16->layout);
  REQUIRE(same);
  EXPECT_TRUE(same->kind == ConversionKind::Identity);
  auto shuffled = classifyConversion(s->layout, p8->layout);
  REQUIRE(shuffled);
  EXPECT_TRUE(shuffled->kind == ConversionKind::InWarpShuffle);
  runConversion(s->layout, p8->layout, *shuffled);
  // Every lane reads a neighbour in its quad: an address, no table.
  for (const std::vector<ShuffleStep> &steps : shuffled->shuffles)
    for (const ShuffleStep &step : steps)
      EXPECT_TRUE(step.laneIsLinear);
  // The limit is respected.
  auto limited = classifyConversion(s->layout, p8->layout, 8);
  REQUIRE(limited);
  EXPECT_TRUE(limited->kind == ConversionKind::ThroughShared);
  EXPECT_EQ(limited->reason, "more than 8 shuffles are needed");
}

TEST(accumulatorToStoreLayoutIsFreeOfConflicts) {
  auto c = mmaAccumulator(64, 128, WarpGrid{2, 2, 1});
  auto rows = blocked({64, 128}, 128, 8);
  REQUIRE(c && rows);
  auto conversion = classifyConversion(c->layout, *rows);
  REQUIRE(conversion);
  EXPECT_TRUE(conversion->kind == ConversionKind::ThroughShared);
  auto plan = planSharedConversion(c->layout, *rows, 16);
  REQUIRE(plan);
  EXPECT_EQ(plan->storeElements, 2);
  EXPECT_EQ(plan->loadElements, 8);
  EXPECT_EQ(plan->conflicts, 0);
  EXPECT_FALSE(plan->warpLocal);
  runSharedConversion(c->layout, *rows, *plan);
}

TEST(conversionErrors) {
  FragmentLayout a = randomLayout({8, 8}, 32), b = randomLayout({8, 4}, 32),
                 c = randomLayout({8, 8}, 64);
  EXPECT_EQ(classifyConversion(a, b).error(),
            "cannot convert a layout of 8x8 to one of 8x4");
  EXPECT_EQ(classifyConversion(a, c).error(),
            "cannot convert a layout over 32 threads to one over 64");
  EXPECT_FALSE(planSharedConversion(a, b, 16));
  EXPECT_EQ(planSharedConversion(a, a, 4).error(),
            "cannot exchange elements of 4 bits through shared memory; pack "
            "them into bytes first");
}
