//===- GemmOperands.h - What lowerings of gemms have in common --*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_GEMMOPERANDS_H
#define TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_GEMMOPERANDS_H

#include "KernelLowering.h"

namespace tilemlir::to_gpu {

/// The fragment without leading unit dimensions.
layout::Result<layout::FragmentLayout> asMatrix(layout::FragmentLayout layout);

/// The element type of a matrix instruction; f32 is multiplied as tf32.
std::optional<tile_gpu::MatrixType> matrixType(Type type, bool isUnsigned);

} // namespace tilemlir::to_gpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_GEMMOPERANDS_H
