// Types of the `tile` dialect.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETYPES
#define TILEMLIR_DIALECT_TILE_IR_TILETYPES

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/Tile/IR/TileDialect.td"

#endif
