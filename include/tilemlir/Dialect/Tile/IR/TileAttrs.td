// Attrs of the `tile` dialect.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEATTRS
#define TILEMLIR_DIALECT_TILE_IR_TILEATTRS

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/Tile/IR/TileDialect.td"

#endif
