// Python bindings of PTX and LLVM IR of kernels, part of the module
// `_tilemlir`.
#include "CompilerBindings.h"

#include "tilemlir-c/GPU.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

void tilemlir::bindings::bindGPU(nb::module_ &m) {
  m.def(
      "ptx",
      [](MlirModule module) {
        return collect(module, tilemlirGetPTX, "no PTX");
      },
      nb::arg("module"), "PTX of the kernels of a module after tile-emit-ptx.");
  m.def(
      "translate_gpu_to_llvm_ir",
      [](MlirModule module) {
        return collect(module, tilemlirTranslateGPUToLLVMIR,
                       "no translation to LLVM IR");
      },
      nb::arg("module"),
      "LLVM IR of the kernels of a module after tile-gpu-to-nvvm, as text.");
}
