//===- Conversion.h - Moving a fragment to another layout -------*- C++ -*-===//
//
// Classifies the conversion between two fragment layouts of one tile by the
// cheapest form that does it, with the data needed to generate the code.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_CONVERSION_H
#define TILEMLIR_LAYOUT_CONVERSION_H

#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/SharedLayout.h"

#include <array>

namespace tilemlir::layout {

/// From cheap to expensive.
enum class ConversionKind {
  /// Register r stays register r (registers without elements aside).
  Identity,
  /// Same thread, other register: `sourceRegister`.
  RegisterPermutation,
  /// Inside the warp: `shuffles`.
  InWarpShuffle,
  /// Through shared memory: planSharedConversion().
  ThroughShared,
};

/// One shuffle: lane l gets register `sourceRegister` of lane `sourceLane[l]`
/// (shfl.sync.idx), and keeps it where bit l of `laneMask` is set.
struct ShuffleStep {
  int64_t sourceRegister = 0;
  std::array<int, 32> sourceLane = {};
  uint32_t laneMask = 0xffffffffu;
  /// True if each lane of `laneMask` reads itself: a select, no shuffle.
  bool isLocal = false;
  /// If set, sourceLane[l] == laneBase + sum of laneBits[i] over the set bits i
  /// of l for all existing lanes: an address computation instead of a table.
  bool laneIsLinear = false;
  int laneBase = 0;
  std::array<int, 5> laneBits = {};
};

struct Conversion {
  ConversionKind kind = ConversionKind::Identity;
  /// Identity and RegisterPermutation: by register of the destination, the
  /// register of the source; -1 where the destination holds no element.
  std::vector<int64_t> sourceRegister;
  /// InWarpShuffle: by register of the destination, the steps whose results are
  /// combined by lane mask; the same in every warp. Empty where the destination
  /// holds no element.
  std::vector<std::vector<ShuffleStep>> shuffles;
  /// Why a cheaper form is impossible; empty for Identity.
  std::string reason;

  /// Shuffle instructions (local selects not counted).
  int64_t numShuffles() const;
};

/// Both layouts must have the same shape and number of threads. A shuffle form
/// is given only if it needs at most `maxShuffles` instructions.
Result<Conversion> classifyConversion(const FragmentLayout &from,
                                      const FragmentLayout &to,
                                      int64_t maxShuffles = 64);

/// A round trip through shared memory.
struct SharedConversion {
  SharedLayout scratch;
  /// Elements per store / load instruction; they sit in consecutive registers.
  int64_t storeElements = 1;
  int64_t loadElements = 1;
  /// Bank conflicts of all stores and loads of warp 0, for reports.
  int64_t conflicts = 0;
  /// Every warp loads only what its own threads stored: a warp barrier is
  /// enough.
  bool warpLocal = false;
};

/// Chooses order and swizzle of the scratch buffer for fewest wavefronts. Only
/// primary threads of `from` store (FragmentLayout::primaryPredicate); all
/// threads load.
Result<SharedConversion> planSharedConversion(const FragmentLayout &from,
                                              const FragmentLayout &to,
                                              int64_t elementBits);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_CONVERSION_H
