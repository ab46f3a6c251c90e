//===- MmaFragments.cpp - Fragments of mma.sync and wgmma -----------------===//
//
// All fragments are the three patterns A, B, C of the header, repeated over the
// tile; see there for the sources.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MmaFragments.h"

#include "Digits.h"
#include "tilemlir/Layout/Reduction.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

/// Rows of a wgmma instruction and its largest number of columns.
static constexpr int64_t kWgmmaRows = 64;
static constexpr int64_t kWgmmaMaxColumns = 256;

int64_t tilemlir::layout::mmaAtomK(int64_t elementBits) {
  return 8 * (32 / elementBits);
}

static std::string checkDivides(const char *dim, int64_t extent, int64_t parts,
                                const char *partName, int64_t atom) {
  if (extent >= 1 && parts >= 1 && extent % (parts * atom) == 0)
    return "";
  std::string text = std::string(dim) + " = " + std::to_string(extent) +
                     " is not a multiple of " + std::to_string(atom);
  if (partName)
    text += " for each of " + std::to_string(parts) + " " + partName;
  return text;
}

static std::string checkElementBits(int64_t elementBits) {
  if (elementBits == 8 || elementBits == 16 || elementBits == 32)
    return "";
  return "matrix operands have elements of 8, 16 or 32 bits, not " +
         std::to_string(elementBits);
}

static Result<MmaFragment> makeFragment(std::vector<int64_t> shape,
                                        std::vector<Mode> threads,
                                        std::vector<Mode> registers,
                                        int64_t outerAtoms, int64_t innerAtoms,
                                        int64_t registersPerAtom) {
  Result<FragmentLayout> layout = FragmentLayout::create(
      std::move(shape), std::move(threads), std::move(registers));
  if (!layout)
    return Error{layout.error()};
  return MmaFragment{layout->canonical(), outerAtoms, innerAtoms,
                     registersPerAtom};
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

static std::string checkAtomK(int64_t k, int64_t elementBits, int64_t atomK) {
  std::string message = checkElementBits(elementBits);
  if (!message.empty())
    return message;
  const int64_t full = mmaAtomK(elementBits);
  if (atomK != full && atomK * 2 != full)
    return "instructions on " + std::to_string(elementBits) +
           "-bit elements have k = " + std::to_string(full / 2) + " or " +
           std::to_string(full) + ", not " + std::to_string(atomK);
  return checkDivides("K", k, 1, nullptr, atomK);
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

Result<MmaFragment> tilemlir::layout::wgmmaAccumulator(int64_t m, int64_t n,
                                                       const WarpGrid &groups) {
  std::string message =
      checkDivides("M", m, groups.warpsM, "warp groups along M", kWgmmaRows);
  if (message.empty())
    message = checkDivides("N", n, groups.warpsN, "warp groups along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t rows = m / groups.warpsM, columns = n / groups.warpsN;
  if (columns > kWgmmaMaxColumns)
    return Error{"N = " + std::to_string(n) + " gives each of " +
                 std::to_string(groups.warpsN) + " warp groups " +
                 std::to_string(columns) + " columns, at most " +
                 std::to_string(kWgmmaMaxColumns) + " are possible"};
  return makeFragment({m, n},
                      {{4, 1, 2},
                       {8, 0, 1},
                       {4, 0, 16},
                       {groups.warpsM, 0, rows},
                       {groups.warpsN, 1, columns},
                       replicaMode(groups.replicas)},
                      {{2, 1, 1},
                       {2, 0, 8},
                       {columns / 8, 1, 8},
                       {rows / kWgmmaRows, 0, kWgmmaRows}},
                      rows / kWgmmaRows, 1, columns / 2);
}

Result<MmaFragment> tilemlir::layout::wgmmaOperandA(int64_t m, int64_t k,
                                                    int64_t elementBits,
                                                    const WarpGrid &groups) {
  std::string message = checkElementBits(elementBits);
  if (message.empty())
    message = checkAtomK(k, elementBits, mmaAtomK(elementBits));
  if (message.empty())
    message =
        checkDivides("M", m, groups.warpsM, "warp groups along M", kWgmmaRows);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t packed = 32 / elementBits;
  const int64_t atomK = mmaAtomK(elementBits);
  const int64_t rows = m / groups.warpsM;
  return makeFragment({m, k},
                      {{4, 1, packed},
                       {8, 0, 1},
                       {4, 0, 16},
                       {groups.warpsM, 0, rows},
                       replicaMode(groups.warpsN),
                       replicaMode(groups.replicas)},
                      {{packed, 1, 1},
                       {2, 0, 8},
                       {2, 1, 4 * packed},
                       {k / atomK, 1, atomK},
                       {rows / kWgmmaRows, 0, kWgmmaRows}},
                      rows / kWgmmaRows, k / atomK, 4 * packed);
}

Result<FragmentLayout>
tilemlir::layout::rowStatistics(const FragmentLayout &accumulator) {
  if (accumulator.rank() != 2)
    return Error{"row statistics of a tile of rank " +
                 std::to_string(accumulator.rank()) + ", expected 2"};
  return project(accumulator, 1);
}
