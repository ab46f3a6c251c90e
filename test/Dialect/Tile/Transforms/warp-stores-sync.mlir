// Stores that each warp does by itself: the lanes of a warp meet, warps do not.
// RUN: tile-opt %s -tile-insert-sync -split-input-file | filecheck %s

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

// CHECK-LABEL: @once
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x64xf16, fragment
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit {tile.per_warp}
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
// CHECK-NEXT: }
func.func @once(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #rows} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

// Two buffers alternate: the wait before a buffer is written again leaves the
// store of the other one in flight. Places may repeat in later iterations.
// CHECK-LABEL: @alternating
// CHECK: scf.for
// CHECK: tile.bulk_wait {pending = 1 : i64, read, tile.per_warp}
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, tile.per_warp}
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit {tile.per_warp}
// CHECK-NEXT: tile.bulk_wait {pending = 1 : i64, read, tile.per_warp}
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.copy %
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.bulk_commit {tile.per_warp}
// CHECK-NEXT: }
// CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
// CHECK-NOT: tile.sync_threads
func.func @alternating(%B: memref<?x128xf16>, %n: i32, %m: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %t = tile.alloc "t" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %r = arith.remui %k, %m : i32
      %y = arith.muli %r, %c64 : i32
      tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%y, %c0] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #rows} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
      tile.copy %f[%c0, %c0] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy_async %t[%c0, %c0] [64, 64] to %B[%y, %c64] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #rows} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x128xf16>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

// A store by one thread between those of warps: groups are counted apart, and
// memory that other threads read is theirs only behind a barrier.
// CHECK-LABEL: @mixed
// CHECK: tile.bulk_commit {tile.per_warp}
// CHECK: tile.bulk_commit{{$}}
// CHECK: tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
// CHECK-NEXT: tile.warp_sync
// CHECK-NEXT: tile.sync_threads
// CHECK-NEXT: tile.fill
func.func @mixed(%B: memref<?x64xf16>, %C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f16
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    %t = tile.alloc "t" {tile.shared_offset = 8192 : i64} : !tile.buffer<64x64xf16, shared, #shared>
    tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">, tile.warp_layout = #rows} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
    tile.copy %f[%c0, %c0] [64, 64] to %t[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared, #shared>
    tile.copy_async %t[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
    tile.fill %s, %zero : !tile.buffer<64x64xf16, shared, #shared>, f16
  }
  return
}
