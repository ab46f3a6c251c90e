//===- TileGPUAttrs.td - attributes of the `tile_gpu` dialect -*- tablegen -*-===//
//
// Only the enumerations of TileGPUEnums.td so far.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.td"

#endif
