//===- Conversion.cpp - Moving a fragment to another layout ---------------===//
//
// Classification of conversions and the plan of the round trip through shared
// memory.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/Conversion.h"

#include "Digits.h"
#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/FragmentAccess.h"

#include <map>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t Conversion::numShuffles() const {
  int64_t count = 0;
  for (const std::vector<ShuffleStep> &steps : shuffles)
    for (const ShuffleStep &step : steps)
      count += step.isLocal ? 0 : 1;
  return count;
}

namespace {

/// Finds elements of a layout quickly: thread and register parts add up over
/// the dims.
class ElementFinder {
public:
  explicit ElementFinder(const FragmentLayout &layout)
      : threadPart(layout.rank()), registerPart(layout.rank()) {
    for (int dim = 0; dim < layout.rank(); ++dim) {
      threadPart[dim].assign(layout.shape()[dim], 0);
      registerPart[dim].assign(layout.shape()[dim], 0);
      for (const Digit &digit : coordinateDigits(layout, dim))
        for (int64_t c = 0; c < layout.shape()[dim]; ++c)
          (digit.isThread ? threadPart : registerPart)[dim][c] +=
              digit.ofCoordinate(c) * digit.weight;
    }
    for (const Digit &digit : threadDigits(layout))
      if (digit.dim == kReplica && digit.extent > 1)
        replicas.push_back(digit);
  }

  int64_t primaryThread(const std::vector<int64_t> &coordinate) const {
    int64_t thread = 0;
    for (size_t dim = 0; dim < coordinate.size(); ++dim)
      thread += threadPart[dim][coordinate[dim]];
    return thread;
  }
  /// The holder whose replica digits are those of `thread`.
  int64_t nearestThread(const std::vector<int64_t> &coordinate,
                        int64_t thread) const {
    int64_t holder = primaryThread(coordinate);
    for (const Digit &digit : replicas)
      holder += digit.ofIndex(thread) * digit.weight;
    return holder;
  }
  int64_t registerIndex(const std::vector<int64_t> &coordinate) const {
    int64_t index = 0;
    for (size_t dim = 0; dim < coordinate.size(); ++dim)
      index += registerPart[dim][coordinate[dim]];
    return index;
  }

private:
  std::vector<std::vector<int64_t>> threadPart, registerPart;
  std::vector<Digit> replicas;
};

/// Where a lane gets the value of one destination register from.
struct LaneSource {
  int lane = -1; // -1: nothing needed.
  int64_t registerIndex = 0;
};

} // namespace

static bool isInside(const std::vector<int64_t> &coordinate,
                     const std::vector<int64_t> &shape) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (coordinate[dim] >= shape[dim])
      return false;
  return true;
}

/// Tries to write the source lanes as a sum over the bits of the lane id.
static void fitLinearLanes(ShuffleStep &step, const std::vector<int> &lanesUsed,
                           int laneCount) {
  auto contains = [&](int lane) {
    return std::find(lanesUsed.begin(), lanesUsed.end(), lane) !=
           lanesUsed.end();
  };
  for (int bit = 0; bit < 5; ++bit)
    for (int lane : lanesUsed)
      if (!(lane & (1 << bit)) && contains(lane | (1 << bit))) {
        step.laneBits[bit] =
            step.sourceLane[lane | (1 << bit)] - step.sourceLane[lane];
        break;
      }
  auto evaluate = [&](int lane) {
    int sum = step.laneBase;
    for (int bit = 0; bit < 5; ++bit)
      if (lane & (1 << bit))
        sum += step.laneBits[bit];
    return sum;
  };
  const int first = lanesUsed.front();
  step.laneBase = step.sourceLane[first] - evaluate(first);
  std::array<int, 32> lanes = step.sourceLane;
  for (int lane = 0; lane < laneCount; ++lane) {
    lanes[lane] = evaluate(lane);
    // Lanes whose result is not needed may read any existing lane.
    if (lanes[lane] < 0 || lanes[lane] >= laneCount ||
        (contains(lane) && lanes[lane] != step.sourceLane[lane])) {
      step.laneBase = 0;
      step.laneBits = {};
      return;
    }
  }
  step.laneIsLinear = true;
  step.sourceLane = lanes;
}

