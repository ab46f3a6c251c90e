// Schedules of the user that cannot be kept.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-plan-pipeline

func.func @length(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{stage and order have 1 entries, but the loop has 2 operations}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0>, order = array<i64: 0>} {
    ^bb0(%k: i32):
      // expected-note @below {{operation 0 is copy}}
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      // expected-note @below {{operation 1 is copy}}
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

func.func @slots(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{stages 0 to 2 need 3 slots, but num_stages is 2}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0, 2>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      // expected-note @below {{operation 0 is copy}}
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      // expected-note @below {{operation 1 is copy}}
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

func.func @twice(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{order gives position 1 to two operations}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0, 1>, order = array<i64: 1, 1>} {
    ^bb0(%k: i32):
      // expected-note @below {{operation 0 is copy}}
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      // expected-note @below {{operation 1 is copy}}
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

func.func @negative(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{stage and order entries are -1 (automatic) or positions from 0, found -2}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: -2, 1>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

func.func @dependence(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_local" : !tile.buffer<64xf32, fragment>
    // expected-error @below {{order puts operation 1 (copy) before operation 0 (copy), on which it depends}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 1, 1>, order = array<i64: 1, 0>} {
    ^bb0(%k: i32):
      // expected-note @below {{operation 0}}
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, fragment>
      // expected-note @below {{operation 1}}
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, fragment> to memref<?xf32>
    }
  }
  return
}

// -----

// A gemm cannot run ahead: the compiler's schedule is used, and said so.
func.func @gemm_ahead(%A: memref<?x32xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<32x32xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<32x32xf32, fragment>
    // expected-warning @below {{stage and order are not used, the compiler's schedule is: gemm (line}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0, 0, 1>, order = array<i64: 0, 1, 2>} {
    ^bb0(%k: i32):
      tile.copy %A[%k, %c0] [32, 32] to %a[%c0, %c0] [32, 32] : memref<?x32xf16> to !tile.buffer<32x32xf16, shared>
      tile.gemm %a, %a, %acc : !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf32, fragment>
      tile.print "step"(%k : i32)
    }
  }
  return
}

// -----

// The scores of the next tile would replace those that are still needed: a second copy is not made.
func.func @scores_overwritten(%K: memref<?x32xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %k = tile.alloc "K_shared" : !tile.buffer<32x32xf16, shared>
    %s = tile.alloc "scores" : !tile.buffer<32x32xf32, fragment>
    %sum = tile.alloc "sum" : !tile.buffer<32xf32, fragment>
    // expected-warning @below {{its order would start gemm}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0, 0, 1>, order = array<i64: 0, 1, 2>} {
    ^bb0(%i: i32):
      tile.copy %K[%i, %c0] [32, 32] to %k[%c0, %c0] [32, 32] : memref<?x32xf16> to !tile.buffer<32x32xf16, shared>
      tile.gemm %k, %k, %s {clear_accum} : !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf32, fragment>
      tile.reduce sum %s, %sum {dim = 1 : i64} : !tile.buffer<32x32xf32, fragment>, !tile.buffer<32xf32, fragment>
    }
  }
  return
}
