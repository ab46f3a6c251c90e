// Declarations of the passes from `tile_gpu` to `tile_gpu`.
#ifndef TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
