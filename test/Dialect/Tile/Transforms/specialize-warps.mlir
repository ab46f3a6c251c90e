// Producer and consumer regions of kernels with copies of a producer role.
// RUN: tile-opt %s --split-input-file --tile-specialize-warps | filecheck %s

#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @ring(%A: memref<1024x1024xf16>, %C: memref<1024xf32>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "ring"
    tile.kernel "ring" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c64 = arith.constant 64 : i32
      %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x128x64xf16, shared, #layout>
      %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%c1] : i32, !tile.buffer<2xi32, local>
      %row = arith.muli %bx, %c64 : i32
      // Pure values, constants and allocations stay common.
      // CHECK: %[[ROW:.*]] = arith.muli %bx
      // CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      // The producer: the ring, the loop and the copy.
      // CHECK-NEXT: tile.store %{{.*}}, %ring
      // CHECK: scf.for
      // CHECK: %[[SLOT:.*]] = tile.load %ring
      // CHECK: tile.subview %A_shared[%[[SLOT]]
      // CHECK: tile.copy %arg0[%[[ROW]], %{{.*}}] [128, 64] {{.*}}tile.produce
      // CHECK-NOT: tile.print
      // CHECK: }, {
      // The consumers: everything but the copy.
      // CHECK-NEXT: tile.store %{{.*}}, %ring
      // CHECK: scf.for
      // CHECK-NOT: tile.copy
      // CHECK: tile.print "first"
      // CHECK: tile.sync_threads
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %column = arith.muli %k, %c64 : i32
        %view = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #layout> to <128x64xf16, shared>
        tile.copy %A[%row, %column] [128, 64] to %view[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        %first = tile.load %view[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        tile.print "first"(%first : f16)
        %next = arith.xori %slot, %c1 : i32
        tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      tile.sync_threads
    }
    return
  }
}

// -----

// Threads count from the first one of their role: their number belongs to the role, with what depends on it.
#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @thread_of_role(%A: memref<1024x1024xf16>, %C: memref<1024xi32>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "thread_of_role"
    tile.kernel "thread_of_role" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x128x64xf16, shared, #layout>
      %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
      // CHECK-NOT: tile.thread_id
      // CHECK: tile.warp_specialize
      // CHECK-NOT: tile.thread_id
      // CHECK: tile.produce
      // CHECK: }, {
      // CHECK: %[[T:.*]] = tile.thread_id 0
      // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[T]]
      // CHECK: scf.if %[[FIRST]]
      %t = tile.thread_id 0 : i32
      %first = arith.cmpi eq, %t, %c0 : i32
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %view = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #layout> to <128x64xf16, shared>
        tile.copy %A[%bx, %k] [128, 64] to %view[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      scf.if %first {
        tile.store %bx, %C[%bx] : i32, memref<1024xi32>
      }
    }
    return
  }
}

// -----

// A condition and its inputs go with the copy; cp.async needs all threads of
// the producer.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @conditional(%A: memref<1024x1024xf16>, %flags: memref<8xi32>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "conditional"
    tile.kernel "conditional" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %a = tile.alloc "A_shared" {tile.slots = 1 : i64} : <1x128x64xf16, shared>
      %limit = tile.load %flags[%bx] : memref<8xi32> -> i32
      %double = arith.addi %limit, %limit : i32
      // CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #tile.role<consumer, first = 4, warps = 4>] {
      // CHECK-NEXT: %[[LIMIT:.*]] = tile.load %arg1
      // CHECK-NEXT: %[[DOUBLE:.*]] = arith.addi %[[LIMIT]], %[[LIMIT]]
      // CHECK-NEXT: scf.for %[[K:.*]] =
      // CHECK: %[[IN:.*]] = arith.cmpi slt, %[[K]], %[[DOUBLE]]
      // CHECK: scf.if %[[IN]] {
      // CHECK: tile.copy %arg0
      // CHECK: }, {
      // CHECK: tile.load %arg1
      // CHECK: tile.print
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %in = arith.cmpi slt, %k, %double : i32
        %view = tile.subview %a[%c0, %c0, %c0] [1, 128, 64] : <1x128x64xf16, shared> to <128x64xf16, shared>
        scf.if %in {
          tile.copy %A[%k, %c0] [128, 64] to %view[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<cp_async, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
          tile.print "k"(%k : i32)
        }
      } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
    }
    return
  }
}

