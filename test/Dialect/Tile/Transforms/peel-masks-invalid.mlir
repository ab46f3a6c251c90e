// Peeling refuses nothing: masks that it does not understand stay. Malformed loops are refused before it runs.
// RUN: tile-opt %s -tile-peel-masks -split-input-file -verify-diagnostics

func.func @selection(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<32xf32, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // expected-error @+1 {{has 1 extents but 2 block arguments}}
      tile.parallel [32] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %s[%i] : !tile.buffer<32xf32, fragment> -> f32
      }
    }
  }
  return
}
