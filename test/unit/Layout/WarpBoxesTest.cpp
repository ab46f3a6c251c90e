//===- WarpBoxesTest.cpp - Rectangles of warps against enumeration --------===//
//
// Whatever the library calls the boxes of a warp must be exactly the elements
// that the warp's threads hold, by the definition of the modes.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/WarpBoxes.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/WgmmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

/// The elements of each warp, ascending.
static std::vector<std::vector<int64_t>>
elementsByWarp(const FragmentLayout &layout) {
  std::vector<std::vector<int64_t>> result(layout.numThreads() / kWarpSize);
  Map map = enumerate(layout);
  for (size_t thread = 0; thread < map.size(); ++thread)
    for (int64_t element : map[thread])
      result[thread / kWarpSize].push_back(element);
  for (std::vector<int64_t> &elements : result)
    std::sort(elements.begin(), elements.end());
  return result;
}

static std::vector<int64_t> elementsOfBoxes(const FragmentLayout &layout,
                                            const WarpBoxes &boxes,
                                            size_t warp) {
  std::vector<int64_t> result;
  for (const std::vector<int64_t> &offset : boxes.offsets)
    for (Coordinate inner : allCoordinates(boxes.sizes)) {
      for (size_t dim = 0; dim < inner.size(); ++dim)
        inner[dim] += boxes.origins[warp][dim] + offset[dim];
      result.push_back(linearize(inner, layout.shape()));
    }
  std::sort(result.begin(), result.end());
  return result;
}

TEST(boxesAreWhatWarpsHold) {
  int found = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<int64_t> shape = randomShape();
    FragmentLayout layout =
        splitModes(randomLayout(shape, randomThreads(), round % 4 == 0,
                                /*replicaPercent=*/round % 3 ? 0 : 25));
    auto boxes = getWarpBoxes(layout);
    bool wholeWarps = layout.numThreads() % kWarpSize == 0;
    if (layout.numReplicas() != 1 || layout.hasPadding() || !wholeWarps) {
      EXPECT_TRUE(!boxes);
      continue;
    }
    if (!boxes)
      continue;
    ++found;
    EXPECT_EQ(boxes->origins.size(), layout.numThreads() / kWarpSize);
    auto elements = elementsByWarp(layout);
    for (size_t warp = 0; warp < elements.size(); ++warp)
      EXPECT_EQ(elementsOfBoxes(layout, *boxes, warp), elements[warp]);
  }
  EXPECT_TRUE(found > 100);
}

TEST(accumulatorsOfWgmma) {
  // Two warp groups along M with one block of 64 rows each, of 64 columns: 16
  // rows for every warp.
  auto fragment = wgmmaAccumulator(128, 256, WarpGrid{2, 1, 1}, 256);
  REQUIRE(fragment);
  auto chunk = fragment->layout.sliceRegisters(1, 64, 64);
  REQUIRE(chunk);
  auto boxes = getWarpBoxes(chunk->layout);
  REQUIRE(boxes);
  EXPECT_EQ(boxes->sizes, (std::vector<int64_t>{16, 64}));
  EXPECT_EQ(boxes->offsets.size(), 1u);
  for (size_t warp = 0; warp < 8; ++warp)
    EXPECT_EQ(boxes->origins[warp],
              (std::vector<int64_t>{static_cast<int64_t>(16 * warp), 0}));

  // Two blocks for a warp group: two boxes for each warp.
  fragment = wgmmaAccumulator(128, 64, WarpGrid{1, 1, 1}, 64);
  REQUIRE(fragment);
  boxes = getWarpBoxes(fragment->layout);
  REQUIRE(boxes);
  EXPECT_EQ(boxes->sizes, (std::vector<int64_t>{16, 64}));
  EXPECT_EQ(boxes->offsets.size(), 2u);
  EXPECT_EQ(boxes->offsets[1], (std::vector<int64_t>{64, 0}));
  EXPECT_EQ(boxes->origins[3], (std::vector<int64_t>{48, 0}));

  // Warp groups along N: each has columns of its own.
  fragment = wgmmaAccumulator(64, 256, WarpGrid{1, 2, 1}, 128);
  REQUIRE(fragment);
  boxes = getWarpBoxes(fragment->layout);
  REQUIRE(boxes);
  EXPECT_EQ(boxes->sizes, (std::vector<int64_t>{16, 128}));
  EXPECT_EQ(boxes->origins[6], (std::vector<int64_t>{32, 128}));
}
