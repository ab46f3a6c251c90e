//===- SharedDifferences.h - comparisons of shifted values ------*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDDIFFERENCES_H
#define TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDDIFFERENCES_H

#include "mlir/IR/Operation.h"

namespace tilemlir::to_nvvm {

/// Replaces comparisons of two values, shifted by different constants each
/// time, by comparisons of their difference with constants.
void shareDifferences(mlir::Operation *root);

} // namespace tilemlir::to_nvvm

#endif // TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDDIFFERENCES_H
