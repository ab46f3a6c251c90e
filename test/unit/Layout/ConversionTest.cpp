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

static void runSharedConversion(const FragmentLayout &wholeFrom,
                                const FragmentLayout &wholeTo,
                                const SharedConversion &plan) {
  auto seenFrom = wholeFrom.reshape(plan.shape);
  auto seenTo = wholeTo.reshape(plan.shape);
  REQUIRE(seenFrom && seenTo);
  const FragmentLayout &from = *seenFrom, &to = *seenTo;
  const Map source = enumerate(from), target = enumerate(to);
  const int64_t elementBytes = plan.scratch.elementBits() / 8;
  EXPECT_EQ(from.numRegisters() % plan.storeElements, 0);
  EXPECT_EQ(to.numRegisters() % plan.loadElements, 0);
  // Address in a piece, -1 outside of it.
  auto access = [&](const FragmentLayout &layout, int64_t piece, int64_t t,
                    int64_t r, int64_t elements) -> int64_t {
    Coordinate c = coordinate(layout.shape(), layout.threadModes(),
                              layout.registerModes(), t, r);
    if (!inside(c, layout.shape()))
      return -1;
    const std::vector<int64_t> origin = plan.origin(piece);
    for (size_t dim = 0; dim < c.size(); ++dim)
      if ((c[dim] -= origin[dim]) < 0 || c[dim] >= plan.scratch.shape()[dim])
        return -1;
    const int64_t address = plan.scratch.byteOffset(c);
    EXPECT_EQ(address % (elements * elementBytes), 0);
    return address / elementBytes;
  };
  bool warpLocal = true;
  Map result(to.numThreads(), std::vector<int64_t>(to.numRegisters(), -1));
  for (int64_t piece = 0; piece < plan.numPieces(); ++piece) {
    std::vector<int64_t> memory(plan.scratch.sizeBytes() / elementBytes, -3);
    std::vector<int64_t> writerWarp(memory.size(), -1);
    for (int64_t t = 0; t < from.numThreads(); ++t) {
      if (!from.isPrimary(t))
        continue;
      for (int64_t r = 0; r < from.numRegisters(); r += plan.storeElements) {
        int64_t slot = access(from, piece, t, r, plan.storeElements);
        bool isHeld = slot >= 0;
        for (int64_t i = 0; i < plan.storeElements; ++i) {
          // A vector lies in one piece.
          EXPECT_EQ(access(from, piece, t, r + i, 1) >= 0, isHeld);
          if (!isHeld)
            continue;
          memory[slot + i] = source[t][r + i];
          writerWarp[slot + i] = t / 32;
        }
        EXPECT_TRUE(
            boxOccupancy(from, r, plan.origin(piece), plan.scratch.shape()) !=
            (isHeld ? Occupancy::Never : Occupancy::Always));
      }
    }
    for (int64_t t = 0; t < to.numThreads(); ++t)
      for (int64_t r = 0; r < to.numRegisters(); r += plan.loadElements) {
        int64_t slot = access(to, piece, t, r, plan.loadElements);
        for (int64_t i = 0; i < plan.loadElements; ++i) {
          EXPECT_EQ(access(to, piece, t, r + i, 1) >= 0, slot >= 0);
          if (slot < 0)
            continue;
          result[t][r + i] = memory[slot + i];
          warpLocal &= writerWarp[slot + i] == t / 32;
        }
      }
  }
  EXPECT_TRUE(result == target);
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
    EXPECT_EQ(plan->numPieces(), 1);
    runSharedConversion(from, to, *plan);
    // In pieces.
    const int64_t limit = std::max<int64_t>(
        plan->scratch.sizeBytes() / unittest::random(2, 9), 16);
    auto pieces = planSharedConversion(from, to, bits, limit);
    REQUIRE(pieces);
    EXPECT_TRUE(pieces->scratch.sizeBytes() <= limit);
    runSharedConversion(from, to, *pieces);
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

/// Accesses that need a predicate: a thread digit decides about the piece.
static int64_t countPredicates(const FragmentLayout &whole,
                               const SharedConversion &plan) {
  auto layout = whole.reshape(plan.shape);
  int64_t count = 0;
  for (int64_t piece = 0; piece < plan.numPieces(); ++piece)
    for (int64_t r = 0; r < layout->numRegisters(); ++r)
      count += boxOccupancy(*layout, r, plan.origin(piece),
                            plan.scratch.shape()) == Occupancy::Sometimes;
  return count;
}

TEST(piecesAreSetsOfRegisters) {
  // Weights of attention: warps along N of the first product, every warp has
  // all columns of the second product's operand.
  struct {
    int64_t m, n;
    WarpGrid grid;
    int64_t limit;
  } const cases[] = {{112, 128, {1, 8, 1}, 4096},
                     {96, 176, {6, 2, 1}, 5000},
                     {160, 96, {2, 4, 1}, 2048}};
  for (const auto &one : cases) {
    auto s = mmaAccumulator(one.m, one.n, one.grid);
    auto p = mmaOperandA(one.m, one.n, 16, 16,
                         {one.grid.warpsM, one.grid.warpsN, one.grid.replicas});
    REQUIRE(s && p);
    auto plan = planSharedConversion(s->layout, p->layout, 16, one.limit);
    REQUIRE(plan);
    unittest::setContext(s->layout.str() + " -> " + p->layout.str());
    EXPECT_TRUE(plan->scratch.sizeBytes() <= one.limit);
    EXPECT_TRUE(plan->scratch.sizeBytes() * 2 > one.limit);
    EXPECT_EQ(countPredicates(s->layout, *plan), 0);
    EXPECT_EQ(countPredicates(p->layout, *plan), 0);
    EXPECT_TRUE(plan->storeElements >= 2);
    runSharedConversion(s->layout, p->layout, *plan);
  }
}

TEST(costsOfConversions) {
  const WarpGrid grid{4, 1, 1};
  auto s = mmaAccumulator(64, 64, grid);
  auto p8 = mmaOperandA(64, 64, 8, 32, grid);
  REQUIRE(s && p8);
  auto shuffled = classifyConversion(s->layout, p8->layout);
  auto shared = planSharedConversion(s->layout, p8->layout, 8);
  REQUIRE(shuffled && shared);
  EXPECT_EQ(conversionClocks(*shuffled, 128, 32),
            4 * shuffled->numShuffles() + 2 * shuffled->numSelects());
  // Two neighbouring columns travel together, and four where they stay
  // neighbours.
  EXPECT_EQ(shuffled->elementsPerShuffle(32), 1);
  EXPECT_EQ(shuffled->elementsPerShuffle(8), 2);
  EXPECT_EQ(conversionClocks(*shuffled, 128, 8),
            2 * shuffled->numShuffles() + shuffled->numSelects());
  auto quads =
      FragmentLayout::create({8, 16}, {{4, 1, 4}, {8, 0, 1}}, {{4, 1, 1}});
  auto turned =
      FragmentLayout::create({8, 16}, {{8, 0, 1}, {4, 1, 4}}, {{4, 1, 1}});
  REQUIRE(quads && turned);
  auto moved = classifyConversion(*quads, *turned);
  REQUIRE(moved);
  EXPECT_EQ(moved->elementsPerShuffle(8), 4);
  EXPECT_EQ(moved->elementsPerShuffle(16), 2);
  EXPECT_EQ(conversionClocks(*moved, 32, 8), 1);
  EXPECT_EQ(conversionClocks(*moved, 32, 64), 8);
  // One barrier inside of each warp, and wavefronts.
  EXPECT_TRUE(shared->warpLocal);
  EXPECT_EQ((shared->clocks - kWarpBarrierClocks) % 4, 0);
  // Each further piece costs barriers.
  auto pieces = planSharedConversion(s->layout, p8->layout, 8, 1024);
  REQUIRE(pieces);
  EXPECT_TRUE(pieces->clocks >= shared->clocks + 6 * kWarpBarrierClocks);
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
