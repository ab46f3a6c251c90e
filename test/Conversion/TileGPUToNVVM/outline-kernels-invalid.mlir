// RUN: tile-opt %s --tile-outline-kernels -verify-diagnostics

func.func @left_over(%A: memref<32xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{cannot be outlined; run tile-to-tile-gpu and tile-gpu-promote-fragments}}
    tile.sync_threads
  }
  return
}
