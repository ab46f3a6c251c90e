// Declarations of the passes from `tile` to `tile`, in the order of the pipeline.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"
include "tilemlir/Dialect/Tile/Transforms/LayoutPasses.td"

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
