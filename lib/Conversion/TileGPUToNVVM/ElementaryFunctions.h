//===- ElementaryFunctions.h - expansion of math functions ------*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_ELEMENTARYFUNCTIONS_H
#define TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_ELEMENTARYFUNCTIONS_H

#include "Patterns.h"

namespace tilemlir::to_nvvm {

/// Replaces math functions by arithmetic and hardware approximations; emits an
/// error at those that have no implementation.
LogicalResult expandElementaryFunctions(Operation *root, bool fast);

/// Replaces conversions to and from 8-bit floats by integer arithmetic, for
/// targets before sm_89.
LogicalResult expandFloat8(Operation *root);

/// Computes the elements of vectors of 16-bit floats pair by pair, and small
/// integers in packed words as floats without conversions.
void packPairs(Operation *root);

} // namespace tilemlir::to_nvvm

#endif // TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_ELEMENTARYFUNCTIONS_H
