// Every operation of tile_gpu prints and parses back.
// RUN: tile-opt %s | tile-opt | filecheck %s

#frag = #tile.fragment_layout<[16, 8], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8)]>

// CHECK-LABEL: func.func @indices
func.func @indices(%p: !llvm.ptr<1>) -> (i32, i32, i32, i64) {
  // CHECK: tile_gpu.thread_id : i32
  %t = tile_gpu.thread_id : i32
  // CHECK: tile_gpu.block_id 2 : i32
  %b = tile_gpu.block_id 2 : i32
  // CHECK: tile_gpu.tensor %{{.*}} : <1> -> memref<?x?xf16>
  %A = tile_gpu.tensor %p : !llvm.ptr<1> -> memref<?x?xf16>
  // CHECK: tile_gpu.extent %{{.*}}, 1 : memref<?x?xf16>
  %n = tile_gpu.extent %A, 1 : memref<?x?xf16>
  // CHECK: tile_gpu.stride %{{.*}}, 0 : memref<?x?xf16>
  %s = tile_gpu.stride %A, 0 : memref<?x?xf16>
  return %t, %b, %n, %s : i32, i32, i32, i64
}

// CHECK-LABEL: func.func @fragments
func.func @fragments(%g: i32) {
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%b: i32):
  %f = tile.alloc "f" : !tile.buffer<16x8xf32, fragment, #frag>
  %l = tile.alloc "l" : !tile.buffer<i32, local>
  // CHECK: tile_gpu.read_fragment %{{.*}} : {{.*}}<16x8xf32, fragment, #{{.*}}> -> vector<4xf32>
  %v = tile_gpu.read_fragment %f : !tile.buffer<16x8xf32, fragment, #frag> -> vector<4xf32>
  // CHECK: tile_gpu.write_fragment %{{.*}}, %{{.*}} : vector<4xf32>, {{.*}}<16x8xf32, fragment, #{{.*}}>
  tile_gpu.write_fragment %v, %f : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #frag>
  // CHECK: tile_gpu.read_fragment %{{.*}} : {{.*}}<i32, local> -> vector<1xi32>
  %w = tile_gpu.read_fragment %l : !tile.buffer<i32, local> -> vector<1xi32>
  }
  return
}

// CHECK-LABEL: func.func @global
func.func @global(%A: memref<?x?xf16>, %o: i64, %p: i1) {
  // CHECK: tile_gpu.global_load %{{.*}}[%{{.*}}] if %{{.*}} {alignment = 16 : i64} : memref<?x?xf16> -> vector<8xf16>
  %v = tile_gpu.global_load %A[%o] if %p {alignment = 16 : i64} : memref<?x?xf16> -> vector<8xf16>
  // CHECK: tile_gpu.global_load %{{.*}}[%{{.*}}] {cache = #tile_gpu<cache evict_first>} : memref<?x?xf16> -> f16
  %s = tile_gpu.global_load %A[%o] {cache = #tile_gpu<cache evict_first>} : memref<?x?xf16> -> f16
  // CHECK: tile_gpu.global_store %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} {alignment = 16 : i64} : vector<8xf16>, memref<?x?xf16>
  tile_gpu.global_store %v, %A[%o] if %p {alignment = 16 : i64} : vector<8xf16>, memref<?x?xf16>
  // CHECK: tile_gpu.global_atomic add %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} : f16, memref<?x?xf16> -> f16
  %old = tile_gpu.global_atomic add %s, %A[%o] if %p : f16, memref<?x?xf16> -> f16
  // CHECK: tile_gpu.global_atomic max %{{.*}}, %{{.*}}[%{{.*}}] : f16, memref<?x?xf16>{{$}}
  tile_gpu.global_atomic max %s, %A[%o] : f16, memref<?x?xf16>
  return
}

// CHECK-LABEL: func.func @shared
func.func @shared(%a: i32, %A: memref<?x?xf16>, %o: i64, %n: i32, %p: i1) {
  // CHECK: tile_gpu.shared_load %{{.*}} + 64 if %{{.*}} {alignment = 16 : i64} : vector<8xf16>
  %v = tile_gpu.shared_load %a + 64 if %p {alignment = 16 : i64} : vector<8xf16>
  // CHECK: tile_gpu.shared_load %{{[^ ]*}} : i32
  %x = tile_gpu.shared_load %a : i32
  // CHECK: tile_gpu.shared_store %{{.*}}, %{{.*}} + 32 : vector<8xf16>
  tile_gpu.shared_store %v, %a + 32 : vector<8xf16>
  // CHECK: tile_gpu.shared_atomic add %{{.*}}, %{{.*}} + 4 if %{{.*}} : i32 -> i32
  %old = tile_gpu.shared_atomic add %x, %a + 4 if %p : i32 -> i32
  // CHECK: tile_gpu.async_copy %{{.*}}[%{{.*}}], %{{.*}} + 1024 valid %{{.*}} if %{{.*}} {bypass_l1, bytes = 16 : i64} : memref<?x?xf16>
  tile_gpu.async_copy %A[%o], %a + 1024 valid %n if %p {bytes = 16 : i64, bypass_l1} : memref<?x?xf16>
  // CHECK: tile_gpu.async_commit
  tile_gpu.async_commit
  // CHECK: tile_gpu.async_wait 1
  tile_gpu.async_wait 1
  return
}

// CHECK-LABEL: func.func @matrix
func.func @matrix(%a: i32, %c: vector<4xf32>, %f: f32) {
  // CHECK: tile_gpu.ldmatrix %{{.*}} + 512 : vector<4xi32>
  %x = tile_gpu.ldmatrix %a + 512 : vector<4xi32>
  // CHECK: tile_gpu.ldmatrix %{{.*}} {trans} : vector<2xi32>
  %y = tile_gpu.ldmatrix %a {trans} : vector<2xi32>
  // CHECK: tile_gpu.mma %{{.*}}, %{{.*}}, %{{.*}} {a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, shape = array<i64: 16, 8, 16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  %d = tile_gpu.mma %x, %y, %c {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: tile_gpu.stmatrix %{{.*}}, %{{.*}} + 16 {trans} : vector<4xi32>
  tile_gpu.stmatrix %x, %a + 16 {trans} : vector<4xi32>
  // CHECK: tile_gpu.round_tf32 %{{.*}} : f32
  %r = tile_gpu.round_tf32 %f : f32
  // CHECK: tile_gpu.permute_bytes %{{.*}}, %{{.*}}, 21520 : i32
  %q = tile_gpu.permute_bytes %a, %a, 21520 : i32
  return
}

// CHECK-LABEL: func.func @communication
func.func @communication(%v: f32, %l: i32, %p: i1) {
  // CHECK: tile_gpu.barrier
  tile_gpu.barrier
  // CHECK: tile_gpu.barrier {count = 128 : i64, id = 1 : i64}
  tile_gpu.barrier {id = 1 : i64, count = 128 : i64}
  // CHECK: tile_gpu.warp_sync
  tile_gpu.warp_sync
  // CHECK: tile_gpu.shuffle xor %{{.*}}, %{{.*}} : f32
  %w = tile_gpu.shuffle xor %v, %l : f32
  // CHECK: tile_gpu.print "x"(%{{.*}}) if %{{.*}} : f32
  tile_gpu.print "x" (%w) if %p : f32
  // CHECK: tile_gpu.assert %{{.*}}, "no"
  tile_gpu.assert %p, "no"
  return
}
