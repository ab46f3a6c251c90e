// Marking bounds refuses nothing; a mark of another type is refused by the operation.
// RUN: tile-opt %s -tile-analyze-bounds -split-input-file -verify-diagnostics

func.func @wrong_mark(%A: memref<64xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{attribute 'bounds' failed to satisfy constraint}}
    %v = tile.load %A[%bx] {bounds = 1 : i32} : memref<64xf32> -> f32
  }
  return
}
