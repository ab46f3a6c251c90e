//===- Passes.h - passes that leave one dialect for another -----*- C++ -*-===//
#ifndef TILEMLIR_CONVERSION_PASSES_H
#define TILEMLIR_CONVERSION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

namespace tilemlir {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Conversion/Passes.h.inc"

} // namespace tilemlir

#endif // TILEMLIR_CONVERSION_PASSES_H
