// RUN: tile-opt %s --tile-to-tile-gpu --split-input-file --verify-diagnostics

#s = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

func.func @synchronous() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #s>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #c>
    // expected-error @+1 {{uses wgmma, which is asynchronous; run tile-schedule-mma}}
    tile.gemm %a, %a, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf32, fragment, #c>
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

func.func @no_choice() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #s>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #c>
    // expected-error @+1 {{has no wgmma instruction chosen}}
    tile.gemm_async %a, %a, %c : !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf32, fragment, #c>
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 0>
#c = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

func.func @rows() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #s>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #c>
    // expected-error @+1 {{operand 'a' cannot be read by wgmma: rows without a swizzle must be cut in panels of 16 bytes, these have 128}}
    tile.gemm_async %a, %a, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf32, fragment, #c>
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[64, 64], threads = [(16, 1, 4), (8, 0, 1)], registers = [(4, 1, 1), (8, 0, 8)]>

func.func @accumulator() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #s>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #c>
    // expected-error @+1 {{operand 'c' is not laid out as wgmma needs it}}
    tile.gemm_async %a, %a, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf16, shared, #s>, !tile.buffer<64x64xf32, fragment, #c>
  }
  return
}

// -----

#s = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

func.func @unknown_rows(%row: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<128x64xf16, shared, #s>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #c>
    %v = tile.subview %a[%row, %c0] [64, 64] : !tile.buffer<128x64xf16, shared, #s> to !tile.buffer<64x64xf16, shared>
    // expected-error @+1 {{operand 'a' begins at a multiple of 1 elements in dimension 0, which a descriptor of wgmma cannot express}}
    tile.gemm_async %v, %v, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment, #c>
  }
  return
}
