// The Python module `tilemlir._runtime`: loading and launching of compiled kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_runtime, m) {
  m.doc() = "Loading and launching of compiled kernels.";
}
