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

  /// Shuffle instructions for elements alone (local selects not counted).
  int64_t numShuffles() const;
  /// Selects between what different steps deliver, for elements alone.
  int64_t numSelects() const;
  /// How many neighbouring registers of narrow elements move together: as many
  /// as fit into the 32 bits of a shuffle and always come from neighbours.
  int64_t elementsPerShuffle(int64_t elementBits) const;
};

/// Both layouts must have the same shape and number of threads. A shuffle form
/// is given only if it needs at most `maxShuffles` instructions; whether shared
/// memory is cheaper is for the caller to say (conversionClocks).
Result<Conversion> classifyConversion(const FragmentLayout &from,
                                      const FragmentLayout &to,
                                      int64_t maxShuffles = 256);

/// A round trip through shared memory, in one piece or in several that use the
/// same scratch memory one after the other.
struct SharedConversion {
  /// Both layouts are seen under this shape (FragmentLayout::reshape): the
  /// shape of the tile, or with dims cut into factors such that pieces are sets
  /// of registers on both sides.
  std::vector<int64_t> shape;
  /// One piece: a box of `shape` of this layout's shape. The pieces are all
  /// boxes of it, the last ones along a dim possibly smaller.
  SharedLayout scratch;
  /// Elements per store / load instruction; they sit in consecutive registers.
  int64_t storeElements = 1;
  int64_t loadElements = 1;
  /// Bank conflicts of all stores and loads of warp 0 in the first piece, for
  /// reports.
  int64_t conflicts = 0;
  /// Every warp loads only what its own threads stored: a warp barrier is
  /// enough.
  bool warpLocal = false;
  /// See conversionClocks.
  int64_t clocks = 0;

  int64_t numPieces() const;
  /// Where piece `piece` of numPieces() begins in `shape`.
  std::vector<int64_t> origin(int64_t piece) const;
};

/// Chooses pieces, and order and swizzle of the scratch buffer for fewest
/// wavefronts. Only primary threads of `from` store
/// (FragmentLayout::primaryPredicate); all threads load. The scratch has at
/// most `maxBytes`, but at least one element.
Result<SharedConversion>
planSharedConversion(const FragmentLayout &from, const FragmentLayout &to,
                     int64_t elementBits, int64_t maxBytes = int64_t(1) << 40);

/// Does every thread find all its elements of `to` among those that primary
/// threads of its own warp hold in `from`?
bool staysInWarp(const FragmentLayout &from, const FragmentLayout &to);

/// Does register `registerIndex` hold an element of the box that begins at
/// `origin` and has extents `extents`, clipped to the shape?
Occupancy boxOccupancy(const FragmentLayout &layout, int64_t registerIndex,
                       const std::vector<int64_t> &origin,
                       const std::vector<int64_t> &extents);

/// Cost of a conversion in clocks of one multiprocessor, for the whole block:
/// - a shuffle moves 32 lanes of 4 bytes per clock, as much as a wavefront of
///   shared memory (CUDA C++ programming guide, throughput of native arithmetic
///   instructions: 32 results of warp shuffles per clock; 128 bytes per clock
///   of shared memory, one wavefront);
/// - a select takes half of that (64 results per clock);
/// - at a barrier the warps wait for the last one and for its stores: about
///   kBarrierClocks, with all threads or within one warp.
int64_t conversionClocks(const Conversion &conversion, int64_t threads,
                         int64_t elementBits);
constexpr int64_t kBarrierClocks = 32;
constexpr int64_t kWarpBarrierClocks = 8;

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_CONVERSION_H