/// Groups the lanes of one destination register by source register.
static std::vector<ShuffleStep>
makeSteps(const std::array<LaneSource, 32> &sources, int laneCount) {
  std::map<int64_t, std::vector<int>> lanesOf;
  for (int lane = 0; lane < 32; ++lane)
    if (sources[lane].lane >= 0)
      lanesOf[sources[lane].registerIndex].push_back(lane);
  std::vector<ShuffleStep> steps;
  uint32_t laterLanes = 0;
  for (const auto &[registerIndex, lanes] : lanesOf) {
    ShuffleStep step;
    step.sourceRegister = registerIndex;
    step.laneMask = 0;
    step.isLocal = true;
    for (int lane = 0; lane < 32; ++lane)
      step.sourceLane[lane] = lane;
    for (int lane : lanes) {
      step.laneMask |= uint32_t(1) << lane;
      step.sourceLane[lane] = sources[lane].lane;
      step.isLocal &= sources[lane].lane == lane;
    }
    fitLinearLanes(step, lanes, laneCount);
    if (!steps.empty())
      laterLanes |= step.laneMask;
    steps.push_back(step);
  }
  // The first step provides the value that later ones replace in their lanes.
  if (!steps.empty())
    steps.front().laneMask = ~laterLanes;
  return steps;
}

/// The shuffles that do the conversion in every warp alike, or the reason why
/// there are none.
static Result<std::vector<std::vector<ShuffleStep>>>
planShuffles(const FragmentLayout &from, const FragmentLayout &to,
             int64_t maxShuffles) {
  const int64_t threads = to.numThreads();
  if (threads > kWarpSize && threads % kWarpSize != 0)
    return Error{std::to_string(threads) + " threads are not whole warps"};
  const int laneCount = static_cast<int>(std::min(threads, kWarpSize));
  const ElementFinder finder(from);
  std::vector<std::vector<int64_t>> threadOffsets;
  for (int64_t thread = 0; thread < threads; ++thread)
    threadOffsets.push_back(to.threadOffset(thread));

  std::vector<std::vector<ShuffleStep>> shuffles;
  int64_t count = 0;
  std::vector<int64_t> coordinate;
  for (int64_t r = 0; r < to.numRegisters(); ++r) {
    const std::vector<int64_t> registerOffset = to.registerOffset(r);
    std::array<LaneSource, 32> sources;
    for (int64_t thread = 0; thread < threads; ++thread) {
      coordinate = threadOffsets[thread];
      for (int dim = 0; dim < to.rank(); ++dim)
        coordinate[dim] += registerOffset[dim];
      if (!isInside(coordinate, to.shape()))
        continue;
      const int64_t holder = finder.nearestThread(coordinate, thread);
      if (holder / kWarpSize != thread / kWarpSize)
        return Error{"thread " + std::to_string(thread) +
                     " needs an element of thread " + std::to_string(holder) +
                     ", in another warp"};
      LaneSource source;
      source.lane = static_cast<int>(holder % kWarpSize);
      source.registerIndex = finder.registerIndex(coordinate);
      LaneSource &known = sources[thread % kWarpSize];
      if (known.lane >= 0 && (known.lane != source.lane ||
                              known.registerIndex != source.registerIndex))
        return Error{"the shuffle of register " + std::to_string(r) +
                     " differs between warps"};
      known = source;
    }
    shuffles.push_back(makeSteps(sources, laneCount));
    for (const ShuffleStep &step : shuffles.back())
      count += step.isLocal ? 0 : 1;
    if (count > maxShuffles)
      return Error{"more than " + std::to_string(maxShuffles) +
                   " shuffles are needed"};
  }
  return shuffles;
}

static std::string checkComparable(const FragmentLayout &from,
                                   const FragmentLayout &to) {
  if (from.shape() != to.shape())
    return "cannot convert a layout of " + shapeText(from.shape()) +
           " to one of " + shapeText(to.shape());
  if (from.numThreads() != to.numThreads())
    return "cannot convert a layout over " + std::to_string(from.numThreads()) +
           " threads to one over " + std::to_string(to.numThreads());
  return "";
}

Result<Conversion> tilemlir::layout::classifyConversion(
    const FragmentLayout &from, const FragmentLayout &to, int64_t maxShuffles) {
  std::string message = checkComparable(from, to);
  if (!message.empty())
    return Error{std::move(message)};
  Conversion conversion;
  Result<AccessTable> access =
      projectedAccess(to, from, identityAccess(to.rank()));
  if (access) {
    conversion.sourceRegister = access->operandRegister;
    conversion.kind = ConversionKind::Identity;
    for (int64_t r = 0; r < to.numRegisters(); ++r) {
      const int64_t source = conversion.sourceRegister[r];
      if (source >= 0 && source != r) {
        conversion.kind = ConversionKind::RegisterPermutation;
        conversion.reason = "register " + std::to_string(r) +
                            " comes from register " + std::to_string(source);
        break;
      }
    }
    return conversion;
  }
  conversion.reason = access.error();
  Result<std::vector<std::vector<ShuffleStep>>> shuffles =
      planShuffles(from, to, maxShuffles);
  if (shuffles) {
    conversion.kind = ConversionKind::InWarpShuffle;
    conversion.shuffles = std::move(*shuffles);
    return conversion;
  }
  conversion.kind = ConversionKind::ThroughShared;
  conversion.reason = shuffles.error();
  return conversion;
}

