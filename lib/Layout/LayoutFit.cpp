//===- LayoutFit.cpp - From layout functions to layouts -------------------===//
//
// Both fits work the same way: along every axis the function must be additive
// and each axis must be a mixed-radix number system.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/LayoutFit.h"

#include "Digits.h"

#include <array>
#include <map>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

namespace {

/// What one digit of an axis contributes per step: an offset, or a thread and a
/// register.
using Steps = std::array<int64_t, 2>;

struct AxisDigit {
  int64_t extent = 1;
  /// Step along the axis.
  int64_t axisStride = 1;
  Steps steps = {0, 0};
};

/// The digits of one axis, or the first index along it that does not fit.
struct AxisFit {
  std::vector<AxisDigit> digits;
  std::optional<int64_t> misfit;

  Steps evaluate(int64_t index) const {
    Steps sum = {0, 0};
    for (const AxisDigit &digit : digits) {
      const int64_t value = (index / digit.axisStride) % digit.extent;
      sum[0] += value * digit.steps[0];
      sum[1] += value * digit.steps[1];
    }
    return sum;
  }
};

} // namespace

/// Factors a table with table[0] == 0: the longest linear run is the fastest
/// digit, every run'th entry is the table of the rest.
static AxisFit fitAxis(std::vector<Steps> table) {
  AxisFit fit;
  int64_t axisStride = 1;
  const std::vector<Steps> whole = table;
  while (table.size() > 1) {
    const Steps step = table[1];
    size_t run = 2;
    while (run < table.size() &&
           table[run][0] == static_cast<int64_t>(run) * step[0] &&
           table[run][1] == static_cast<int64_t>(run) * step[1])
      ++run;
    fit.digits.push_back(
        AxisDigit{static_cast<int64_t>(run), axisStride, step});
    axisStride *= static_cast<int64_t>(run);
    std::vector<Steps> rest;
    for (size_t i = 0; i < table.size(); i += run)
      rest.push_back(table[i]);
    table = std::move(rest);
  }
  // The factors are a guess from few entries; now check all of them.
  for (size_t i = 0; i < whole.size() && !fit.misfit; ++i)
    if (fit.evaluate(static_cast<int64_t>(i)) != whole[i])
      fit.misfit = static_cast<int64_t>(i);
  return fit;
}

static int64_t swizzleElements(int64_t offset, int bits, int base, int shift) {
  return offset ^
         (((offset >> (base + shift)) & ((int64_t(1) << bits) - 1)) << base);
}

int64_t StridedXorLayout::offset(const std::vector<int64_t> &coordinate) const {
  int64_t linear = base;
  std::vector<int64_t> rest = coordinate;
  for (const Mode &mode : modes) {
    linear += (rest[mode.dim] % mode.extent) * mode.stride;
    rest[mode.dim] /= mode.extent;
  }
  return swizzleElements(linear, swizzleBits, swizzleBase, swizzleShift);
}

std::string StridedXorLayout::str() const {
  std::string text = shapeText(shape) + " offset " + std::to_string(base);
  for (const Mode &mode : modes)
    text += " + " + std::to_string(mode.extent) + "@" +
            std::to_string(mode.dim) + "*" + std::to_string(mode.stride);
  if (swizzleBits > 0)
    text += " swizzle(" + std::to_string(swizzleBits) + ", " +
            std::to_string(swizzleBase) + ", " + std::to_string(swizzleShift) +
            ")";
  return text;
}

namespace {
/// A candidate and how many elements, in row-major order, agree with it.
struct Candidate {
  StridedXorLayout layout;
  size_t agreeing = 0;
  int64_t expected = 0;
};
} // namespace

