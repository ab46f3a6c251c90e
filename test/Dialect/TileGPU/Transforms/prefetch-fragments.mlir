// RUN: tile-opt %s --tile-gpu-prefetch-fragments | filecheck %s

// CHECK-LABEL: func.func @rotated
func.func @rotated(%n: i32, %b: vector<2xi32>, %c: vector<4xf32>, %A: memref<4096xf32>) {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %bytes = arith.constant 512 : i32
  %o = arith.constant 0 : i64
  // CHECK: tile_gpu.async_wait 1
  // CHECK: tile_gpu.barrier
  // CHECK: %[[FIRST:.*]] = tile_gpu.ldmatrix
  // CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[A0:.*]] = %[[FIRST]]) -> (i32, vector<4xf32>, vector<4xi32>)
  %r:2 = scf.for %i = %z to %n step %one iter_args(%slot = %z, %s = %c) -> (i32, vector<4xf32>) : i32 {
    // CHECK-NOT: tile_gpu.barrier
    tile_gpu.async_wait 1
    tile_gpu.barrier
    // CHECK: tile_gpu.async_commit
    tile_gpu.async_commit
    %p = arith.muli %slot, %bytes : i32
    // CHECK: tile_gpu.mma %[[A0]]
    %a0 = tile_gpu.ldmatrix %p : vector<4xi32>
    %s0 = tile_gpu.mma %a0, %b, %s {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    // CHECK: %[[A1:.*]] = tile_gpu.ldmatrix %{{.*}} + 256
    %a1 = tile_gpu.ldmatrix %p + 256 : vector<4xi32>
    // CHECK: %[[NEXT:.*]] = arith.xori %[[SLOT]]
    // CHECK: tile_gpu.async_wait 1
    // CHECK: tile_gpu.barrier
    // CHECK: %[[ADDRESS:.*]] = arith.muli %[[NEXT]]
    // CHECK: %[[AHEAD:.*]] = tile_gpu.ldmatrix %[[ADDRESS]]
    // CHECK: tile_gpu.mma %[[A1]]
    %s1 = tile_gpu.mma %a1, %b, %s0 {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    %next = arith.xori %slot, %one : i32
    // CHECK: scf.yield %{{.*}}, %{{.*}}, %[[AHEAD]]
    scf.yield %next, %s1 : i32, vector<4xf32>
  }
  tile_gpu.global_store %r#1, %A[%o] : vector<4xf32>, memref<4096xf32>
  return
}

// One k-step leaves nothing to hide behind.
// CHECK-LABEL: func.func @single_step
func.func @single_step(%n: i32, %b: vector<2xi32>, %c: vector<4xf32>, %A: memref<4096xf32>) {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %o = arith.constant 0 : i64
  // CHECK-NOT: tile_gpu.barrier
  // CHECK: scf.for
  // CHECK: tile_gpu.barrier
  %r = scf.for %i = %z to %n step %one iter_args(%s = %c) -> (vector<4xf32>) : i32 {
    tile_gpu.async_wait 1
    tile_gpu.barrier
    %a0 = tile_gpu.ldmatrix %i : vector<4xi32>
    %s0 = tile_gpu.mma %a0, %b, %s {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    scf.yield %s0 : vector<4xf32>
  }
  tile_gpu.global_store %r, %A[%o] : vector<4xf32>, memref<4096xf32>
  return
}

// A store to shared memory needs the barrier where it is.
// CHECK-LABEL: func.func @store
func.func @store(%n: i32, %b: vector<2xi32>, %c: vector<4xf32>, %A: memref<4096xf32>, %v: f32) {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %o = arith.constant 0 : i64
  // CHECK-NOT: tile_gpu.barrier
  // CHECK: scf.for
  // CHECK: tile_gpu.barrier
  %r = scf.for %i = %z to %n step %one iter_args(%s = %c) -> (vector<4xf32>) : i32 {
    tile_gpu.async_wait 1
    tile_gpu.barrier
    tile_gpu.shared_store %v, %i + 4096 : f32
    %a0 = tile_gpu.ldmatrix %i : vector<4xi32>
    %s0 = tile_gpu.mma %a0, %b, %s {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    %a1 = tile_gpu.ldmatrix %i + 256 : vector<4xi32>
    %s1 = tile_gpu.mma %a1, %b, %s0 {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    scf.yield %s1 : vector<4xf32>
  }
  tile_gpu.global_store %r, %A[%o] : vector<4xf32>, memref<4096xf32>
  return
}
