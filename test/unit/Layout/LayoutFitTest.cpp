//===- LayoutFitTest.cpp - Layout functions fitted to layouts -------------===//
//
// Functions made from known layouts must be recognised; others must be refused
// at the right coordinate.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/LayoutFit.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/MmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

TEST(sharedLayoutsAreRecognised) {
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{
           {64, 64}, {48, 96}, {16, 32}, {12, 176}, {3, 8, 64}, {1, 192}, {7}})
    for (int64_t bits : {8, 16, 32}) {
      std::vector<int> order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      do {
        const int64_t fastest = shape[order[0]];
        for (int64_t swizzle : {0, 32, 64, 128})
          for (int64_t panel : {fastest, fastest / 2, fastest / 3}) {
            auto layout =
                swizzle ? SharedLayout::swizzled(shape, bits, order, swizzle)
                        : SharedLayout::create(shape, bits, order, panel, 0);
            if (!layout)
              continue;
            auto function = [&](const Coordinate &c) {
              return layout->bitOffset(c) / bits;
            };
            unittest::setContext(layout->str());
            auto fitted = fitSharedLayout(shape, bits, function);
            if (!fitted)
              unittest::reportFailure(__FILE__, __LINE__, fitted.error());
            REQUIRE(fitted);
            for (const Coordinate &c : allCoordinates(shape))
              EXPECT_EQ(fitted->bitOffset(c), layout->bitOffset(c));
            auto strided = fitOffsets(shape, function);
            REQUIRE(strided);
            for (const Coordinate &c : allCoordinates(shape))
              EXPECT_EQ(strided->offset(c), function(c));
          }
      } while (std::next_permutation(order.begin(), order.end()));
    }
}

TEST(paddedRowsAreStridedButNoSharedLayout) {
  auto padded = [](const Coordinate &c) { return c[0] * 72 + c[1]; };
  auto strided = fitOffsets({16, 64}, padded);
  REQUIRE(strided);
  EXPECT_EQ(strided->str(), "16x64 offset 0 + 16@0*72 + 64@1*1");
  EXPECT_EQ(
      fitSharedLayout({16, 64}, 16, padded).error(),
      "the layout is strided, but in none of the forms row-major, "
      "column-major, panels, 32-, 64- or 128-byte swizzle: 16x64 offset 0 "
      "+ 16@0*72 + 64@1*1");
}

TEST(otherSwizzlesAreStridedWithXor) {
  // Chunks of 4 elements, 4 of them exchanged by the row modulo 4.
  auto function = [](const Coordinate &c) {
    return c[0] * 16 + (c[1] / 4 ^ c[0] % 4) * 4 + c[1] % 4;
  };
  auto strided = fitOffsets({16, 16}, function);
  REQUIRE(strided);
  for (const Coordinate &c : allCoordinates({16, 16}))
    EXPECT_EQ(strided->offset(c), function(c));
  EXPECT_EQ(strided->swizzleBits, 2);
  EXPECT_EQ(strided->swizzleBase, 2);
  EXPECT_EQ(strided->swizzleShift, 2);
}

TEST(misfitsAreNamed) {
  auto error = [](std::vector<int64_t> shape, OffsetFunction function) {
    return fitOffsets(shape, function).error();
  };
  EXPECT_EQ(
      error({4, 4}, [](const Coordinate &c) { return c[0] * 4 + c[1] - 1; }),
      "the layout maps (0, 0) to the negative offset -1");
  EXPECT_EQ(error({4, 4}, [](const Coordinate &c) { return c[0] + c[1]; }),
            "the layout maps (0, 1) and (1, 0) to the same offset 1");
  // Row 3 is rotated by one.
  EXPECT_EQ(
      error({4, 5},
            [](const Coordinate &c) {
              return c[0] * 5 + (c[0] == 3 ? (c[1] + 1) % 5 : c[1]);
            }),
      "the layout is not strided with an XOR swizzle: (3, 4) is at offset "
      "15, expected 20 to continue 4x5 offset 0 + 3@0*5 + 2@0*16 + "
      "5@1*1");
}

