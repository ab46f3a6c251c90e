// Slots, prologue and loop of pipelines.
// RUN: tile-opt %s -split-input-file -tile-multibuffer | FileCheck %s

// CHECK-LABEL: func.func @gemm
func.func @gemm(%A: memref<?x?xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "gemm" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    // CHECK: %[[A:.*]] = tile.alloc "A_shared" {tile.slots = 3 : i64} : <3x32x32xf16, shared, #tile.shared_layout<order = [2, 1, 0], panel = 32, swizzle = 64>>
    %a = tile.alloc "A_shared" : !tile.buffer<32x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
    %acc = tile.alloc "C_local" : !tile.buffer<32x32xf32, fragment>
    // The first two iterations, each only if there is one.
    // CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %[[TRIPS:.*]], %c0
    // CHECK: scf.if %[[FIRST]] {
    // CHECK: tile.subview %[[A]][%c0_i32, %c0_i32, %c0_i32] [1, 32, 32]
    // CHECK: tile.copy_async
    // CHECK: } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    // CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %[[TRIPS]], %c1
    // CHECK: scf.if %[[SECOND]] {
    // CHECK: tile.subview %[[A]][%c1_i32{{.*}}, %c0_i32, %c0_i32] [1, 32, 32]
    // CHECK: tile.copy_async
    // CHECK: } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    // CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c2
    // CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[SLOT:.*]] = %c0_i32, %[[NEXT:.*]] = %c2{{.*}})
    // CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[K]], %[[LAST]]
    // CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c2
    // CHECK: scf.if %[[MORE]] {
    // CHECK: arith.muli %[[AHEAD]], %c32
    // CHECK: tile.subview %[[A]][%[[NEXT]], %c0_i32, %c0_i32] [1, 32, 32]
    // CHECK: tile.copy_async
    // CHECK: } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    // CHECK-NOT: tile.copy
    // CHECK: %[[NOW:.*]] = tile.subview %[[A]][%[[SLOT]], %c0_i32, %c0_i32] [1, 32, 32]
    // CHECK: tile.gemm %[[NOW]]
    // CHECK: %[[SUM:.*]] = arith.addi %[[SLOT]], %c1
    // CHECK: %[[WRAP:.*]] = arith.cmpi eq, %[[SUM]], %c3
    // CHECK: arith.select %[[WRAP]], %c0_i32, %[[SUM]]
    // CHECK-NOT: rem
    // CHECK: tile.loop_choice = #tile.choice<cp_async, "r">, tile.pipeline = #tile.pipeline<steady, slots = 3, ahead = 2>
    tile.pipelined %c0 to %n stages(3) attributes {choice = #tile.choice<cp_async, "r">, stage = array<i64: 0, 2>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c32 : i32
      tile.copy %A[%c0, %o] [32, 32] to %a[%c0, %c0] [32, 32] {choice = #tile.choice<cp_async, "c">, tile.ahead = 2 : i64} : memref<?x?xf16> to !tile.buffer<32x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
      tile.gemm %a, %a, %acc : !tile.buffer<32x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>, !tile.buffer<32x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>, !tile.buffer<32x32xf32, fragment>
    }
  }
  return
}

// -----

// Behind the loop the tile is that of the last iteration; before it, that of the first slot.
// CHECK-LABEL: func.func @live_out
func.func @live_out(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[A:.*]] = tile.alloc "A_shared" : <2x64xf32, shared>
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: %[[BEFORE:.*]] = tile.subview %[[A]][%c0_i32, %c0_i32]
    // CHECK: tile.fill %[[BEFORE]]
    tile.fill %a, %zero : !tile.buffer<64xf32, shared>, f32
    // CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0_i32, %{{.*}} = %c1{{.*}}, %{{.*}} = %c0_i32)
    // CHECK: scf.yield %{{.*}}, %{{.*}}, %[[SLOT]] : i32, i32, i32
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">, stage = array<i64: 0, 1>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] {tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    // CHECK: %[[AFTER:.*]] = tile.subview %[[A]][%[[LOOP]]#2, %c0_i32]
    // CHECK: tile.copy %[[AFTER]]
    tile.copy %a[%c0] [64] to %C[%n] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// A variable that decides where to load has a copy of its own in the issue part; a condition is evaluated there.
