// Enums of the `tile_gpu` dialect.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUENUMS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUENUMS

include "mlir/IR/EnumAttr.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

#endif
