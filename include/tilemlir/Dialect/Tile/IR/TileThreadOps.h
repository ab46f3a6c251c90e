//===- TileThreadOps.h - operations of single threads -----------*- C++ -*-===//
//
// The operations of TileThreadOps.td. Apart from Tile.h, because few files
// know them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_H
#define TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h.inc"

#endif // TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_H
