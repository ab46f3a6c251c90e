// Registers the operations of the `tile` dialect.
#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "tilemlir/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "tilemlir/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileOps.cpp.inc"

void mlir::tile::TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}
