// Nothing is refused by this pass: loops it cannot raise stay. Malformed loops are refused before it runs.
// RUN: tile-opt %s -tile-raise-loops -split-input-file -verify-diagnostics

func.func @extents(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{has 2 extents but 1 block arguments}}
    tile.parallel [4, 4] {
    ^bb0(%i: i32):
      %v = tile.load %A[%i] : memref<?xf32> -> f32
    }
  }
  return
}
