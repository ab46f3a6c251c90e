//===- WgmmaFragments.cpp - Fragments of wgmma ----------------------------===//
#include "tilemlir/Layout/WgmmaFragments.h"

#include "InstructionFragments.h"

#include <algorithm>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

static bool isLegalColumns(int64_t n, bool integers) {
  if (n < 8 || n > kWgmmaMaxColumns || n % 8 != 0)
    return false;
  return !integers || n <= 24 || n % 16 == 0;
}

int64_t tilemlir::layout::wgmmaColumns(int64_t columns, bool integers,
                                       int64_t limit) {
  for (int64_t n = std::min(limit, kWgmmaMaxColumns) / 8 * 8; n >= 8; n -= 8)
    if (columns % n == 0 && isLegalColumns(n, integers))
      return n;
  return 0;
}

/// Registers that an instruction needs beside its sums.
static constexpr int64_t kOtherRegisters = 26;

int64_t tilemlir::layout::registersAtLaunch(int64_t threads) {
  return 65536 / std::max<int64_t>(threads, 1) / 8 * 8;
}

int64_t tilemlir::layout::wgmmaColumnsForThreads(int64_t threads,
                                                 int64_t sumBits) {
  const int64_t available = registersAtLaunch(threads);
  // A thread holds half of a column's sums.
  const int64_t columns = 2 * (available - kOtherRegisters) * 32 / sumBits;
  return std::clamp<int64_t>(columns / 8 * 8, 8, kWgmmaMaxColumns);
}

Result<MmaFragment> tilemlir::layout::wgmmaAccumulator(int64_t m, int64_t n,
                                                       const WarpGrid &groups,
                                                       int64_t instructionN) {
  std::string message =
      checkDivides("M", m, groups.warpsM, "warp groups along M", kWgmmaRows);
  if (message.empty())
    message = checkDivides("N", n, groups.warpsN, "warp groups along N", 8);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t rows = m / groups.warpsM, columns = n / groups.warpsN;
  if (instructionN == 0)
    instructionN = columns;
  if (instructionN % 8 != 0 || columns % instructionN != 0)
    return Error{"instructions of " + std::to_string(instructionN) +
                 " columns do not cover " + std::to_string(columns) +
                 " columns"};
  if (instructionN > kWgmmaMaxColumns)
    return Error{"N = " + std::to_string(n) + " gives each of " +
                 std::to_string(groups.warpsN) + " warp groups " +
                 std::to_string(instructionN) +
                 " columns in one instruction, at most " +
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
                       {instructionN / 8, 1, 8},
                       {columns / instructionN, 1, instructionN},
                       {rows / kWgmmaRows, 0, kWgmmaRows}},
                      rows / kWgmmaRows, columns / instructionN,
                      instructionN / 2);
}

Result<MmaFragment> tilemlir::layout::wgmmaOperandA(int64_t m, int64_t k,
                                                    int64_t elementBits,
                                                    const WarpGrid &groups,
                                                    bool transposed) {
  std::string message = checkElementBits(elementBits);
  if (message.empty())
    message = checkAtomK(k, elementBits, mmaAtomK(elementBits));
  if (message.empty())
    message =
        checkDivides("M", m, groups.warpsM, "warp groups along M", kWgmmaRows);
  if (!message.empty())
    return Error{std::move(message)};
  const int dimM = transposed ? 1 : 0, dimK = 1 - dimM;
  const int64_t packed = 32 / elementBits;
  const int64_t atomK = mmaAtomK(elementBits);
  const int64_t rows = m / groups.warpsM;
  return makeFragment(transposed ? std::vector<int64_t>{k, m}
                                 : std::vector<int64_t>{m, k},
                      {{4, dimK, packed},
                       {8, dimM, 1},
                       {4, dimM, 16},
                       {groups.warpsM, dimM, rows},
                       replicaMode(groups.warpsN),
                       replicaMode(groups.replicas)},
                      {{packed, dimK, 1},
                       {2, dimM, 8},
                       {2, dimK, 4 * packed},
                       {k / atomK, dimK, atomK},
                       {rows / kWgmmaRows, dimM, kWgmmaRows}},
                      rows / kWgmmaRows, k / atomK, 4 * packed);
}
