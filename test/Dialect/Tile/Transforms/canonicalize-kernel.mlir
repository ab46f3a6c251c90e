// Traced kernels in normal form.
// RUN: tile-opt %s -tile-canonicalize-kernel -split-input-file | filecheck %s

// Allocations move to the top; annotations go into their types; constants are folded.
// CHECK-LABEL: func.func @allocations
func.func @allocations(%n: i32, %A: memref<?x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  // CHECK: ^bb0(%bx: i32):
  ^bb0(%bx: i32):
    // CHECK-NEXT: %a = tile.alloc "a" : <64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // CHECK-NOT: tile.annotate_layout
    // CHECK: tile.pipelined
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c63 = arith.constant 63 : i32
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
      tile.annotate_layout %a : !tile.buffer<64x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
      // The same annotation again is no conflict.
      tile.annotate_layout %a : !tile.buffer<64x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
      %c64 = arith.addi %c63, %c1 : i32
      // CHECK: %[[Y:.*]] = arith.muli %k, %c64_i32
      %y = arith.muli %k, %c64 : i32
      // CHECK: tile.copy %{{.*}}[%[[Y]], %c0_i32] [64, 64] to %a
      tile.copy %A[%y, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.copy %a[%c0, %c0] [64, 64] to %A[%y, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
    }
  }
  return
}

// -----

// Buffers that nothing reads go, with what fills them; so do loops without iterations. The kernel stays, though it has
// no effect any more: it is a launch.
// CHECK-LABEL: func.func @dead
// CHECK: tile.kernel "k"
func.func @dead(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // CHECK-NOT: tile.alloc
    // CHECK-NOT: tile.fill
    // CHECK-NOT: tile.copy
    // CHECK-NOT: tile.parallel
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %a = tile.alloc "a" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<64xf32, fragment>
    tile.fill %b, %one : !tile.buffer<64xf32, fragment>, f32
    tile.copy %b[%c0] [64] to %a[%c0] [64] : !tile.buffer<64xf32, fragment> to !tile.buffer<64xf32, shared>
    tile.parallel [%c0] {
    ^bb0(%i: i32):
      tile.store %one, %A[%i] : f32, memref<?xf32>
    }
  }
  return
}

// -----

// A dynamic extent becomes chunks with a guard.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[N:[a-z0-9]*]]: i32
func.func @dynamic(%n: i32, %A: memref<?x8xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    // 64 x 8 iterations are four for each of the 128 threads.
    // CHECK: scf.for %[[START:.*]] = %c0_i32 to %[[N]] step %c64_i32
    // CHECK: tile.parallel [64, 8] {
    // CHECK-NEXT: ^bb0(%i: i32, %j: i32):
    // CHECK-NEXT: %[[AT:.*]] = arith.addi %[[START]], %i
    // CHECK-NEXT: %[[INSIDE:.*]] = arith.cmpi slt, %[[AT]], %[[N]]
    // CHECK-NEXT: scf.if %[[INSIDE]] {
    // CHECK-NEXT: tile.store %{{.*}}, %{{.*}}[%[[AT]], %j]
    tile.parallel [%n, 8] {
    ^bb0(%i: i32, %j: i32):
      tile.store %one, %A[%i, %j] : f32, memref<?x8xf32>
    }
  }
  return
}

// -----

// Where the dimension indexes a fragment, the loop is as long as that.
// CHECK-LABEL: func.func @dynamic_fragment
// CHECK-SAME: %[[N:[a-z0-9]*]]: i32
func.func @dynamic_fragment(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<100xf32, fragment>
    tile.copy %A[%c0] [100] to %f[%c0] [100] : memref<?xf32> to !tile.buffer<100xf32, fragment>
    // CHECK-NOT: scf.for
    // CHECK: tile.parallel [100] {
    // CHECK-NEXT: ^bb0(%i: i32):
    // CHECK-NEXT: %[[INSIDE:.*]] = arith.cmpi slt, %i, %[[N]]
    // CHECK-NEXT: scf.if %[[INSIDE]] {
    tile.parallel [%n] {
    ^bb0(%i: i32):
      %v = tile.load %f[%i] : !tile.buffer<100xf32, fragment> -> f32
      tile.store %v, %A[%i] : f32, memref<?xf32>
    }
  }
  return
}

// -----

// A dynamic extent that is a constant is none.
// CHECK-LABEL: func.func @constant_extent
func.func @constant_extent(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c16 = arith.constant 16 : i32
    %one = arith.constant 1.0 : f32
    // CHECK: tile.parallel [16] {
    // CHECK-NOT: scf.if
    tile.parallel [%c16] {
    ^bb0(%i: i32):
      tile.store %one, %A[%i] : f32, memref<?xf32>
    }
  }
  return
}

