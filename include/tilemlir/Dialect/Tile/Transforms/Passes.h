// Options, constructors and registration of the passes from `tile` to `tile`.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES_H
