// RUN: tile-opt %s -tile-select-instructions -split-input-file -verify-diagnostics
// Kernels for which no instruction can be chosen.

module {
func.func @no_target(%n: i32) {
  // expected-error @+1 {{no target is set}}
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"cpu">} {
func.func @cpu(%n: i32) {
  // expected-error @+1 {{instructions are selected for a GPU, but the target is cpu}}
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @local_operand(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "A_local" : !tile.buffer<64x32xf16, local>
    %b = tile.alloc "B_shared" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{gemm: A (A_local) is in local storage, an operand must be in shared memory or a fragment}}
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, local>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @tensor_memory(%A: memref<64x32xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf32, tmem>
    // expected-error @+1 {{copy: tensor memory is not supported on sm_80}}
    tile.copy %A[%c0, %c0] [64, 32] to %a[%c0, %c0] [64, 32] : memref<64x32xf32> to !tile.buffer<64x32xf32, tmem>
  }
  return
}
}
