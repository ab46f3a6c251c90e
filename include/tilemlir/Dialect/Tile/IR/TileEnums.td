// Enums of the `tile` dialect.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEENUMS
#define TILEMLIR_DIALECT_TILE_IR_TILEENUMS

include "mlir/IR/EnumAttr.td"
include "tilemlir/Dialect/Tile/IR/TileDialect.td"

#endif
