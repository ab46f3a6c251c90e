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
