// RUN: tile-opt %s -split-input-file -tile-to-cpu | filecheck %s
// Products in flight, waits, fences, registers and dependent launches mean the same one after the other.

// CHECK: op = "gemm", {{.*}}path = "fma"
// CHECK-NOT: tile.dependency_wait
// CHECK-NOT: tile.set_max_registers
// CHECK-NOT: tile.fence_proxy
// CHECK-NOT: tile.gemm_async
// CHECK-NOT: tile.mma_wait
// CHECK-NOT: tile.launch_dependents
func.func @f(%n: i32, %A: memref<64x64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    tile.dependency_wait
    tile.set_max_registers {count = 240 : i64, increase}
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.fence_proxy
    tile.gemm_async %a, %a, %c {clear_accum} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<64x64xf32, fragment>
    tile.copy %c[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment> to memref<64x64xf32>
    tile.launch_dependents
  }
  return
}

// -----

// Tiles from a counter become those of a static schedule.
// CHECK-NOT: tile.fetch_tile
// CHECK-NOT: tile.share_tile
func.func @tiles(%counter: memref<1xi32>, %tiles: i32, %workers: i32, %A: memref<64xi32>) {
  tile.kernel "tiles" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
    %s = tile.share_tile %counter from %f : memref<1xi32>
    tile.store %s, %A[%bx] : i32, memref<64xi32>
  }
  return
}
