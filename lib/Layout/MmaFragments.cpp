//===- MmaFragments.cpp - Fragments of mma.sync ---------------------------===//
//
// All fragments are the three patterns A, B, C of the header, repeated over the
// tile; see there for the sources.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MmaFragments.h"

#include "InstructionFragments.h"
#include "tilemlir/Layout/Reduction.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t tilemlir::layout::mmaAtomK(int64_t elementBits) {
  return 8 * (32 / elementBits);
}

Result<MmaFragment> tilemlir::layout::mmaAccumulator(int64_t m, int64_t n,
                                                     const WarpGrid &grid) {
  std::string message = checkDivides("M", m, grid.warpsM, "warps along M", 16);
  if (message.empty())
    message = checkDivides("N", n, grid.warpsN, "warps along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t rows = m / grid.warpsM, columns = n / grid.warpsN;
  return makeFragment(
      {m, n},
      {{4, 1, 2},
       {8, 0, 1},
       {grid.warpsM, 0, rows},
       {grid.warpsN, 1, columns},
       replicaMode(grid.replicas)},
      {{2, 1, 1}, {2, 0, 8}, {columns / 8, 1, 8}, {rows / 16, 0, 16}},
      rows / 16, columns / 8, 4);
}

Result<MmaFragment> tilemlir::layout::mmaOperandA(int64_t m, int64_t k,
                                                  int64_t elementBits,
                                                  int64_t atomK,
                                                  const WarpGrid &grid,
                                                  bool transposed) {
  std::string message = checkAtomK(k, elementBits, atomK);
  if (message.empty())
    message = checkDivides("M", m, grid.warpsM, "warps along M", 16);
  if (!message.empty())
    return Error{std::move(message)};
  const int dimM = transposed ? 1 : 0, dimK = 1 - dimM;
  const int64_t packed = 32 / elementBits;
  const int64_t rows = m / grid.warpsM;
  const int64_t halves = atomK / (4 * packed);
  return makeFragment(transposed ? std::vector<int64_t>{k, m}
                                 : std::vector<int64_t>{m, k},
                      {{4, dimK, packed},
                       {8, dimM, 1},
                       {grid.warpsM, dimM, rows},
                       replicaMode(grid.warpsN),
                       replicaMode(grid.replicas)},
                      {{packed, dimK, 1},
                       {2, dimM, 8},
                       {halves, dimK, 4 * packed},
                       {k / atomK, dimK, atomK},
                       {rows / 16, dimM, 16}},
                      rows / 16, k / atomK, 2 * packed * halves);
}

Result<MmaFragment> tilemlir::layout::mmaOperandB(int64_t k, int64_t n,
                                                  int64_t elementBits,
                                                  int64_t atomK,
                                                  const WarpGrid &grid,
                                                  bool transposed) {
  std::string message = checkAtomK(k, elementBits, atomK);
  if (message.empty())
    message = checkDivides("N", n, grid.warpsN, "warps along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int dimN = transposed ? 0 : 1, dimK = 1 - dimN;
  const int64_t packed = 32 / elementBits;
  const int64_t columns = n / grid.warpsN;
  const int64_t halves = atomK / (4 * packed);
  return makeFragment(transposed ? std::vector<int64_t>{n, k}
                                 : std::vector<int64_t>{k, n},
                      {{4, dimK, packed},
                       {8, dimN, 1},
                       replicaMode(grid.warpsM),
                       {grid.warpsN, dimN, columns},
                       replicaMode(grid.replicas)},
                      {{packed, dimK, 1},
                       {halves, dimK, 4 * packed},
                       {k / atomK, dimK, atomK},
                       {columns / 8, dimN, 8}},
                      columns / 8, k / atomK, packed * halves);
}

Result<FragmentLayout>
tilemlir::layout::rowStatistics(const FragmentLayout &accumulator) {
  if (accumulator.rank() != 2)
    return Error{"row statistics of a tile of rank " +
                 std::to_string(accumulator.rank()) + ", expected 2"};
  return project(accumulator, 1);
}
