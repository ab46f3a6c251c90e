//===- Digits.h - Mixed-radix digits of a fragment layout -------*- C++ -*-===//
//
// Private to the library: the modes of one dimension seen as the digits of its
// coordinates, and the modes of the thread id and register index seen as digits
// of these.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LIB_LAYOUT_DIGITS_H
#define TILEMLIR_LIB_LAYOUT_DIGITS_H

#include "tilemlir/Layout/FragmentLayout.h"

#include <algorithm>
#include <numeric>

namespace tilemlir::layout::detail {

/// A mode together with the weight of its digit in the thread id or register
/// index.
struct Digit {
  bool isThread = false;
  /// Position in threadModes() or registerModes().
  size_t position = 0;
  int64_t extent = 1;
  int dim = kReplica;
  /// Step in the coordinate.
  int64_t stride = 0;
  /// Step in the thread id or register index.
  int64_t weight = 1;

  int64_t ofCoordinate(int64_t coordinate) const {
    return (coordinate / stride) % extent;
  }
  int64_t ofIndex(int64_t index) const { return (index / weight) % extent; }
};

inline void appendDigits(const std::vector<Mode> &modes, bool isThread,
                         std::vector<Digit> &digits) {
  int64_t weight = 1;
  for (size_t i = 0; i < modes.size(); ++i) {
    digits.push_back(Digit{isThread, i, modes[i].extent, modes[i].dim,
                           modes[i].stride, weight});
    weight *= modes[i].extent;
  }
}

inline std::vector<Digit> threadDigits(const FragmentLayout &layout) {
  std::vector<Digit> digits;
  appendDigits(layout.threadModes(), /*isThread=*/true, digits);
  return digits;
}

inline std::vector<Digit> registerDigits(const FragmentLayout &layout) {
  std::vector<Digit> digits;
  appendDigits(layout.registerModes(), /*isThread=*/false, digits);
  return digits;
}

/// The digits that count inside the shape along `dim`, by ascending stride.
/// Verified layouts guarantee that each stride is the product of the extents
/// before it. Digits whose stride is at least the extent of the dim are left
/// out: they are 0 for every element.
inline std::vector<Digit> coordinateDigits(const FragmentLayout &layout,
                                           int dim) {
  std::vector<Digit> all;
  appendDigits(layout.threadModes(), /*isThread=*/true, all);
  appendDigits(layout.registerModes(), /*isThread=*/false, all);
  std::vector<Digit> digits;
  for (const Digit &digit : all)
    if (digit.dim == dim && digit.extent > 1 &&
        digit.stride < layout.shape()[dim])
      digits.push_back(digit);
  std::sort(digits.begin(), digits.end(),
            [](const Digit &a, const Digit &b) { return a.stride < b.stride; });
  return digits;
}

/// True if the digit is 0 for all elements although its extent is above 1.
inline bool reachesOnlyPadding(const Mode &mode,
                               const std::vector<int64_t> &shape) {
  return !mode.isReplica() && mode.extent > 1 && mode.stride >= shape[mode.dim];
}

inline int64_t productOf(const std::vector<int64_t> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(1),
                         [](int64_t a, int64_t b) { return a * b; });
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline bool isPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/// Smallest divisor of `value` that is at least `bound` (bound <= value).
inline int64_t smallestDivisorAtLeast(int64_t value, int64_t bound) {
  for (int64_t divisor = std::max<int64_t>(bound, 1); divisor < value;
       ++divisor)
    if (value % divisor == 0)
      return divisor;
  return value;
}

/// "128x64"; "scalar" for rank 0.
inline std::string shapeText(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return text;
}

/// "(3, 5)".
inline std::string coordinateText(const std::vector<int64_t> &coordinate) {
  std::string text = "(";
  for (size_t i = 0; i < coordinate.size(); ++i)
    text += (i ? ", " : "") + std::to_string(coordinate[i]);
  return text + ")";
}

/// Advances a coordinate in row-major order; false after the last one.
inline bool nextCoordinate(std::vector<int64_t> &coordinate,
                           const std::vector<int64_t> &shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++coordinate[i] < shape[i])
      return true;
    coordinate[i] = 0;
  }
  return false;
}

} // namespace tilemlir::layout::detail

#endif // TILEMLIR_LIB_LAYOUT_DIGITS_H
