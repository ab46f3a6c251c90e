//===- FragmentLayout.cpp - Distribution of a tile over registers ---------===//
//
// Construction, verification and queries of fragment layouts.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/FragmentLayout.h"

#include "Digits.h"
#include "tilemlir/Layout/FragmentAccess.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

// Products stay below 2^31 so that thread ids, registers and coordinates fit
// the 32-bit arithmetic of generated code.
static constexpr int64_t kMaxProduct = (int64_t(1) << 31) - 1;

static std::string verifyModes(const std::vector<int64_t> &shape,
                               const std::vector<Mode> &modes, bool isThread) {
  const std::string kind = isThread ? "thread" : "register";
  int64_t product = 1;
  for (size_t i = 0; i < modes.size(); ++i) {
    const Mode &mode = modes[i];
    const std::string name = kind + " mode " + std::to_string(i);
    if (mode.extent < 1)
      return name + " has extent " + std::to_string(mode.extent) +
             ", expected at least 1";
    if (mode.extent > kMaxProduct / product)
      return "the extents of the " + kind + " modes multiply to 2^31 or more";
    product *= mode.extent;
    if (mode.isReplica()) {
      if (!isThread)
        return name + " is a replica, but only thread modes can be replicas";
      if (mode.stride != 0)
        return name + " is a replica with stride " +
               std::to_string(mode.stride) + ", expected 0";
      continue;
    }
    if (mode.dim < 0 || mode.dim >= static_cast<int>(shape.size()))
      return name + " refers to dim " + std::to_string(mode.dim) +
             " of a tile of rank " + std::to_string(shape.size());
    if (mode.extent > 1 && mode.stride < 1)
      return name + " has stride " + std::to_string(mode.stride) +
             ", expected at least 1";
    if (mode.stride < 0 || mode.stride > kMaxProduct / mode.extent)
      return name + " has stride " + std::to_string(mode.stride) +
             ", which is out of range";
  }
  return "";
}

// Digits restricted to [0, extent of dim) represent every coordinate exactly
// once iff, by ascending stride, each stride equals the product of the extents
// before it until that product reaches the extent of the dim: a smaller stride
// repeats the coordinate `stride`, a larger one leaves the coordinate `product`
// out. Later strides must lie beyond the shape.
static std::string
verifyCoverage(const std::vector<int64_t> &shape, int dim,
               std::vector<std::pair<int64_t, int64_t>> &stridesAndExtents) {
  std::sort(stridesAndExtents.begin(), stridesAndExtents.end());
  const int64_t size = shape[dim];
  const std::string where = " of dim " + std::to_string(dim);
  int64_t product = 1;
  for (auto [stride, extent] : stridesAndExtents) {
    if (stride >= size)
      break;
    if (stride < product)
      return "coordinate " + std::to_string(stride) + where +
             " is held more than once";
    if (stride > product)
      break;
    product *= extent;
  }
  if (product < size)
    return "coordinate " + std::to_string(product) + where +
           " is held by no register";
  return "";
}

std::string FragmentLayout::verify(const std::vector<int64_t> &shape,
                                   const std::vector<Mode> &threadModes,
                                   const std::vector<Mode> &registerModes) {
  int64_t elements = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] < 1)
      return "dim " + std::to_string(dim) + " has extent " +
             std::to_string(shape[dim]) + ", expected at least 1";
    if (shape[dim] > kMaxProduct / elements)
      return "the tile has 2^31 elements or more";
    elements *= shape[dim];
  }
  std::string message = verifyModes(shape, threadModes, /*isThread=*/true);
  if (message.empty())
    message = verifyModes(shape, registerModes, /*isThread=*/false);
  if (!message.empty())
    return message;
  for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
    std::vector<std::pair<int64_t, int64_t>> stridesAndExtents;
    for (const std::vector<Mode> *modes : {&threadModes, &registerModes})
      for (const Mode &mode : *modes)
        if (mode.dim == dim && mode.extent > 1)
          stridesAndExtents.emplace_back(mode.stride, mode.extent);
    message = verifyCoverage(shape, dim, stridesAndExtents);
    if (!message.empty())
      return message;
  }
  return "";
}