static Candidate fitLinearPart(const std::vector<int64_t> &shape,
                               const std::vector<int64_t> &offsets, int bits,
                               int base, int shift) {
  auto linear = [&](size_t element) {
    return swizzleElements(offsets[element], bits, base, shift);
  };
  Candidate candidate;
  StridedXorLayout &layout = candidate.layout;
  layout.shape = shape;
  layout.base = linear(0);
  layout.swizzleBits = bits;
  layout.swizzleBase = base;
  layout.swizzleShift = shift;
  size_t axisStride = offsets.size();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    axisStride /= static_cast<size_t>(shape[dim]);
    std::vector<Steps> table;
    for (int64_t i = 0; i < shape[dim]; ++i)
      table.push_back(
          {linear(static_cast<size_t>(i) * axisStride) - layout.base, 0});
    for (const AxisDigit &digit : fitAxis(std::move(table)).digits)
      layout.modes.push_back(
          Mode{digit.extent, static_cast<int>(dim), digit.steps[0]});
  }
  std::vector<int64_t> coordinate(shape.size(), 0);
  for (; candidate.agreeing < offsets.size(); ++candidate.agreeing) {
    candidate.expected = layout.offset(coordinate);
    if (candidate.expected != offsets[candidate.agreeing])
      return candidate;
    nextCoordinate(coordinate, shape);
  }
  return candidate;
}

static std::vector<int64_t>
coordinateOfElement(const std::vector<int64_t> &shape, int64_t element) {
  std::vector<int64_t> coordinate(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    coordinate[dim] = element % shape[dim];
    element /= shape[dim];
  }
  return coordinate;
}

/// Enumerates the function; refuses negative and repeated offsets.
static Result<std::vector<int64_t>>
enumerateOffsets(const std::vector<int64_t> &shape,
                 const OffsetFunction &function) {
  for (int64_t extent : shape)
    if (extent < 1)
      return Error{"a layout of the empty tile " + shapeText(shape)};
  std::vector<int64_t> offsets;
  std::vector<int64_t> coordinate(shape.size(), 0);
  do {
    offsets.push_back(function(coordinate));
    if (offsets.back() < 0)
      return Error{"the layout maps " + coordinateText(coordinate) +
                   " to the negative offset " + std::to_string(offsets.back())};
  } while (nextCoordinate(coordinate, shape));

  std::vector<std::pair<int64_t, size_t>> byOffset;
  for (size_t i = 0; i < offsets.size(); ++i)
    byOffset.emplace_back(offsets[i], i);
  std::sort(byOffset.begin(), byOffset.end());
  for (size_t i = 1; i < byOffset.size(); ++i)
    if (byOffset[i].first == byOffset[i - 1].first)
      return Error{"the layout maps " +
                   coordinateText(coordinateOfElement(
                       shape, static_cast<int64_t>(byOffset[i - 1].second))) +
                   " and " +
                   coordinateText(coordinateOfElement(
                       shape, static_cast<int64_t>(byOffset[i].second))) +
                   " to the same offset " + std::to_string(byOffset[i].first)};
  return offsets;
}

static Result<StridedXorLayout> fitTable(const std::vector<int64_t> &shape,
                                         const std::vector<int64_t> &offsets) {
  Candidate best = fitLinearPart(shape, offsets, 0, 0, 0);
  if (best.agreeing == offsets.size())
    return best.layout;
  // Swizzles XOR up to 4 bits; the shift is at least the number of bits, which
  // makes them involutions.
  for (int bits = 1; bits <= 4; ++bits)
    for (int base = 0; base <= 8; ++base)
      for (int shift = bits; shift <= 10; ++shift) {
        Candidate candidate = fitLinearPart(shape, offsets, bits, base, shift);
        if (candidate.agreeing == offsets.size())
          return candidate.layout;
        if (candidate.agreeing > best.agreeing)
          best = std::move(candidate);
      }
  return Error{"the layout is not strided with an XOR swizzle: " +
               coordinateText(coordinateOfElement(
                   shape, static_cast<int64_t>(best.agreeing))) +
               " is at offset " + std::to_string(offsets[best.agreeing]) +
               ", expected " + std::to_string(best.expected) + " to continue " +
               best.layout.str()};
}

Result<StridedXorLayout>
tilemlir::layout::fitOffsets(const std::vector<int64_t> &shape,
                             const OffsetFunction &function) {
  Result<std::vector<int64_t>> offsets = enumerateOffsets(shape, function);
  if (!offsets)
    return Error{offsets.error()};
  return fitTable(shape, *offsets);
}

