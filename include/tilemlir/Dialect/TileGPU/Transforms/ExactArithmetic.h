//===- ExactArithmetic.h - operations that must not be fused ----*- C++ -*-===//
//
// Kernels may be compiled with products and sums contracted, or with fast math.
// Code that computes rounding errors (sums and products in pairs) must not be.
// A discardable attribute marks its operations from where they are made down to
// tile-gpu-to-nvvm, which leaves their fast-math flags alone.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_EXACTARITHMETIC_H
#define TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_EXACTARITHMETIC_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tilemlir {

inline constexpr llvm::StringLiteral kExactArithmeticAttr = "tile_gpu.exact";

inline void setExactArithmetic(mlir::Operation *op) {
  op->setAttr(kExactArithmeticAttr, mlir::UnitAttr::get(op->getContext()));
}

} // namespace tilemlir

#endif // TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_EXACTARITHMETIC_H
