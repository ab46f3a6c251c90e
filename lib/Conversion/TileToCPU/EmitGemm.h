//===- EmitGemm.h - shapes of the gemm lowering -----------------*- C++ -*-===//
#ifndef TILEMLIR_CONVERSION_TILETOCPU_EMITGEMM_H
#define TILEMLIR_CONVERSION_TILETOCPU_EMITGEMM_H

#include "KernelEmitter.h"

namespace tilemlir::cpu {

/// Extents of a gemm and of its micro kernel.
struct KernelEmitter::GemmShape {
  int64_t m, n, k;
  Type compute;    ///< type of packed operands and accumulators
  int64_t bytes;   ///< of one compute element
  int64_t lanes;   ///< elements per vector register
  int64_t vectors; ///< vectors per row of the micro kernel
  int64_t columns; ///< lanes * vectors
  int64_t rows;    ///< rows of the micro kernel
  int64_t unroll;  ///< steps of K per iteration
};

/// A in the compute type: element (i, k) at base + i * rowStride + k * kStride
/// bytes.
struct KernelEmitter::PackedOperand {
  Value base;
  int64_t rowStride, kStride;
};

} // namespace tilemlir::cpu

#endif // TILEMLIR_CONVERSION_TILETOCPU_EMITGEMM_H
