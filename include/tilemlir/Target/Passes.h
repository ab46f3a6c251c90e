//===- Passes.h - passes that run an LLVM back end --------------*- C++ -*-===//
#ifndef TILEMLIR_TARGET_PASSES_H
#define TILEMLIR_TARGET_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilemlir {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Target/Passes.h.inc"

} // namespace tilemlir

#endif // TILEMLIR_TARGET_PASSES_H
