//===- MatrixMoves.h - ldmatrix and stmatrix of a fragment ------*- C++ -*-===//
//
// Addresses and instructions that move the 8x8 matrices of a fragment between
// registers and a shared buffer.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_MATRIXMOVES_H
#define TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_MATRIXMOVES_H

#include "KernelLowering.h"

namespace tilemlir::to_gpu {

/// Matrices (numbers in the fragment) that one instruction moves: 1, 2 or 4.
using MatrixGroup = SmallVector<int64_t, 4>;

/// Splits matrix numbers into groups of 4, then 2, then 1.
SmallVector<MatrixGroup> groupMatrices(ArrayRef<int64_t> matrices);

} // namespace tilemlir::to_gpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_MATRIXMOVES_H
