//===- BankConflicts.cpp - Shared-memory wavefronts of an access ----------===//
//
// Counts distinct words per bank in each phase of a warp-wide access.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/BankConflicts.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

using namespace tilemlir::layout;

static constexpr int64_t kBanks = 32;
static constexpr int64_t kWordBytes = 4;

BankUse
tilemlir::layout::countBankConflicts(const std::vector<int64_t> &laneAddresses,
                                     int64_t accessBytes) {
  assert((accessBytes == 1 || accessBytes == 2 || accessBytes == 4 ||
          accessBytes == 8 || accessBytes == 16) &&
         "no such access width");
  const size_t lanesPerPhase =
      accessBytes <= kWordBytes ? 32 : static_cast<size_t>(128 / accessBytes);
  BankUse use;
  for (size_t begin = 0; begin < laneAddresses.size(); begin += lanesPerPhase) {
    const size_t end = std::min(begin + lanesPerPhase, laneAddresses.size());
    std::array<std::vector<int64_t>, kBanks> wordsOfBank;
    int64_t deepest = 0;
    for (size_t lane = begin; lane < end; ++lane) {
      const int64_t address = laneAddresses[lane];
      if (address == kInactiveLane)
        continue;
      assert(address >= 0 && address % accessBytes == 0 &&
             "misaligned shared-memory access");
      const int64_t lastWord = (address + accessBytes - 1) / kWordBytes;
      for (int64_t word = address / kWordBytes; word <= lastWord; ++word) {
        std::vector<int64_t> &words = wordsOfBank[word % kBanks];
        if (std::find(words.begin(), words.end(), word) == words.end())
          words.push_back(word);
        deepest = std::max(deepest, static_cast<int64_t>(words.size()));
      }
    }
    use.wavefronts += deepest;
    use.idealWavefronts += deepest > 0 ? 1 : 0;
  }
  return use;
}
