// Arrivals that cannot reach other blocks.
// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @one_thread() {
    %c8 = arith.constant 8 : i32
    tile.kernel "one_thread" grid(%c8) threads(128) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %empty = tile.alloc "empty" {tile.shared_offset = 0 : i64} : !tile.buffer<1x!tile.barrier, shared>
      // expected-error@below {{reaches other blocks of the cluster, which whole warps do}}
      tile.barrier_arrive %empty[%c0] thread {tile.reach = [array<i64: 0>]} : !tile.buffer<1x!tile.barrier, shared>
    }
    return
  }
}
