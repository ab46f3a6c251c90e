//===- PanelOrder.cpp - Where the panels of a shared tile lie -------------===//
#include "tilemlir/Layout/PanelOrder.h"

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t tilemlir::layout::strideBytes(const SharedLayout &layout, int dim) {
  if (dim == layout.fastestDim())
    return ceilDiv(layout.elementBits(), 8);
  int64_t stride = layout.rowBytes();
  for (size_t i = 1; i < layout.order().size(); ++i) {
    const int d = layout.order()[i];
    if (d == dim)
      break;
    stride *= d == layout.fastestDim() ? layout.numPanels() : layout.shape()[d];
  }
  return stride;
}

SharedLayout tilemlir::layout::withOuterDims(const SharedLayout &layout,
                                             int outerDims) {
  assert(outerDims >= 0 && (outerDims == 0 || outerDims < layout.rank()) &&
         "the rows are what is left");
  if (layout.rank() == 0)
    return layout;
  std::vector<int> order = layout.order();
  if (const size_t panels = findPanels(order); panels < order.size())
    order.erase(order.begin() + panels);
  order.insert(order.end() - outerDims, order.front());
  return *SharedLayout::create(layout.shape(), layout.elementBits(),
                               std::move(order), layout.panelElements(),
                               layout.swizzleBytes());
}
