// Two warp groups take turns on the tiles of a block.
// RUN: tile-opt %s --tile-ping-pong | FileCheck %s

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// CHECK-LABEL: func.func @turns
// The position in the ring is common: it is a variable of each thread.
// CHECK: tile.alloc "ring"
// Each group has a staging buffer, the ring's buffer is shared.
// CHECK: tile.alloc "tile"
// CHECK-NEXT: tile.alloc "staging"
// CHECK-NEXT: tile.alloc "staging"
// CHECK: %[[TURN:.*]] = tile.alloc "turn"
// CHECK: %[[TURNS:.*]] = tile.alloc "turns" : <2x!tile.barrier, shared>
// CHECK: tile.barrier_init %[[TURNS]] {arrivals = 4 : i64}
// CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>,
// CHECK-SAME: #tile.role<consumer, first = 4, warps = 4, registers = 240>, #tile.role<consumer, first = 8, warps = 4, registers = 240>]
// The producer is as before.
// CHECK: scf.for
// CHECK-NOT: barrier_wait
// CHECK: }, {
// The first group.
// CHECK: tile.store %[[C0:.*]], %[[TURN]]
// CHECK: tile.store %[[C1:.*]], %[[PARITY:.*]][
// CHECK: scf.for
// CHECK: %[[WHOSE:.*]] = tile.load %[[TURN]]
// CHECK: %[[MINE:.*]] = arith.cmpi eq, %[[WHOSE]], %[[C0]]
// CHECK: %[[NEXT:.*]] = arith.xori %[[WHOSE]], %[[C1]]
// CHECK: tile.store %[[NEXT]], %[[TURN]]
// CHECK: scf.if %[[MINE]] {
// CHECK: tile.barrier_wait %[[TURNS]][%[[C0]]]
// CHECK: scf.for
// CHECK: tile.copy
// CHECK: tile.pipeline = #tile.pipeline<ring
// CHECK-NEXT: tile.barrier_arrive %[[TURNS]][%[[C1]]] {{ *}}warp {tile.hand_over}
// CHECK: tile.copy %{{.*}} to %[[STAGING:[a-z0-9_]+]]
// CHECK: } else {
// What is left of a tile of the other group: the position.
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.copy
// CHECK-NOT: tile.pipeline
// CHECK: tile.turn
// CHECK: tile.ping_pong
// CHECK: }, {
// The second group: its first turn comes when the first one is done.
// CHECK: tile.store %[[C0]], %[[TURN]]
// CHECK: tile.store %[[C0]],
// CHECK: tile.barrier_wait %[[TURNS]][%[[C1]]]
// CHECK: tile.barrier_arrive %[[TURNS]][%[[C0]]] {{ *}}warp {tile.hand_over}
func.func @turns(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}
