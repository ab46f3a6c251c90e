// RUN: tile-opt %s --tile-to-tile-gpu --split-input-file | filecheck %s
// The barrier in front of roles. A producer that has itself initialised the mbarriers does not wait there.

module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @early_producer
// CHECK-COUNT-4: tile_gpu.mbarrier_init
// CHECK-NEXT: tile_gpu.mbarrier_init_fence
// CHECK-NOT: tile_gpu.barrier
// CHECK: scf.if
// CHECK: tile_gpu.named_barrier_sync %{{.*}}, 384
// CHECK: scf.if
// CHECK: tile_gpu.named_barrier_arrive %{{.*}}, 384
// CHECK-NEXT: tile_gpu.set_max_registers decrease 24
// CHECK: tile_gpu.elect
// CHECK: tile_gpu.mbarrier_wait
// CHECK: scf.if
// CHECK: tile_gpu.set_max_registers increase 240
// CHECK-NOT: tile_gpu.named_barrier_sync
// CHECK: tile_gpu.mbarrier_wait
func.func @early_producer(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) attributes {tile.shared_bytes = 64 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %full = tile.alloc "full" {tile.shared_offset = 0 : i64} : !tile.buffer<2x!tile.barrier, shared>
    %empty = tile.alloc "empty" {tile.shared_offset = 16 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 8 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      tile.barrier_wait %empty[%c0], %c1 : !tile.buffer<2x!tile.barrier, shared>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<2x!tile.barrier, shared>
    }
  }
  return
}
}

// -----

// Something else has to be seen by all: everybody waits.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @shared_contents
// CHECK: tile_gpu.shared_store
// CHECK: tile_gpu.barrier
// CHECK-NOT: tile_gpu.named_barrier
func.func @shared_contents(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 64 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" {tile.shared_offset = 0 : i64} : !tile.buffer<2x!tile.barrier, shared>
    %word = tile.alloc "word" {tile.shared_offset = 16 : i64} : !tile.buffer<1xi32, shared, #tile.shared_layout<order = [0], panel = 1, swizzle = 0>>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.store %bx, %word[%c0] : i32, !tile.buffer<1xi32, shared, #tile.shared_layout<order = [0], panel = 1, swizzle = 0>>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<2x!tile.barrier, shared>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<2x!tile.barrier, shared>
    }
  }
  return
}
}

// -----

// What was to be copied by cp.async, and is copied by stores, is released by an arrival of the thread itself, which
// waits for the copies by cp.async before.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @copied_by_stores
// CHECK: tile_gpu.shared_store
// CHECK: tile_gpu.async_commit
// CHECK-NEXT: tile_gpu.async_wait 0
// CHECK-NEXT: tile_gpu.mbarrier_arrive %
func.func @copied_by_stores(%A: memref<60x31xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 4112 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" {tile.shared_offset = 4096 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
    tile.barrier_init %full {arrivals = 128 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.copy_async %A[%c0, %c0] [64, 32] to %s[%c0, %c0] [64, 32] {bounds = #tile<bounds predicated>} : memref<60x31xf16> to !tile.buffer<64x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
      tile.barrier_arrive %full[%c0] thread {cp_async} : !tile.buffer<1x!tile.barrier, shared>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
    }
  }
  return
}
}