// CHECK-LABEL: func.func @cloned
func.func @cloned(%A: memref<?xf32>, %F: memref<?xi32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK-DAG: %[[P:.*]] = tile.alloc "p" : <i32, local>
    // CHECK-DAG: %[[PA:.*]] = tile.alloc "p_ahead" : <i32, local>
    %p = tile.alloc "p" : !tile.buffer<i32, local>
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    tile.store %c0, %p[] : i32, !tile.buffer<i32, local>
    // CHECK: %[[START:.*]] = tile.load %[[P]][]
    // CHECK: tile.store %[[START]], %[[PA]][]
    // CHECK: scf.for
    // CHECK: scf.if
    // CHECK: tile.load %[[PA]][]
    // CHECK: tile.store %{{.*}}, %[[PA]][]
    // CHECK: scf.if
    // CHECK: tile.copy %arg0
    // CHECK: } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    // CHECK-NOT: %[[PA]]
    // CHECK: tile.store %{{.*}}, %[[P]][]
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">, stage = array<i64: 1, 1, 1>, order = array<i64: 0, 1, 2>} {
    ^bb0(%k: i32):
      %f = tile.load %F[%k] : memref<?xi32> -> i32
      %x = tile.load %p[] : !tile.buffer<i32, local> -> i32
      %y = arith.addi %x, %f : i32
      tile.store %y, %p[] : i32, !tile.buffer<i32, local>
      %set = arith.cmpi ne, %f, %c0 : i32
      scf.if %set {
        tile.copy %A[%y] [64] to %a[%c0] [64] {tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
        tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      }
      %z = tile.load %p[] : !tile.buffer<i32, local> -> i32
      tile.print "p"(%z : i32)
    }
  }
  return
}

// -----

