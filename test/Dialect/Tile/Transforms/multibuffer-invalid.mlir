// Loops without a schedule, and marks that no schedule gives.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-multibuffer

func.func @unplanned(%A: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{has no schedule; run tile-plan-pipeline before tile-multibuffer}}
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

func.func @too_far(%A: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">} {
    ^bb0(%k: i32):
      // expected-error @below {{runs 2 iterations ahead, but the loop has 2 slots}}
      tile.copy %A[%k] [64] to %a[%c0] [64] {tile.ahead = 2 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

func.func @fragment(%A: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_local" : !tile.buffer<64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">} {
    ^bb0(%k: i32):
      // expected-error @below {{runs ahead, but does not only write shared memory}}
      tile.copy %A[%k] [64] to %a[%c0] [64] {tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, fragment>
    }
  }
  return
}
