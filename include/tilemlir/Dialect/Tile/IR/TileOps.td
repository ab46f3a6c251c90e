// Operations of the `tile` dialect.
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEOPS
#define TILEMLIR_DIALECT_TILE_IR_TILEOPS

include "tilemlir/Dialect/Tile/IR/TileAttrs.td"
include "tilemlir/Dialect/Tile/IR/TileTypes.td"

def Tile_BarrierOp : Op<Tile_Dialect, "barrier"> {
  let summary = "waits for all threads of the block";
  let assemblyFormat = "attr-dict";
}

#endif
