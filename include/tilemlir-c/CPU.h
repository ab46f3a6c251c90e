// C API: launch plans, object code for the host's CPU and its execution.
#ifndef TILEMLIR_C_CPU_H
#define TILEMLIR_C_CPU_H

#include "tilemlir-c/Support.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The launch plan of a module as JSON, given to `callback` piece by piece.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirLaunchPlanToJSON(
    MlirModule module, MlirStringCallback callback, void *userData);

/// What the compiler decided about a module (`tile.report`) as a JSON array.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirReportToJSON(
    MlirModule module, MlirStringCallback callback, void *userData);

/// LLVM IR of a module in the LLVM dialect, as text.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirTranslateToLLVMIR(
    MlirModule module, MlirStringCallback callback, void *userData);

/// Object code of a module in the LLVM dialect for the CPU of this machine.
/// Errors are diagnostics of the module's context.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirCPUCompile(
    MlirModule module, MlirStringCallback callback, void *userData);

/// LLVM's name of the CPU of this machine and its features, part of the key of
/// cached objects: "znver3;+avx2,...".
TILEMLIR_CAPI_EXPORTED void tilemlirCPUDescribeHost(MlirStringCallback callback,
                                                    void *userData);

/// Calls `callback` with each name that an object needs from its environment.
/// Fails, with the reason as last call, for bytes that are no object.
TILEMLIR_CAPI_EXPORTED MlirLogicalResult tilemlirCPUGetUndefinedSymbols(
    MlirStringRef object, MlirStringCallback callback, void *userData);

/// Object code linked into this process.
typedef struct TilemlirCPUImage {
  void *ptr;
} TilemlirCPUImage;

/// Loads an object. `names` and `addresses` are functions of the runtime. On
/// failure the result is null and `onError` gets the reason.
TILEMLIR_CAPI_EXPORTED TilemlirCPUImage tilemlirCPUImageLoad(
    MlirStringRef object, size_t count, const MlirStringRef *names,
    const uint64_t *addresses, MlirStringCallback onError, void *userData);

/// Address of a function; zero, with a reason, when there is none.
TILEMLIR_CAPI_EXPORTED uint64_t
tilemlirCPUImageLookup(TilemlirCPUImage image, MlirStringRef name,
                       MlirStringCallback onError, void *userData);

/// Calls `callback` with the name and address of every function of the object.
TILEMLIR_CAPI_EXPORTED void tilemlirCPUImageForEachEntry(
    TilemlirCPUImage image,
    void (*callback)(MlirStringRef name, uint64_t address, void *userData),
    void *userData);

TILEMLIR_CAPI_EXPORTED void tilemlirCPUImageDestroy(TilemlirCPUImage image);

#ifdef __cplusplus
}
#endif

#endif // TILEMLIR_C_CPU_H
