// The C++ classes of the `tile` dialect: dialect, enums, attributes, types and operations.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILE_H
#define TILEMLIR_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "tilemlir/Dialect/Tile/IR/TileDialect.h.inc"
#include "tilemlir/Dialect/Tile/IR/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileOps.h.inc"

#endif // TILEMLIR_DIALECT_TILE_IR_TILE_H
