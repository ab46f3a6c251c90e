//===- RandomLayouts.h - Random layouts and brute-force facts ---*- C++ -*-===//
//
// Layouts of awkward shapes, with replicas and padding, and what they mean by
// plain enumeration. The oracles only use the definition of a mode.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H
#define TILEMLIR_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H

#include "UnitTest.h"
#include "tilemlir/Layout/FragmentLayout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace oracle {

namespace unittest = tilemlir::unittest;

using tilemlir::layout::FragmentLayout;
using tilemlir::layout::kReplica;
using tilemlir::layout::Mode;
using tilemlir::layout::replicaMode;
using Coordinate = std::vector<int64_t>;

inline int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

inline int64_t product(const std::vector<Mode> &modes) {
  int64_t result = 1;
  for (const Mode &mode : modes)
    result *= mode.extent;
  return result;
}

/// Coordinate by the definition of the modes.
inline Coordinate coordinate(const std::vector<int64_t> &shape,
                             const std::vector<Mode> &threadModes,
                             const std::vector<Mode> &registerModes,
                             int64_t thread, int64_t reg) {
  Coordinate result(shape.size(), 0);
  for (const Mode &mode : threadModes) {
    if (mode.dim != kReplica)
      result[mode.dim] += thread % mode.extent * mode.stride;
    thread /= mode.extent;
  }
  for (const Mode &mode : registerModes) {
    result[mode.dim] += reg % mode.extent * mode.stride;
    reg /= mode.extent;
  }
  return result;
}

inline bool inside(const Coordinate &coordinate,
                   const std::vector<int64_t> &shape) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (coordinate[dim] < 0 || coordinate[dim] >= shape[dim])
      return false;
  return true;
}

inline int64_t linearize(const Coordinate &coordinate,
                         const std::vector<int64_t> &shape) {
  int64_t result = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    result = result * shape[dim] + coordinate[dim];
  return result;
}

inline std::vector<Coordinate>
allCoordinates(const std::vector<int64_t> &shape) {
  std::vector<Coordinate> result = {{}};
  for (int64_t extent : shape) {
    std::vector<Coordinate> longer;
    for (const Coordinate &prefix : result)
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    result = std::move(longer);
  }
  return result;
}

/// elements[thread][register] = row-major element number, or -1 for padding.
using Map = std::vector<std::vector<int64_t>>;

inline Map enumerate(const FragmentLayout &layout) {
  Map map(layout.numThreads());
  for (int64_t t = 0; t < layout.numThreads(); ++t)
    for (int64_t r = 0; r < layout.numRegisters(); ++r) {
      Coordinate c = coordinate(layout.shape(), layout.threadModes(),
                                layout.registerModes(), t, r);
      map[t].push_back(inside(c, layout.shape()) ? linearize(c, layout.shape())
                                                 : -1);
    }
  return map;
}

/// Replica number of a thread by the definition of the modes.
inline int64_t replica(const FragmentLayout &layout, int64_t thread) {
  int64_t result = 0, weight = 1;
  for (const Mode &mode : layout.threadModes()) {
    if (mode.dim == kReplica) {
      result += thread % mode.extent * weight;
      weight *= mode.extent;
    }
    thread /= mode.extent;
  }
  return result;
}

/// Within each replica every element is held exactly once.
inline bool isBijective(const std::vector<int64_t> &shape,
                        const std::vector<Mode> &threadModes,
                        const std::vector<Mode> &registerModes) {
  std::map<std::pair<int64_t, int64_t>, int64_t> count;
  int64_t replicas = 1;
  for (const Mode &mode : threadModes)
    if (mode.dim == kReplica)
      replicas *= mode.extent;
  const int64_t threads = product(threadModes);
  const int64_t registers = product(registerModes);
  for (int64_t t = 0; t < threads; ++t) {
    int64_t number = 0, weight = 1, rest = t;
    for (const Mode &mode : threadModes) {
      if (mode.dim == kReplica) {
        number += rest % mode.extent * weight;
        weight *= mode.extent;
      }
      rest /= mode.extent;
    }
    for (int64_t r = 0; r < registers; ++r) {
      Coordinate c = coordinate(shape, threadModes, registerModes, t, r);
      if (inside(c, shape))
        ++count[{number, linearize(c, shape)}];
    }
  }
  for (const auto &entry : count)
    if (entry.second != 1)
      return false;
  return static_cast<int64_t>(count.size()) == replicas * product(shape);
}

/// Random factors, each above 1, whose product is `value`.
inline std::vector<int64_t> randomFactors(int64_t value) {
  std::vector<int64_t> factors;
  while (value > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= value; ++d)
      if (value % d == 0)
        divisors.push_back(d);
    int64_t factor = divisors[unittest::random(0, divisors.size() - 1)];
    factors.push_back(factor);
    value /= factor;
  }
  return factors;
}

