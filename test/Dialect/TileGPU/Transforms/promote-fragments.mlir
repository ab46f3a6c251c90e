// RUN: tile-opt %s --tile-gpu-promote-fragments | filecheck %s

#l = #tile.fragment_layout<[16, 8], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8)]>
#sums = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>

// A vector goes through a loop as an iteration argument.
// CHECK-LABEL: func.func @through_for
func.func @through_for(%A: memref<4096xf32>, %n: i32) {
  %g = arith.constant 1 : i32
  // CHECK: tile.kernel
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    // CHECK-NOT: tile.alloc
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %o = arith.constant 0 : i64
    %one = arith.constant dense<1.0> : vector<4xf32>
    %f = tile.alloc "f" : !tile.buffer<16x8xf32, fragment, #l>
    tile_gpu.write_fragment %one, %f : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #l>
    // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[V:.*]] = %{{.*}}) -> (vector<4xf32>)
    scf.for %i = %c0 to %n step %c1 : i32 {
      // CHECK: %[[W:.*]] = arith.addf %[[V]], %[[V]]
      %v = tile_gpu.read_fragment %f : !tile.buffer<16x8xf32, fragment, #l> -> vector<4xf32>
      %w = arith.addf %v, %v : vector<4xf32>
      tile_gpu.write_fragment %w, %f : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #l>
      // CHECK: scf.yield %[[W]]
    }
    // CHECK: tile_gpu.global_store %[[R]]
    %r = tile_gpu.read_fragment %f : !tile.buffer<16x8xf32, fragment, #l> -> vector<4xf32>
    tile_gpu.global_store %r, %A[%o] : vector<4xf32>, memref<4096xf32>
  }
  return
}

// A branch that writes yields; the other one passes the old vector on.
// CHECK-LABEL: func.func @through_if
func.func @through_if(%A: memref<4096xf32>, %p: i1) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %o = arith.constant 0 : i64
    %one = arith.constant dense<1.0> : vector<1xf32>
    %two = arith.constant dense<2.0> : vector<1xf32>
    // CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.0
    // CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.0
    %x = tile.alloc "x" : !tile.buffer<f32, local>
    tile_gpu.write_fragment %one, %x : vector<1xf32>, !tile.buffer<f32, local>
    // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (vector<1xf32>) {
    // CHECK-NEXT: scf.yield %[[TWO]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT: scf.yield %[[ONE]]
    scf.if %p {
      tile_gpu.write_fragment %two, %x : vector<1xf32>, !tile.buffer<f32, local>
    }
    // CHECK: tile_gpu.global_store %[[R]]
    %r = tile_gpu.read_fragment %x : !tile.buffer<f32, local> -> vector<1xf32>
    tile_gpu.global_store %r, %A[%o] : vector<1xf32>, memref<4096xf32>
  }
  return
}

// Through both regions of a while loop; other results keep their places.
// CHECK-LABEL: func.func @through_while
func.func @through_while(%A: memref<4096xi32>, %n: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %o = arith.constant 0 : i64
    %x = tile.alloc "x" : !tile.buffer<i32, local>
    // CHECK: %[[ZERO:.*]] = arith.constant dense<0> : vector<1xi32>
    // CHECK: %[[R:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %[[V:.*]] = %[[ZERO]]) : (i32, vector<1xi32>) -> (i32, vector<1xi32>)
    %last = scf.while (%i = %c0) : (i32) -> i32 {
      // CHECK: vector.extract %[[V]]
      %v = tile_gpu.read_fragment %x : !tile.buffer<i32, local> -> vector<1xi32>
      %e = vector.extract %v[0] : i32 from vector<1xi32>
      %more = arith.cmpi slt, %e, %n : i32
      // CHECK: scf.condition(%{{.*}}) %{{.*}}, %[[V]] : i32, vector<1xi32>
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %v = tile_gpu.read_fragment %x : !tile.buffer<i32, local> -> vector<1xi32>
      %w = arith.addi %v, %v : vector<1xi32>
      tile_gpu.write_fragment %w, %x : vector<1xi32>, !tile.buffer<i32, local>
      // CHECK: scf.yield %{{.*}}, %{{.*}} : i32, vector<1xi32>
      scf.yield %i : i32
    }
    // CHECK: tile_gpu.global_store %[[R]]#1
    %r = tile_gpu.read_fragment %x : !tile.buffer<i32, local> -> vector<1xi32>
    tile_gpu.global_store %r, %A[%o] : vector<1xi32>, memref<4096xi32>
  }
  return
}

// The accumulators of a role, in flight through its loop, are values of that role's
// region only: the branch over roles has no results.
// CHECK-LABEL: func.func @roles
func.func @roles(%n: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %x = tile.alloc "x" : !tile.buffer<64x8xf32, fragment, #sums>
    %w = tile_gpu.warp_id : i32
    %producer = arith.cmpi ult, %w, %c4 : i32
    // CHECK: scf.if %{{.*}} {
    // CHECK-NEXT: tile_gpu.mbarrier_arrive
    // CHECK-NEXT: } else {
    scf.if %producer {
      tile_gpu.mbarrier_arrive %c0
    } else {
      %d = tile_gpu.wgmma_descriptor %c0 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
      // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[V:.*]] = %{{.*}}) -> (vector<4xf32>)
      scf.for %i = %c0 to %n step %c1 : i32 {
        %v = tile_gpu.read_fragment %x : !tile.buffer<64x8xf32, fragment, #sums> -> vector<4xf32>
        %more = arith.cmpi ne, %i, %c0 : i32
        // CHECK: %[[Q:.*]] = tile_gpu.wgmma %{{.*}}, %{{.*}}, %[[V]] scale_d
        %q = tile_gpu.wgmma %d, %d, %v scale_d %more {shape = array<i64: 64, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : i64, vector<4xf32>
        tile_gpu.write_fragment %q, %x : vector<4xf32>, !tile.buffer<64x8xf32, fragment, #sums>
        tile_gpu.wgmma_commit
        tile_gpu.wgmma_wait 1
        // CHECK: scf.yield %[[Q]]
      }
      %last = tile_gpu.read_fragment %x : !tile.buffer<64x8xf32, fragment, #sums> -> vector<4xf32>
      // CHECK: %[[S:.*]] = tile_gpu.wgmma_wait 0(%[[R]])
      %s = tile_gpu.wgmma_wait 0 (%last) : vector<4xf32>
      tile_gpu.write_fragment %s, %x : vector<4xf32>, !tile.buffer<64x8xf32, fragment, #sums>
      %e = tile_gpu.read_fragment %x : !tile.buffer<64x8xf32, fragment, #sums> -> vector<4xf32>
      // CHECK-NEXT: tile_gpu.shared_store %[[S]]
      tile_gpu.shared_store %e, %c0 : vector<4xf32>
    }
  }
  return
}
