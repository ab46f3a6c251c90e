// RUN: tile-opt %s -tile-schedule-mma -split-input-file -verify-diagnostics
// Choices that do not say what to do.

func.func @no_arguments(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{gemm: the choice of wgmma does not name the instruction [64, n, k] and the warp groups [along M, along N]}}
    tile.gemm %a, %a, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64]}>} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----

func.func @shared_sum(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, shared>
    // expected-error @+1 {{gemm: wgmma accumulates in a fragment, c is in shared storage; run tile-assign-layouts first}}
    tile.gemm %a, %a, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, shared>
  }
  return
}
