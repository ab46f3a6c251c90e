//===- SharedLayout.cpp - Tiles in shared memory --------------------------===//
//
// Offsets of panelled and swizzled tiles.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/SharedLayout.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t tilemlir::layout::applySwizzle(int64_t byteOffset,
                                       int64_t swizzleBytes) {
  // 8, 4 or 2 chunks of 16 bytes per row; the row bits start at 128 bytes.
  const int64_t chunks = swizzleBytes / 16;
  if (chunks < 2)
    return byteOffset;
  return byteOffset ^ (((byteOffset >> 7) & (chunks - 1)) << 4);
}

int64_t tilemlir::layout::bestSwizzle(int64_t rowBytes) {
  for (int64_t width : {128, 64, 32})
    if (rowBytes > 0 && rowBytes % width == 0)
      return width;
  return 0;
}

std::string SharedLayout::verify(const std::vector<int64_t> &shape,
                                 int64_t elementBits,
                                 const std::vector<int> &order,
                                 int64_t panelElements, int64_t swizzleBytes) {
  int64_t elements = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] < 1)
      return "dim " + std::to_string(dim) + " has extent " +
             std::to_string(shape[dim]) + ", expected at least 1";
    if (shape[dim] > (int64_t(1) << 31) / elements)
      return "the tile has more than 2^31 elements";
    elements *= shape[dim];
  }
  if (!isPowerOfTwo(elementBits) || elementBits > 128)
    return "elements of " + std::to_string(elementBits) +
           " bits, expected a power of two up to 128";
  std::vector<int> sorted = order;
  if (const size_t panels = findPanels(order); panels < order.size())
    sorted.erase(sorted.begin() + panels);
  std::sort(sorted.begin(), sorted.end());
  bool isPermutation = sorted.size() == shape.size();
  for (size_t i = 0; i < sorted.size(); ++i)
    isPermutation &= sorted[i] == static_cast<int>(i);
  if (!isPermutation)
    return "the order is not a permutation of the " +
           std::to_string(shape.size()) + " dims";
  const int64_t fastest = shape.empty() ? 1 : shape[order.front()];
  if (panelElements < 1 || fastest % panelElements != 0)
    return "panels of " + std::to_string(panelElements) +
           " elements do not divide the fastest extent " +
           std::to_string(fastest);
  if (swizzleBytes != 0 && swizzleBytes != 32 && swizzleBytes != 64 &&
      swizzleBytes != 128)
    return "a swizzle of " + std::to_string(swizzleBytes) +
           " bytes, expected 0, 32, 64 or 128";
  if (swizzleBytes != 0 && panelElements * elementBits != swizzleBytes * 8)
    return "panels of " + std::to_string(panelElements) + " elements of " +
           std::to_string(elementBits) + " bits are not " +
           std::to_string(swizzleBytes) + " bytes wide, as the swizzle needs";
  return "";
}

Result<SharedLayout> SharedLayout::create(std::vector<int64_t> shape,
                                          int64_t elementBits,
                                          std::vector<int> order,
                                          int64_t panelElements,
                                          int64_t swizzleBytes) {
  std::string message =
      verify(shape, elementBits, order, panelElements, swizzleBytes);
  if (!message.empty())
    return Error{std::move(message)};
  SharedLayout layout;
  layout.shapeOfTile = std::move(shape);
  layout.dimOrder = std::move(order);
  layout.bitsPerElement = elementBits;
  layout.elementsPerPanel = panelElements;
  layout.bytesOfSwizzle = swizzleBytes;
  // Say it in one way only: where there are no panels, or they are outermost.
  const size_t panels = findPanels(layout.dimOrder);
  if (panels < layout.dimOrder.size() &&
      (layout.numPanels() == 1 || panels + 1 == layout.dimOrder.size()))
    layout.dimOrder.erase(layout.dimOrder.begin() + panels);
  return layout;
}

static std::vector<int> rowMajorOrder(size_t rank) {
  std::vector<int> order;
  for (size_t dim = rank; dim-- > 0;)
    order.push_back(static_cast<int>(dim));
  return order;
}

Result<SharedLayout> SharedLayout::rowMajor(std::vector<int64_t> shape,
                                            int64_t elementBits) {
  std::vector<int> order = rowMajorOrder(shape.size());
  const int64_t row = shape.empty() ? 1 : shape.back();
  return create(std::move(shape), elementBits, std::move(order), row, 0);
}

Result<SharedLayout> SharedLayout::columnMajor(std::vector<int64_t> shape,
                                               int64_t elementBits) {
  std::vector<int> order = rowMajorOrder(shape.size());
  std::reverse(order.begin(), order.end());
  const int64_t column = shape.empty() ? 1 : shape.front();
  return create(std::move(shape), elementBits, std::move(order), column, 0);
}

static int64_t fastestExtent(const std::vector<int64_t> &shape,
                             const std::vector<int> &order) {
  if (order.empty() || order.front() < 0 ||
      order.front() >= static_cast<int>(shape.size()))
    return 1;
  return shape[order.front()];
}

