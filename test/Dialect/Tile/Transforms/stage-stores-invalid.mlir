// Whether a store can go by TMA depends on the target.
// RUN: tile-opt %s -verify-diagnostics -tile-stage-stores

func.func @no_target(%n: i32) {
  // expected-error @below {{no target is set: give the module the attribute tile.target}}
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
  }
  return
}
