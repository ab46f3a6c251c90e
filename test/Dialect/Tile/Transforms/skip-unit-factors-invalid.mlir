// Marking refuses nothing: loops without a layout, and those that do other work, stay. A mark of another type is refused.
// RUN: tile-opt %s -tile-skip-unit-factors -split-input-file -verify-diagnostics

func.func @mark(%n: i32, %f: f32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %s = tile.alloc "s" : !tile.buffer<32xf32, fragment>
    // expected-error @+1 {{attribute 'choice' failed to satisfy constraint}}
    tile.parallel [32] attributes {choice = "vote"} {
    ^bb0(%i: i32):
      %x = tile.load %s[%i] : !tile.buffer<32xf32, fragment> -> f32
      %y = arith.mulf %x, %f : f32
      tile.store %y, %s[%i] : f32, !tile.buffer<32xf32, fragment>
    }
  }
  return
}
