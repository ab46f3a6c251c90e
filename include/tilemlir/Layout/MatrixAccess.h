//===- MatrixAccess.h - ldmatrix and stmatrix of a fragment -----*- C++ -*-===//
//
// Finds out whether the registers of a fragment are those that ldmatrix or
// stmatrix moves, and gives the address that each lane must supply.
//
// Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix" and
// "... store instruction: stmatrix": an 8x8 matrix of 16-bit elements has rows
// of 16 contiguous bytes; lane l holds bytes 4 (l % 4) .. + 3 of row l / 4 in
// one 32-bit register; with .trans lane l holds column l / 4, rows 2 (l % 4)
// and + 1. Lane l supplies the address of row l % 8 of matrix l / 8.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_MATRIXACCESS_H
#define TILEMLIR_LAYOUT_MATRIXACCESS_H

#include "tilemlir/Layout/FragmentLayout.h"

namespace tilemlir::layout {

/// How a fragment is moved by ldmatrix / stmatrix. 32-bit register `i`
/// (elements i * E to (i + 1) * E - 1, E = registersPerMatrix) is one 8x8
/// matrix.
struct MatrixAccess {
  /// Use the .trans form (16-bit elements only).
  bool transposed = false;
  /// Dimension along which the 8 rows of a matrix follow each other.
  int rowDim = 0;
  /// Dimension contiguous in memory; a matrix row has 16 bytes along it.
  int columnDim = 1;
  /// Elements of a thread that belong to one matrix: 32 / elementBits.
  int64_t registersPerMatrix = 2;
  /// Matrices of the fragment: numRegisters / registersPerMatrix.
  int64_t numMatrices = 0;
};

/// Tests whether `fragment` can be moved with ldmatrix/stmatrix from/to a
/// buffer in which `contiguousDim` is contiguous (2-D). The error says which
/// digit is wrong. Padding is refused unless `allowPadding`: then whole
/// matrices may be padding, which are good for loads only.
Result<MatrixAccess> matchMatrixAccess(const FragmentLayout &fragment,
                                       int64_t elementBits, int contiguousDim,
                                       bool allowPadding = false);

/// Coordinate of the row that `thread` addresses in an instruction that moves
/// the `matrices` (1, 2 or 4 matrix numbers) of the fragment. Lanes beyond 8 x
/// count repeat earlier ones, which the hardware ignores. Equals
/// matrixThreadOffset(thread) + (offset of the matrix of this lane), which is
/// how code should be generated: the first part once per thread. Matrices of
/// padding are those at the end of the tile instead.
std::vector<int64_t> matrixRowCoordinate(const FragmentLayout &fragment,
                                         const MatrixAccess &access,
                                         int64_t thread,
                                         const std::vector<int64_t> &matrices);

/// Offset of matrix number `matrix`: coordinate of its first element relative
/// to the origin of the warp's data.
std::vector<int64_t> matrixOffset(const FragmentLayout &fragment,
                                  const MatrixAccess &access, int64_t matrix);

/// Origin of the data of the warp of `thread` plus lane % 8 along the row dim.
std::vector<int64_t> matrixThreadOffset(const FragmentLayout &fragment,
                                        const MatrixAccess &access,
                                        int64_t thread);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_MATRIXACCESS_H
