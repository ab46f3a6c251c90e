//===- WgmmaDescriptorTest.cpp - Descriptors against the hardware's rule --===//
//
// The oracle computes the address of every element of an operand as the PTX
// ISA's canonical layouts do: in units of 16 bytes, from the descriptor fields
// alone, with the swizzle applied to the resulting address.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/WgmmaDescriptor.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/PanelOrder.h"

using namespace oracle;
using namespace tilemlir::layout;

/// Byte address of element (mn, k) of an operand whose descriptor has this
/// start address and these fields.
static int64_t hardwareAddress(const WgmmaOperand &operand, int64_t start,
                               int64_t bits, int64_t mn, int64_t k) {
  const int64_t perChunk = 128 / bits;
  const int64_t swizzle = operand.swizzleBytes();
  const int64_t chunks = swizzle ? swizzle / 16 : 1;
  const int64_t leading = operand.leadingBytes() / 16,
                stride = operand.strideBytes() / 16;
  int64_t unit = 0, inChunk = 0;
  if (operand.isMNMajor()) {
    inChunk = mn % perChunk;
    const int64_t c = mn / perChunk;
    if (swizzle) // ((chunks, n), (8, k)) : ((1, leading), (chunks, stride))
      unit =
          c % chunks + c / chunks * leading + k % 8 * chunks + k / 8 * stride;
    else // ((1, n), (8, k)) : ((., stride), (1, leading))
      unit = c * stride + k % 8 + k / 8 * leading;
  } else {
    inChunk = k % perChunk;
    const int64_t c = k / perChunk;
    if (swizzle) // ((8, n), 2) : ((chunks, stride), 1)
      unit = mn % 8 * chunks + mn / 8 * stride + c;
    else // ((8, n), 2) : ((1, stride), leading)
      unit = mn % 8 + mn / 8 * stride + c * leading;
  }
  return applySwizzle(start + unit * 16, swizzle) + inChunk * bits / 8;
}

/// Checks every element of an instruction of `extentMN` x 32 bytes.
static void checkInstruction(const SharedLayout &layout,
                             const WgmmaOperand &operand, int mnDim, int kDim,
                             const Coordinate &start, int64_t extentMN) {
  const int64_t bits = layout.elementBits();
  const int64_t address = operand.startOffset(start);
  for (int64_t mn = 0; mn < extentMN; ++mn)
    for (int64_t k = 0; k < 256 / bits; ++k) {
      Coordinate element = start;
      element[mnDim] += mn;
      element[kDim] += k;
      EXPECT_EQ(hardwareAddress(operand, address, bits, mn, k),
                layout.byteOffset(element));
    }
}

TEST(descriptorsReadTheElementsOfTheTile) {
  for (int round = 0; round < 300; ++round) {
    unittest::setContext("round " + std::to_string(round));
    const int64_t kinds[] = {8, 16, 16, 32};
    const int64_t bits = kinds[unittest::random(0, 3)];
    const int64_t atomK = 256 / bits;
    const bool mnMajor = bits == 16 && unittest::random(0, 1);
    const int64_t k = atomK * unittest::random(1, 9);
    // Pieces along mn, of which the tile has several.
    const int64_t piece = 8 * unittest::random(1, 12);
    const int64_t mn = piece * unittest::random(1, 3);
    const int64_t slots = unittest::random(1, 3);
    std::vector<int64_t> shape = {slots, mnMajor ? k : mn, mnMajor ? mn : k};
    const int mnDim = mnMajor ? 2 : 1, kDim = mnMajor ? 1 : 2;
    const int64_t limits[] = {0, 32, 64, 128};
    int64_t limit = limits[unittest::random(0, 3)];
    if (mnMajor && mn != piece)
      limit = std::min(limit, wgmmaMaxSwizzle(piece, bits));
    auto layout = wgmmaSharedLayout(shape, bits, limit);
    REQUIRE(layout);
    // Panels of all slots follow each other, or each slot is one block.
    layout = withOuterDims(*layout, unittest::random(0, 1));
    auto operand = WgmmaOperand::create(*layout, mnDim, kDim);
    REQUIRE(operand);
    EXPECT_EQ(operand->isMNMajor(), mnMajor);
    EXPECT_EQ(piece % operand->stepMN() == 0 || mn == piece, true);
    for (int64_t slot = 0; slot < slots; ++slot)
      for (int64_t first = 0; first < mn; first += piece)
        for (int64_t step = 0; step < k; step += atomK) {
          Coordinate start = {slot, 0, 0};
          start[mnDim] = first;
          start[kDim] = step;
          EXPECT_EQ(first % operand->stepMN(), 0);
          EXPECT_EQ(step % operand->stepK(), 0);
          checkInstruction(*layout, *operand, mnDim, kDim, start, piece);
          // Steps of the dimensions add up to the offset.
          const int64_t bySteps =
              slot * operand->stepBytes(0) +
              first / operand->stepMN() * operand->stepBytes(mnDim) +
              step / operand->stepK() * operand->stepBytes(kDim);
          if (operand->stepBytes(kDim))
            EXPECT_EQ(bySteps, operand->startOffset(start));
        }
  }
}

