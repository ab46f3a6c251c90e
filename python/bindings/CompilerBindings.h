// The parts that make up the Python module `_tilemlir`.
#ifndef TILEMLIR_BINDINGS_COMPILERBINDINGS_H
#define TILEMLIR_BINDINGS_COMPILERBINDINGS_H

#include <nanobind/nanobind.h>

namespace tilemlir::bindings {

/// Launch plans, and code for the CPU of this machine.
void bindCPU(nanobind::module_ &m);

} // namespace tilemlir::bindings

#endif // TILEMLIR_BINDINGS_COMPILERBINDINGS_H
