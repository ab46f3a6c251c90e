// The Python module `_tilemlir`: registers the tile dialects, passes and
// pipelines.
#include "CompilerBindings.h"

#include "tilemlir-c/Registration.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;

NB_MODULE(_tilemlir, m) {
  m.doc() = "Registration of the tilemlir dialects, passes and pipelines.";
  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) {
        tilemlirRegisterAllDialects(registry);
      },
      nb::arg("registry"),
      "Adds the tile dialects and those they lower to, to a registry.");
  m.def(
      "register_passes",
      [] {
        tilemlirRegisterAllPasses();
        tilemlirRegisterAllPipelines();
      },
      "Registers all passes and pipelines. May be called repeatedly.");
  m.def(
      "version", [] { return tilemlirGetVersion(); },
      "The version of the compiler library.");
  tilemlir::bindings::bindCPU(m);
  tilemlir::bindings::bindGPU(m);
}
