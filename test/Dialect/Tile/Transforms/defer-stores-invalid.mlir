// Warps that cannot store what the layout gives them.
// RUN: tile-opt %s -tile-defer-stores -split-input-file -verify-diagnostics

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#copies = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, -1, 0)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8), (4, 0, 16)]>
!staging = !tile.buffer<64x64xf16, shared, #shared>

func.func @replicas(%C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !staging
    // expected-error@below {{copy_async: warps cannot store their parts under tile.warp_layout: several threads hold the same elements}}
    tile.copy_async %s[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #copies} : !staging to memref<?x64xf16>
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 1, 8), (8, 0, 8)]>
!staging = !tile.buffer<64x64xf16, shared, #shared>

func.func @parts_of_panels(%C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !staging
    // expected-error@below {{copy_async: warps cannot store their parts under tile.warp_layout: only part of the panels of 64 elements, in which s lies in shared memory, is copied}}
    tile.copy_async %s[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #columns} : !staging to memref<?x64xf16>
  }
  return
}
