// Choices must be well formed to be reported.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-collect-report

func.func @path(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
  // expected-error @below {{expected one of}}
  // expected-error @below {{failed to parse Tile_ChoiceAttr parameter 'path'}}
  } {tile.loop_choice = #tile.choice<teleport, "no such path">}
  return
}