/// Elements per access along the fastest dim of `scratch`: registers, alignment
/// and the 16-byte limit permitting. A power of two.
static int64_t vectorElements(const FragmentLayout &fragment,
                              const SharedLayout &scratch) {
  const int64_t run =
      std::gcd(fragment.contiguousElements(scratch.fastestDim()),
               scratch.contiguousElements());
  int64_t elements = 1;
  while (run % (elements * 2) == 0 &&
         elements * 2 * scratch.elementBits() <= 128)
    elements *= 2;
  return elements;
}

/// Wavefronts of all accesses of warp 0; `maxAccesses` limits the effort.
static BankUse countAccesses(const FragmentLayout &fragment,
                             const SharedLayout &scratch, int64_t elements,
                             bool isStore, int64_t maxAccesses) {
  BankUse total;
  const int64_t bytes = elements * scratch.elementBits() / 8;
  const int64_t lanes = std::min(fragment.numThreads(), kWarpSize);
  int64_t accesses = 0;
  std::vector<int64_t> addresses;
  for (int64_t r = 0; r < fragment.numRegisters() && accesses < maxAccesses;
       r += elements, ++accesses) {
    addresses.clear();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      std::vector<int64_t> coordinate = fragment.coordinates(lane, r);
      const bool active = isInside(coordinate, fragment.shape()) &&
                          !(isStore && !fragment.isPrimary(lane));
      addresses.push_back(active ? scratch.byteOffset(coordinate)
                                 : kInactiveLane);
    }
    BankUse use = countBankConflicts(addresses, bytes);
    total.wavefronts += use.wavefronts;
    total.idealWavefronts += use.idealWavefronts;
  }
  return total;
}

/// Every thread finds all its elements among those that primary threads of its
/// own warp stored.
static bool staysInWarp(const FragmentLayout &from, const FragmentLayout &to) {
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

Result<SharedConversion> tilemlir::layout::planSharedConversion(
    const FragmentLayout &from, const FragmentLayout &to, int64_t elementBits) {
  std::string message = checkComparable(from, to);
  if (!message.empty())
    return Error{std::move(message)};
  if (elementBits < 8 || elementBits > 128 || !isPowerOfTwo(elementBits))
    return Error{"cannot exchange elements of " + std::to_string(elementBits) +
                 " bits through shared memory; pack them into bytes first"};

  // A few accesses of a warp show the conflicts; the pattern repeats.
  constexpr int64_t kSampledAccesses = 8;
  constexpr int64_t kAllAccesses = int64_t(1) << 40;
  std::optional<SharedConversion> best;
  int64_t bestCost = 0;
  const int rank = from.rank();
  for (int fastest = std::max(rank - 1, 0); fastest >= 0; --fastest) {
    std::vector<int> order;
    if (rank > 0)
      order.push_back(fastest);
    for (int dim = rank - 1; dim >= 0; --dim)
      if (dim != fastest)
        order.push_back(dim);
    for (int64_t swizzle : {0, 128, 64, 32}) {
      Result<SharedLayout> scratch =
          SharedLayout::swizzled(from.shape(), elementBits, order, swizzle);
      if (!scratch)
        continue;
      SharedConversion plan;
      plan.scratch = *scratch;
      if (rank > 0) {
        plan.storeElements = vectorElements(from, *scratch);
        plan.loadElements = vectorElements(to, *scratch);
      }
      // Scaled to all registers, as the two sides may be sampled differently.
      auto cost = [&](const FragmentLayout &fragment, int64_t elements,
                      bool isStore) {
        const int64_t accesses = fragment.numRegisters() / elements;
        const int64_t sampled = std::min(accesses, kSampledAccesses);
        return countAccesses(fragment, *scratch, elements, isStore,
                             kSampledAccesses)
                   .wavefronts *
               accesses / sampled;
      };
      const int64_t total = cost(from, plan.storeElements, true) +
                            cost(to, plan.loadElements, false);
      if (!best || total < bestCost) {
        best = std::move(plan);
        bestCost = total;
      }
    }
  }
  best->conflicts =
      countAccesses(from, best->scratch, best->storeElements, true,
                    kAllAccesses)
          .conflicts() +
      countAccesses(to, best->scratch, best->loadElements, false, kAllAccesses)
          .conflicts();
  best->warpLocal = staysInWarp(from, to);
  return *best;
}
