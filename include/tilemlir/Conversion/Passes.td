// Declarations of the passes that leave one dialect for another.
#ifndef TILEMLIR_CONVERSION_PASSES
#define TILEMLIR_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

#endif // TILEMLIR_CONVERSION_PASSES