TEST(randomPermutationsAreRefused) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> shape = {unittest::random(4, 12),
                                  unittest::random(5, 12)};
    std::vector<int64_t> offsets(product(shape));
    std::iota(offsets.begin(), offsets.end(), 0);
    shuffle(offsets);
    auto fitted = fitOffsets(shape, [&](const Coordinate &c) {
      return offsets[linearize(c, shape)];
    });
    EXPECT_FALSE(fitted);
    EXPECT_TRUE(fitted.error().find("is not strided") != std::string::npos);
  }
}

TEST(fragmentLayoutsAreRecognised) {
  int fitted = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    FragmentLayout layout =
        randomLayout(shape, randomThreads(), unittest::chance(40));
    unittest::setContext(layout.str());
    auto result = fitFragmentLayout(
        shape, layout.numThreads(), layout.numReplicas(),
        [&](const Coordinate &c, int64_t replica) {
          std::optional<ElementLocation> location = layout.find(c);
          int64_t thread = location->thread, weight = 1;
          for (const Mode &mode : layout.threadModes()) {
            if (mode.dim == kReplica) {
              thread += replica % mode.extent * weight;
              replica /= mode.extent;
            }
            weight *= mode.extent;
          }
          return FragmentPlace{thread, location->registerIndex};
        });
    if (!result)
      unittest::reportFailure(__FILE__, __LINE__, result.error());
    REQUIRE(result);
    ++fitted;
    // Trailing registers that hold nothing cannot be seen by the function.
    const Map expected = enumerate(layout), actual = enumerate(*result);
    for (size_t t = 0; t < expected.size(); ++t)
      for (size_t r = 0; r < expected[t].size(); ++r)
        EXPECT_EQ(r < actual[t].size() ? actual[t][r] : -1, expected[t][r]);
  }
  EXPECT_EQ(fitted, 500);
}

TEST(fragmentFunctionOfTheDocumentationFits) {
  // The m16n8 accumulator as a user would write it.
  auto fitted =
      fitFragmentLayout({16, 8}, 32, 1, [](const Coordinate &c, int64_t) {
        return FragmentPlace{c[0] % 8 * 4 + c[1] / 2, c[1] % 2 + c[0] / 8 * 2};
      });
  auto expected = mmaAccumulator(16, 8, WarpGrid{});
  REQUIRE(fitted && expected);
  EXPECT_TRUE(fitted->isSameMap(expected->layout));
}

TEST(fragmentMisfitsAreNamed) {
  auto error = [](std::vector<int64_t> shape, int64_t threads, int64_t replicas,
                  FragmentFunction function) {
    return fitFragmentLayout(shape, threads, replicas, function).error();
  };
  EXPECT_EQ(error({8}, 8, 1,
                  [](const Coordinate &c, int64_t) {
                    return FragmentPlace{7 - c[0], 0};
                  }),
            "element (0) is in thread 7, register 0, expected thread 0, "
            "register 0");
  EXPECT_EQ(error({8}, 8, 1,
                  [](const Coordinate &c, int64_t) {
                    return FragmentPlace{c[0] < 6 ? c[0] : 13 - c[0], 0};
                  }),
            "along dim 0, index 7 breaks the strided pattern of the places "
            "before it");
  EXPECT_EQ(
      error({8}, 8, 1,
            [](const Coordinate &c, int64_t) {
              return FragmentPlace{c[0], c[0]};
            }),
      "along dim 0, a step of 1 moves 1 threads and 1 registers; expected "
      "one of them");
  EXPECT_EQ(error({4, 4}, 16, 1,
                  [](const Coordinate &c, int64_t) {
                    return FragmentPlace{(c[0] ^ c[1]) * 4 + c[1], 0};
                  })
                .empty(),
            false);
  EXPECT_EQ(error({4}, 8, 2,
                  [](const Coordinate &c, int64_t replica) {
                    return FragmentPlace{c[0], replica};
                  }),
            "the register depends on the replica");
  // More threads than the block has.
  EXPECT_EQ(error({8}, 4, 1,
                  [](const Coordinate &c, int64_t) {
                    return FragmentPlace{c[0], 0};
                  }),
            "the elements take 8 threads, which do not divide 4");
}
