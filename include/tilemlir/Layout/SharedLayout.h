//===- SharedLayout.h - Tiles in shared memory ------------------*- C++ -*-===//
//
// Byte offsets of the elements of a tile in shared memory: panels, rows and the
// XOR swizzles that TMA, wgmma, ldmatrix, stmatrix and cp.async agree on.
//
// Source: PTX ISA, "Tensor swizzling modes" and "Asynchronous Warpgroup Level
// Matrix Shared Memory Layout".
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_SHAREDLAYOUT_H
#define TILEMLIR_LAYOUT_SHAREDLAYOUT_H

#include "tilemlir/Layout/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilemlir::layout {

/// XORs the index of the 16-byte chunk of `byteOffset` with row bits. 128: bits
/// 4-6 with bits 7-9; 64: bits 4-5 with bits 7-8; 32: bit 4 with bit 7; 0:
/// nothing. An involution; linear over XOR.
int64_t applySwizzle(int64_t byteOffset, int64_t swizzleBytes);

/// A tile in shared memory. The fastest dim is cut into panels of
/// `panelElements`; the byte offset runs over the column in the panel, the rows
/// (slower dims in `order`), the panels (or where PanelOrder.h puts them); then
/// the swizzle is applied to it inside the requiredAlignment()-aligned buffer.
class SharedLayout {
public:
  SharedLayout() = default;

  /// Builds a layout or says what is wrong (see verify).
  static Result<SharedLayout>
  create(std::vector<int64_t> shape, int64_t elementBits,
         std::vector<int> order, int64_t panelElements, int64_t swizzleBytes);

  /// Empty string for a valid layout, else the reason. Checks: extents >= 1;
  /// elementBits is a power of two from 1 to 128; order is a permutation;
  /// panelElements divides the fastest extent; swizzleBytes is 0, 32, 64 or
  /// 128; a swizzled panel is exactly swizzleBytes wide.
  static std::string verify(const std::vector<int64_t> &shape,
                            int64_t elementBits, const std::vector<int> &order,
                            int64_t panelElements, int64_t swizzleBytes);

  /// Row-major (last dim fastest), no panels, no swizzle.
  static Result<SharedLayout> rowMajor(std::vector<int64_t> shape,
                                       int64_t elementBits);
  /// First dim fastest, no panels, no swizzle.
  static Result<SharedLayout> columnMajor(std::vector<int64_t> shape,
                                          int64_t elementBits);
  /// With bestSwizzle() of the row, in panels of that many bytes. `order` empty
  /// means row-major.
  static Result<SharedLayout> swizzled(std::vector<int64_t> shape,
                                       int64_t elementBits,
                                       std::vector<int> order = {});
  /// With the given swizzle; the error names the row bytes if they do not fit.
  static Result<SharedLayout> swizzled(std::vector<int64_t> shape,
                                       int64_t elementBits,
                                       std::vector<int> order,
                                       int64_t swizzleBytes);

  const std::vector<int64_t> &shape() const { return shapeOfTile; }
  const std::vector<int> &order() const { return dimOrder; }
  int64_t elementBits() const { return bitsPerElement; }
  int64_t panelElements() const { return elementsPerPanel; }
  int64_t swizzleBytes() const { return bytesOfSwizzle; }
  int rank() const { return static_cast<int>(shapeOfTile.size()); }

  int fastestDim() const { return dimOrder.empty() ? 0 : dimOrder.front(); }
  /// Number of panels of the fastest dim.
  int64_t numPanels() const;
  /// Rows of a panel: product of the slower extents inside of the panels.
  int64_t numRows() const;
  /// Bytes between rows of a panel (whole bytes when at least 8 bits wide).
  int64_t rowBytes() const;
  int64_t panelBytes() const;
  int64_t numElements() const;

  /// Bytes of the buffer. Sub-byte elements are packed, low bits first.
  int64_t sizeBytes() const;
  /// Alignment for which the swizzle pattern starts at the buffer: 1024, 512,
  /// 256 bytes for 128, 64, 32-byte swizzles, else 16.
  int64_t requiredAlignment() const;

  /// Offset before the swizzle, in bits.
  int64_t linearBitOffset(const std::vector<int64_t> &coordinate) const;
  /// Offset after the swizzle, in bits.
  int64_t bitOffset(const std::vector<int64_t> &coordinate) const;
  /// Offset of the byte that holds the element (its low bits if narrower).
  int64_t byteOffset(const std::vector<int64_t> &coordinate) const;
  int64_t linearByteOffset(const std::vector<int64_t> &coordinate) const;
  /// The element at a bit offset (inverse of bitOffset).
  std::vector<int64_t> coordinateAt(int64_t bitOffset) const;

  /// Elements along the fastest dim that stay contiguous from every aligned
  /// coordinate: 16 bytes when swizzled, else the panel row.
  int64_t contiguousElements() const;

  bool operator==(const SharedLayout &other) const {
    return shapeOfTile == other.shapeOfTile && dimOrder == other.dimOrder &&
           bitsPerElement == other.bitsPerElement &&
           elementsPerPanel == other.elementsPerPanel &&
           bytesOfSwizzle == other.bytesOfSwizzle;
  }
  bool operator!=(const SharedLayout &other) const { return !(*this == other); }

  /// E.g. "128x64 x 16b order(1, 0) panel 64 swizzle 128".
  std::string str() const;

private:
  std::vector<int64_t> shapeOfTile;
  std::vector<int> dimOrder;
  int64_t bitsPerElement = 8;
  int64_t elementsPerPanel = 1;
  int64_t bytesOfSwizzle = 0;
};

/// The widest swizzle whose width divides `rowBytes`: 128, 64, 32, or 0.
int64_t bestSwizzle(int64_t rowBytes);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_SHAREDLAYOUT_H
