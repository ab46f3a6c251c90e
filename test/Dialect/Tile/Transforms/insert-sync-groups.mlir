// RUN: tile-opt %s -tile-insert-sync | filecheck %s
// Warp groups of the program: what all threads did is finished in front of the first group; groups are not ordered
// among themselves; inside of one, its threads meet.

func.func @f(%n: i32, %A: memref<128xf32>) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>>
    %t = tile.thread_id 0 : i32
    // CHECK: tile.store
    tile.store %zero, %s[%t] : f32, !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>>
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.warp_specialize [#tile.role<user, first = 0, warps = 4>]
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // CHECK-NEXT: tile.load
      %x = tile.load %s[%c0] : !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>> -> f32
      // CHECK-NEXT: tile.sync_threads
      // CHECK-NEXT: tile.store
      tile.store %x, %s[%t] : f32, !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>>
    }
    // CHECK: tile.warp_specialize [#tile.role<user, first = 4, warps = 4>]
    tile.warp_specialize [#tile.role<user, first = 4, warps = 4>] {
      // CHECK-NEXT: tile.load
      %y = tile.load %s[%c0] : !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>> -> f32
      tile.store %y, %A[%c0] : f32, memref<128xf32>
    }
    // CHECK: tile.warp_specialize [#tile.role<user, first = 0, warps = 4>]
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // CHECK-NEXT: tile.sync_threads
      // CHECK-NEXT: tile.load
      %z = tile.load %s[%c0] : !tile.buffer<128xf32, shared, #tile.shared_layout<order = [0], panel = 128, swizzle = 0>> -> f32
      tile.store %z, %A[%t] : f32, memref<128xf32>
    }
  }
  return
}

// Copies of threads that arrive on a barrier themselves: who waits there makes them visible to its products.
// CHECK-LABEL: func.func @products_of_copies
// CHECK: tile.barrier_wait %full
// CHECK-NEXT: tile.fence_proxy
// CHECK: tile.gemm_async
func.func @products_of_copies(%A: memref<64x64xf16>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "products_of_copies" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %full = tile.alloc "full" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 128 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
      tile.barrier_arrive %full[%c0] thread {cp_async} : !tile.buffer<1x!tile.barrier, shared>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %c : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>, !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>, !tile.buffer<64x64xf32, fragment>
      tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// Nobody reads the tile between two loads: still all threads have to see the end of a phase before the next one can end.
// CHECK-LABEL: func.func @loads_without_reads
// CHECK: scf.for
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.barrier_arrive %loaded
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.barrier_wait
func.func @loads_without_reads(%A: memref<64x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "loads_without_reads" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %loaded = tile.alloc "loaded" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %loaded {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.barrier_arrive %loaded[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %loaded[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
      tile.barrier_wait %loaded[%c0], %k : !tile.buffer<1x!tile.barrier, shared>
    }
  }
  return
}

// A consumer stores from the slot of a ring by TMA: it gives the slot back when the store has read it.
// CHECK-LABEL: func.func @stores_from_a_ring
// CHECK: }, {
// CHECK: tile.copy_async %a
// CHECK-NEXT: tile.bulk_commit
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read}
// CHECK-NEXT: tile.barrier_arrive %empty
func.func @stores_from_a_ring(%A: memref<64x64xf16>, %B: memref<64x64xf16>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "stores_from_a_ring" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %full = tile.alloc "full" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" {tile.shared_offset = 8200 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 4 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.barrier_wait %empty[%c0], %c1 : !tile.buffer<1x!tile.barrier, shared>
      tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %a[%c0, %c0] [64, 64] to %B[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>> to memref<64x64xf16>
      tile.barrier_arrive %empty[%c0] warp : !tile.buffer<1x!tile.barrier, shared>
    }
  }
  return
}

// Blocks of a cluster meet between two writes: what was written first is visible to TMA when they have met.
// CHECK-LABEL: func.func @writes_around_a_meeting
// CHECK: tile.fill %a
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.cluster_arrive
// CHECK-NEXT: tile.cluster_wait
// CHECK-NEXT: tile.fill %b
// CHECK-NEXT: tile.fence_proxy
// CHECK: tile.copy_async %a
func.func @writes_around_a_meeting(%A: memref<64x64xf16>, %B: memref<64x64xf16>) {
  %c2 = arith.constant 2 : i32
  tile.kernel "writes_around_a_meeting" grid(%c2) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f16
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %b = tile.alloc "b" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    tile.fill %a, %one : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>, f16
    tile.cluster_arrive
    tile.cluster_wait
    tile.fill %b, %one : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>, f16
    tile.copy_async %a[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>> to memref<64x64xf16>
    tile.sync_threads
    tile.copy_async %b[%c0, %c0] [64, 64] to %B[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>> to memref<64x64xf16>
  }
  return
}
