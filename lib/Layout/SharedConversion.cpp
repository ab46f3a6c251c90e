//===- SharedConversion.cpp - Conversions through shared memory -----------===//
//
// The round trip through scratch memory: which pieces, and where elements lie
// in the scratch.
//
//===----------------------------------------------------------------------===//

#include "ElementFinder.h"
#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/Conversion.h"

#include <map>
#include <set>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t SharedConversion::numPieces() const {
  int64_t pieces = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    pieces *= ceilDiv(shape[dim], scratch.shape()[dim]);
  return pieces;
}

std::vector<int64_t> SharedConversion::origin(int64_t piece) const {
  std::vector<int64_t> result(shape.size(), 0);
  for (size_t dim = shape.size(); dim-- > 0;) {
    const int64_t count = ceilDiv(shape[dim], scratch.shape()[dim]);
    result[dim] = piece % count * scratch.shape()[dim];
    piece /= count;
  }
  return result;
}

Occupancy tilemlir::layout::boxOccupancy(const FragmentLayout &layout,
                                         int64_t registerIndex,
                                         const std::vector<int64_t> &origin,
                                         const std::vector<int64_t> &extents) {
  const std::vector<int64_t> offset = layout.registerOffset(registerIndex);
  bool always = true;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    const int64_t end =
        std::min(origin[dim] + extents[dim], layout.shape()[dim]);
    // What threads add along this dim.
    std::set<int64_t> starts = {offset[dim]};
    for (const Mode &mode : layout.threadModes()) {
      if (mode.dim != dim)
        continue;
      std::set<int64_t> next;
      for (int64_t start : starts)
        for (int64_t digit = 0; digit < mode.extent; ++digit)
          next.insert(start + digit * mode.stride);
      starts = std::move(next);
    }
    auto first = starts.lower_bound(origin[dim]);
    if (first == starts.end() || *first >= end)
      return Occupancy::Never;
    always &= first == starts.begin() && *starts.rbegin() < end;
  }
  return always ? Occupancy::Always : Occupancy::Sometimes;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

namespace {
/// A range of steps along a dim: coordinates that differ by multiples of
/// `first`, below `end`.
struct StrideRange {
  int64_t first, end;
};

/// A tile seen under another shape, in which some dims are made of registers
/// alone in both layouts.
struct FactoredTile {
  FragmentLayout from, to;
  std::vector<bool> isFree;
  /// Neighbouring elements of the tile lie along it.
  std::vector<bool> isFastest;
};
} // namespace

/// Where neither layout has a thread digit along `dim`.
static std::vector<StrideRange>
findFreeRanges(const FragmentLayout &from, const FragmentLayout &to, int dim) {
  std::vector<StrideRange> taken;
  for (const FragmentLayout *layout : {&from, &to})
    for (const Digit &digit : coordinateDigits(*layout, dim))
      if (digit.isThread)
        taken.push_back({digit.stride, digit.stride * digit.extent});
  std::sort(taken.begin(), taken.end(),
            [](const StrideRange &a, const StrideRange &b) {
              return a.first < b.first;
            });
  const int64_t extent = from.shape()[dim];
  std::vector<StrideRange> ranges;
  int64_t reached = 1;
  auto add = [&](int64_t end) {
    end = std::min(end, extent);
    // Only what divides the dim evenly can be seen as a dim of its own.
    if (end > reached && end % reached == 0 && extent % end == 0 &&
        extent % reached == 0)
      ranges.push_back({reached, end});
  };
  for (const StrideRange &range : taken) {
    add(range.first);
    reached = std::max(reached, range.end);
  }
  if (reached < extent)
    add(extent);
  return ranges;
}

/// Cuts the dims of a tile such that free ranges become dims of their own.
static FactoredTile factorTile(const FragmentLayout &from,
                               const FragmentLayout &to) {
  const std::vector<int64_t> &shape = from.shape();
  const int rank = from.rank();
  // Factors of each dim, slowest first, and which of them are free.
  std::vector<std::vector<std::pair<int64_t, bool>>> factors(rank);
  for (int dim = 0; dim < rank; ++dim)
    factors[dim] = {{shape[dim], false}};
  auto getShape = [&] {
    std::vector<int64_t> result;
    for (const auto &list : factors)
      for (auto [extent, free] : list)
        result.push_back(extent);
    return result;
  };
  for (int dim = 0; dim < rank; ++dim) {
    const auto before = factors[dim];
    std::vector<std::pair<int64_t, bool>> list;
    int64_t reached = 1;
    auto append = [&](int64_t end, bool free) {
      if (end > reached)
        list.insert(list.begin(), {end / reached, free});
      reached = std::max(reached, end);
    };
    bool divides = true;
    for (const StrideRange &range : findFreeRanges(from, to, dim)) {
      divides &= range.first % reached == 0;
      append(range.first, false);
      append(range.end, true);
    }
    append(shape[dim], false);
    if (!divides || list.empty())
      continue;
    factors[dim] = std::move(list);
    const std::vector<int64_t> factored = getShape();
    if (!from.reshape(factored) || !to.reshape(factored))
      factors[dim] = before;
  }
  FactoredTile result;
  result.from = *from.reshape(getShape());
  result.to = *to.reshape(getShape());
  for (const auto &list : factors)
    for (const auto &factor : list) {
      result.isFree.push_back(factor.second);
      result.isFastest.push_back(&factor == &list.back());
    }
  return result;
}

