//===- Passes.h - passes that run an LLVM back end --------------*- C++ -*-===//
#ifndef TILEMLIR_TARGET_PASSES_H
#define TILEMLIR_TARGET_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace tilemlir {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Target/Passes.h.inc"

} // namespace tilemlir

#endif // TILEMLIR_TARGET_PASSES_H
