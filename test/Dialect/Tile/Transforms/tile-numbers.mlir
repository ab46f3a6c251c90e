// Tiles from a counter: how their numbers come to all threads.
// RUN: tile-opt %s -tile-insert-mbarriers -split-input-file | filecheck %s

// Without roles through scratch memory.
// CHECK-LABEL: @block
// CHECK: %[[NUMBER:.*]] = tile.alloc "tile_number" : <1xi32, shared, #tile.shared_layout<order = [0], panel = 1, swizzle = 0>>
// CHECK: %[[F:.*]] = tile.fetch_tile %arg0 after %{{.*}} of %arg1 by %arg2 : memref<1xi32>
// CHECK: tile.share_tile %arg0 from %[[F]] through %[[NUMBER]] : !tile.buffer<1xi32, shared, {{.*}}> : memref<1xi32>
func.func @block(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    %next = tile.alloc "next_tile" : !tile.buffer<i32, local>
    tile.store %bx, %next[] : i32, !tile.buffer<i32, local>
    scf.while : () -> () {
      %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
      %more = arith.cmpi slt, %t, %tiles : i32
      scf.condition(%more)
    } do {
      %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
      %f = tile.fetch_tile %counter after %t of %tiles by %workers : memref<1xi32>
      tile.print "tile"(%t : i32)
      %s = tile.share_tile %counter from %f : memref<1xi32>
      tile.store %s, %next[] : i32, !tile.buffer<i32, local>
      scf.yield
    }
  }
  return
}

// -----

// The producer fetches and tells the consumers; each has a position of its own in two slots.
// CHECK-LABEL: @roles
// CHECK: %[[NUMBERS:.*]] = tile.alloc "tile_numbers" {tile.slots = 2 : i64} : <2xi32, shared, {{.*}}>
// CHECK: %[[AT:.*]] = tile.alloc "tile_position" : <2xi32, local>
// CHECK: %[[FULL:.*]] = tile.alloc "full_tile" : <2x!tile.barrier, shared>
// CHECK-NEXT: tile.barrier_init %[[FULL]] {arrivals = 1 : i64}
// CHECK: %[[EMPTY:.*]] = tile.alloc "empty_tile" : <2x!tile.barrier, shared>
// CHECK-NEXT: tile.barrier_init %[[EMPTY]] {arrivals = 8 : i64}
// CHECK-NEXT: tile.sync_threads
// CHECK: tile.warp_specialize
// CHECK: tile.store %{{.*}}, %[[AT]]
// CHECK: scf.while
// CHECK: %[[F:.*]] = tile.fetch_tile
// CHECK: tile.print "produce"
// CHECK: %[[SLOT:.*]] = tile.load %[[AT]]
// CHECK: %[[PHASE:.*]] = tile.load %[[AT]]
// CHECK: %[[OTHER:.*]] = arith.xori %[[PHASE]]
// CHECK: tile.barrier_wait %[[EMPTY]][%[[SLOT]]], %[[OTHER]]
// CHECK: tile.share_tile %arg0 from %[[F]] through %[[NUMBERS]] : !tile.buffer<2xi32, shared, {{.*}}> slot %[[SLOT]] : memref<1xi32>
// CHECK: tile.barrier_arrive %[[FULL]][%[[SLOT]]] single
// CHECK: tile.store %{{.*}}, %[[AT]]
// CHECK: tile.store %{{.*}}, %[[AT]]
// CHECK: }, {
// CHECK: tile.store %{{.*}}, %[[AT]]
// CHECK: scf.while
// CHECK-NOT: tile.fetch_tile
// CHECK: tile.print "consume"
// CHECK: %[[SLOT:.*]] = tile.load %[[AT]]
// CHECK: %[[PHASE:.*]] = tile.load %[[AT]]
// CHECK: tile.barrier_wait %[[FULL]][%[[SLOT]]], %[[PHASE]]
// CHECK: tile.share_tile %arg0 through %[[NUMBERS]] : !tile.buffer<2xi32, shared, {{.*}}> slot %[[SLOT]] : memref<1xi32>
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[SLOT]]] warp
func.func @roles(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(256) {
  ^bb0(%bx: i32):
    %next = tile.alloc "next_tile" : !tile.buffer<i32, local>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      tile.store %bx, %next[] : i32, !tile.buffer<i32, local>
      scf.while : () -> () {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %more = arith.cmpi slt, %t, %tiles : i32
        scf.condition(%more)
      } do {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %f = tile.fetch_tile %counter after %t of %tiles by %workers : memref<1xi32>
        tile.print "produce"(%t : i32)
        %s = tile.share_tile %counter from %f : memref<1xi32>
        tile.store %s, %next[] : i32, !tile.buffer<i32, local>
        scf.yield
      }
    }, {
      tile.store %bx, %next[] : i32, !tile.buffer<i32, local>
      scf.while : () -> () {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %more = arith.cmpi slt, %t, %tiles : i32
        scf.condition(%more)
      } do {
        %t = tile.load %next[] : !tile.buffer<i32, local> -> i32
        %f = tile.fetch_tile %counter after %t of %tiles by %workers : memref<1xi32>
        tile.print "consume"(%t : i32)
        %s = tile.share_tile %counter from %f : memref<1xi32>
        tile.store %s, %next[] : i32, !tile.buffer<i32, local>
        scf.yield
      }
    }
  }
  return
}
