//===- ElementFinder.h - Who holds an element -------------------*- C++ -*-===//
//
// Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LIB_LAYOUT_ELEMENTFINDER_H
#define TILEMLIR_LIB_LAYOUT_ELEMENTFINDER_H

#include "Digits.h"

namespace tilemlir::layout::detail {

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

inline bool isInside(const std::vector<int64_t> &coordinate,
                     const std::vector<int64_t> &shape) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (coordinate[dim] >= shape[dim])
      return false;
  return true;
}

/// Empty if one layout can be converted to the other, else the reason.
inline std::string checkComparable(const FragmentLayout &from,
                                   const FragmentLayout &to) {
  if (from.shape() != to.shape())
    return "cannot convert a layout of " + shapeText(from.shape()) +
           " to one of " + shapeText(to.shape());
  if (from.numThreads() != to.numThreads())
    return "cannot convert a layout over " + std::to_string(from.numThreads()) +
           " threads to one over " + std::to_string(to.numThreads());
  return "";
}

} // namespace tilemlir::layout::detail

#endif // TILEMLIR_LIB_LAYOUT_ELEMENTFINDER_H
