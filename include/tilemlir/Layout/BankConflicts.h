//===- BankConflicts.h - Shared-memory wavefronts of an access --*- C++ -*-===//
//
// Counts how many passes the shared memory needs for one warp-wide access.
// 32 banks of 4 bytes; 8-byte accesses go in 2 phases of 16 lanes, 16-byte
// accesses (and the rows of ldmatrix / stmatrix) in 4 phases of 8 lanes; lanes
// that read the same 4-byte word share it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_BANKCONFLICTS_H
#define TILEMLIR_LAYOUT_BANKCONFLICTS_H

#include <cstdint>
#include <vector>

namespace tilemlir::layout {

/// Byte address of a lane that takes no part.
constexpr int64_t kInactiveLane = -1;

struct BankUse {
  /// Passes needed.
  int64_t wavefronts = 0;
  /// Passes needed without conflicts: phases that have an active lane.
  int64_t idealWavefronts = 0;

  int64_t conflicts() const { return wavefronts - idealWavefronts; }
};

/// `laneAddresses` holds up to 32 byte addresses, `accessBytes` is 1, 2, 4, 8
/// or 16 and every address is a multiple of it.
BankUse countBankConflicts(const std::vector<int64_t> &laneAddresses,
                           int64_t accessBytes);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_BANKCONFLICTS_H