TEST(knownTables) {
  // The tiles of a 128x256x64 f16 kernel in four stages.
  auto a = WgmmaOperand::create(*wgmmaSharedLayout({4, 128, 64}, 16), 1, 2);
  REQUIRE(a);
  EXPECT_FALSE(a->isMNMajor());
  EXPECT_EQ(a->strideBytes(), 1024);
  EXPECT_EQ(a->startOffset({0, 64, 48}), 8192 + 96);
  auto b = WgmmaOperand::create(*wgmmaSharedLayout({64, 256}, 16), 1, 0);
  REQUIRE(b);
  EXPECT_TRUE(b->isMNMajor());
  EXPECT_EQ(b->strideBytes(), 1024);
  EXPECT_EQ(b->leadingBytes(), 8192);
  EXPECT_EQ(b->startOffset({16, 0}), 2048);
  // K beyond a panel.
  auto wide = WgmmaOperand::create(*wgmmaSharedLayout({64, 128}, 16), 0, 1);
  REQUIRE(wide);
  EXPECT_EQ(wide->startOffset({0, 64}), 64 * 128);
  // 64- and 32-byte swizzles, and none.
  auto s64 = WgmmaOperand::create(*wgmmaSharedLayout({64, 32}, 16), 0, 1);
  auto s32 = WgmmaOperand::create(*wgmmaSharedLayout({64, 16}, 16), 0, 1);
  auto none = WgmmaOperand::create(*wgmmaSharedLayout({16, 24}, 16), 1, 0);
  REQUIRE(s64 && s32 && none);
  EXPECT_EQ(s64->strideBytes(), 512);
  EXPECT_EQ(s32->strideBytes(), 256);
  EXPECT_EQ(none->strideBytes(), 256);
  EXPECT_EQ(none->leadingBytes(), 128);
}

TEST(otherLayoutsAreRefused) {
  auto rows = SharedLayout::rowMajor({64, 64}, 16);
  EXPECT_EQ(WgmmaOperand::create(*rows, 0, 1).error(),
            "rows without a swizzle must be cut in panels of 16 bytes, these "
            "have 128");
  auto bytes = wgmmaSharedLayout({64, 64}, 8);
  EXPECT_EQ(WgmmaOperand::create(*bytes, 1, 0).error(),
            "K must be contiguous for elements of 8 bits");
  auto between = wgmmaSharedLayout({64, 2, 64}, 16);
  EXPECT_EQ(WgmmaOperand::create(*between, 0, 2).error(),
            "the rows of the matrix do not follow each other");
  auto few = wgmmaSharedLayout({4, 64}, 16);
  EXPECT_EQ(WgmmaOperand::create(*few, 0, 1).error(),
            "4 rows are not a multiple of 8");
  EXPECT_EQ(wgmmaSharedLayout({64, 12}, 16).error(),
            "rows of 24 bytes are not a multiple of 16");
  EXPECT_EQ(wgmmaMaxSwizzle(96, 16), 64);
  EXPECT_EQ(wgmmaMaxSwizzle(24, 16), 0);
  EXPECT_EQ(wgmmaMaxSwizzle(4, 16), -1);
}
