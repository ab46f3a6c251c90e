// Attrs of the `tile_gpu` dialect.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

#endif
