// Conversions and reductions need layouts.
// RUN: tile-opt %s -tile-optimize-conversions -split-input-file -verify-diagnostics

func.func @convert(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64xf32, fragment>
    %b = tile.alloc "b" : !tile.buffer<64xf32, fragment>
    // expected-error @+1 {{convert: the fragment has no layout yet}}
    tile.convert %a, %b : !tile.buffer<64xf32, fragment>, !tile.buffer<64xf32, fragment>
    tile.copy %b[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment> to memref<64xf32>
  }
  return
}

// -----

func.func @reduce(%n: i32) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64xf32, fragment>
    %b = tile.alloc "b" : !tile.buffer<1xf32, fragment>
    // expected-error @+1 {{reduce: the fragment has no layout yet}}
    tile.reduce sum %a, %b {dim = 0 : i64} : !tile.buffer<64xf32, fragment>, !tile.buffer<1xf32, fragment>
  }
  return
}

// -----

func.func @threads(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>>
    %b = tile.alloc "b" : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>>
    // expected-error @+1 {{convert: }}
    tile.convert %a, %b : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>>, !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>>
    tile.copy %b[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>> to memref<64xf32>
  }
  return
}
