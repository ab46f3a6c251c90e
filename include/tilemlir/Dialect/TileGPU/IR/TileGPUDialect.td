// The `tile_gpu` dialect.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUDIALECT
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUDIALECT

include "mlir/IR/OpBase.td"

def TileGPU_Dialect : Dialect {
  let name = "tile_gpu";
  let cppNamespace = "::mlir::tile_gpu";
}

#endif