Result<FragmentLayout> FragmentLayout::create(std::vector<int64_t> shape,
                                              std::vector<Mode> threadModes,
                                              std::vector<Mode> registerModes) {
  std::string message = verify(shape, threadModes, registerModes);
  if (!message.empty())
    return Error{std::move(message)};
  FragmentLayout layout;
  layout.shapeOfTile = std::move(shape);
  layout.modesOfThread = std::move(threadModes);
  layout.modesOfRegister = std::move(registerModes);
  for (const Mode &mode : layout.modesOfThread)
    layout.threadCount *= mode.extent;
  for (const Mode &mode : layout.modesOfRegister)
    layout.registerCount *= mode.extent;
  return layout;
}

int64_t FragmentLayout::numElements() const { return productOf(shapeOfTile); }

int64_t FragmentLayout::numReplicas() const {
  int64_t replicas = 1;
  for (const Mode &mode : modesOfThread)
    if (mode.isReplica())
      replicas *= mode.extent;
  return replicas;
}

static std::vector<int64_t> offsetOf(int rank, const std::vector<Mode> &modes,
                                     int64_t index) {
  std::vector<int64_t> offset(rank, 0);
  for (const Mode &mode : modes) {
    int64_t digit = index % mode.extent;
    index /= mode.extent;
    if (!mode.isReplica())
      offset[mode.dim] += digit * mode.stride;
  }
  return offset;
}

std::vector<int64_t> FragmentLayout::threadOffset(int64_t thread) const {
  assert(thread >= 0 && thread < threadCount && "thread out of range");
  return offsetOf(rank(), modesOfThread, thread);
}

std::vector<int64_t>
FragmentLayout::registerOffset(int64_t registerIndex) const {
  assert(registerIndex >= 0 && registerIndex < registerCount &&
         "register out of range");
  return offsetOf(rank(), modesOfRegister, registerIndex);
}

std::vector<int64_t> FragmentLayout::coordinates(int64_t thread,
                                                 int64_t registerIndex) const {
  std::vector<int64_t> sum = threadOffset(thread);
  std::vector<int64_t> other = registerOffset(registerIndex);
  for (int dim = 0; dim < rank(); ++dim)
    sum[dim] += other[dim];
  return sum;
}

bool FragmentLayout::isPadding(int64_t thread, int64_t registerIndex) const {
  std::vector<int64_t> coordinate = coordinates(thread, registerIndex);
  for (int dim = 0; dim < rank(); ++dim)
    if (coordinate[dim] >= shapeOfTile[dim])
      return true;
  return false;
}

static int64_t largestOffset(const std::vector<Mode> &modes, int dim) {
  int64_t largest = 0;
  for (const Mode &mode : modes)
    if (mode.dim == dim)
      largest += (mode.extent - 1) * mode.stride;
  return largest;
}

// Thread 0 has the smallest and the last thread the largest offset along every
// dim at once, so looking at the two decides for all threads.
Occupancy FragmentLayout::occupancy(int64_t registerIndex) const {
  if (isPadding(0, registerIndex))
    return Occupancy::Never;
  return isPadding(threadCount - 1, registerIndex) ? Occupancy::Sometimes
                                                   : Occupancy::Always;
}

bool FragmentLayout::needsPredicate(int64_t registerIndex, int dim) const {
  return registerOffset(registerIndex)[dim] +
             largestOffset(modesOfThread, dim) >=
         shapeOfTile[dim];
}

bool FragmentLayout::hasPadding() const {
  return isPadding(threadCount - 1, registerCount - 1);
}

int64_t FragmentLayout::replicaIndex(int64_t thread) const {
  int64_t index = 0;
  int64_t weight = 1;
  for (const Mode &mode : modesOfThread) {
    if (mode.isReplica()) {
      index += (thread % mode.extent) * weight;
      weight *= mode.extent;
    }
    thread /= mode.extent;
  }
  return index;
}

std::vector<ReplicaTerm> FragmentLayout::primaryPredicate() const {
  std::vector<ReplicaTerm> terms;
  int64_t threadStride = 1;
  for (const Mode &mode : modesOfThread) {
    if (mode.isReplica() && mode.extent > 1) {
      if (!terms.empty() &&
          terms.back().threadStride * terms.back().extent == threadStride)
        terms.back().extent *= mode.extent;
      else
        terms.push_back(ReplicaTerm{threadStride, mode.extent});
    }
    threadStride *= mode.extent;
  }
  return terms;
}

