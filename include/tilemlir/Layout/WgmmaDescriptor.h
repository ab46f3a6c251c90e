//===- WgmmaDescriptor.h - Operands of wgmma in shared memory ---*- C++ -*-===//
//
// Which layouts of a tile in shared memory wgmma can read, the fields of the
// descriptor, and where sub-matrices may begin.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"
// and "Matrix Descriptor Format". An operand is a matrix of `mn` rows (M of A,
// N of B) and k columns. With S = bytes of the swizzle, rowsPitch = S:
//
//   major  swizzle  | stride_bytes              | leading_bytes
//   K      S > 0    | 8 rows: 8 S               | not used
//   K      none     | 8 rows of 16 bytes: 128   | next 16 bytes of k: a panel
//   MN     S > 0    | 8 k-rows: 8 S             | next S bytes along mn: a
//   panel MN     none     | next 16 bytes along mn:   | 8 k-rows of 16 bytes:
//   128
//                   | a panel                   |
//
// where a panel is that of SharedLayout: panelElements columns of all rows.
// The hardware applies the swizzle to the address that it has computed, so a
// sub-matrix begins at its *unswizzled* offset: a k-step of 32 bytes inside a
// K-major panel adds 32, the next panel comes when K exceeds the panel; an
// MN-major k-step adds its k-rows times S.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_WGMMADESCRIPTOR_H
#define TILEMLIR_LAYOUT_WGMMADESCRIPTOR_H

#include "tilemlir/Layout/SharedLayout.h"

namespace tilemlir::layout {

/// Bytes of k that one instruction multiplies, and of a chunk of the swizzle.
inline constexpr int64_t kWgmmaStepBytes = 32;
inline constexpr int64_t kSwizzleChunkBytes = 16;

/// An operand of wgmma that is a tile in shared memory, or part of one.
class WgmmaOperand {
public:
  /// Dimensions `mnDim` and `kDim` of a tile of this layout as an operand; the
  /// faster one of them is contiguous. The error says why wgmma cannot read it:
  /// the layout is not one of the table above, the other dimension is not the
  /// one whose steps are neighbouring rows, or the operand is MN-major with
  /// elements that are not 16 bits wide.
  static Result<WgmmaOperand> create(const SharedLayout &layout, int mnDim,
                                     int kDim);

  bool isMNMajor() const { return mnMajor; }
  int64_t swizzleBytes() const { return layout.swizzleBytes(); }
  int64_t leadingBytes() const { return leading; }
  int64_t strideBytes() const { return stride; }

  /// A sub-matrix may begin at multiples of these along mn and k (elements).
  int64_t stepMN() const { return stepOfMN; }
  int64_t stepK() const { return stepOfK; }

  /// Offset in bytes, from the beginning of the buffer, of a sub-matrix that
  /// begins at `coordinate` of the tile.
  int64_t startOffset(const std::vector<int64_t> &coordinate) const {
    return layout.linearByteOffset(coordinate);
  }
  /// Bytes per step of `stepMN()` or `stepK()` elements along a dimension, and
  /// per element of a dimension that is neither; 0 if steps are not of one
  /// size (K-major k across panels).
  int64_t stepBytes(int dim) const;

private:
  SharedLayout layout;
  int mn = 0, k = 1;
  bool mnMajor = false;
  int64_t leading = 16, stride = 16, stepOfMN = 8, stepOfK = 16;
};

/// The widest layout that wgmma can read of a tile whose last dimension is
/// contiguous, with a swizzle of at most `maxSwizzle` bytes (0, 32, 64, 128).
/// Without a swizzle it has panels of 16 bytes. The error names row bytes that
/// are no multiple of 16.
Result<SharedLayout> wgmmaSharedLayout(std::vector<int64_t> shape,
                                       int64_t elementBits,
                                       int64_t maxSwizzle = 128);

/// The widest swizzle of an MN-major operand of which instructions read pieces
/// of `piece` elements along mn: pieces begin at panels. 0 means panels of 16
/// bytes; -1 that no layout will do.
int64_t wgmmaMaxSwizzle(int64_t piece, int64_t elementBits);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_WGMMADESCRIPTOR_H