/// Extents of the largest pieces of at most `maxElements`, cut along free dims
/// first: along others, each piece repeats the accesses of all registers under
/// a predicate.
static std::vector<int64_t> choosePiece(const FactoredTile &tile,
                                        int64_t maxElements) {
  std::vector<int64_t> piece = tile.from.shape();
  const int rank = static_cast<int>(piece.size());
  // Vectors run along the fastest dims.
  std::vector<int> order;
  for (bool free : {true, false})
    for (bool fastest : {false, true})
      for (int dim = 0; dim < rank; ++dim)
        if (tile.isFree[dim] == free && tile.isFastest[dim] == fastest)
          order.push_back(dim);
  for (int dim : order) {
    const int64_t elements = productOf(piece);
    if (elements <= maxElements)
      break;
    const int64_t others = elements / piece[dim];
    const int64_t fitting = std::max<int64_t>(maxElements / others, 1);
    // Pieces of about the same size.
    piece[dim] = ceilDiv(piece[dim], ceilDiv(piece[dim], fitting));
  }
  return piece;
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

/// Elements per access along the fastest dim of `scratch`: registers, alignment
/// and the 16-byte limit permitting. A power of two.
static int64_t vectorElements(const FragmentLayout &fragment,
                              const SharedLayout &scratch) {
  const int64_t run =
      std::gcd(std::gcd(fragment.contiguousElements(scratch.fastestDim()),
                        scratch.contiguousElements()),
               scratch.shape()[scratch.fastestDim()]);
  int64_t elements = 1;
  while (run % (elements * 2) == 0 &&
         elements * 2 * scratch.elementBits() <= 128)
    elements *= 2;
  return elements;
}

namespace {
struct AccessCount {
  BankUse use;
  int64_t accesses = 0;
};
} // namespace

/// Wavefronts of the accesses of warp 0 to the first piece; `maxAccesses`
/// limits the effort.
static AccessCount countAccesses(const FragmentLayout &fragment,
                                 const SharedLayout &scratch, int64_t elements,
                                 bool isStore, int64_t maxAccesses) {
  AccessCount total;
  const int64_t bytes = elements * scratch.elementBits() / 8;
  const int64_t lanes = std::min(fragment.numThreads(), kWarpSize);
  std::vector<std::vector<int64_t>> laneOffsets;
  for (int64_t lane = 0; lane < lanes; ++lane)
    laneOffsets.push_back(fragment.threadOffset(lane));
  std::vector<int64_t> addresses, coordinate;
  for (int64_t r = 0;
       r < fragment.numRegisters() && total.accesses < maxAccesses;
       r += elements) {
    const std::vector<int64_t> offset = fragment.registerOffset(r);
    bool active = false;
    addresses.clear();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      coordinate = laneOffsets[lane];
      for (size_t dim = 0; dim < offset.size(); ++dim)
        coordinate[dim] += offset[dim];
      const bool takesPart = isInside(coordinate, scratch.shape()) &&
                             !(isStore && !fragment.isPrimary(lane));
      active |= takesPart;
      addresses.push_back(takesPart ? scratch.byteOffset(coordinate)
                                    : kInactiveLane);
    }
    if (!active)
      continue;
    BankUse use = countBankConflicts(addresses, bytes);
    total.use.wavefronts += use.wavefronts;
    total.use.idealWavefronts += use.idealWavefronts;
    ++total.accesses;
  }
  return total;
}

/// Accesses of a thread over all pieces.
static int64_t countRepeatedAccesses(const FragmentLayout &fragment,
                                     const SharedConversion &plan,
                                     int64_t elements) {
  // Registers along a dim are asked for once for each piece that may hold them.
  int64_t count = 0;
  const int64_t pieces = plan.numPieces();
  if (pieces == 1)
    return fragment.numRegisters() / elements;
  for (int64_t piece = 0; piece < pieces; ++piece)
    for (int64_t r = 0; r < fragment.numRegisters(); r += elements)
      count += boxOccupancy(fragment, r, plan.origin(piece),
                            plan.scratch.shape()) != Occupancy::Never;
  return count;
}

