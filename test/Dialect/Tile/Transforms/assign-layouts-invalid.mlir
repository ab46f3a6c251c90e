// What no layout can serve.
// RUN: tile-opt %s -tile-assign-layouts -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @halved_write(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    // expected-note @+1 {{each of its variables has to select the element, or the result has to go to a shared buffer}}
    tile.parallel [64] {
    ^bb0(%i: i32):
      %half = arith.divsi %i, %c2 : i32
      %v = tile.load %f[%i] : !tile.buffer<64xf32, fragment> -> f32
      // expected-error @+1 {{fragment f would be written by threads that do not own the element: index 0 is not a loop variable plus a constant}}
      tile.store %v, %f[%half] : f32, !tile.buffer<64xf32, fragment>
    }
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @same_element(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "f" : !tile.buffer<64x64xf32, fragment>
    %r = tile.alloc "r" : !tile.buffer<64xf32, fragment>
    // expected-note @+1 {{in this loop}}
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %f[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
      // expected-error @+1 {{fragment r would be written by threads that do not own the element: several iterations write the same element}}
      tile.store %v, %r[%i] : f32, !tile.buffer<64xf32, fragment>
    }
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @scalar_write(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    %f = tile.alloc "f" : !tile.buffer<256xf32, fragment>
    // expected-error @+1 {{fragment f is spread over threads; write its elements in T.Parallel, or use a shared buffer}}
    tile.store %one, %f[%bx] : f32, !tile.buffer<256xf32, fragment>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @no_choice(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{gemm: no instruction is chosen; run tile-select-instructions first}}
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @warps(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{gemm: the chosen warps have 128 threads, the kernel has 256}}
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [2, 2, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @pinned(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{the layout of fragment f is over 64 threads, the kernel has 128}}
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @local_reduce(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "f" : !tile.buffer<64xf32, local>
    %r = tile.alloc "r" : !tile.buffer<1xf32, fragment>
    // expected-error @+1 {{reduce: f must be in shared memory or a fragment, not in local storage}}
    tile.reduce sum %f, %r {dim = 0 : i64} : !tile.buffer<64xf32, local>, !tile.buffer<1xf32, fragment>
  }
  return
}
}