bool FragmentLayout::isFullyReplicated() const {
  return numReplicas() == threadCount;
}

std::optional<ElementLocation>
FragmentLayout::find(const std::vector<int64_t> &coordinate) const {
  assert(static_cast<int>(coordinate.size()) == rank() && "rank mismatch");
  for (int dim = 0; dim < rank(); ++dim)
    if (coordinate[dim] < 0 || coordinate[dim] >= shapeOfTile[dim])
      return std::nullopt;
  ElementLocation location;
  location.threadDigits.assign(modesOfThread.size(), 0);
  int64_t weight = 1;
  for (size_t i = 0; i < modesOfThread.size(); ++i) {
    const Mode &mode = modesOfThread[i];
    // Digits that reach only padding are 0 for every element.
    if (!mode.isReplica() && mode.extent > 1 &&
        mode.stride < shapeOfTile[mode.dim]) {
      location.threadDigits[i] =
          (coordinate[mode.dim] / mode.stride) % mode.extent;
      location.thread += location.threadDigits[i] * weight;
    }
    weight *= mode.extent;
  }
  weight = 1;
  for (const Mode &mode : modesOfRegister) {
    if (mode.extent > 1 && mode.stride < shapeOfTile[mode.dim])
      location.registerIndex +=
          (coordinate[mode.dim] / mode.stride) % mode.extent * weight;
    weight *= mode.extent;
  }
  return location;
}

