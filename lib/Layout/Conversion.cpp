//===- Conversion.cpp - Moving a fragment to another layout ---------------===//
//
// Classification of conversions, and shuffles. SharedConversion.cpp plans the
// round trip through shared memory.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/Conversion.h"

#include "ElementFinder.h"
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

int64_t Conversion::numSelects() const {
  int64_t count = 0;
  for (const std::vector<ShuffleStep> &steps : shuffles)
    count += steps.empty() ? 0 : static_cast<int64_t>(steps.size()) - 1;
  return count;
}

int64_t Conversion::elementsPerShuffle(int64_t elementBits) const {
  auto movesTogether = [&](int64_t elements) {
    for (size_t first = 0; first < shuffles.size();
         first += static_cast<size_t>(elements)) {
      const std::vector<ShuffleStep> &steps = shuffles[first];
      for (int64_t i = 1; i < elements; ++i) {
        const std::vector<ShuffleStep> &others = shuffles[first + i];
        if (others.size() != steps.size())
          return false;
        for (size_t j = 0; j < steps.size(); ++j)
          if (steps[j].sourceRegister % elements != 0 ||
              others[j].sourceRegister != steps[j].sourceRegister + i ||
              others[j].sourceLane != steps[j].sourceLane ||
              others[j].laneMask != steps[j].laneMask)
            return false;
      }
    }
    return true;
  };
  for (int64_t elements : {4, 2})
    if (elements * elementBits <= 32 &&
        shuffles.size() % static_cast<size_t>(elements) == 0 &&
        movesTogether(elements))
      return elements;
  return 1;
}

int64_t tilemlir::layout::conversionClocks(const Conversion &conversion,
                                           int64_t threads,
                                           int64_t elementBits) {
  const int64_t warps = ceilDiv(threads, kWarpSize);
  const int64_t packed = conversion.elementsPerShuffle(elementBits);
  // Wider elements take several shuffles.
  const int64_t words = std::max<int64_t>(elementBits / 32, 1);
  return warps * words * conversion.numShuffles() / packed +
         ceilDiv(warps * words * conversion.numSelects(), 2 * packed);
}

namespace {
/// Where a lane gets the value of one destination register from.
struct LaneSource {
  int lane = -1; // -1: nothing needed.
  int64_t registerIndex = 0;
};

} // namespace

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
