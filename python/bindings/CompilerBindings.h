// The parts that make up the Python module `_tilemlir`.
#ifndef TILEMLIR_BINDINGS_COMPILERBINDINGS_H
#define TILEMLIR_BINDINGS_COMPILERBINDINGS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <nanobind/nanobind.h>

#include <string>

namespace tilemlir::bindings {

using Printer = MlirLogicalResult (*)(MlirModule, MlirStringCallback, void *);

/// What `print` writes about a module; its diagnostics become the exception.
std::string collect(MlirModule module, Printer print, const char *what);

/// PTX and LLVM IR of kernels.
void bindGPU(nanobind::module_ &m);

/// Launch plans, and code for the CPU of this machine.
void bindCPU(nanobind::module_ &m);

} // namespace tilemlir::bindings

#endif // TILEMLIR_BINDINGS_COMPILERBINDINGS_H
