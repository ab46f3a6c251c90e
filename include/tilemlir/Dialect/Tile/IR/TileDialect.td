// The `tile` dialect.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEDIALECT
#define TILEMLIR_DIALECT_TILE_IR_TILEDIALECT

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
}

#endif
