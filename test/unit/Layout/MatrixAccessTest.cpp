//===- MatrixAccessTest.cpp - ldmatrix executed lane by lane --------------===//
//
// Runs ldmatrix on a tile of element numbers in shared memory, by the wording
// of the PTX ISA, and compares the registers with the fragment layout.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MatrixAccess.h"
#include "RandomLayouts.h"
#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/SharedLayout.h"
#include "tilemlir/Layout/WgmmaFragments.h"

using namespace oracle;
using namespace tilemlir::layout;

/// Executes one instruction for warp `warp`; memory holds one number per
/// `elementBytes` bytes. Checks the destination registers.
static void runInstruction(const FragmentLayout &fragment,
                           const MatrixAccess &access,
                           const SharedLayout &shared,
                           const std::vector<int64_t> &memory, int64_t warp,
                           const std::vector<int64_t> &matrices) {
  const int64_t elementBytes = shared.elementBits() / 8;
  std::vector<int64_t> rowAddress;
  for (int64_t lane = 0; lane < 32; ++lane) {
    Coordinate row =
        matrixRowCoordinate(fragment, access, warp * 32 + lane, matrices);
    EXPECT_TRUE(inside(row, shared.shape()));
    rowAddress.push_back(shared.byteOffset(row));
    EXPECT_EQ(rowAddress.back() % 16, 0);
    // The address splits into a thread part and a matrix part.
    Coordinate sum = matrixThreadOffset(fragment, access, warp * 32 + lane);
    Coordinate offset =
        matrixOffset(fragment, access, matrices[lane / 8 % matrices.size()]);
    for (size_t dim = 0; dim < sum.size(); ++dim)
      sum[dim] += offset[dim];
    EXPECT_EQ(sum, row);
  }
  const int64_t perRegister = 4 / elementBytes;
  for (int64_t lane = 0; lane < 32; ++lane)
    for (size_t j = 0; j < matrices.size(); ++j)
      for (int64_t e = 0; e < perRegister; ++e) {
        int64_t address;
        if (access.transposed) {
          const int64_t row = 2 * (lane % 4) + e, column = lane / 4;
          address = rowAddress[8 * j + row] + 2 * column;
        } else {
          address =
              rowAddress[8 * j + lane / 4] + 4 * (lane % 4) + e * elementBytes;
        }
        const int64_t r = matrices[j] * perRegister + e;
        Coordinate c =
            coordinate(fragment.shape(), fragment.threadModes(),
                       fragment.registerModes(), warp * 32 + lane, r);
        EXPECT_EQ(memory[address / elementBytes],
                  linearize(c, fragment.shape()));
      }
  // Swizzled rows of at least 128 bytes are read without conflicts.
  if (shared.swizzleBytes() > 0) {
    rowAddress.resize(8 * matrices.size());
    EXPECT_EQ(countBankConflicts(rowAddress, 16).conflicts(), 0);
  }
}

static void checkFragment(const FragmentLayout &fragment, int64_t bits,
                          int contiguousDim, bool expectTransposed) {
  std::vector<int> order = {contiguousDim, 1 - contiguousDim};
  auto shared = SharedLayout::swizzled(fragment.shape(), bits, order);
  REQUIRE(shared);
  unittest::setContext(fragment.str() + " from " + shared->str());
  auto access = matchMatrixAccess(fragment, bits, contiguousDim);
  if (!access)
    unittest::reportFailure(__FILE__, __LINE__, access.error());
  REQUIRE(access);
  EXPECT_EQ(access->transposed, expectTransposed);
  std::vector<int64_t> memory(fragment.numElements(), -1);
  for (const Coordinate &c : allCoordinates(fragment.shape()))
    memory[shared->byteOffset(c) / (bits / 8)] = linearize(c, fragment.shape());
  for (int64_t warp = 0; warp < fragment.numThreads() / 32; ++warp) {
    for (int64_t i = 0; i + 4 <= access->numMatrices; i += 4)
      runInstruction(fragment, *access, *shared, memory, warp,
                     {i, i + 1, i + 2, i + 3});
    for (int64_t i = 0; i + 2 <= access->numMatrices; i += 2)
      runInstruction(fragment, *access, *shared, memory, warp, {i, i + 1});
    for (int64_t i = 0; i < access->numMatrices; ++i)
      runInstruction(fragment, *access, *shared, memory, warp, {i});
  }
}

