// Copies that TMA was chosen for, but cannot do.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-tile-gpu

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @no_barrier(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // expected-error @below {{is a load by TMA without a barrier; run tile-insert-mbarriers}}
    tile.copy_async %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @half_a_panel(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %b = tile.alloc "b" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // expected-error @below {{cannot be done by TMA: only part of the panels of 64 elements, in which s lies in shared memory, is copied}}
    tile.copy_async %A[%bx, %c0] [64, 32] to %s[%c0, %c0] [64, 32] barrier %b[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
  }
  return
}
}
