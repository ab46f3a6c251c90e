//===- SharedLayoutTest.cpp - Offsets, swizzles and bank conflicts --------===//
//
// Checks shared-memory layouts against their definition and against facts about
// the hardware's swizzles.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/SharedLayout.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/PanelOrder.h"

using namespace oracle;
using namespace tilemlir::layout;

/// A random valid layout; panels also without a swizzle, and in front of some
/// dims.
static SharedLayout randomShared() {
  while (true) {
    std::vector<int64_t> shape = randomShape(8192);
    std::vector<int> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order);
    static const int64_t widths[] = {4, 8, 16, 32, 64};
    const int64_t bits = widths[unittest::random(0, 4)];
    const int64_t swizzle =
        std::vector<int64_t>{0, 32, 64, 128}[unittest::random(0, 3)];
    const int64_t fastest = shape[order[0]];
    int64_t panel = fastest;
    if (swizzle > 0)
      panel = swizzle * 8 / bits;
    else
      for (int64_t factor : randomFactors(fastest))
        if (unittest::chance(30))
          panel /= factor;
    if (unittest::chance(50))
      order.insert(order.begin() + unittest::random(1, order.size()), order[0]);
    auto layout = SharedLayout::create(shape, bits, order, panel, swizzle);
    if (layout)
      return *layout;
  }
}

