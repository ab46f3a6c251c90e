//===- Passes.h - passes that leave one dialect for another -----*- C++ -*-===//
#ifndef TILEMLIR_CONVERSION_PASSES_H
#define TILEMLIR_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilemlir {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Conversion/Passes.h.inc"

} // namespace tilemlir

#endif // TILEMLIR_CONVERSION_PASSES_H
