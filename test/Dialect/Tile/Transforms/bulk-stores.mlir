// Waits for stores by TMA, and fences between threads and the async proxy.
// RUN: tile-opt %s -tile-insert-sync -split-input-file | filecheck %s

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Once: fence by the writers, barrier, store, commit; the kernel ends when the
// store has read its source.
// CHECK-LABEL: @once
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x64xf16, fragment
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read}
// CHECK-NEXT: }
func.func @once(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// In a loop the source is overwritten once the store has read it. Tiles of
// different iterations lie apart.
// CHECK-LABEL: @overwritten
// CHECK: scf.for
// CHECK: tile.bulk_wait {pending = 0 : i64, read}
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit
// CHECK-NEXT: }
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read}
func.func @overwritten(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %y = arith.muli %k, %c64 : i32
      tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%y, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Stores of one place by several iterations complete one after the other.
// CHECK-LABEL: @same_place
// CHECK: scf.for
// CHECK: tile.bulk_wait {pending = 0 : i64}
// CHECK: tile.copy_async
func.func @same_place(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Memory that another buffer takes over. Stores that follow each other are one
// group, writes that follow each other have one fence.
// CHECK-LABEL: @reused_memory
// CHECK: tile.copy %
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit
// CHECK: tile.bulk_wait {pending = 0 : i64, read}
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy %
func.func @reused_memory(%B: memref<?x128xf16>, %C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %t = tile.alloc "t" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %u = tile.alloc "u" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %f[%c0, %c0] [64, 64] to %t[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
    tile.copy_async %t[%c0, %c0] [64, 64] to %B[%bx, %c64] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
    tile.copy %f[%c0, %c0] [64, 64] to %u[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %u[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// A load by TMA needs no barrier behind its wait, but one in front, where
// threads have used the buffer: before the bytes are expected. What they read
// is fenced from the next load.
// CHECK-LABEL: @load
// CHECK: scf.for
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.barrier_arrive
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.barrier_wait
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: }
func.func @load(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %b = tile.alloc "b" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.barrier_arrive %b[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %A[%k, %c0] [64, 64] to %s[%c0, %c0] [64, 64] barrier %b[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
      tile.barrier_wait %b[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
      tile.copy %s[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Under a condition in a loop: the wait comes before the barrier, and both in
// front of the branch.
// CHECK-LABEL: @conditional
// CHECK: scf.for
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read}
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.copy_async
func.func @conditional(%B: memref<?x64xf16>, %n: i32, %flag: i1) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %i = %c0 to %n step %c64 : i32 {
      scf.if %flag {
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%i, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
      }
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Two buffers in turn: each is overwritten when the store before last has read
// it. The first store of an iteration waits for those of the one before, whose
// places are not known.
// CHECK-LABEL: @in_turn
// CHECK: scf.for
// CHECK: tile.bulk_wait {pending = 1 : i64, read}
// CHECK: tile.copy %
// CHECK: tile.bulk_wait {pending = 0 : i64}
// CHECK: tile.copy_async
// CHECK-NEXT: tile.bulk_commit
// CHECK: tile.bulk_wait {pending = 1 : i64, read}
// CHECK: tile.copy %
// CHECK-NOT: tile.bulk_wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.bulk_commit
// CHECK-NEXT: }
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read}
func.func @in_turn(%B: memref<?x128xf16>, %P: memref<?xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %t = tile.alloc "t" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %y = tile.load %P[%k] : memref<?xi32> -> i32
      tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%y, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
      tile.copy %f[%c0, %c0] [64, 64] to %t[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy_async %t[%c0, %c0] [64, 64] to %B[%y, %c64] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Threads read the slot of a ring: one fence for several reads, in front of the
// arrival that gives the slot back. Nothing is loaded behind the read of the
// tile in front of the ring.
// CHECK-LABEL: @reads_of_a_ring
// CHECK: tile.barrier_wait %loaded
// CHECK-NEXT: tile.copy %q
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.warp_specialize
// CHECK: }, {
// CHECK: tile.barrier_wait %full
// CHECK-NEXT: tile.copy %a
// CHECK-NEXT: tile.fill %f
// CHECK-NEXT: tile.copy %a
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.barrier_arrive %empty
func.func @reads_of_a_ring(%A: memref<64x64xf16>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f16
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %q = tile.alloc "q" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %a = tile.alloc "a" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %loaded = tile.alloc "loaded" {tile.shared_offset = 16384 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %loaded {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %full = tile.alloc "full" {tile.shared_offset = 16392 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" {tile.shared_offset = 16400 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 4 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.barrier_arrive %loaded[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.copy_async %A[%c0, %c0] [64, 64] to %q[%c0, %c0] [64, 64] barrier %loaded[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
    tile.barrier_wait %loaded[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
    tile.copy %q[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.barrier_wait %empty[%c0], %c1 : !tile.buffer<1x!tile.barrier, shared>
      tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
    }, {
      tile.barrier_wait %full[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
      tile.fill %f, %zero : !tile.buffer<64x64xf16, fragment>, f16
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
      tile.barrier_arrive %empty[%c0] warp : !tile.buffer<1x!tile.barrier, shared>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// A read in a branch of a loop: in front of the barrier behind the branch. In
// the loop inside, which has no barrier, there is none.
// CHECK-LABEL: @reads_in_branches
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.copy %s
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync_threads
func.func @reads_in_branches(%A: memref<?x64xf16>, %n: i32, %flag: i1) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %b = tile.alloc "b" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %b {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.barrier_arrive %b[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      tile.copy_async %A[%k, %c0] [64, 64] to %s[%c0, %c0] [64, 64] barrier %b[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
      tile.barrier_wait %b[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
      scf.if %flag {
        scf.for %j = %c0 to %n step %c1 : i32 {
          tile.copy %s[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
        }
      }
      tile.sync_threads
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Roles that the program makes itself are branches: the load of one of them may
// follow the read of another that stands in front of it or behind it.
// CHECK-LABEL: @reads_of_roles_by_the_program
// CHECK: scf.if
// CHECK: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.barrier_arrive %empty
// CHECK: } else {
// CHECK: tile.copy_async
func.func @reads_of_roles_by_the_program(%A: memref<64x64xf16>, %n: i32, %first: i1) {
  tile.kernel "k" grid(%n) threads(256) attributes {tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %full = tile.alloc "full" {tile.shared_offset = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" {tile.shared_offset = 8200 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 128 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    scf.if %first {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.barrier_wait %full[%c0], %k : !tile.buffer<1x!tile.barrier, shared>
        tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #shared> to !tile.buffer<64x64xf16, fragment>
        tile.barrier_arrive %empty[%c0] thread : !tile.buffer<1x!tile.barrier, shared>
      }
    } else {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.barrier_wait %empty[%c0], %k : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<64x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
      }
    }
  }
  return
}
