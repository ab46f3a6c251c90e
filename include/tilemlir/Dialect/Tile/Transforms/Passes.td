// Declarations of the passes from `tile` to `tile`.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
