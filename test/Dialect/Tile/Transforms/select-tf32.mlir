// RUN: tile-opt %s -tile-select-instructions -split-input-file | filecheck %s
// Products of f32 run on wgmma when TMA rounds their operands to tf32 on loading.

// Both operands come by TMA and are read by the product alone.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @rounded
// CHECK: tile.alloc "a" {tile.rounded_tf32}
// CHECK: tile.alloc "b" {tile.rounded_tf32}
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k8 f32 x f32 -> f32 on sm_90a, A from shared memory; TMA rounds f32 operands to tf32, ties to even"
func.func @rounded(%A: memref<128x32xf32>, %B: memref<128x32xf32>) {
  %one = arith.constant 1 : i32
  tile.kernel "k" grid(%one) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<128x32xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<128x32xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.copy %A[%c0, %c0] [128, 32] to %a[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.copy %B[%c0, %c0] [128, 32] to %b[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x32xf32, shared>, !tile.buffer<128x32xf32, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// Somebody else reads the operand, and would see rounded numbers.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @also_read
// CHECK-NOT: tile.rounded_tf32
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}; 'a' is also used by copy (line {{.*}})"
func.func @also_read(%A: memref<128x32xf32>, %B: memref<128x32xf32>, %O: memref<128x32xf32>) {
  %one = arith.constant 1 : i32
  tile.kernel "k" grid(%one) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<128x32xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<128x32xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.copy %A[%c0, %c0] [128, 32] to %a[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.copy %B[%c0, %c0] [128, 32] to %b[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.copy %a[%c0, %c0] [128, 32] to %O[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : !tile.buffer<128x32xf32, shared> to memref<128x32xf32>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x32xf32, shared>, !tile.buffer<128x32xf32, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// Two products share an operand. The second one has its other operand in registers, so that neither may round it.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @shared_operand
// CHECK-NOT: tile.rounded_tf32
// CHECK: tile.gemm %a, %b, %c
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}; 'b' is also used by gemm (line {{.*}})"
// CHECK: tile.gemm %r, %b, %d
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}; A is in registers, where TMA cannot round it"
func.func @shared_operand(%A: memref<128x32xf32>, %B: memref<128x32xf32>) {
  %one = arith.constant 1 : i32
  tile.kernel "k" grid(%one) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !tile.buffer<128x32xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<128x32xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    %r = tile.alloc "r" : !tile.buffer<128x32xf32, fragment>
    %d = tile.alloc "d" : !tile.buffer<128x128xf32, fragment>
    tile.fill %r, %zero : !tile.buffer<128x32xf32, fragment>, f32
    tile.copy %A[%c0, %c0] [128, 32] to %a[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.copy %B[%c0, %c0] [128, 32] to %b[%c0, %c0] [128, 32] {bounds = #tile<bounds full>} : memref<128x32xf32> to !tile.buffer<128x32xf32, shared>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x32xf32, shared>, !tile.buffer<128x32xf32, shared>, !tile.buffer<128x128xf32, fragment>
    tile.gemm %r, %b, %d {transpose_b} : !tile.buffer<128x32xf32, fragment>, !tile.buffer<128x32xf32, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}
