/* Export macro of the tilemlir C API. */
#ifndef TILEMLIR_C_SUPPORT_H
#define TILEMLIR_C_SUPPORT_H

#include "mlir-c/Support.h"

/* The functions below are exported from the shared library of the Python
 * package, whose other symbols are hidden. */
#define TILEMLIR_CAPI_EXPORTED MLIR_CAPI_EXPORTED

#endif /* TILEMLIR_C_SUPPORT_H */