std::vector<int64_t>
FragmentLayout::holders(const std::vector<int64_t> &coordinate) const {
  std::optional<ElementLocation> location = find(coordinate);
  if (!location)
    return {};
  std::vector<int64_t> threads = {location->thread};
  int64_t weight = 1;
  for (const Mode &mode : modesOfThread) {
    if (mode.isReplica()) {
      const size_t count = threads.size();
      for (int64_t digit = 1; digit < mode.extent; ++digit)
        for (size_t i = 0; i < count; ++i)
          threads.push_back(threads[i] + digit * weight);
    }
    weight *= mode.extent;
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

bool FragmentLayout::isBijectiveModuloReplicas() const {
  return verify(shapeOfTile, modesOfThread, modesOfRegister).empty();
}

bool FragmentLayout::isSameMap(const FragmentLayout &other) const {
  if (shapeOfTile != other.shapeOfTile || threadCount != other.threadCount ||
      registerCount != other.registerCount)
    return false;
  if (canonical() == other.canonical())
    return true;
  // Do not rely on the canonical form for the negative answer: enumerate, and
  // stop at the first difference.
  std::vector<std::vector<int64_t>> ours, theirs;
  for (int64_t r = 0; r < registerCount; ++r) {
    ours.push_back(registerOffset(r));
    theirs.push_back(other.registerOffset(r));
  }
  for (int64_t thread = 0; thread < threadCount; ++thread) {
    const std::vector<int64_t> ourThread = threadOffset(thread);
    const std::vector<int64_t> theirThread = other.threadOffset(thread);
    bool holdsElement = false;
    for (int64_t r = 0; r < registerCount; ++r) {
      bool ourPadding = false, theirPadding = false, differs = false;
      for (int dim = 0; dim < rank(); ++dim) {
        int64_t a = ourThread[dim] + ours[r][dim];
        int64_t b = theirThread[dim] + theirs[r][dim];
        ourPadding |= a >= shapeOfTile[dim];
        theirPadding |= b >= shapeOfTile[dim];
        differs |= a != b;
      }
      if (ourPadding != theirPadding || (!ourPadding && differs))
        return false;
      holdsElement |= !ourPadding;
    }
    if (holdsElement && isPrimary(thread) != other.isPrimary(thread))
      return false;
  }
  return true;
}

/// Stands for the dim of a mode that reaches only padding, along whichever dim.
static constexpr int kOnlyPadding = -2;

/// Drops extent-1 modes and merges neighbours that continue each other.
static std::vector<Mode> coalesce(const std::vector<Mode> &modes) {
  std::vector<Mode> merged;
  for (const Mode &mode : modes) {
    if (mode.extent == 1)
      continue;
    if (!merged.empty() && merged.back().dim == mode.dim &&
        (mode.dim < 0 ||
         merged.back().stride * merged.back().extent == mode.stride))
      merged.back().extent *= mode.extent;
    else
      merged.push_back(mode);
  }
  return merged;
}

// Where the last digit of a dim ends and padding begins is a matter of
// notation: 12@0*1 and 6@0*1, 2 idle say the same of a dim of extent 5. The
// canonical form makes the digit as short as the shape allows and says the rest
// along dim 0.
FragmentLayout FragmentLayout::canonical() const {
  FragmentLayout result = *this;
  std::vector<int64_t> reached(rank(), 1);
  for (std::vector<Mode> *modes :
       {&result.modesOfThread, &result.modesOfRegister}) {
    for (Mode &mode : *modes)
      if (reachesOnlyPadding(mode, shapeOfTile))
        mode = Mode{mode.extent, kOnlyPadding, 0};
    std::vector<Mode> split;
    const std::vector<Mode> merged = coalesce(*modes);
    for (size_t i = 0; i < merged.size(); ++i) {
      Mode mode = merged[i];
      if (mode.dim >= 0) {
        const int64_t size = shapeOfTile[mode.dim];
        if (mode.stride * mode.extent >= size) {
          int64_t extent = mode.extent;
          if (i + 1 < merged.size() && merged[i + 1].dim == kOnlyPadding)
            extent *= merged[++i].extent;
          mode.extent =
              smallestDivisorAtLeast(extent, ceilDiv(size, mode.stride));
          split.push_back(mode);
          reached[mode.dim] *= mode.extent;
          mode = Mode{extent / mode.extent, kOnlyPadding, 0};
        } else {
          reached[mode.dim] *= mode.extent;
        }
      }
      split.push_back(mode);
    }
    *modes = coalesce(split);
  }
  for (std::vector<Mode> *modes :
       {&result.modesOfThread, &result.modesOfRegister})
    for (Mode &mode : *modes)
      if (mode.dim == kOnlyPadding) {
        mode = Mode{mode.extent, 0, reached[0]};
        reached[0] *= mode.extent;
      }
  return result;
}

std::optional<std::vector<int64_t>>
FragmentLayout::registerPermutation(const FragmentLayout &other) const {
  if (shapeOfTile != other.shapeOfTile || threadCount != other.threadCount ||
      !contains(other))
    return std::nullopt;
  Result<AccessTable> access =
      projectedAccess(*this, other, identityAccess(rank()));
  if (!access)
    return std::nullopt;
  std::vector<int64_t> table = std::move(access->operandRegister);
  std::vector<bool> used(other.registerCount, false);
  for (int64_t r : table)
    if (r >= 0)
      used[r] = true;
  int64_t leftover = 0;
  for (int64_t &r : table) {
    if (r >= 0)
      continue;
    while (leftover < other.registerCount && used[leftover])
      ++leftover;
    if (leftover < other.registerCount)
      r = leftover++;
  }
  return table;
}

int64_t FragmentLayout::contiguousElements(int dim) const {
  int64_t run = 1;
  for (const Mode &mode : modesOfRegister) {
    if (mode.extent == 1)
      continue;
    if (mode.dim != dim || mode.stride != run)
      break;
    run *= mode.extent;
  }
  return std::gcd(run, shapeOfTile[dim]);
}

std::string FragmentLayout::str() const {
  std::string text = shapeText(shapeOfTile);
  for (const std::vector<Mode> *modes : {&modesOfThread, &modesOfRegister}) {
    text += modes == &modesOfThread ? " threads(" : " registers(";
    for (size_t i = 0; i < modes->size(); ++i) {
      const Mode &mode = (*modes)[i];
      text += (i ? ", " : "") + std::to_string(mode.extent) + "@";
      text += mode.isReplica() ? "r"
                               : std::to_string(mode.dim) + "*" +
                                     std::to_string(mode.stride);
    }
    text += ")";
  }
  return text;
}
