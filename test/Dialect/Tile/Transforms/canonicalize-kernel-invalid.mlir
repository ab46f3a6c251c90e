// Annotations that contradict each other or the kernel.
// RUN: tile-opt %s -tile-canonicalize-kernel -split-input-file -verify-diagnostics

func.func @two_layouts(%n: i32, %A: memref<64x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    // expected-note @+1 {{the other one is #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>}}
    tile.annotate_layout %a : !tile.buffer<64x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
    // expected-error @+1 {{buffer A_shared has two different layouts: #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 0>}}
    tile.annotate_layout %a : !tile.buffer<64x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 0>
    tile.copy %a[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<64x64xf16>
  }
  return
}

// -----

func.func @threads(%n: i32, %A: memref<64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "x" : !tile.buffer<64xf16, fragment>
    // expected-error @+1 {{the layout of x is over 64 threads, the kernel has 128}}
    tile.annotate_layout %a : !tile.buffer<64xf16, fragment>, #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>
    tile.copy %a[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf16, fragment> to memref<64xf16>
  }
  return
}

// -----

func.func @view(%n: i32, %A: memref<64x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<2x64x64xf16, shared>
    %v = tile.subview %a[%bx, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf16, shared> to !tile.buffer<64x64xf16, shared>
    // expected-error @+1 {{the layout of a view of A_shared cannot be annotated; annotate the buffer itself}}
    tile.annotate_layout %v : !tile.buffer<64x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
    tile.copy %a[%c0, %c0, %c0] [1, 64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<2x64x64xf16, shared> to memref<64x64xf16>
  }
  return
}
