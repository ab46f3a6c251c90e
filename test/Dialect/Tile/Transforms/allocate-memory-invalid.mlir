// Kernels that need more shared memory than there is.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-allocate-memory

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @too_much(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  // expected-error @below {{kernel 'k' needs 262144 bytes of shared memory, but a block on sm_80 has 166912}}
  // expected-note @below {{buffers that are not needed at the same time already share memory; use smaller tiles or fewer stages}}
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-note @below {{'A_shared': 131072 bytes (4 stages of 8192 f32)}}
    %s = tile.alloc "A_shared" {tile.slots = 4 : i64} : !tile.buffer<4x8192xf32, shared>
    // expected-note @below {{'T_shared': 131072 bytes (256x128 f32)}}
    %t = tile.alloc "T_shared" : !tile.buffer<256x128xf32, shared>
    tile.copy %A[%c0] [8192] to %s[%c0, %c0] [1, 8192] : memref<?xf32> to !tile.buffer<4x8192xf32, shared>
    tile.copy %A[%c0] [128] to %t[%c0, %c0] [1, 128] : memref<?xf32> to !tile.buffer<256x128xf32, shared>
    tile.copy %s[%c0, %c0] [1, 8192] to %C[%c0] [8192] : !tile.buffer<4x8192xf32, shared> to memref<?xf32>
    tile.copy %t[%c0, %c0] [1, 128] to %C[%c0] [128] : !tile.buffer<256x128xf32, shared> to memref<?xf32>
  }
  return
}
}

// -----

module attributes {tile.options = #tile.options<{shared_limit = 100 : i64, disable_shared_reuse = true}>} {
func.func @option(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  // expected-error @below {{kernel 'k' needs 256 bytes of shared memory, but option shared_limit has 100}}
  // expected-note @below {{use smaller tiles or fewer stages}}
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-note @below {{'A_shared': 256 bytes (64 f32)}}
    %s = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
  }
  return
}
}
