// RUN: tile-opt %s --tile-to-tile-gpu -split-input-file -verify-diagnostics

func.func @no_layout(%n: f32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "scores" : !tile.buffer<32xf32, fragment>
    // expected-error @+1 {{uses fragment 'scores', which has no layout}}
    tile.fill %f, %n : !tile.buffer<32xf32, fragment>, f32
  }
  return
}

// -----

#l = #tile.fragment_layout<[32], threads = [(32, 0, 1)], registers = [(1, 0, 1)]>
func.func @threads(%n: f32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "scores" : !tile.buffer<32xf32, fragment, #l>
    // expected-error @+1 {{uses fragment 'scores' laid out over 32 threads in a kernel of 128}}
    tile.fill %f, %n : !tile.buffer<32xf32, fragment, #l>, f32
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>
func.func @no_offset(%n: f16) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "A_shared" : !tile.buffer<32x32xf16, shared, #s>
    // expected-error @+1 {{uses shared buffer 'A_shared', which has no tile.shared_offset}}
    tile.fill %f, %n : !tile.buffer<32x32xf16, shared, #s>, f16
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>
func.func @misplaced(%n: f16) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{is at byte 16 of shared memory, but its layout needs a multiple of 512}}
    %f = tile.alloc "A_shared" {tile.shared_offset = 16 : i64} : !tile.buffer<32x32xf16, shared, #s>
    tile.fill %f, %n : !tile.buffer<32x32xf16, shared, #s>, f16
  }
  return
}

// -----

#l = #tile.fragment_layout<[32], threads = [(32, 0, 1), (4, -1, 0)], registers = [(1, 0, 1)]>
func.func @gather(%A: memref<32xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %c31 = arith.constant 31 : i32
    %f = tile.alloc "scores" : !tile.buffer<32xf32, fragment, #l>
    tile.parallel [32] attributes {layout = #l} {
    ^bb1(%i: i32):
      %r = arith.subi %c31, %i : i32
      // expected-error @+1 {{index 0 of fragment 'scores' is neither an index of the parallel loop (plus a constant) nor a constant; go through a shared buffer}}
      %v = tile.load %f[%r] : !tile.buffer<32xf32, fragment, #l> -> f32
      tile.store %v, %A[%i] : f32, memref<32xf32>
    }
  }
  return
}

// -----

func.func @gemm_without_choice() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc : !tile.buffer<32x32xf32, fragment>
    // expected-error @+1 {{has no instruction chosen; run tile-select-instructions}}
    tile.gemm %a, %a, %c : !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf32, fragment>
  }
  return
}

// -----

func.func @pipelined(%n: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{must be a plain loop here; run tile-multibuffer}}
    tile.pipelined %bx to %n stages(2) {
    ^bb1(%k: i32):
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sums = #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @no_transposed_store(%g: i32) {
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%x: i32):
    %c = tile.alloc "c" : !tile.buffer<64x16xf32, fragment, #sums>
    %t = tile.alloc "t" {tile.shared_offset = 0 : i64} : !tile.buffer<16x64xf16, shared, #shared>
    // expected-error@+1 {{is to be done by stmatrix, but does more than store a fragment transposed to shared memory}}
    tile.parallel [64, 16] attributes {layout = #sums, choice = #tile.choice<stmatrix, "">} {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x16xf32, fragment, #sums> -> f32
      %d = arith.addf %v, %v : f32
      %h = arith.truncf %d : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<16x64xf16, shared, #shared>
    }
  }
  return
}
}
