//===- SharedAddressing.h - Cheap addresses in swizzled tiles ---*- C++ -*-===//
//
// Splits the shared-memory addresses that one thread uses into a few bases that
// are computed once, XOR constants, and immediate offsets.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_SHAREDADDRESSING_H
#define TILEMLIR_LAYOUT_SHAREDADDRESSING_H

#include "tilemlir/Layout/SharedLayout.h"

#include <optional>

namespace tilemlir::layout {

/// offset(c + delta) == (offset(c) ^ xorBytes) + addBytes for all c considered.
struct AddressDelta {
  int64_t xorBytes = 0;
  int64_t addBytes = 0;
};

/// The relation between the addresses of c and c + delta that holds for every
/// coordinate c in `bases` (typically the start coordinates of all threads), or
/// nullopt if there is none of this form. A pure addition is preferred. All
/// coordinates reached must be inside the shape. Offsets are those inside the
/// aligned buffer; a buffer base that is a multiple of requiredAlignment() may
/// be added afterwards (XOR does not touch its bits).
std::optional<AddressDelta>
addressDelta(const SharedLayout &layout,
             const std::vector<std::vector<int64_t>> &bases,
             const std::vector<int64_t> &delta);

/// How to form many addresses from few base registers.
struct AddressPlan {
  struct Base {
    /// The base is derived as offset(c + deltas[seed]), computed from scratch,
    /// ...
    size_t seed = 0;
    /// ... and then XORed with this constant (0 for the seed itself).
    int64_t xorBytes = 0;
  };
  struct Use {
    size_t base = 0;
    /// Immediate offset to add to the base.
    int64_t addBytes = 0;
  };
  std::vector<Base> bases;
  /// One per delta: offset(c + deltas[i]) == base(uses[i].base) + addBytes.
  std::vector<Use> uses;
};

/// Greedy plan: a delta becomes a new seed only if no earlier seed reaches it.
AddressPlan planAddresses(const SharedLayout &layout,
                          const std::vector<std::vector<int64_t>> &bases,
                          const std::vector<std::vector<int64_t>> &deltas);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_SHAREDADDRESSING_H