template <typename T> void shuffle(std::vector<T> &values) {
  std::shuffle(values.begin(), values.end(), unittest::randomEngine());
}

/// A random layout of `shape` over exactly `threads` threads. With
/// `allowPadding` false, padding does not occur (the layout then uses replicas
/// for thread factors that do not divide).
inline FragmentLayout randomLayout(const std::vector<int64_t> &shape,
                                   int64_t threads, bool allowPadding = true,
                                   int replicaPercent = 25) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int64_t> threadFactors = randomFactors(threads);
  std::vector<int> dimOfThread;
  std::vector<int64_t> left = shape;
  for (int64_t factor : threadFactors) {
    int dim = kReplica;
    if (rank > 0 && !unittest::chance(replicaPercent)) {
      dim = static_cast<int>(unittest::random(0, rank - 1));
      if (!allowPadding && left[dim] % factor != 0)
        dim = kReplica;
    }
    dimOfThread.push_back(dim);
    if (dim != kReplica)
      left[dim] = (left[dim] + factor - 1) / factor;
  }
  struct Piece {
    bool isThread;
    size_t position;
    int64_t extent;
  };
  std::vector<Mode> threadModes(threadFactors.size());
  for (size_t i = 0; i < threadFactors.size(); ++i)
    threadModes[i] = replicaMode(threadFactors[i]);
  std::vector<Mode> registerModes;
  for (int dim = 0; dim < rank; ++dim) {
    std::vector<Piece> pieces;
    for (size_t i = 0; i < threadFactors.size(); ++i)
      if (dimOfThread[i] == dim)
        pieces.push_back({true, i, threadFactors[i]});
    int64_t count = left[dim];
    if (allowPadding && unittest::chance(15))
      ++count;
    for (int64_t factor : randomFactors(count))
      pieces.push_back({false, 0, factor});
    shuffle(pieces);
    int64_t stride = 1;
    for (const Piece &piece : pieces) {
      Mode mode{piece.extent, dim, stride};
      if (piece.isThread)
        threadModes[piece.position] = mode;
      else
        registerModes.push_back(mode);
      stride *= piece.extent;
    }
  }
  shuffle(registerModes);
  auto layout = FragmentLayout::create(shape, threadModes, registerModes);
  if (!layout) {
    unittest::reportFailure(__FILE__, __LINE__, layout.error());
    return FragmentLayout();
  }
  return *layout;
}

/// A random shape of at most `maxElements` elements, with awkward extents.
inline std::vector<int64_t> randomShape(int64_t maxElements = 4096,
                                        int minRank = 1, int maxRank = 3) {
  static const std::vector<int64_t> extents = {
      1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 40, 48, 64, 96, 176, 192};
  while (true) {
    std::vector<int64_t> shape;
    int64_t rank = unittest::random(minRank, maxRank);
    for (int64_t i = 0; i < rank; ++i)
      shape.push_back(extents[unittest::random(0, extents.size() - 1)]);
    if (product(shape) <= maxElements)
      return shape;
  }
}

inline int64_t randomThreads() {
  static const std::vector<int64_t> counts = {1,  2,  6,  8,   12,  32, 32,
                                              48, 64, 96, 128, 128, 192};
  return counts[unittest::random(0, counts.size() - 1)];
}

/// The same elements in every thread, registers reordered.
inline FragmentLayout shuffleRegisters(const FragmentLayout &layout) {
  std::vector<Mode> modes;
  for (Mode mode : layout.registerModes())
    for (int64_t factor : randomFactors(mode.extent)) {
      modes.push_back(Mode{factor, mode.dim, mode.stride});
      mode.stride *= factor;
    }
  shuffle(modes);
  return *FragmentLayout::create(layout.shape(), layout.threadModes(), modes);
}

/// The same map with modes split at random.
inline FragmentLayout splitModes(const FragmentLayout &layout) {
  std::vector<Mode> lists[2] = {layout.threadModes(), layout.registerModes()};
  for (std::vector<Mode> &list : lists) {
    std::vector<Mode> modes;
    for (Mode mode : list)
      for (int64_t factor : randomFactors(mode.extent)) {
        modes.push_back(Mode{factor, mode.dim, mode.stride});
        mode.stride *= factor;
      }
    list = modes;
  }
  return *FragmentLayout::create(layout.shape(), lists[0], lists[1]);
}

/// Some thread digits become replicas and move to new registers: every thread
/// holds what it held before, and more.
inline FragmentLayout replicateSome(const FragmentLayout &layout) {
  std::vector<Mode> threads, registers = layout.registerModes();
  for (const Mode &mode : layout.threadModes()) {
    if (mode.dim != kReplica && unittest::chance(40)) {
      threads.push_back(replicaMode(mode.extent));
      registers.push_back(mode);
    } else {
      threads.push_back(mode);
    }
  }
  shuffle(registers);
  return *FragmentLayout::create(layout.shape(), threads, registers);
}

} // namespace oracle

#endif // TILEMLIR_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H
