// Pipelines whose parts do not fit together.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-insert-mbarriers

func.func @no_prologue(%A: memref<?xf32>, %n: i32, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // expected-error @below {{is a pipeline that runs 1 iterations ahead, but has 0 issue parts before it and 1 inside}}
    scf.for %k = %c0 to %n step %one : i32 {
      scf.if %p {
        tile.copy_async %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
  }
  return
}

// -----

func.func @attribute(%p: i1) {
  scf.if %p {
  // expected-error @below {{a pipeline runs 1 to slots - 1 iterations ahead in at least 2 slots, found slots = 2, ahead = 2}}
  } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 2>}
  return
}

// -----

// A ring that the consumers do not walk.
func.func @alone(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  tile.kernel "alone" grid(%c8) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-error@+1 {{is a ring that only one role uses}}
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #tile.role<consumer, first = 4, warps = 4>] {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }, {
      tile.sync_threads
    }
  }
  return
}
