// RUN: tile-opt %s --tile-outline-kernels -split-input-file -verify-diagnostics

func.func @left_over(%A: memref<32xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{cannot be outlined; run tile-to-tile-gpu and tile-gpu-promote-fragments}}
    tile.sync_threads
  }
  return
}

// -----

func.func @descriptor_of_a_workspace() {
  %g = arith.constant 1 : i32
  %w = tile.workspace() : memref<64xf32>
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{needs an argument of the function around the kernel; other tensors have no descriptors}}
    %m = tile_gpu.tensor_map %w <dims = [dim(0, 0) : 1], box = [64]> : memref<64xf32> -> !tile_gpu.tensor_map<64xf32>
    tile_gpu.tma_prefetch_map %m : !tile_gpu.tensor_map<64xf32>
  }
  return
}
