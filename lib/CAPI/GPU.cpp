// C API: PTX and LLVM IR of a module compiled for a GPU.
#include "tilemlir-c/GPU.h"

#include "tilemlir/Target/PTX.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"

MlirLogicalResult tilemlirGetPTX(MlirModule module, MlirStringCallback callback,
                                 void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  return wrap(tilemlir::translateToPTX(unwrap(module), stream));
}

MlirLogicalResult tilemlirTranslateGPUToLLVMIR(MlirModule module,
                                               MlirStringCallback callback,
                                               void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  return wrap(
      tilemlir::translateToLLVMIR(unwrap(module), stream, /*optimized=*/false));
}