TEST(swizzlePatternsAreThoseOfTheHardware) {
  // (row, chunk) of 16 bytes -> chunk in an 8-row atom.
  for (int64_t row = 0; row < 16; ++row) {
    for (int64_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(applySwizzle(128 * row + 16 * chunk, 128),
                128 * row + 16 * (chunk ^ (row % 8)));
    for (int64_t chunk = 0; chunk < 4; ++chunk)
      EXPECT_EQ(applySwizzle(64 * row + 16 * chunk, 64),
                64 * row + 16 * (chunk ^ (row / 2 % 4)));
    for (int64_t chunk = 0; chunk < 2; ++chunk)
      EXPECT_EQ(applySwizzle(32 * row + 16 * chunk, 32),
                32 * row + 16 * (chunk ^ (row / 4 % 2)));
  }
  for (int64_t offset = 0; offset < 4096; offset += 7)
    for (int64_t swizzle : {0, 32, 64, 128}) {
      EXPECT_EQ(applySwizzle(applySwizzle(offset, swizzle), swizzle), offset);
      EXPECT_EQ(applySwizzle(offset + 8192, swizzle),
                applySwizzle(offset, swizzle) + 8192);
    }
}

TEST(bestSwizzleIsTheWidestThatDivides) {
  EXPECT_EQ(bestSwizzle(256), 128);
  EXPECT_EQ(bestSwizzle(128), 128);
  EXPECT_EQ(bestSwizzle(192), 64);
  EXPECT_EQ(bestSwizzle(96), 32);
  EXPECT_EQ(bestSwizzle(80), 0);
  EXPECT_EQ(bestSwizzle(0), 0);
}

TEST(offsetsAreBijectiveAndInvertible) {
  for (int round = 0; round < 200; ++round) {
    SharedLayout layout = randomShared();
    unittest::setContext(layout.str());
    std::set<int64_t> seen;
    for (const Coordinate &c : allCoordinates(layout.shape())) {
      const int64_t bits = layout.bitOffset(c);
      EXPECT_TRUE(bits >= 0 &&
                  bits + layout.elementBits() <= 8 * layout.sizeBytes());
      EXPECT_EQ(bits % layout.elementBits(), 0);
      EXPECT_TRUE(seen.insert(bits).second);
      EXPECT_EQ(layout.coordinateAt(bits), c);
      EXPECT_EQ(layout.byteOffset(c), bits / 8);
      // By the definition: column in panel, rows, panels, outer dims.
      const int fastest = layout.fastestDim();
      std::vector<int> order = layout.order();
      if (findPanels(order) == order.size())
        order.push_back(fastest);
      const int64_t panel = c[fastest] / layout.panelElements();
      const int64_t column = c[fastest] % layout.panelElements();
      int64_t row = 0, rows = 1;
      for (size_t i = 1; i < order.size(); ++i) {
        const bool isPanel = order[i] == fastest;
        row += (isPanel ? panel : c[order[i]]) * rows;
        rows *= isPanel ? layout.numPanels() : layout.shape()[order[i]];
      }
      const int64_t linear =
          (row * layout.panelElements() + column) * layout.elementBits();
      EXPECT_EQ(layout.linearBitOffset(c), linear);
      EXPECT_EQ(bits, applySwizzle(linear / 8, layout.swizzleBytes()) * 8 +
                          linear % 8);
    }
    int64_t elements =
        layout.numRows() * layout.numPanels() * layout.panelElements();
    for (size_t i = findPanels(layout.order()) + 1; i < layout.order().size();
         ++i)
      elements *= layout.shape()[layout.order()[i]];
    EXPECT_EQ(elements, layout.numElements());
    // Neighbours are apart by what the stride says.
    for (int dim = 0; dim < layout.rank() && layout.elementBits() >= 8; ++dim) {
      Coordinate next(layout.rank(), 0);
      next[dim] = 1;
      if (layout.shape()[dim] > 1 &&
          (dim != layout.fastestDim() || layout.panelElements() > 1))
        EXPECT_EQ(layout.linearByteOffset(next), strideBytes(layout, dim));
    }
    // Vectors of the stated length are contiguous.
    const int64_t length = layout.contiguousElements();
    for (const Coordinate &c : allCoordinates(layout.shape())) {
      const int64_t i = c[layout.fastestDim()] % length;
      Coordinate first = c;
      first[layout.fastestDim()] -= i;
      EXPECT_EQ(layout.bitOffset(c),
                layout.bitOffset(first) + i * layout.elementBits());
    }
  }
}

TEST(panelsInFrontOfOuterDims) {
  // Three slots of 64 rows of two panels: each slot is one block.
  auto rows = SharedLayout::swizzled({3, 64, 128}, 16);
  REQUIRE(rows);
  EXPECT_EQ(rows->panelBytes(), 3 * 8192);
  EXPECT_EQ(strideBytes(*rows, 0), 8192);
  SharedLayout slots = withOuterDims(*rows, 1);
  EXPECT_EQ(slots.str(),
            "3x64x128 x 16b order(2, 1, 2, 0) panel 64 swizzle 128");
  EXPECT_EQ(slots.numRows(), 64);
  EXPECT_EQ(slots.panelBytes(), 8192);
  EXPECT_EQ(strideBytes(slots, 0), 16384);
  EXPECT_EQ(strideBytes(slots, 1), 128);
  EXPECT_EQ(slots.linearByteOffset({2, 5, 64}), 2 * 16384 + 8192 + 5 * 128);
  EXPECT_TRUE(withOuterDims(slots, 0) == *rows);
  EXPECT_TRUE(withOuterDims(slots, 1) == slots);
  // The rows may be outer dims too; without panels there is nothing to place.
  EXPECT_EQ(withOuterDims(*rows, 2).numRows(), 1);
  auto narrow = SharedLayout::swizzled({3, 64, 64}, 16);
  REQUIRE(narrow);
  EXPECT_TRUE(withOuterDims(*narrow, 1) == *narrow);
}

TEST(sizesAndAlignment) {
  auto tile = SharedLayout::swizzled({64, 256}, 16);
  REQUIRE(tile);
  EXPECT_EQ(tile->str(), "64x256 x 16b order(1, 0) panel 64 swizzle 128");
  EXPECT_EQ(tile->sizeBytes(), 32768);
  EXPECT_EQ(tile->numPanels(), 4);
  EXPECT_EQ(tile->panelBytes(), 8192);
  EXPECT_EQ(tile->rowBytes(), 128);
  EXPECT_EQ(tile->requiredAlignment(), 1024);
  auto odd = SharedLayout::swizzled({64, 96}, 16);
  REQUIRE(odd);
  EXPECT_EQ(odd->swizzleBytes(), 64);
  EXPECT_EQ(odd->requiredAlignment(), 512);
  auto narrow = SharedLayout::swizzled({64, 48}, 8, {0, 1}, 32);
  REQUIRE(narrow);
  EXPECT_EQ(narrow->numPanels(), 2);
  EXPECT_EQ(narrow->requiredAlignment(), 256);
  auto plain = SharedLayout::rowMajor({3, 5}, 4);
  REQUIRE(plain);
  EXPECT_EQ(plain->sizeBytes(), 8);
  EXPECT_EQ(plain->requiredAlignment(), 16);
  auto column = SharedLayout::columnMajor({3, 5}, 32);
  REQUIRE(column);
  EXPECT_EQ(column->byteOffset({1, 0}), 4);
  EXPECT_EQ(column->byteOffset({0, 1}), 12);
  auto scalar = SharedLayout::rowMajor({}, 32);
  REQUIRE(scalar);
  EXPECT_EQ(scalar->sizeBytes(), 4);
  EXPECT_EQ(scalar->byteOffset({}), 0);
}

TEST(sharedLayoutErrors) {
  auto error = [](std::vector<int64_t> shape, int64_t bits,
                  std::vector<int> order, int64_t panel, int64_t swizzle) {
    return SharedLayout::create(shape, bits, order, panel, swizzle).error();
  };
  EXPECT_EQ(error({8, 64}, 16, {1, 0}, 64, 128), "");
  EXPECT_EQ(error({8, 0}, 16, {1, 0}, 64, 128),
            "dim 1 has extent 0, expected at least 1");
  EXPECT_EQ(error({8, 64}, 12, {1, 0}, 64, 128),
            "elements of 12 bits, expected a power of two up to 128");
  EXPECT_EQ(error({8, 64}, 16, {1, 1}, 64, 128),
            "the order is not a permutation of the 2 dims");
  EXPECT_EQ(error({8, 64}, 16, {1, 0, 0}, 64, 128),
            "the order is not a permutation of the 2 dims");
  EXPECT_EQ(error({8, 64}, 16, {1, 0, 1, 1}, 64, 128),
            "the order is not a permutation of the 2 dims");
  EXPECT_EQ(error({8, 64}, 16, {1, 0, 1}, 64, 128), "");
  EXPECT_EQ(error({8, 64}, 16, {1, 0}, 48, 0),
            "panels of 48 elements do not divide the fastest extent 64");
  EXPECT_EQ(error({8, 64}, 16, {1, 0}, 64, 16),
            "a swizzle of 16 bytes, expected 0, 32, 64 or 128");
  EXPECT_EQ(error({8, 64}, 16, {1, 0}, 32, 128),
            "panels of 32 elements of 16 bits are not 128 bytes wide, as the "
            "swizzle needs");
  EXPECT_EQ(SharedLayout::swizzled({8, 96}, 16, {1, 0}, 128).error(),
            "rows of 96 elements of 16 bits (192 bytes) are not a multiple of "
            "128 bytes");
}

static BankUse accessRows(const SharedLayout &layout, int64_t lanes,
                          int64_t bytes) {
  std::vector<int64_t> addresses;
  for (int64_t lane = 0; lane < lanes; ++lane)
    addresses.push_back(layout.byteOffset({lane, 0}));
  return countBankConflicts(addresses, bytes);
}

TEST(bankConflictsOfKnownPatterns) {
  // 8 rows of 128 bytes at the same column: all in the same 4 banks.
  auto plain = SharedLayout::rowMajor({64, 64}, 16);
  auto swizzled = SharedLayout::swizzled({64, 64}, 16);
  REQUIRE(plain && swizzled);
  EXPECT_EQ(accessRows(*plain, 8, 16).wavefronts, 8);
  EXPECT_EQ(accessRows(*plain, 32, 16).wavefronts, 32);
  EXPECT_EQ(accessRows(*plain, 32, 16).idealWavefronts, 4);
  EXPECT_EQ(accessRows(*swizzled, 32, 16).conflicts(), 0);
  EXPECT_EQ(accessRows(*plain, 32, 4).wavefronts, 32);
  // Rows of 64 and 32 bytes under their swizzles.
  for (int64_t columns : {32, 16}) {
    auto narrow = SharedLayout::swizzled({64, columns}, 16);
    REQUIRE(narrow);
    EXPECT_EQ(accessRows(*narrow, 32, 16).conflicts(), 0);
  }
  // Broadcast, stride 2, inactive lanes, narrow accesses.
  EXPECT_EQ(countBankConflicts(std::vector<int64_t>(32, 64), 4).wavefronts, 1);
  std::vector<int64_t> stride2, bytes, idle(32, kInactiveLane);
  for (int64_t lane = 0; lane < 32; ++lane) {
    stride2.push_back(8 * lane);
    bytes.push_back(lane);
  }
  EXPECT_EQ(countBankConflicts(stride2, 4).wavefronts, 2);
  EXPECT_EQ(countBankConflicts(stride2, 8).wavefronts, 2);
  EXPECT_EQ(countBankConflicts(stride2, 8).conflicts(), 0);
  EXPECT_EQ(countBankConflicts(bytes, 1).wavefronts, 1);
  EXPECT_EQ(countBankConflicts(idle, 4).wavefronts, 0);
  idle[3] = 0;
  EXPECT_EQ(countBankConflicts(idle, 16).wavefronts, 1);
}
