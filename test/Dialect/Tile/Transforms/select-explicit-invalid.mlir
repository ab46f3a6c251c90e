// RUN: tile-opt %s -tile-select-instructions -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %bar = tile.alloc "bar" : !tile.buffer<1x!tile.barrier, shared>
    // expected-error @+1 {{T.alloc_barrier needs sm_90 or newer, the target is sm_80}}
    tile.barrier_init %bar {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90">} {
func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{T.set_max_nreg needs the arch-specific target (sm_90a)}}
    tile.set_max_registers {count = 24 : i64}
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{T.wgmma_gemm has no other way: wgmma truncates f32 operands}}
    tile.gemm_async %a, %a, %c : !tile.buffer<64x64xf32, shared>, !tile.buffer<64x64xf32, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Rows of 60 bytes.
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @f(%n: i32, %A: memref<64x30xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %bar = tile.alloc "bar" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %bar {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    // expected-error @+1 {{T.tma_copy has no other way: the stride of dimension 0}}
    tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %bar[%c0] : !tile.buffer<1x!tile.barrier, shared>
      {choice = #tile.choice<tma, "T.tma_copy asks for it">} : memref<64x30xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

// A cluster of two has no block 2.
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @f(%n: i32, %A: memref<64x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %bar = tile.alloc "bar" : !tile.buffer<1x!tile.barrier, shared>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    // expected-error @+1 {{T.tma_copy has no other way: cluster_mask = 5 names blocks beyond the 2 of the cluster}}
    tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %bar[%c0] : !tile.buffer<1x!tile.barrier, shared>
      {choice = #tile.choice<tma, "T.tma_copy asks for it">, tile.cluster_mask = 5 : i64} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(384) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<user, first = 8, warps = 4>] {
      tile.set_max_registers {count = 40 : i64}
    }
    tile.warp_specialize [#tile.role<user, first = 0, warps = 8>] {
      // expected-error @+1 {{T.set_max_nreg would wait for ever: its warp groups ask for 61440 registers, others keep 5120, and 384 threads have 64512}}
      tile.set_max_registers {count = 240 : i64}
    }
  }
  return
}
}

// -----

// What one block has, two do not; threads of no role keep what they have.
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) attributes {min_blocks_per_sm = 2 : i64} {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // expected-error @+1 {{T.set_max_nreg would wait for ever: its warp groups ask for 30720 registers, others keep 16384, and 256 threads in each of 2 blocks on a multiprocessor have 32768}}
      tile.set_max_registers {count = 240 : i64}
    }
  }
  return
}
}