Result<SharedLayout> SharedLayout::swizzled(std::vector<int64_t> shape,
                                            int64_t elementBits,
                                            std::vector<int> order) {
  if (order.empty())
    order = rowMajorOrder(shape.size());
  const int64_t rowBits = fastestExtent(shape, order) * elementBits;
  const int64_t swizzle = rowBits % 8 == 0 ? bestSwizzle(rowBits / 8) : 0;
  return swizzled(std::move(shape), elementBits, std::move(order), swizzle);
}

Result<SharedLayout> SharedLayout::swizzled(std::vector<int64_t> shape,
                                            int64_t elementBits,
                                            std::vector<int> order,
                                            int64_t swizzleBytes) {
  if (order.empty())
    order = rowMajorOrder(shape.size());
  const int64_t row = fastestExtent(shape, order);
  int64_t panel = row;
  if (swizzleBytes > 0) {
    if (elementBits < 1 || (row * elementBits) % (swizzleBytes * 8) != 0)
      return Error{"rows of " + std::to_string(row) + " elements of " +
                   std::to_string(elementBits) + " bits (" +
                   std::to_string(row * elementBits / 8) +
                   " bytes) are not a multiple of " +
                   std::to_string(swizzleBytes) + " bytes"};
    panel = swizzleBytes * 8 / elementBits;
  }
  return create(std::move(shape), elementBits, std::move(order), panel,
                swizzleBytes);
}

int64_t SharedLayout::numElements() const { return productOf(shapeOfTile); }

int64_t SharedLayout::numPanels() const {
  return rank() == 0 ? 1 : shapeOfTile[fastestDim()] / elementsPerPanel;
}

int64_t SharedLayout::numRows() const {
  int64_t rows = 1;
  for (size_t i = 1; i < findPanels(dimOrder); ++i)
    rows *= shapeOfTile[dimOrder[i]];
  return rows;
}

int64_t SharedLayout::rowBytes() const {
  return ceilDiv(elementsPerPanel * bitsPerElement, 8);
}

int64_t SharedLayout::panelBytes() const {
  return ceilDiv(elementsPerPanel * bitsPerElement * numRows(), 8);
}

int64_t SharedLayout::sizeBytes() const {
  return ceilDiv(numElements() * bitsPerElement, 8);
}

int64_t SharedLayout::requiredAlignment() const {
  return bytesOfSwizzle == 0 ? 16 : bytesOfSwizzle * 8;
}

int64_t SharedLayout::contiguousElements() const {
  return bytesOfSwizzle == 0 ? elementsPerPanel : 128 / bitsPerElement;
}

int64_t
SharedLayout::linearBitOffset(const std::vector<int64_t> &coordinate) const {
  assert(static_cast<int>(coordinate.size()) == rank() && "rank mismatch");
  if (rank() == 0)
    return 0;
  const int64_t column = coordinate[fastestDim()];
  const int64_t panel = column / elementsPerPanel;
  const size_t panels = findPanels(dimOrder);
  // Rows of all panels, counted together.
  int64_t row = 0, weight = 1;
  for (size_t i = 1; i < dimOrder.size(); ++i) {
    const bool isPanel = i == panels;
    row += (isPanel ? panel : coordinate[dimOrder[i]]) * weight;
    weight *= isPanel ? numPanels() : shapeOfTile[dimOrder[i]];
  }
  if (panels == dimOrder.size())
    row += panel * weight;
  return (row * elementsPerPanel + column % elementsPerPanel) * bitsPerElement;
}

int64_t
SharedLayout::linearByteOffset(const std::vector<int64_t> &coordinate) const {
  return linearBitOffset(coordinate) / 8;
}

int64_t SharedLayout::bitOffset(const std::vector<int64_t> &coordinate) const {
  const int64_t bits = linearBitOffset(coordinate);
  return applySwizzle(bits / 8, bytesOfSwizzle) * 8 + bits % 8;
}

int64_t SharedLayout::byteOffset(const std::vector<int64_t> &coordinate) const {
  return bitOffset(coordinate) / 8;
}

std::vector<int64_t> SharedLayout::coordinateAt(int64_t bitOffset) const {
  std::vector<int64_t> coordinate(rank(), 0);
  if (rank() == 0)
    return coordinate;
  int64_t element =
      (applySwizzle(bitOffset / 8, bytesOfSwizzle) * 8 + bitOffset % 8) /
      bitsPerElement;
  const int64_t column = element % elementsPerPanel;
  element /= elementsPerPanel;
  const size_t panels = findPanels(dimOrder);
  int64_t panel = 0;
  for (size_t i = 1; i < dimOrder.size(); ++i) {
    const int dim = dimOrder[i];
    const bool isPanel = i == panels;
    const int64_t extent = isPanel ? numPanels() : shapeOfTile[dim];
    (isPanel ? panel : coordinate[dim]) = element % extent;
    element /= extent;
  }
  if (panels == dimOrder.size())
    panel = element;
  coordinate[fastestDim()] = panel * elementsPerPanel + column;
  return coordinate;
}

std::string SharedLayout::str() const {
  std::string text = shapeText(shapeOfTile) + " x " +
                     std::to_string(bitsPerElement) + "b order(";
  for (size_t i = 0; i < dimOrder.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dimOrder[i]);
  return text + ") panel " + std::to_string(elementsPerPanel) + " swizzle " +
         std::to_string(bytesOfSwizzle);
}