// -----

// Loops that select elements of a fragment are unrolled, with the values they carry; others stay.
// CHECK-LABEL: func.func @unroll
func.func @unroll(%n: i32, %A: memref<?x?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c6 = arith.constant 6 : i32
    %zero = arith.constant 0.0 : f32
    %f = tile.alloc "f" : !tile.buffer<64x6xf32, fragment>
    tile.copy %A[%c0, %c0] [64, 6] to %f[%c0, %c0] [64, 6] : memref<?x?xf32> to !tile.buffer<64x6xf32, fragment>
    // CHECK: tile.parallel [64]
    tile.parallel [64] {
    ^bb0(%i: i32):
      // CHECK-NOT: scf.for
      // CHECK: %[[A:.*]] = tile.load %f[%i, %c0_i32]
      // CHECK: %[[B:.*]] = tile.load %f[%i, %c2_i32]
      // CHECK: %[[AB:.*]] = arith.addf %{{.*}}, %[[B]]
      // CHECK: %[[C:.*]] = tile.load %f[%i, %c4_i32]
      // CHECK: %[[ABC:.*]] = arith.addf %[[AB]], %[[C]]
      // CHECK: tile.store %[[ABC]]
      %sum = scf.for %k = %c0 to %c6 step %c2 iter_args(%s = %zero) -> f32 : i32 {
        %v = tile.load %f[%i, %k] : !tile.buffer<64x6xf32, fragment> -> f32
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      tile.store %sum, %A[%i, %c0] : f32, memref<?x?xf32>
    }
    // CHECK: scf.for
    scf.for %k = %c0 to %c6 step %c1 : i32 {
      tile.store %zero, %A[%k, %c0] : f32, memref<?x?xf32>
    }
  }
  return
}

// -----

// Views that depend on the iteration become indices; the change of the element type moves in front of the loop.
// CHECK-LABEL: func.func @parallel_views
// CHECK: %[[TILE:.*]] = tile.alloc "tile" : <16x32xf32, shared>
// CHECK: %[[WORDS:.*]] = tile.bitcast %[[TILE]] : <16x32xf32, shared> to <16x64xui16, shared>
// CHECK: tile.parallel [16, 8]
// CHECK: ^bb0(%[[I:.*]]: i32, %[[J:.*]]: i32):
// CHECK-NOT: tile.subview
// CHECK: %[[AT:.*]] = arith.addi %[[J]], %c16_i32
// CHECK: tile.load %[[WORDS]][%[[I]], %[[AT]]]
// CHECK: arith.divui %[[J]], %c4_i32
// CHECK: arith.remui %[[J]], %c4_i32
// CHECK-NOT: tile.reshape
// CHECK: tile.load %[[TILE]][%[[I]], %{{.*}}] : !tile.buffer<16x32xf32, shared> -> f32
func.func @parallel_views(%A: memref<16x32xf32>, %B: memref<16x8xui16>, %C: memref<16x8xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %tile = tile.alloc "tile" : !tile.buffer<16x32xf32, shared>
    tile.copy %A[%c0, %c0] [16, 32] to %tile[%c0, %c0] [16, 32] : memref<16x32xf32> to !tile.buffer<16x32xf32, shared>
    tile.parallel [16, 8] {
    ^bb0(%i: i32, %j: i32):
      %part = tile.subview %tile[%i, %c8] [1, 4] : !tile.buffer<16x32xf32, shared> to !tile.buffer<4xf32, shared>
      %words = tile.bitcast %part : !tile.buffer<4xf32, shared> to !tile.buffer<8xui16, shared>
      %x = tile.load %words[%j] : !tile.buffer<8xui16, shared> -> i16
      tile.store %x, %B[%i, %j] : i16, memref<16x8xui16>
      %row = tile.subview %tile[%i, %c0] [1, 32] : !tile.buffer<16x32xf32, shared> to !tile.buffer<32xf32, shared>
      %square = tile.reshape %row : !tile.buffer<32xf32, shared> to !tile.buffer<8x4xf32, shared>
      %q = arith.divui %j, %c4 : i32
      %r = arith.remui %j, %c4 : i32
      %y = tile.load %square[%q, %r] : !tile.buffer<8x4xf32, shared> -> f32
      tile.store %y, %C[%i, %j] : f32, memref<16x8xf32>
    }
  }
  return
}

// -----

// A wait for all but the last product names no fragment, and stays.
// CHECK-LABEL: func.func @pending_product
func.func @pending_product(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    // CHECK: tile.gemm_async
    // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
    // CHECK-NEXT: tile.sync_threads
    tile.gemm_async %a, %a, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.mma_wait {pending = 1 : i64}
    tile.sync_threads
    tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<64x64xf32, fragment>
  }
  return
}
