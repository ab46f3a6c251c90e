//===- PanelOrder.h - Where the panels of a shared tile lie -----*- C++ -*-===//
//
// The order of a SharedLayout lists its dims from fastest to slowest. The
// fastest one, which is cut into panels, may be listed a second time: where its
// panels lie. Dims behind that place are outer ones, each step of which is one
// contiguous block of all panels. Without a second entry the panels are
// outermost.
//
//   order (1, 0)        column in panel, row, panel
//   order (2, 1, 2, 0)  column in panel, row, panel, slot
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_PANELORDER_H
#define TILEMLIR_LAYOUT_PANELORDER_H

#include "tilemlir/Layout/SharedLayout.h"

namespace tilemlir::layout {

/// Position in `order` of the second entry of the fastest dim; the size of
/// `order` if there is none.
template <typename OrderT> size_t findPanels(const OrderT &order) {
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i] == order[0])
      return i;
  return order.size();
}

/// Bytes between neighbours in a dim before the swizzle; of the fastest dim
/// inside of a panel.
int64_t strideBytes(const SharedLayout &layout, int dim);

/// The same layout with its panels in front of the slowest `outerDims` dims
/// (fewer than its rank).
SharedLayout withOuterDims(const SharedLayout &layout, int outerDims);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_PANELORDER_H
