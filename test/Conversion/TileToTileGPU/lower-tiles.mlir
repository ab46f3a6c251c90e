// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s
// Tiles from a counter: one thread fetches, the others read shared memory.

module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @block
func.func @block(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    %number = tile.alloc "tile_number" {tile.shared_offset = 64 : i64} : !tile.buffer<1xi32, shared, #tile.shared_layout<order = [0], panel = 1, swizzle = 0>>
    // CHECK-NOT: griddepcontrol
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq
    // CHECK: %[[OLD:.*]] = tile_gpu.global_atomic add %{{.*}}, %arg0[%{{.*}}] if %[[FIRST]] : i32, memref<1xi32> -> i32
    // CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[OLD]], %{{.*}} : i32
    // CHECK: %[[RESET:.*]] = arith.andi
    // CHECK: tile_gpu.global_atomic exchange %{{.*}}, %arg0[%{{.*}}] if %[[RESET]] : i32, memref<1xi32>
    // CHECK: %[[NEXT:.*]] = arith.addi %arg2, %[[OLD]]
    %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
    // CHECK: tile_gpu.shared_store %[[NEXT]]
    // CHECK: tile_gpu.barrier
    // CHECK: %[[READ:.*]] = tile_gpu.shared_load
    // CHECK: tile_gpu.shuffle index %[[READ]]
    %s = tile.share_tile %counter from %f through %number : !tile.buffer<1xi32, shared, #tile.shared_layout<order = [0], panel = 1, swizzle = 0>> : memref<1xi32>
    tile.print "tile"(%s : i32)
  }
  return
}
}

// -----

// The launch in front may still count when this one begins, wherever the program itself waits for it.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @waits
func.func @waits(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    // CHECK: tile_gpu.griddepcontrol_wait
    // CHECK: tile_gpu.global_atomic add
    %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
    tile.print "tile"(%f : i32)
    // CHECK: tile_gpu.griddepcontrol_wait
    tile.dependency_wait
  }
  return
}
}

// -----

// Before sm_90 no launch begins early.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @never_early
func.func @never_early(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    // CHECK-NOT: griddepcontrol
    // CHECK: tile_gpu.global_atomic add
    %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
    tile.print "tile"(%f : i32)
    tile.dependency_wait
  }
  return
}
}

// -----

// A slot of a ring: one lane of the warp reads it.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @slot
func.func @slot(%counter: memref<1xi32>, %workers: i32, %slot: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    %numbers = tile.alloc "tile_numbers" {tile.shared_offset = 64 : i64} : !tile.buffer<2xi32, shared, #tile.shared_layout<order = [0], panel = 2, swizzle = 0>>
    // CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]]
    // CHECK: %[[READ:.*]] = tile_gpu.shared_load %{{.*}} + 64 if %[[FIRST]]
    // CHECK: tile_gpu.shuffle index %[[READ]]
    %s = tile.share_tile %counter through %numbers : !tile.buffer<2xi32, shared, #tile.shared_layout<order = [0], panel = 2, swizzle = 0>> slot %slot : memref<1xi32>
    tile.print "tile"(%s : i32)
  }
  return
}
}
