//===- SharedFactors.h - factors and divisors of many values ----*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDFACTORS_H
#define TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDFACTORS_H

#include "mlir/IR/PatternMatch.h"

namespace tilemlir::to_nvvm {

/// Patterns that multiply a maximum or minimum by a factor, instead of all that
/// it is taken of.
void populateSharedFactorPatterns(mlir::RewritePatternSet &patterns);

/// Replaces divisions by one divisor whose results only become 16-bit numbers
/// by products with its reciprocal.
void shareDivisors(mlir::Operation *root);

} // namespace tilemlir::to_nvvm

#endif // TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_SHAREDFACTORS_H
