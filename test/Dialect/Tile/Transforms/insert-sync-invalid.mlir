// The pass needs loops whose order is settled.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-insert-sync

func.func @pipelined(%n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @below {{is not expanded; run tile-multibuffer before tile-insert-sync}}
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
    }
  }
  return
}
