// Options, constructors and registration of the passes from `tile_gpu` to
// `tile_gpu`.
#ifndef TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES_H
#define TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tile_gpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h.inc"

} // namespace mlir::tile_gpu

#endif // TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES_H
