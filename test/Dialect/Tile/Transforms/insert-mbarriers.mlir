// Groups of cp.async: one for each step of a pipeline, one for copies that follow each other.
// RUN: tile-opt %s -split-input-file -tile-insert-mbarriers | FileCheck %s

// CHECK-LABEL: func.func @pipeline
func.func @pipeline(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<3x64xf32, shared>
    %s0 = tile.subview %a[%c0, %c0] [1, 64] : !tile.buffer<3x64xf32, shared> to !tile.buffer<64xf32, shared>
    // Also when nothing was started: the counts must match.
    // CHECK: scf.if
    // CHECK: tile.copy_async
    // CHECK-NEXT: } {tile.pipeline
    // CHECK-NEXT: tile.async_commit
    scf.if %p {
      tile.copy_async %A[%c0] [64] to %s0[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    // CHECK-NEXT: scf.if
    // CHECK: } {tile.pipeline
    // CHECK-NEXT: tile.async_commit
    scf.if %p {
      tile.copy_async %A[%c0] [64] to %s0[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: tile.async_wait {pending = 1 : i64}
    // CHECK: } {tile.pipeline
    // CHECK-NEXT: tile.async_commit
    // CHECK-NEXT: tile.copy
    scf.for %k = %c0 to %n step %one : i32 {
      scf.if %p {
        tile.copy_async %A[%k] [64] to %s0[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
      tile.copy %s0[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    } {tile.pipeline = #tile.pipeline<steady, slots = 3, ahead = 2>}
    // CHECK-NOT: tile.async_wait
  }
  return
}

// -----

// Two copies, one group; waited for before the first use, not before unrelated operations.
// CHECK-LABEL: func.func @together
func.func @together(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    %f = tile.alloc "acc" : !tile.buffer<64xf32, fragment>
    scf.for %k = %c0 to %n step %one : i32 {
      // CHECK: tile.copy_async
      // CHECK-NEXT: tile.copy_async
      // CHECK-NEXT: tile.async_commit
      // CHECK-NEXT: tile.fill
      // CHECK-NEXT: tile.async_wait {pending = 0 : i64}
      // CHECK-NEXT: tile.copy
      tile.copy_async %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy_async %A[%k] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.fill %f, %zero : !tile.buffer<64xf32, fragment>, f32
      tile.copy %b[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A load in front of a pipeline that uses it: covered by the pipeline's first wait, and by one behind it if there are no iterations.
// CHECK-LABEL: func.func @before_pipeline
func.func @before_pipeline(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %q = tile.alloc "Q_shared" : !tile.buffer<64xf32, shared>
    %a = tile.alloc "A_shared" : !tile.buffer<2x64xf32, shared>
    %s0 = tile.subview %a[%c0, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
    // CHECK: tile.copy_async
    // CHECK-NEXT: tile.async_commit
    tile.copy_async %A[%n] [64] to %q[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    // CHECK-NOT: tile.async_wait
    // CHECK: tile.async_commit
    // CHECK-NEXT: scf.for
    scf.if %p {
      tile.copy_async %A[%c0] [64] to %s0[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    // CHECK-NEXT: tile.async_wait {pending = 0 : i64}
    scf.for %k = %c0 to %n step %one : i32 {
      scf.if %p {
        tile.copy_async %A[%k] [64] to %s0[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      tile.copy %s0[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %q[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
    // CHECK: } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
    // CHECK-NEXT: tile.async_wait {pending = 0 : i64}
  }
  return
}

// -----

// Loads ahead that are not asynchronous need no groups.
// CHECK-LABEL: func.func @synchronous
func.func @synchronous(%A: memref<?xf16>, %C: memref<?xf32>, %n: i32, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<2x64xf32, shared>
    %s0 = tile.subview %a[%c0, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
    // CHECK-NOT: tile.async
    scf.if %p {
      tile.copy %A[%c0] [64] to %s0[%c0] [64] : memref<?xf16> to !tile.buffer<64xf32, shared>
    } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    scf.for %k = %c0 to %n step %one : i32 {
      scf.if %p {
        tile.copy %A[%k] [64] to %s0[%c0] [64] : memref<?xf16> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      tile.copy %s0[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
  }
  return
}

// -----

// A ring between roles. Buffers used by different operations have barriers of
// their own; a copy under a condition expects its bytes there, and arrivals
// happen in every iteration.
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
func.func @ring(%A: memref<1024x1024xf16>, %flags: memref<8xi32>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "ring"
  tile.kernel "ring" grid(%c8) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x128x64xf16, shared, #slots>
    %b = tile.alloc "B_shared" {tile.slots = 2 : i64} : <2x32x64xf16, shared, #slots>
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
    // CHECK: %[[FA:.*]] = tile.alloc "full_A_shared" : <2x!tile.barrier, shared>
    // CHECK: tile.barrier_init %[[FA]] {arrivals = 1 : i64}
    // CHECK: %[[EA:.*]] = tile.alloc "empty_A_shared" : <2x!tile.barrier, shared>
    // CHECK: tile.barrier_init %[[EA]] {arrivals = 8 : i64}
    // CHECK: %[[FB:.*]] = tile.alloc "full_B_shared"
    // CHECK: %[[EB:.*]] = tile.alloc "empty_B_shared"
    // CHECK: tile.sync_threads
    // CHECK-NEXT: tile.warp_specialize
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      // CHECK: scf.for
      // CHECK: %[[SLOT:.*]] = tile.load %ring
      // CHECK: %[[PHASE:.*]] = tile.load %ring
      // CHECK: %[[FREE:.*]] = arith.xori %[[PHASE]]
      // CHECK: tile.barrier_wait %[[EA]][%[[SLOT]]], %[[FREE]]
      // CHECK: tile.barrier_arrive %[[FA]][%[[SLOT]]] single {expect = 16384 : i64}
      // CHECK: tile.copy_async %arg0{{.*}} barrier %[[FA]][%[[SLOT]]]
      // CHECK: tile.barrier_wait %[[EB]][%[[SLOT]]]
      // CHECK: scf.if
      // CHECK: tile.barrier_expect_tx %[[FB]][%[[SLOT]]] {bytes = 4096 : i64}
      // CHECK: tile.copy_async {{.*}} barrier %[[FB]][%[[SLOT]]]
      // CHECK: }
      // CHECK: tile.barrier_arrive %[[FB]][%[[SLOT]]] single :
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #slots> to <128x64xf16, shared>
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 32, 64] : <2x32x64xf16, shared, #slots> to <32x64xf16, shared>
        tile.copy %A[%k, %c0] [128, 64] to %va[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        %flag = tile.load %flags[%k] : memref<8xi32> -> i32
        %in = arith.cmpi ne, %flag, %c0 : i32
        scf.if %in {
          tile.copy %A[%k, %c0] [32, 64] to %vb[%c0, %c0] [32, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<32x64xf16, shared>
        }
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }, {
      // CHECK: }, {
      // CHECK: scf.for
      // CHECK: %[[SLOT:.*]] = tile.load %ring
      // CHECK: %[[PHASE:.*]] = tile.load %ring
      // CHECK: tile.barrier_wait %[[FA]][%[[SLOT]]], %[[PHASE]]
      // CHECK-NEXT: %[[V:.*]] = tile.load
      // CHECK-NEXT: tile.barrier_arrive %[[EA]][%[[SLOT]]] warp
      // CHECK: tile.barrier_wait %[[FB]][%[[SLOT]]]
      // CHECK-NEXT: scf.if
      // CHECK: tile.load
      // CHECK: }
      // CHECK-NEXT: tile.barrier_arrive %[[EB]][%[[SLOT]]] warp
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #slots> to <128x64xf16, shared>
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 32, 64] : <2x32x64xf16, shared, #slots> to <32x64xf16, shared>
        %v = tile.load %va[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        %flag = tile.load %flags[%k] : memref<8xi32> -> i32
        %in = arith.cmpi ne, %flag, %c0 : i32
        scf.if %in {
          %w = tile.load %vb[%c0, %c0] : !tile.buffer<32x64xf16, shared> -> f16
          tile.print "w"(%w : f16)
        }
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}

// -----

// A producer of many threads: all of them arrive on every channel, also where
// TMA does all copies, so that none misses a phase of the empty barrier.
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
func.func @many_producers(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "many_producers"
  tile.kernel "many_producers" grid(%c8) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x128x64xf16, shared, #slots>
    %b = tile.alloc "B_shared" {tile.slots = 2 : i64} : <2x32x64xf16, shared, #slots>
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
    // CHECK: tile.barrier_init %full_A_shared {arrivals = 129 : i64}
    // CHECK: tile.barrier_init %full_B_shared {arrivals = 128 : i64}
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #tile.role<consumer, first = 4, warps = 4>] {
      // CHECK: tile.barrier_arrive %full_A_shared[{{.*}}] single {expect = 16384 : i64}
      // CHECK: tile.copy_async {{.*}} barrier %full_A_shared
      // CHECK-NEXT: tile.barrier_arrive %full_A_shared[{{.*}}] thread :
      // CHECK: tile.copy_async %arg0[{{.*}}] [32, 64] to
      // CHECK-NEXT: tile.barrier_arrive %full_B_shared[{{.*}}] thread {cp_async}
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #slots> to <128x64xf16, shared>
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 32, 64] : <2x32x64xf16, shared, #slots> to <32x64xf16, shared>
        tile.copy %A[%k, %c0] [128, 64] to %va[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        tile.copy %A[%k, %c0] [32, 64] to %vb[%c0, %c0] [32, 64] {tile.produce, choice = #tile.choice<cp_async, "">} : memref<1024x1024xf16> to !tile.buffer<32x64xf16, shared>
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }, {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #slots> to <128x64xf16, shared>
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 32, 64] : <2x32x64xf16, shared, #slots> to <32x64xf16, shared>
        %v = tile.load %va[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        %w = tile.load %vb[%c0, %c0] : !tile.buffer<32x64xf16, shared> -> f16
        tile.print "w"(%v, %w : f16, f16)
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}

// -----

// Loads that two blocks of a cluster share: each waits for the consumers of
// both, expects all bytes of its own slot, and does not leave before the other.
#shared_layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
func.func @shared_ring(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "shared_ring"
  tile.kernel "shared_ring" grid(%c8, %c8) threads(128) attributes {cluster = array<i64: 1, 2>} {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x64x64xf16, shared, #shared_layout>
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
    // CHECK: tile.barrier_init %full_A_shared {arrivals = 1 : i64}
    // CHECK: tile.barrier_init %empty_A_shared {arrivals = 8 : i64}
    // CHECK-NEXT: tile.cluster_arrive {relaxed}
    // CHECK-NEXT: tile.cluster_wait
    // CHECK-NEXT: tile.warp_specialize
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared, #shared_layout> to <64x64xf16, shared>
        // CHECK: tile.barrier_arrive %full_A_shared[%{{.*}}] single {expect = 8192 : i64}
        // CHECK-NEXT: tile.copy_async {{.*}}{multicast = array<i64: 1>}
        tile.copy %A[%bx, %c0] [64, 64] to %v[%c0, %c0] [64, 64] {tile.produce, choice = #tile.choice<tma, "", {multicast = array<i64: 1>}>} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
        %next = arith.xori %slot, %c1 : i32
        tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }, {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared, #shared_layout> to <64x64xf16, shared>
        %first = tile.load %v[%c0, %c0] : !tile.buffer<64x64xf16, shared> -> f16
        // CHECK: tile.load %{{.*}} -> f16
        // CHECK-NEXT: tile.barrier_arrive %empty_A_shared[%{{.*}}] warp {tile.reach = [array<i64: 1>]}
        %next = arith.xori %slot, %c1 : i32
        tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
    // CHECK: tile.cluster_arrive {relaxed}
    // CHECK-NEXT: tile.cluster_wait
    // CHECK-NEXT: }
  }
  return
}
