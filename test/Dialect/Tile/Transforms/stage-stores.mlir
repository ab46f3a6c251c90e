// Accumulators go through shared memory and TMA, where that fits and pays.
// RUN: tile-opt %s -tile-stage-stores -split-input-file | filecheck %s

// The whole tile: the operands of the gemm are not needed any more.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @whole
// CHECK: %[[STAGING:.*]] = tile.alloc "c.staging" : <128x128xf16, shared>
// CHECK: tile.copy %{{.*}}[%{{.*}}] [128, 128] to %[[STAGING]][%{{.*}}] [128, 128] {choice = #tile.choice<simt, "{{.*}}; staging of the TMA store of c"
// CHECK-NEXT: tile.copy %[[STAGING]]{{.*}} to %{{.*}} [128, 128] {bounds = #tile<bounds predicated>, choice = #tile.choice<tma, "TMA store of 2 boxes of 128x64 elements, 128-byte swizzle; a box per panel: the extent of dimension 1 of <unnamed> is only known to be a multiple of 8, panels have 64 elements", {box = [64, 128]}>, eviction_policy = #tile<eviction_policy evict_first>}
func.func @whole(%C: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<128x512xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<128x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    %u = tile.subview %a[%c0, %c0] [128, 256] : !tile.buffer<128x512xf16, shared> to !tile.buffer<128x256xf16, shared>
    tile.gemm %u, %b, %c {transpose_b, choice = #tile.choice<mma_sync, "">} : !tile.buffer<128x256xf16, shared>, !tile.buffer<128x256xf16, shared>, !tile.buffer<128x128xf32, fragment>
    tile.copy %c[%c0, %c0] [128, 128] to %C[%bx, %c0] [128, 128] {bounds = #tile<bounds predicated>, choice = #tile.choice<simt, "per-thread accesses of 4 bytes", {bytes = 4 : i64}>, eviction_policy = #tile<eviction_policy evict_first>} : !tile.buffer<128x128xf32, fragment> to memref<?x?xf16>
  }
  return
}
}

// -----

// Beside a ring that stays in use: chunks of 64 columns in two buffers.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @chunks
// CHECK-DAG: tile.alloc "c.staging" : <128x64xf16, shared>
// CHECK: tile.copy %c[%{{.*}}, %c0_i32{{.*}}] [128, 64] to %[[ONE:[a-z_.0-9]+]][
// CHECK: tile.copy %[[ONE]]{{.*}}TMA store of 1 box of 128x64 elements
// CHECK: tile.copy %c[%{{.*}}, %c64_i32{{.*}}] [128, 64] to %[[TWO:[a-z_.0-9]+]][
// CHECK: tile.copy %[[TWO]]
// CHECK: tile.copy %c[%{{.*}}, %c128_i32{{.*}}] [128, 64] to %[[ONE]][
// CHECK: tile.copy %[[ONE]]
// CHECK: tile.copy %c[%{{.*}}, %c192_i32{{.*}}] [128, 64] to %[[TWO]][
// CHECK: tile.copy %[[TWO]]
func.func @chunks(%C: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "a" : !tile.buffer<128x256xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<256x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, fragment>
    scf.for %i = %c0 to %n step %c1 : i32 {
      tile.gemm %a, %b, %c {transpose_b, choice = #tile.choice<mma_sync, "">} : !tile.buffer<128x256xf16, shared>, !tile.buffer<256x256xf16, shared>, !tile.buffer<128x256xf32, fragment>
      tile.copy %c[%c0, %c0] [128, 256] to %C[%i, %c0] [128, 256] {choice = #tile.choice<simt, "per-thread accesses of 4 bytes", {bytes = 4 : i64}>} : !tile.buffer<128x256xf32, fragment> to memref<?x?xf16>
    }
  }
  return
}
}

// -----

// Reasons to leave a store as it is.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @refused
// CHECK: tile.copy %{{.*}}; not staged for TMA: d is no accumulator: its threads store wide vectors"
// CHECK: tile.copy %{{.*}}; not staged for TMA: TMA is disabled for this copy by disable_tma"
// CHECK: tile.copy %{{.*}}; not staged for TMA: the stride of dimension 0 of <unnamed> is only known to be a multiple of 134 bytes, maps need 16"
// CHECK: tile.copy %{{.*}}; not staged for TMA: the tile has only 512 bytes"
func.func @refused(%C: memref<?x64xf16>, %D: memref<?x67xf16>, %E: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %d = tile.alloc "d" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %a, %c {choice = #tile.choice<mma_sync, "">} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.copy %d[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<simt, "">} : !tile.buffer<64x64xf32, fragment> to memref<?x64xf16>
    tile.copy %c[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<simt, "">, disable_tma} : !tile.buffer<64x64xf32, fragment> to memref<?x64xf16>
    tile.copy %c[%c0, %c0] [64, 64] to %D[%bx, %c0] [64, 64] {choice = #tile.choice<simt, "">} : !tile.buffer<64x64xf32, fragment> to memref<?x67xf16>
    tile.copy %c[%c0, %c0] [4, 64] to %E[%bx, %c0] [4, 64] {choice = #tile.choice<simt, "">} : !tile.buffer<64x64xf32, fragment> to memref<?x64xf16>
  }
  return
}
}

// -----

// Buffers of a kernel that orders its threads itself never share memory: pieces of the tile beside the operands, not the whole in their place.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @own_order
// CHECK-NOT: <128x256xf32, shared>
// CHECK: tile.alloc "c.staging" : <128x32xf32, shared>
func.func @own_order(%C: memref<?x256xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(256) attributes {tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<128x256xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<256x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, fragment>
    tile.gemm %a, %b, %c {transpose_b, choice = #tile.choice<mma_sync, "">} : !tile.buffer<128x256xf16, shared>, !tile.buffer<256x256xf16, shared>, !tile.buffer<128x256xf32, fragment>
    tile.copy %c[%c0, %c0] [128, 256] to %C[%bx, %c0] [128, 256] {choice = #tile.choice<simt, "per-thread accesses of 8 bytes", {bytes = 8 : i64}>} : !tile.buffer<128x256xf32, fragment> to memref<?x256xf32>
  }
  return
}
}

// -----

// Targets without TMA are left alone.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: @ampere
// CHECK: tile.copy %{{.*}} {choice = #tile.choice<simt, "per-thread accesses of 4 bytes">}
func.func @ampere(%C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %a, %c {choice = #tile.choice<mma_sync, "">} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.copy %c[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] {choice = #tile.choice<simt, "per-thread accesses of 4 bytes">} : !tile.buffer<64x64xf32, fragment> to memref<?x64xf16>
  }
  return
}
}