TEST(operandsAreLoadedByLdmatrix) {
  for (const WarpGrid &grid : {WarpGrid{2, 2, 1}, WarpGrid{4, 1, 1}})
    for (int64_t bits : {8, 16, 32}) {
      const int64_t atomK = mmaAtomK(bits);
      for (int64_t k : {2 * atomK, 3 * atomK, 4 * atomK}) {
        auto a = mmaOperandA(64, k, bits, atomK, grid);
        auto bt = mmaOperandB(k, 48, bits, atomK, grid, true);
        REQUIRE(a && bt);
        checkFragment(a->layout, bits, 1, false);
        checkFragment(bt->layout, bits, 1, false);
      }
    }
}

TEST(transposedOperandsAreLoadedByLdmatrixTrans) {
  const WarpGrid grid{2, 2, 1};
  auto at = mmaOperandA(64, 48, 16, 16, grid, true);
  auto b = mmaOperandB(48, 96, 16, 16, grid);
  REQUIRE(at && b);
  checkFragment(at->layout, 16, 1, true);
  checkFragment(b->layout, 16, 1, true);
  // Elements of other widths cannot be transposed.
  auto b8 = mmaOperandB(64, 96, 8, 32, grid);
  auto b32 = mmaOperandB(64, 96, 32, 8, grid);
  REQUIRE(b8 && b32);
  EXPECT_FALSE(matchMatrixAccess(b8->layout, 8, 1));
  EXPECT_FALSE(matchMatrixAccess(b32->layout, 32, 1));
}

TEST(accumulatorsAreStoredByStmatrix) {
  // stmatrix is the inverse of ldmatrix.
  for (int64_t n : {8, 24, 64, 88}) {
    auto c = mmaAccumulator(64, n, WarpGrid{4, 1, 1});
    REQUIRE(c);
    checkFragment(c->layout, 16, 1, false);
    checkFragment(c->layout, 16, 0, true);
    auto w = wgmmaAccumulator(128, n, WarpGrid{2, 1, 1});
    REQUIRE(w);
    checkFragment(w->layout, 16, 1, false);
  }
}

TEST(matricesOfPaddingAreReadFromTheTile) {
  for (bool transposed : {false, true}) {
    const WarpGrid grid{8, 1, 1};
    auto a = mmaOperandA(176, 64, 16, 16, grid, transposed);
    REQUIRE(a);
    const int contiguous = 1;
    EXPECT_EQ(matchMatrixAccess(a->layout, 16, contiguous).error(),
              "the fragment has padding");
    auto access = matchMatrixAccess(a->layout, 16, contiguous, true);
    REQUIRE(access);
    EXPECT_EQ(access->transposed, transposed);
    for (int64_t thread = 0; thread < 256; ++thread)
      for (int64_t matrix = 0; matrix < access->numMatrices; ++matrix) {
        Coordinate row =
            matrixRowCoordinate(a->layout, *access, thread, {matrix});
        EXPECT_TRUE(inside(row, a->layout.shape()));
        EXPECT_EQ(row[access->columnDim] % 8, 0);
        Coordinate plain = matrixThreadOffset(a->layout, *access, thread);
        Coordinate offset = matrixOffset(a->layout, *access, matrix);
        for (size_t dim = 0; dim < plain.size(); ++dim)
          plain[dim] += offset[dim];
        if (inside(plain, a->layout.shape()))
          EXPECT_EQ(plain, row);
      }
  }
}

TEST(otherFragmentsAreRefused) {
  auto c = mmaAccumulator(64, 64, WarpGrid{4, 1, 1});
  REQUIRE(c);
  EXPECT_EQ(matchMatrixAccess(c->layout, 8, 1).error(),
            "elements 0 and 2 of a thread are no neighbours along dim 1");
  EXPECT_EQ(matchMatrixAccess(c->layout, 64, 1).error(),
            "8x8 matrices hold elements of 8, 16 or 32 bits, not 64");
  auto rows = rowStatistics(c->layout);
  REQUIRE(rows);
  EXPECT_EQ(matchMatrixAccess(*rows, 16, 0).error(),
            "8x8 matrices need a 2-D tile");
  auto blocked =
      FragmentLayout::create({16, 16}, {{2, 1, 8}, {16, 0, 1}}, {{8, 1, 1}});
  REQUIRE(blocked);
  EXPECT_EQ(matchMatrixAccess(*blocked, 16, 1).error(),
            "lane 1 holds coordinate (0, 8) instead of (0, 2)");
}