static bool agrees(const SharedLayout &layout,
                   const std::vector<int64_t> &offsets) {
  std::vector<int64_t> coordinate(layout.rank(), 0);
  for (int64_t offset : offsets) {
    if (layout.bitOffset(coordinate) != offset * layout.elementBits())
      return false;
    nextCoordinate(coordinate, layout.shape());
  }
  return true;
}

Result<SharedLayout>
tilemlir::layout::fitSharedLayout(const std::vector<int64_t> &shape,
                                  int64_t elementBits,
                                  const OffsetFunction &function) {
  Result<SharedLayout> plain = SharedLayout::rowMajor(shape, elementBits);
  if (!plain)
    return plain;
  Result<std::vector<int64_t>> offsets = enumerateOffsets(shape, function);
  if (!offsets)
    return Error{offsets.error()};
  if (agrees(*plain, *offsets))
    return plain;

  std::vector<int> order = plain->order();
  std::sort(order.rbegin(), order.rend());
  do {
    for (int64_t swizzle : {0, 128, 64, 32}) {
      Result<SharedLayout> candidate =
          SharedLayout::swizzled(shape, elementBits, order, swizzle);
      if (candidate && agrees(*candidate, *offsets))
        return candidate;
    }
    const int64_t fastest = order.empty() ? 1 : shape[order.front()];
    for (int64_t panel = 1; panel < fastest; ++panel) {
      if (fastest % panel != 0)
        continue;
      Result<SharedLayout> candidate =
          SharedLayout::create(shape, elementBits, order, panel, 0);
      if (candidate && agrees(*candidate, *offsets))
        return candidate;
    }
  } while (std::prev_permutation(order.begin(), order.end()));

  Result<StridedXorLayout> strided = fitTable(shape, *offsets);
  if (!strided)
    return Error{strided.error()};
  return Error{"the layout is strided, but in none of the forms row-major, "
               "column-major, panels, 32-, 64- or 128-byte swizzle: " +
               strided->str()};
}

namespace {
/// A digit of the thread id or register index found by the fit.
struct PlacedDigit {
  int64_t weight = 1;
  Mode mode;
  /// The digit ends its axis and may be extended into padding.
  bool isTop = false;
};
} // namespace

/// Orders digits by weight and fills the gaps between them: by extending a
/// digit that ends its dim, else by a mode that reaches only padding.
static std::string chainDigits(std::vector<PlacedDigit> digits, int64_t total,
                               const std::vector<int64_t> &shape,
                               const char *what, std::vector<Mode> &modes) {
  std::sort(digits.begin(), digits.end(),
            [](const PlacedDigit &a, const PlacedDigit &b) {
              return a.weight < b.weight;
            });
  int64_t product = 1;
  auto fillUpTo = [&](int64_t weight, bool canExtend) -> bool {
    if (product == weight)
      return true;
    if (weight % product == 0 && !shape.empty()) {
      modes.push_back(Mode{weight / product, 0, shape[0]});
      product = weight;
      return true;
    }
    if (!canExtend || modes.empty())
      return false;
    const int64_t before = product / modes.back().extent;
    if (weight % before != 0 || weight < product)
      return false;
    modes.back().extent = weight / before;
    product = weight;
    return true;
  };
  bool canExtend = false;
  for (const PlacedDigit &digit : digits) {
    if (digit.weight < product || !fillUpTo(digit.weight, canExtend))
      return std::string("the ") + what + " steps do not nest: a step of " +
             std::to_string(digit.weight) + " after " +
             std::to_string(product) + " " + what + "s";
    modes.push_back(digit.mode);
    product *= digit.mode.extent;
    canExtend = digit.isTop;
  }
  if (total < product || !fillUpTo(total, canExtend))
    return std::string("the elements take ") + std::to_string(product) + " " +
           what + "s, which do not divide " + std::to_string(total);
  return "";
}

/// The thread of replica 0 that holds the same elements.
static int64_t primaryThread(const FragmentLayout &layout, int64_t thread) {
  int64_t primary = thread;
  for (const Digit &digit : threadDigits(layout))
    if (digit.dim == kReplica)
      primary -= digit.ofIndex(thread) * digit.weight;
  return primary;
}

