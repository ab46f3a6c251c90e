//===- PTX.h - from the NVVM dialect to PTX ---------------------*- C++ -*-===//
#ifndef TILEMLIR_TARGET_PTX_H
#define TILEMLIR_TARGET_PTX_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tilemlir {

/// LLVM IR of a module of kernels in the LLVM and NVVM dialects, before or
/// after optimisation. The target is that of the module around it
/// (`tile.target`). Errors are reported at the module.
mlir::FailureOr<std::string> emitLLVMIR(mlir::gpu::GPUModuleOp gpuModule,
                                        bool optimized);

/// PTX of the same. The text depends on nothing but the IR.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp gpuModule);

/// PTX of a module: what tile-emit-ptx stored, else made now.
mlir::LogicalResult translateToPTX(mlir::Operation *op, llvm::raw_ostream &os);

/// LLVM IR of the gpu.module of a module.
mlir::LogicalResult translateToLLVMIR(mlir::Operation *op,
                                      llvm::raw_ostream &os, bool optimized);

/// Registers `tile-to-ptx` and `tile-to-llvm-ir` with tile-translate.
void registerPTXTranslations();

} // namespace tilemlir

#endif // TILEMLIR_TARGET_PTX_H
