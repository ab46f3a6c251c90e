//===- TileTurnOps.h - warp groups that take turns --------------*- C++ -*-===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_H
#define TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h.inc"

#endif // TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_H
