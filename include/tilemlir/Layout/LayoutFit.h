//===- LayoutFit.h - From layout functions to layouts -----------*- C++ -*-===//
//
// Users describe layouts by index functions. These are enumerated on the static
// tile and fitted to the forms the compiler works with; the first element that
// does not fit is reported.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_LAYOUTFIT_H
#define TILEMLIR_LAYOUT_LAYOUTFIT_H

#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/SharedLayout.h"

#include <functional>

namespace tilemlir::layout {

/// offset(c) = swizzle(base + sum of digit * stride) in elements, where the
/// digits are those of the mixed-radix modes of each dim and swizzle(x) = x ^
/// (((x >> (swizzleBase + swizzleShift)) & (2^swizzleBits - 1)) <<
/// swizzleBase). Covers padded rows, panels, any dim order and all XOR
/// swizzles.
struct StridedXorLayout {
  std::vector<int64_t> shape;
  /// `dim` and coordinate step are implied by the order: the modes of one dim
  /// follow each other, fastest digit first; `stride` is the offset step.
  std::vector<Mode> modes;
  int64_t base = 0;
  int swizzleBits = 0;
  int swizzleBase = 0;
  int swizzleShift = 0;

  int64_t offset(const std::vector<int64_t> &coordinate) const;
  std::string str() const;
};

/// Physical element offset of a coordinate.
using OffsetFunction = std::function<int64_t(const std::vector<int64_t> &)>;

/// Fits the offsets of all elements to strided + XOR form. The error names the
/// first coordinate (in row-major order) at which the best candidate differs,
/// with the offset found and the offset expected; or two coordinates that share
/// an offset; or a negative offset.
Result<StridedXorLayout> fitOffsets(const std::vector<int64_t> &shape,
                                    const OffsetFunction &function);

/// Fits to a SharedLayout exactly. When the function is strided + XOR but no
/// SharedLayout (e.g. padded rows), the error shows that form; when it is
/// neither, it is the error of fitOffsets.
Result<SharedLayout> fitSharedLayout(const std::vector<int64_t> &shape,
                                     int64_t elementBits,
                                     const OffsetFunction &function);

/// Where one copy of an element lives.
struct FragmentPlace {
  int64_t thread = 0;
  int64_t registerIndex = 0;
};
/// (coordinate, replica) -> place.
using FragmentFunction =
    std::function<FragmentPlace(const std::vector<int64_t> &, int64_t)>;

/// Fits the places of all copies of all elements to a FragmentLayout over
/// `threads` threads. Replicas are numbered [0, replicas); threads that get no
/// element are padding. The error names the first misfit.
Result<FragmentLayout> fitFragmentLayout(const std::vector<int64_t> &shape,
                                         int64_t threads, int64_t replicas,
                                         const FragmentFunction &function);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_LAYOUTFIT_H