// A variable that only the loads need is gone from the loop.
// CHECK-LABEL: func.func @only_ahead
func.func @only_ahead(%A: memref<?xf32>, %F: memref<?xi32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK-NOT: tile.alloc "p" :
    // CHECK: tile.alloc "p_ahead"
    %p = tile.alloc "p" : !tile.buffer<i32, local>
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">, stage = array<i64: 1, 0, 1>, order = array<i64: 1, 0, 2>} {
    ^bb0(%k: i32):
      %f = tile.load %F[%k] : memref<?xi32> -> i32
      tile.store %f, %p[] : i32, !tile.buffer<i32, local>
      %y = tile.load %p[] : !tile.buffer<i32, local> -> i32
      tile.copy %A[%y] [64] to %a[%c0] [64] {tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A serial loop, and copies that do not run ahead: cp.async outside of pipelines, plain copies inside.
// CHECK-LABEL: func.func @others
func.func @others(%A: memref<?xf32>, %B: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    // CHECK: scf.for
    // CHECK: tile.copy_async
    // CHECK: {tile.loop_choice = #tile.choice<serial, "r">}
    tile.pipelined %c0 to %n stages(0) attributes {choice = #tile.choice<serial, "r">} {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] {choice = #tile.choice<cp_async, "c">} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    // CHECK: scf.for
    // CHECK: tile.copy_async
    // CHECK: tile.copy %{{.*}} {choice = #tile.choice<simt, "does not run ahead, and waiting for cp.async here would wait for the loads of later iterations too">}
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<cp_async, "r">, stage = array<i64: 0, 1, 1, 1>, order = array<i64: 0, 1, 2, 3>} {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] {choice = #tile.choice<cp_async, "c">, tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %B[%k] [64] to %b[%c0] [64] {choice = #tile.choice<cp_async, "c">} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %b[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// Views of a tile become views of its slot.
// CHECK-LABEL: func.func @views
func.func @views(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK: %[[A:.*]] = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x64xf32, shared>
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %v = tile.reshape %a : !tile.buffer<64xf32, shared> to !tile.buffer<8x8xf32, shared>
    // CHECK-NOT: tile.reshape
    // CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0_i32, %[[NEXT:.*]] = %c1
    // CHECK: %[[IN:.*]] = tile.subview %[[A]][%[[NEXT]], %c0_i32] [1, 64]
    // CHECK: tile.copy %{{.*}} to %[[IN]]
    // CHECK: %[[OUT:.*]] = tile.subview %[[A]][%[[SLOT]], %c0_i32] [1, 64]
    // CHECK: %[[VIEW:.*]] = tile.reshape %[[OUT]] : <64xf32, shared> to <8x8xf32, shared>
    // CHECK: tile.copy %[[VIEW]]
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<simt, "r">, stage = array<i64: 0, 1>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] {tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %v[%c0, %c0] [1, 8] to %C[%k] [8] : !tile.buffer<8x8xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A ring: its position outlives the loop around it.
#layout = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
func.func @ring(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "ring"
  tile.kernel "ring" grid(%c8) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK-DAG: %A_shared = tile.alloc "A_shared" {tile.slots = 3 : i64} : <3x128x64xf16, shared, #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>>
    // CHECK-DAG: %ring = tile.alloc "ring" {tile.ring = 3 : i64} : <2xi32, local>
    %a = tile.alloc "A_shared" : <128x64xf16, shared, #layout>
    // CHECK: tile.store %[[ZERO:.*]], %ring[%[[ZERO]]]
    // CHECK: tile.store %[[ZERO]], %ring[%[[ONE:.*]]]
    // CHECK: scf.for
    scf.for %tile = %c0 to %c8 step %c1 : i32 {
      // CHECK: scf.for
      // CHECK: %[[SLOT:.*]] = tile.load %ring[%[[ZERO]]]
      // CHECK: %[[VIEW:.*]] = tile.subview %A_shared[%[[SLOT]],
      // CHECK: tile.copy %arg0{{.*}} to %[[VIEW]]{{.*}}tile.produce
      // CHECK: %[[READ:.*]] = tile.subview %A_shared[%[[SLOT]],
      // CHECK: tile.load %[[READ]]
      // CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[ONE]]
      // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]]
      // CHECK: %[[MOVED:.*]] = arith.select %[[WRAPS]], %[[ZERO]], %[[NEXT]]
      // CHECK: tile.store %[[MOVED]], %ring[%[[ZERO]]]
      // CHECK: %[[PHASE:.*]] = tile.load %ring[%[[ONE]]]
      // CHECK: %[[FLIP:.*]] = arith.extui %[[WRAPS]]
      // CHECK: %[[OTHER:.*]] = arith.xori %[[PHASE]], %[[FLIP]]
      // CHECK: tile.store %[[OTHER]], %ring[%[[ONE]]]
      // CHECK: } {tile.loop_choice = #tile.choice<tma, "a ring">, tile.pipeline = #tile.pipeline<ring, slots = 3, ahead = 0>}
      tile.pipelined %c0 to %c8 stages(3) attributes {choice = #tile.choice<tma, "a ring">} {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared, #layout>
        %v = tile.load %a[%c0, %c0] : !tile.buffer<128x64xf16, shared, #layout> -> f16
        tile.print "v"(%v : f16)
      }
    }
  }
  return
}

// -----

// A ring in a loop without stages and one in the loop of another ring: the copies of the inner loop are not the outer
// one's, whichever of them is expanded first.
func.func @ring_in_a_loop(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "ring_in_a_loop"
  tile.kernel "ring_in_a_loop" grid(%c8) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK-DAG: tile.alloc "first" {tile.slots = 3 : i64} : <3x128x64xf16, shared
    // CHECK-DAG: tile.alloc "outer" {tile.slots = 2 : i64} : <2x128x64xf16, shared
    // CHECK-DAG: tile.alloc "inner" {tile.slots = 4 : i64} : <4x128x64xf16, shared
    %first = tile.alloc "first" : !tile.buffer<128x64xf16, shared>
    %outer = tile.alloc "outer" : !tile.buffer<128x64xf16, shared>
    %inner = tile.alloc "inner" : !tile.buffer<128x64xf16, shared>
    // CHECK: scf.for
    // CHECK: tile.pipeline = #tile.pipeline<ring, slots = 3, ahead = 0>
    // CHECK-NEXT: }
    tile.pipelined %c0 to %c8 stages(0) attributes {choice = #tile.choice<serial, "num_stages = 0">} {
    ^bb0(%i: i32):
      tile.pipelined %c0 to %c8 stages(3) attributes {choice = #tile.choice<tma, "a ring">} {
      ^bb0(%k: i32):
        tile.copy %A[%k, %i] [128, 64] to %first[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        tile.copy %first[%c0, %c0] [128, 64] to %A[%k, %i] [128, 64] : !tile.buffer<128x64xf16, shared> to memref<1024x1024xf16>
      }
    }
    // CHECK: tile.pipeline = #tile.pipeline<ring, slots = 4, ahead = 0>
    // CHECK: tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>
    tile.pipelined %c0 to %c8 stages(2) attributes {choice = #tile.choice<tma, "a ring">} {
    ^bb0(%i: i32):
      tile.copy %A[%c0, %i] [128, 64] to %outer[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
      tile.pipelined %c0 to %c8 stages(4) attributes {choice = #tile.choice<tma, "a ring">} {
      ^bb0(%k: i32):
        tile.copy %A[%k, %i] [128, 64] to %inner[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        tile.copy %inner[%c0, %c0] [128, 64] to %A[%k, %i] [128, 64] : !tile.buffer<128x64xf16, shared> to memref<1024x1024xf16>
      }
      tile.copy %outer[%c0, %c0] [128, 64] to %A[%c0, %i] [128, 64] : !tile.buffer<128x64xf16, shared> to memref<1024x1024xf16>
    }
  }
  return
}

// -----

// Slots of a tile in panels: each one is a block of all its panels, whether a ring or an expanded loop fills it.
#layout = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
func.func @slots_of_panels(%B: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "slots_of_panels"
  tile.kernel "slots_of_panels" grid(%c8) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK-DAG: tile.alloc "B_shared" {tile.slots = 3 : i64} : <3x64x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
    // CHECK-DAG: tile.alloc "ahead" {tile.slots = 2 : i64} : <2x64x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
    %b = tile.alloc "B_shared" : <64x128xf16, shared, #layout>
    %a = tile.alloc "ahead" : <64x128xf16, shared, #layout>
    tile.pipelined %c0 to %c8 stages(3) attributes {choice = #tile.choice<tma, "a ring">} {
    ^bb0(%k: i32):
      tile.copy %B[%k, %c0] [64, 128] to %b[%c0, %c0] [64, 128] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<64x128xf16, shared, #layout>
      %v = tile.load %b[%c0, %c0] : !tile.buffer<64x128xf16, shared, #layout> -> f16
      tile.print "v"(%v : f16)
    }
    tile.pipelined %c0 to %c8 stages(2) attributes {choice = #tile.choice<cp_async, "ahead">} {
    ^bb0(%k: i32):
      tile.copy %B[%k, %c0] [64, 128] to %a[%c0, %c0] [64, 128] {choice = #tile.choice<cp_async, "c">, tile.ahead = 1 : i64} : memref<1024x1024xf16> to !tile.buffer<64x128xf16, shared, #layout>
      %v = tile.load %a[%c0, %c0] : !tile.buffer<64x128xf16, shared, #layout> -> f16
      tile.print "v"(%v : f16)
    }
  }
  return
}

// -----
// The order of a loop counts the operations in it as they were: what a loop in it becomes stays together, in its place.
// CHECK-LABEL: func.func @loop_in_loop
// CHECK: tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>
// CHECK: scf.for
// CHECK: tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>
// CHECK: tile.fill %acc
// CHECK: tile.subview %a[%c0
// CHECK: tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>
// CHECK: tile.subview %a[%c1
// CHECK: tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>
// CHECK: scf.for
// CHECK: tile.pipeline = #tile.pipeline<steady, slots = 3, ahead = 2>
// CHECK: tile.copy %{{.*}} to %held
// CHECK: tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>
// CHECK-NOT: tile.position
func.func @loop_in_loop(%A: memref<?xf32>, %D: memref<?xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !tile.buffer<64xf32, shared>
    %d = tile.alloc "d" : !tile.buffer<64xf32, shared>
    %acc = tile.alloc "acc" : !tile.buffer<64xf32, fragment>
    %held = tile.alloc "held" : !tile.buffer<64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) attributes {choice = #tile.choice<cp_async, "r">, stage = array<i64: 1, 1, 0, 1>, order = array<i64: 1, 2, 0, 3>} {
    ^bb0(%i: i32):
      tile.fill %acc, %zero : !tile.buffer<64xf32, fragment>, f32
      tile.pipelined %c0 to %n stages(3) attributes {choice = #tile.choice<cp_async, "r">, stage = array<i64: 0, 2>, order = array<i64: 0, 1>} {
      ^bb0(%k: i32):
        tile.copy %A[%k] [64] to %a[%c0] [64] {choice = #tile.choice<cp_async, "r">, tile.ahead = 2 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
        tile.parallel [64] {
        ^bb0(%p: i32):
          %x = tile.load %a[%p] : !tile.buffer<64xf32, shared> -> f32
          %y = tile.load %acc[%p] : !tile.buffer<64xf32, fragment> -> f32
          %z = arith.addf %x, %y : f32
          tile.store %z, %acc[%p] : f32, !tile.buffer<64xf32, fragment>
        }
      }
      tile.copy %D[%i] [64] to %d[%c0] [64] {choice = #tile.choice<cp_async, "r">, tile.ahead = 1 : i64} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %d[%c0] [64] to %held[%c0] [64] : !tile.buffer<64xf32, shared> to !tile.buffer<64xf32, fragment>
    }
    tile.print "held"
  }
  return
}

// -----

// A ring around another one has slots for its own copies only. Its slot is that of the whole tile.
#layout = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
func.func @ring_of_a_tile(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  // CHECK-LABEL: tile.kernel "ring_of_a_tile"
  tile.kernel "ring_of_a_tile" grid(%c8) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK-DAG: %q = tile.alloc "q" {tile.slots = 1 : i64} : <1x64x64xf16,
    // CHECK-DAG: %k = tile.alloc "k" {tile.slots = 2 : i64} : <2x64x64xf16,
    %q = tile.alloc "q" : <64x64xf16, shared, #layout>
    %k = tile.alloc "k" : <64x64xf16, shared, #layout>
    scf.for %tile = %c0 to %c8 step %c1 : i32 {
      // CHECK: scf.for
      // CHECK: scf.for
      // CHECK: %[[TILE:.*]] = tile.load %ring
      // CHECK: scf.for
      // CHECK: %[[STEP:.*]] = tile.load %ring
      // CHECK: tile.subview %k[%[[STEP]],
      // CHECK: tile.subview %q[%[[TILE]],
      // CHECK: tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>
      // CHECK: tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>
      tile.pipelined %c0 to %c1 stages(1) attributes {choice = #tile.choice<tma, "a ring">} {
      ^bb0(%once: i32):
        tile.copy %A[%tile, %c0] [64, 64] to %q[%c0, %c0] [64, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared, #layout>
        tile.pipelined %c0 to %c8 stages(2) attributes {choice = #tile.choice<tma, "a ring">} {
        ^bb0(%step: i32):
          tile.copy %A[%step, %c0] [64, 64] to %k[%c0, %c0] [64, 64] {tile.produce, choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared, #layout>
          %u = tile.load %k[%c0, %c0] : !tile.buffer<64x64xf16, shared, #layout> -> f16
          %v = tile.load %q[%c0, %c0] : !tile.buffer<64x64xf16, shared, #layout> -> f16
          tile.print "both"(%u, %v : f16, f16)
        }
      }
    }
  }
  return
}

// -----

// One iteration, in which nothing is loaded ahead, is no loop.
func.func @once(%A: memref<64x64xf16>) {
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  // CHECK-LABEL: tile.kernel "once"
  // CHECK-NOT: scf.for
  // CHECK: tile.print "i"(%c3_i32 : i32)
  // CHECK-NOT: scf.for
  // CHECK: return
  tile.kernel "once" grid(%c4) threads(128) {
  ^bb0(%bx: i32):
    tile.pipelined %c3 to %c4 stages(2) attributes {choice = #tile.choice<serial, "one iteration">} {
    ^bb0(%i: i32):
      tile.print "i"(%i : i32)
    }
  }
  return
}

// -----

#fragment = #tile.fragment_layout<[4, 32], threads = [(32, 1, 1), (4, 0, 1)], registers = []>

// A loop that runs once is dissolved: what it does stays together, in its place
// in the order of the loop around it.
// CHECK-LABEL: @one_iteration_inside
// CHECK: scf.for
// CHECK-NEXT: tile.copy %arg0
// CHECK-NEXT: tile.copy %f{{.*}} to %arg1
// CHECK-NEXT: tile.copy %arg2
// CHECK-NEXT: tile.copy %f{{.*}} to %arg3
// CHECK-NEXT: }
func.func @one_iteration_inside(%A: memref<4x32xi32>, %B: memref<4x32xi32>, %C: memref<4x32xi32>, %D: memref<4x32xi32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.alloc "f" : !tile.buffer<4x32xi32, fragment, #fragment>
    tile.pipelined %c0 to %c2 stages(1) attributes {choice = #tile.choice<serial, "one slot", {slots = 1 : i64}>, order = array<i64: 0, 1>, stage = array<i64: 0, 0>} {
    ^bb0(%k: i32):
      tile.pipelined %c0 to %c1 stages(1) attributes {choice = #tile.choice<serial, "one iteration", {slots = 1 : i64}>, order = array<i64: 0, 1, 2>, stage = array<i64: 0, 0, 0>} {
      ^bb0(%j: i32):
        tile.copy %A[%c0, %c0] [4, 32] to %f[%c0, %c0] [4, 32] : memref<4x32xi32> to !tile.buffer<4x32xi32, fragment, #fragment>
        tile.copy %f[%c0, %c0] [4, 32] to %B[%c0, %c0] [4, 32] : !tile.buffer<4x32xi32, fragment, #fragment> to memref<4x32xi32>
        tile.copy %C[%c0, %c0] [4, 32] to %f[%c0, %c0] [4, 32] : memref<4x32xi32> to !tile.buffer<4x32xi32, fragment, #fragment>
      }
      tile.copy %f[%c0, %c0] [4, 32] to %D[%c0, %c0] [4, 32] : !tile.buffer<4x32xi32, fragment, #fragment> to memref<4x32xi32>
    }
  }
  return
}
