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
