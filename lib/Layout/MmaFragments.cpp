//===- MmaFragments.cpp - Fragments of mma.sync ---------------------------===//
//
// All fragments are the three patterns A, B, C of the header, repeated over the
// tile; see there for the sources.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MmaFragments.h"

#include "InstructionFragments.h"
#include "tilemlir/Layout/Reduction.h"

#include <algorithm>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t tilemlir::layout::mmaAtomK(int64_t elementBits) {
  return 8 * (32 / elementBits);
}

Result<MmaFragment> tilemlir::layout::mmaAccumulator(int64_t m, int64_t n,
                                                     const WarpGrid &grid) {
  std::string message = checkDivides("M", m, 1, nullptr, 16);
  if (message.empty())
    message = checkDivides("N", n, grid.warpsN, "warps along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t rows = rowsOfWarp(m, grid), columns = n / grid.warpsN;
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

namespace {
/// What distinguishes the two operands of an instruction. The free dimension is
/// M of A, N of B.
struct OperandSide {
  const char *dim;
  int64_t free;
  /// Free indices of a warp; those beyond `free` are padding.
  int64_t perWarp;
  /// Free indices of one instruction: 8 for each register along that dimension.
  int64_t atomFree;
  /// The dimension of the free index in the tile.
  int freeDim;
};
} // namespace

static Result<MmaFragment> mmaOperand(const OperandSide &side, int64_t k,
                                      int64_t elementBits, int64_t atomK,
                                      int64_t run,
                                      std::vector<Mode> warpModes) {
  std::string message = checkAtomK(k, elementBits, atomK);
  const int64_t perAtom = atomK / 4;
  if (message.empty() && run != 0 &&
      (run < 0 || run % perAtom != 0 || k % (4 * run) != 0))
    message = "runs of " + std::to_string(run) +
              " neighbours along K: a multiple of " + std::to_string(perAtom) +
              " that divides K / 4 of K = " + std::to_string(k) + " is needed";
  if (message.empty())
    message = checkDivides(side.dim, side.free, 1, nullptr, side.atomFree);
  if (!message.empty())
    return Error{std::move(message)};
  const int dimF = side.freeDim, dimK = 1 - dimF;
  const int64_t packed = 32 / elementBits;
  const int64_t perWarp = side.perWarp;
  const int64_t halves = atomK / (4 * packed);
  const int64_t freeRegisters = side.atomFree / 8;

  std::vector<Mode> threads = {{4, dimK, run ? run : packed}, {8, dimF, 1}};
  threads.insert(threads.end(), warpModes.begin(), warpModes.end());
  std::vector<Mode> registers = {{packed, dimK, 1}, {freeRegisters, dimF, 8}};
  if (run) {
    registers.push_back({halves, dimK, packed});
    registers.push_back({run / perAtom, dimK, perAtom});
    registers.push_back({k / (4 * run), dimK, 4 * run});
  } else {
    registers.push_back({halves, dimK, 4 * packed});
    registers.push_back({k / atomK, dimK, atomK});
  }
  registers.push_back({perWarp / side.atomFree, dimF, side.atomFree});
  return makeFragment(dimF == 0 ? std::vector<int64_t>{side.free, k}
                                : std::vector<int64_t>{k, side.free},
                      std::move(threads), std::move(registers),
                      perWarp / side.atomFree, k / atomK,
                      packed * freeRegisters * halves);
}

Result<MmaFragment>
tilemlir::layout::mmaOperandA(int64_t m, int64_t k, int64_t elementBits,
                              int64_t atomK, const WarpGrid &grid,
                              bool transposed, int64_t run) {
  const int dimM = transposed ? 1 : 0;
  const int64_t rows = rowsOfWarp(m, grid);
  return mmaOperand({"M", m, rows, 16, dimM}, k, elementBits, atomK, run,
                    {{grid.warpsM, dimM, rows},
                     replicaMode(grid.warpsN),
                     replicaMode(grid.replicas)});
}

Result<MmaFragment>
tilemlir::layout::mmaOperandB(int64_t k, int64_t n, int64_t elementBits,
                              int64_t atomK, const WarpGrid &grid,
                              bool transposed, int64_t run) {
  const int dimN = transposed ? 0 : 1;
  std::string message = checkDivides("N", n, grid.warpsN, "warps along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t columns = n / grid.warpsN;
  return mmaOperand({"N", n, columns, 8, dimN}, k, elementBits, atomK, run,
                    {replicaMode(grid.warpsM),
                     {grid.warpsN, dimN, columns},
                     replicaMode(grid.replicas)});
}

Result<FragmentLayout>
tilemlir::layout::rowStatistics(const FragmentLayout &accumulator) {
  if (accumulator.rank() != 2)
    return Error{"row statistics of a tile of rank " +
                 std::to_string(accumulator.rank()) + ", expected 2"};
  return project(accumulator, 1);
}