Result<FragmentLayout>
tilemlir::layout::fitFragmentLayout(const std::vector<int64_t> &shape,
                                    int64_t threads, int64_t replicas,
                                    const FragmentFunction &function) {
  for (int64_t extent : shape)
    if (extent < 1)
      return Error{"a fragment layout of the empty tile " + shapeText(shape)};
  if (threads < 1 || replicas < 1)
    return Error{"a fragment layout needs at least one thread and one replica"};
  auto placeText = [](const FragmentPlace &place) {
    return "thread " + std::to_string(place.thread) + ", register " +
           std::to_string(place.registerIndex);
  };
  const std::vector<int64_t> origin(shape.size(), 0);
  const FragmentPlace first = function(origin, 0);
  if (first.thread != 0 || first.registerIndex != 0)
    return Error{"element " + coordinateText(origin) + " is in " +
                 placeText(first) + ", expected thread 0, register 0"};

  std::vector<PlacedDigit> threadDigitList, registerDigitList;
  // The replica number is one more axis, which must not change the register.
  for (int axis = 0; axis <= static_cast<int>(shape.size()); ++axis) {
    const bool isReplica = axis == static_cast<int>(shape.size());
    const int64_t extent = isReplica ? replicas : shape[axis];
    std::vector<Steps> table;
    std::vector<int64_t> coordinate = origin;
    for (int64_t i = 0; i < extent; ++i) {
      if (!isReplica)
        coordinate[axis] = i;
      FragmentPlace place = function(coordinate, isReplica ? i : 0);
      table.push_back({place.thread, place.registerIndex});
    }
    AxisFit fit = fitAxis(std::move(table));
    const std::string name =
        isReplica ? std::string("the replicas") : "dim " + std::to_string(axis);
    if (fit.misfit)
      return Error{"along " + name + ", index " + std::to_string(*fit.misfit) +
                   " breaks the strided pattern of the places before it"};
    for (size_t i = 0; i < fit.digits.size(); ++i) {
      const AxisDigit &digit = fit.digits[i];
      const int64_t thread = digit.steps[0], reg = digit.steps[1];
      if (thread < 0 || reg < 0 || (thread > 0) == (reg > 0))
        return Error{"along " + name + ", a step of " +
                     std::to_string(digit.axisStride) + " moves " +
                     std::to_string(thread) + " threads and " +
                     std::to_string(reg) + " registers; expected one of them"};
      if (isReplica && reg > 0)
        return Error{"the register depends on the replica"};
      PlacedDigit placed;
      placed.weight = std::max(thread, reg);
      placed.mode = isReplica ? replicaMode(digit.extent)
                              : Mode{digit.extent, axis, digit.axisStride};
      placed.isTop = !isReplica && i + 1 == fit.digits.size();
      (thread > 0 ? threadDigitList : registerDigitList).push_back(placed);
    }
  }
  int64_t registers = 1;
  for (const PlacedDigit &digit : registerDigitList)
    registers = std::max(registers, digit.weight * digit.mode.extent);
  std::vector<Mode> threadModes, registerModes;
  std::string message = chainDigits(std::move(threadDigitList), threads, shape,
                                    "thread", threadModes);
  if (message.empty())
    message = chainDigits(std::move(registerDigitList), registers, shape,
                          "register", registerModes);
  if (!message.empty())
    return Error{std::move(message)};
  Result<FragmentLayout> layout = FragmentLayout::create(
      shape, std::move(threadModes), std::move(registerModes));
  if (!layout)
    return layout;

  // Only the axes were looked at so far.
  std::vector<int64_t> coordinate = origin;
  do {
    const std::optional<ElementLocation> location = layout->find(coordinate);
    for (int64_t replica = 0; replica < replicas; ++replica) {
      const FragmentPlace place = function(coordinate, replica);
      if (place.registerIndex != location->registerIndex ||
          place.thread >= threads ||
          primaryThread(*layout, place.thread) != location->thread)
        return Error{"element " + coordinateText(coordinate) + " is in " +
                     placeText(place) + ", expected " +
                     placeText({location->thread, location->registerIndex}) +
                     " to continue " + layout->str()};
    }
  } while (nextCoordinate(coordinate, shape));
  return layout->canonical();
}
