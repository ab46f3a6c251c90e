//===- BlockedLayoutTest.cpp - Layouts for copies and elementwise ---------===//
//
// Checks coverage, vector length, idle threads and coalescing of blocked
// layouts.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/BlockedLayout.h"
#include "RandomLayouts.h"

using namespace oracle;
using namespace tilemlir::layout;

TEST(blockedLayoutsCoverTheTile) {
  for (int round = 0; round < 1500; ++round) {
    std::vector<int64_t> shape = randomShape(16384);
    if (unittest::chance(20))
      shape = {unittest::random(1, 300)};
    const int64_t threads = 32 * unittest::random(1, 12);
    const int64_t vector = int64_t(1) << unittest::random(0, 4);
    std::vector<int> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order);
    auto layout = blocked(shape, threads, vector, order);
    REQUIRE(layout);
    unittest::setContext(layout->str());
    const int64_t length = std::gcd(vector, shape[order[0]]);
    EXPECT_EQ(layout->numThreads(), threads);
    EXPECT_TRUE(layout->isBijectiveModuloReplicas());
    EXPECT_TRUE(layout->contiguousElements(order[0]) % length == 0);
    // No thread holds more vectors than an even split with all dims rounded up
    // to the threads would give; in particular nothing degenerates to one
    // thread.
    const int64_t vectors = product(shape) / length;
    const int64_t perThread = layout->numRegisters() / length;
    EXPECT_TRUE(perThread <=
                std::max<int64_t>(4, 4 * ((vectors + threads - 1) / threads)));
  }
}

TEST(commonTilesHaveNoPaddingAndFullLines) {
  struct Case {
    std::vector<int64_t> shape;
    int64_t threads, vector;
    const char *expected;
  };
  for (const Case &c : std::vector<Case>{
           {{128, 64},
            128,
            8,
            "128x64 threads(8@1*8, 16@0*1) registers(8@1*1, 8@0*16)"},
           {{128, 32},
            128,
            8,
            "128x32 threads(4@1*8, 32@0*1) registers(8@1*1, 4@0*32)"},
           {{32, 256},
            128,
            4,
            "32x256 threads(64@1*4, 2@0*1) registers(4@1*1, 16@0*2)"},
           {{128, 96},
            128,
            8,
            "128x96 threads(4@1*8, 32@0*1) registers(8@1*1, 3@1*32, 4@0*32)"},
           {{64}, 128, 4, "64 threads(16@0*4, 8@r) registers(4@0*1)"},
           {{5}, 128, 4, "5 threads(8@0*1, 16@r) registers()"},
           {{1, 1}, 32, 4, "1x1 threads(32@r) registers()"},
       }) {
    auto layout = blocked(c.shape, c.threads, c.vector);
    REQUIRE(layout);
    EXPECT_EQ(layout->str(), c.expected);
  }
}

TEST(blockedColumnsFollowTheOrder) {
  auto layout = blocked({64, 128}, 128, 8, {0, 1});
  REQUIRE(layout);
  EXPECT_EQ(layout->str(),
            "64x128 threads(8@0*8, 16@1*1) registers(8@0*1, 8@1*16)");
}

TEST(oddRowsStayCoalesced) {
  // 40 halves are 5 vectors: one thread per row would touch 128 lines at once.
  auto layout = blocked({128, 40}, 128, 8);
  REQUIRE(layout);
  std::vector<int64_t> second = layout->coordinates(1, 0);
  EXPECT_EQ(second, (Coordinate{0, 8}));
}

TEST(scalarsAndErrors) {
  auto scalar = blocked({}, 64, 4);
  REQUIRE(scalar);
  EXPECT_TRUE(scalar->isFullyReplicated());
  EXPECT_FALSE(blocked({4, 0}, 32, 1));
  EXPECT_FALSE(blocked({4}, 0, 1));
  EXPECT_FALSE(blocked({4}, 32, 0));
  EXPECT_FALSE(blocked({4, 4}, 32, 1, {0}));
  EXPECT_FALSE(blocked({4, 4}, 32, 1, {0, 0}));
}

TEST(fullyReplicatedHoldsEverything) {
  auto layout = fullyReplicated({3, 5}, 96);
  REQUIRE(layout);
  EXPECT_TRUE(layout->isFullyReplicated());
  EXPECT_EQ(layout->str(), "3x5 threads(96@r) registers(5@1*1, 3@0*1)");
  for (int64_t r = 0; r < 15; ++r)
    EXPECT_EQ(layout->coordinates(95, r), (Coordinate{r / 5, r % 5}));
  FragmentLayout any = randomLayout({3, 5}, 96);
  EXPECT_TRUE(layout->contains(any));
  EXPECT_FALSE(fullyReplicated({0}, 32));
}
