//===- TileTurnOps.td - warp groups that take turns ---------*- tablegen -*-===//
//
// Definitions and C++ classes of their own (TileTurnOps.h): few files use them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tilemlir/Dialect/Tile/IR/TileTypes.td"

def Tile_TakeTurnOp : Tile_Op<"take_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until it is the turn of this warp group";
  let description = [{
    The `groups` warp groups of a role hand a turn around: each takes it, starts
    its matrix products, and passes it on to the next one, so that one group
    computes while another one multiplies. Named barriers `id` to
    `id + groups - 1` stand for the turns of groups 0, 1, .... The first turn is
    that of group 0, which gets it from `tile.pass_turn {begins}`. With `ends`
    only group 0 takes the turn, for the last time, and does not pass it on.
    Between taking and passing, a group must not wait for anything.
    `barrier.cta.sync`.
    ```mlir
    tile.take_turn {groups = 2 : i64, id = 8 : i64}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<15>]>:$id,
    ConfinedAttr<I64Attr, [IntMinValue<2>, IntMaxValue<7>]>:$groups, UnitAttr:$ends);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_PassTurnOp : Tile_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "hand the turn to the next warp group";
  let description = [{
    See `tile.take_turn`. With `begins` only the last group does it: it hands
    the first turn to group 0. `barrier.cta.arrive`.
    ```mlir
    tile.pass_turn {groups = 2 : i64, id = 8 : i64}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<15>]>:$id,
    ConfinedAttr<I64Attr, [IntMinValue<2>, IntMaxValue<7>]>:$groups, UnitAttr:$begins);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILETURNOPS_TD