// -----

// Kernels without such copies stay as they are.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @plain() {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "plain"
    // CHECK-NOT: tile.warp_specialize
    tile.kernel "plain" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      tile.sync_threads
    }
    return
  }
}

// -----

// Tiles from a counter: both roles run the loop over them; who fetches is decided with the barriers.
#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @tiles(%A: memref<1024x1024xf16>, %counter: memref<1xi32>, %tiles: i32, %workers: i32) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "tiles"
    tile.kernel "tiles" grid(%workers) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c64 = arith.constant 64 : i32
      %a = tile.alloc "A_shared" {tile.slots = 2 : i64} : <2x128x64xf16, shared, #layout>
      %ring = tile.alloc "ring" {tile.ring = 2 : i64} : <2xi32, local>
      %next = tile.alloc "next_tile" : !tile.buffer<i32, local>
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%c1] : i32, !tile.buffer<2xi32, local>
      tile.store %bx, %next[] : i32, !tile.buffer<i32, local>
      // CHECK: tile.warp_specialize
      // CHECK: tile.store %bx, %next_tile
      // CHECK: scf.while
      // CHECK: arith.cmpi slt
      // CHECK: scf.condition
      // CHECK: tile.fetch_tile
      // CHECK: tile.copy
      // CHECK-NOT: tile.print
      // CHECK: %[[NEXT:.*]] = tile.share_tile
      // CHECK: tile.store %[[NEXT]], %next_tile
      // CHECK: }, {
      // CHECK: scf.while
      // CHECK: tile.fetch_tile
      // CHECK-NOT: tile.copy
      // CHECK: tile.print "first"
      // CHECK: tile.share_tile
      scf.while : () -> () {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %more = arith.cmpi slt, %t, %tiles : i32
        scf.condition(%more)
      } do {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %f = tile.fetch_tile %counter after %t of %tiles by %workers : memref<1xi32>
        %row = arith.muli %t, %c64 : i32
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %column = arith.muli %k, %c64 : i32
          %view = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #layout> to <128x64xf16, shared>
          tile.copy %A[%row, %column] [128, 64] to %view[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
          %first = tile.load %view[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
          tile.print "first"(%first : f16)
          %flipped = arith.xori %slot, %c1 : i32
          tile.store %flipped, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        %s = tile.share_tile %counter from %f : memref<1xi32>
        tile.store %s, %next[] : i32, !tile.buffer<i32, local>
        scf.yield
      }
    }
    return
  }
}

// -----

// What the producer loads may come from launches in front: it waits for them, as the consumers do.
#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @waits(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "waits"
    tile.kernel "waits" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.warp_specialize
      // CHECK-NEXT: tile.dependency_wait
      // CHECK-NEXT: tile.copy
      // CHECK-NEXT: tile.dependency_wait
      // CHECK-NEXT: }, {
      // CHECK-NEXT: tile.dependency_wait
      // CHECK-NEXT: tile.load
      // CHECK: tile.dependency_wait
      tile.dependency_wait
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
      %first = tile.load %a[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
      tile.print "first"(%first : f16)
      tile.dependency_wait
    }
    return
  }
}

// -----

// Registers of the roles are moved from those that each thread of so many blocks has at launch: 80 of three warp groups
// in each of two blocks, 64 of four.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @blocks(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "two_groups"
    tile.kernel "two_groups" grid(%c8) threads(256) attributes {min_blocks_per_sm = 2 : i64} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 104>]
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    // CHECK-LABEL: tile.kernel "three_groups"
    tile.kernel "three_groups" grid(%c8) threads(384) attributes {min_blocks_per_sm = 2 : i64} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 12, registers = 72>]
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    // What the producer is said to keep the consumers do not get.
    // CHECK-LABEL: tile.kernel "kept"
    tile.kernel "kept" grid(%c8) threads(256) attributes {tile.role_registers = array<i64: 40, -1>} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 40, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 232>]
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}