bool tilemlir::layout::staysInWarp(const FragmentLayout &from,
                                   const FragmentLayout &to) {
  const ElementFinder finder(from);
  for (int64_t thread = 0; thread < to.numThreads(); ++thread) {
    const std::vector<int64_t> threadOffset = to.threadOffset(thread);
    for (int64_t r = 0; r < to.numRegisters(); ++r) {
      std::vector<int64_t> coordinate = to.registerOffset(r);
      for (int dim = 0; dim < to.rank(); ++dim)
        coordinate[dim] += threadOffset[dim];
      if (isInside(coordinate, to.shape()) &&
          finder.primaryThread(coordinate) / kWarpSize != thread / kWarpSize)
        return false;
    }
  }
  return true;
}

/// Orders of the dims of a piece that are worth trying: each choice of the two
/// fastest dims, the others by position; unit dims last.
static std::vector<std::vector<int>>
candidateOrders(const std::vector<int64_t> &piece) {
  std::vector<int> proper, units;
  for (int dim = static_cast<int>(piece.size()) - 1; dim >= 0; --dim)
    (piece[dim] > 1 ? proper : units).push_back(dim);
  std::vector<std::vector<int>> orders;
  auto add = [&](std::vector<int> first) {
    for (int dim : proper)
      if (std::find(first.begin(), first.end(), dim) == first.end())
        first.push_back(dim);
    first.insert(first.end(), units.begin(), units.end());
    if (std::find(orders.begin(), orders.end(), first) == orders.end())
      orders.push_back(std::move(first));
  };
  add({});
  for (int fastest : proper)
    for (int second : proper)
      if (second != fastest)
        add({fastest, second});
  return orders;
}

Result<SharedConversion>
tilemlir::layout::planSharedConversion(const FragmentLayout &wholeFrom,
                                       const FragmentLayout &wholeTo,
                                       int64_t elementBits, int64_t maxBytes) {
  std::string message = checkComparable(wholeFrom, wholeTo);
  if (!message.empty())
    return Error{std::move(message)};
  if (elementBits < 8 || elementBits > 128 || !isPowerOfTwo(elementBits))
    return Error{"cannot exchange elements of " + std::to_string(elementBits) +
                 " bits through shared memory; pack them into bytes first"};

  FactoredTile tile{wholeFrom, wholeTo, {}, {}};
  std::vector<int64_t> piece = wholeFrom.shape();
  const int64_t maxElements = maxBytes / (elementBits / 8);
  if (productOf(piece) > maxElements) {
    tile = factorTile(wholeFrom, wholeTo);
    piece = choosePiece(tile, maxElements);
  }
  const FragmentLayout &from = tile.from, &to = tile.to;

  // A few accesses of a warp show the conflicts; the pattern repeats.
  constexpr int64_t kSampledAccesses = 8;
  constexpr int64_t kAllAccesses = int64_t(1) << 40;
  const int64_t warps = ceilDiv(from.numThreads(), kWarpSize);
  std::optional<SharedConversion> best;
  std::map<int64_t, int64_t> repeated[2];
  for (const std::vector<int> &order : candidateOrders(piece)) {
    for (int64_t swizzle : {0, 128, 64, 32}) {
      Result<SharedLayout> scratch =
          SharedLayout::swizzled(piece, elementBits, order, swizzle);
      if (!scratch)
        continue;
      SharedConversion plan;
      plan.shape = from.shape();
      plan.scratch = *scratch;
      if (!piece.empty()) {
        plan.storeElements = vectorElements(from, *scratch);
        plan.loadElements = vectorElements(to, *scratch);
      }
      // Scaled to all registers, as the two sides may be sampled differently.
      auto cost = [&](const FragmentLayout &fragment, int64_t elements,
                      bool isStore) {
        const AccessCount sampled = countAccesses(fragment, *scratch, elements,
                                                  isStore, kSampledAccesses);
        auto [known, isNew] = repeated[isStore].insert({elements, 0});
        if (isNew)
          known->second = countRepeatedAccesses(fragment, plan, elements);
        const int64_t accesses = known->second;
        return sampled.accesses == 0
                   ? accesses
                   : sampled.use.wavefronts * accesses / sampled.accesses;
      };
      plan.clocks = warps * (cost(from, plan.storeElements, true) +
                             cost(to, plan.loadElements, false));
      if (!best || plan.clocks < best->clocks)
        best = std::move(plan);
    }
  }
  best->conflicts =
      countAccesses(from, best->scratch, best->storeElements, true,
                    kAllAccesses)
          .use.conflicts() +
      countAccesses(to, best->scratch, best->loadElements, false, kAllAccesses)
          .use.conflicts();
  best->warpLocal = staysInWarp(from, to);
  // Behind the stores of each piece, and in front of those of the next one.
  best->clocks += (2 * best->numPieces() - 1) *
                  (best->warpLocal ? kWarpBarrierClocks : kBarrierClocks);
  return *best;
}
