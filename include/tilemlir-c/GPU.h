// C API: PTX and LLVM IR of a module compiled for a GPU.
#ifndef TILEMLIR_C_GPU_H
#define TILEMLIR_C_GPU_H

#include "tilemlir-c/Support.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The PTX that `tile-emit-ptx` stored in a module, or that of its gpu.module;
/// given to `callback` piece by piece. Errors are diagnostics.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult
tilemlirGetPTX(MlirModule module, MlirStringCallback callback, void *userData);

/// LLVM IR of the gpu.module of a module after `tile-gpu-to-nvvm`, before
/// optimisation.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirTranslateGPUToLLVMIR(
    MlirModule module, MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TILEMLIR_C_GPU_H
