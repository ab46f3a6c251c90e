// Types of the `tile_gpu` dialect.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

#endif
