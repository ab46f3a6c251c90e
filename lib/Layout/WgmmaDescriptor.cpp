//===- WgmmaDescriptor.cpp - Operands of wgmma in shared memory -----------===//
#include "tilemlir/Layout/WgmmaDescriptor.h"
#include "tilemlir/Layout/PanelOrder.h"

#include <string>

using namespace tilemlir::layout;

/// Rows after which the pattern of a swizzle repeats, and of a core matrix.
static constexpr int64_t kPatternRows = 8;

Result<WgmmaOperand> WgmmaOperand::create(const SharedLayout &layout, int mnDim,
                                          int kDim) {
  const int rank = layout.rank();
  if (mnDim == kDim || mnDim < 0 || kDim < 0 || mnDim >= rank || kDim >= rank)
    return Error{"an operand has two dimensions"};
  if (layout.fastestDim() != mnDim && layout.fastestDim() != kDim)
    return Error{"neither dimension of the matrix is contiguous"};
  WgmmaOperand operand;
  operand.layout = layout;
  operand.mn = mnDim;
  operand.k = kDim;
  operand.mnMajor = layout.fastestDim() == mnDim;
  const int64_t bits = layout.elementBits();
  if (bits != 8 && bits != 16 && bits != 32)
    return Error{"wgmma has no elements of " + std::to_string(bits) + " bits"};
  if (operand.mnMajor && bits != 16)
    return Error{"K must be contiguous for elements of " +
                 std::to_string(bits) + " bits"};
  const int rowDim = operand.mnMajor ? kDim : mnDim;
  if (tilemlir::layout::strideBytes(layout, rowDim) != layout.rowBytes())
    return Error{"the rows of the matrix do not follow each other"};
  const int64_t swizzle = layout.swizzleBytes();
  if (layout.rowBytes() != (swizzle ? swizzle : kSwizzleChunkBytes))
    return Error{"rows without a swizzle must be cut in panels of 16 bytes, "
                 "these have " +
                 std::to_string(layout.rowBytes())};
  if (layout.shape()[rowDim] % kPatternRows != 0)
    return Error{std::to_string(layout.shape()[rowDim]) +
                 " rows are not a multiple of " + std::to_string(kPatternRows)};
  const int64_t pattern = kPatternRows * layout.rowBytes();
  const bool swapped = swizzle == 0 && operand.mnMajor;
  operand.stride = swapped ? layout.panelBytes() : pattern;
  operand.leading = swapped                           ? pattern
                    : operand.mnMajor || swizzle == 0 ? layout.panelBytes()
                                                      : kSwizzleChunkBytes;
  operand.stepOfMN = operand.mnMajor ? layout.panelElements() : kPatternRows;
  operand.stepOfK = operand.mnMajor ? kPatternRows : kWgmmaStepBytes * 8 / bits;
  return operand;
}

int64_t WgmmaOperand::stepBytes(int dim) const {
  if (dim == layout.fastestDim()) {
    if (mnMajor || layout.numPanels() == 1)
      return mnMajor ? layout.panelBytes() : kWgmmaStepBytes;
    // Without a swizzle, a step of k covers two panels.
    return layout.swizzleBytes() == 0 ? 2 * layout.panelBytes() : 0;
  }
  const int64_t step = dim == mn ? stepOfMN : dim == k ? stepOfK : 1;
  return step * tilemlir::layout::strideBytes(layout, dim);
}

Result<SharedLayout>
tilemlir::layout::wgmmaSharedLayout(std::vector<int64_t> shape,
                                    int64_t elementBits, int64_t maxSwizzle) {
  if (shape.empty())
    return Error{"a tile of wgmma has two dimensions"};
  const int64_t rowBits = shape.back() * elementBits;
  if (rowBits % (8 * kSwizzleChunkBytes) != 0)
    return Error{"rows of " + std::to_string(rowBits / 8) +
                 " bytes are not a multiple of 16"};
  std::vector<int> order;
  for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim)
    order.push_back(dim);
  for (int64_t swizzle : {128, 64, 32})
    if (swizzle <= maxSwizzle && rowBits % (8 * swizzle) == 0)
      return SharedLayout::swizzled(std::move(shape), elementBits,
                                    std::move(order), swizzle);
  return SharedLayout::create(std::move(shape), elementBits, std::move(order),
                              kSwizzleChunkBytes * 8 / elementBits, 0);
}

int64_t tilemlir::layout::wgmmaMaxSwizzle(int64_t piece, int64_t elementBits) {
  const int64_t bits = piece * elementBits;
  for (int64_t swizzle : {128, 64, 32})
    if (bits % (8 * swizzle) == 0)
      return swizzle;
  return bits % (8 * kSwizzleChunkBytes) == 0 ? 0 : -1;
}
