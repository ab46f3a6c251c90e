// The operations of sm_90 print and parse back.
// RUN: tile-opt %s | tile-opt | filecheck %s

// CHECK-LABEL: func.func @tensor_maps
func.func @tensor_maps(%A: memref<?x1024xf16>, %B: memref<?xf32>, %a: i32, %bar: i32, %x: i32, %y: i32, %mask: i16, %p: i1, %o: i64, %n: i32) {
  // CHECK: tile_gpu.tensor_map %{{.*}} <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128> : memref<?x1024xf16> -> !tile_gpu.tensor_map<64x128xf16>
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128>
    : memref<?x1024xf16> -> !tile_gpu.tensor_map<64x128xf16>
  // CHECK: tile_gpu.tensor_map %{{.*}} <dims = [64 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 64) : 64], offset = 128, box = [64, 64, 4], element_strides = [1, 2, 1], fill = nan, l2_promotion = 256> : memref<?x1024xf16> -> !tile_gpu.tensor_map<64x64x4xf16>
  %panels = tile_gpu.tensor_map %A <l2_promotion = 256, fill = nan, offset = 128, element_strides = [1, 2, 1],
      dims = [64 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 64) : 64], box = [64, 64, 4]>
    : memref<?x1024xf16> -> !tile_gpu.tensor_map<64x64x4xf16>
  // CHECK: tile_gpu.tensor_map %{{.*}} <dims = [dim(0, 0) : 1], box = [32], dtype = tf32> : memref<?xf32> -> !tile_gpu.tensor_map<32xtf32>
  %rounded = tile_gpu.tensor_map %B <dims = [dim(0, 0) : 1], box = [32], dtype = tf32> : memref<?xf32> -> !tile_gpu.tensor_map<32xtf32>
  // CHECK: tile_gpu.tma_prefetch_map %{{.*}} : !tile_gpu.tensor_map<64x128xf16>
  tile_gpu.tma_prefetch_map %m : !tile_gpu.tensor_map<64x128xf16>
  // CHECK: tile_gpu.tma_load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} : !tile_gpu.tensor_map<64x128xf16>
  tile_gpu.tma_load %m[%x, %y] to %a, %bar : !tile_gpu.tensor_map<64x128xf16>
  // CHECK: tile_gpu.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} multicast %{{.*}} if %{{.*}} {cache_hint = #tile_gpu<cache evict_last>} : !tile_gpu.tensor_map<64x64x4xf16>
  tile_gpu.tma_load %panels[%x, %y, %x] to %a, %bar multicast %mask if %p {cache_hint = #tile_gpu<cache evict_last>} : !tile_gpu.tensor_map<64x64x4xf16>
  // CHECK: tile_gpu.tma_store %{{.*}}[%{{.*}}, %{{.*}}] from %{{.*}} if %{{.*}} {cache_hint = #tile_gpu<cache evict_first>} : !tile_gpu.tensor_map<64x128xf16>
  tile_gpu.tma_store %m[%x, %y] from %a if %p {cache_hint = #tile_gpu<cache evict_first>} : !tile_gpu.tensor_map<64x128xf16>
  // CHECK: tile_gpu.tma_reduce add %{{.*}}[%{{.*}}, %{{.*}}] from %{{.*}} : !tile_gpu.tensor_map<64x128xf16>
  tile_gpu.tma_reduce add %m[%x, %y] from %a : !tile_gpu.tensor_map<64x128xf16>
  // CHECK: tile_gpu.bulk_load %{{.*}}[%{{.*}}] to %{{.*}}, %{{.*}} bytes %{{.*}} multicast %{{.*}} : memref<?xf32>
  tile_gpu.bulk_load %B[%o] to %a, %bar bytes %n multicast %mask : memref<?xf32>
  // CHECK: tile_gpu.bulk_store %{{.*}}[%{{.*}}] from %{{.*}} bytes %{{.*}} if %{{.*}} : memref<?xf32>
  tile_gpu.bulk_store %B[%o] from %a bytes %n if %p : memref<?xf32>
  // CHECK: tile_gpu.bulk_reduce add %{{.*}}[%{{.*}}] from %{{.*}} bytes %{{.*}} : memref<?xf32>
  tile_gpu.bulk_reduce add %B[%o] from %a bytes %n : memref<?xf32>
  // CHECK: tile_gpu.bulk_commit
  tile_gpu.bulk_commit
  // CHECK: tile_gpu.bulk_wait 1 if %{{.*}} {read}
  tile_gpu.bulk_wait 1 if %p {read}
  return
}

// CHECK-LABEL: func.func @parameter
func.func @parameter(%p: !llvm.ptr) -> !tile_gpu.tensor_map<64x128xf16> {
  // CHECK: tile_gpu.tensor_map_parameter %{{.*}} : !llvm.ptr -> !tile_gpu.tensor_map<64x128xf16>
  %m = tile_gpu.tensor_map_parameter %p : !llvm.ptr -> !tile_gpu.tensor_map<64x128xf16>
  return %m : !tile_gpu.tensor_map<64x128xf16>
}

// CHECK-LABEL: func.func @barriers
func.func @barriers(%b: i32, %n: i32, %parity: i32, %rank: i32, %p: i1) -> (i1, i1, i32) {
  // CHECK: tile_gpu.mbarrier_init %{{.*}} {count = 16 : i64}
  tile_gpu.mbarrier_init %b {count = 16 : i64}
  // CHECK: tile_gpu.mbarrier_init_fence
  tile_gpu.mbarrier_init_fence
  // CHECK: tile_gpu.mbarrier_expect_tx %{{.*}}, %{{.*}} if %{{.*}}
  tile_gpu.mbarrier_expect_tx %b, %n if %p
  // CHECK: tile_gpu.mbarrier_expect_tx %{{.*}}, %{{.*}} {no_arrive}
  tile_gpu.mbarrier_expect_tx %b, %n {no_arrive}
  // CHECK: tile_gpu.mbarrier_arrive %{{.*}} if %{{.*}} {count = 2 : i64}
  tile_gpu.mbarrier_arrive %b if %p {count = 2 : i64}
  // CHECK: tile_gpu.mbarrier_arrive_cluster %{{.*}}, %{{.*}} if %{{.*}}
  tile_gpu.mbarrier_arrive_cluster %b, %rank if %p
  // CHECK: tile_gpu.mbarrier_arrive_cp_async %{{.*}}
  tile_gpu.mbarrier_arrive_cp_async %b
  // CHECK: tile_gpu.mbarrier_wait %{{.*}}, %{{.*}}
  tile_gpu.mbarrier_wait %b, %parity
  // CHECK: tile_gpu.mbarrier_try_wait %{{.*}}, %{{.*}} : i1
  %t = tile_gpu.mbarrier_try_wait %b, %parity : i1
  // CHECK: tile_gpu.elect : i1
  %e = tile_gpu.elect : i1
  // CHECK: tile_gpu.warp_id : i32
  %w = tile_gpu.warp_id : i32
  // CHECK: tile_gpu.named_barrier_sync %{{.*}}, 256
  tile_gpu.named_barrier_sync %rank, 256
  // CHECK: tile_gpu.named_barrier_arrive %{{.*}}, 256
  tile_gpu.named_barrier_arrive %rank, 256
  // CHECK: tile_gpu.set_max_registers increase 240
  tile_gpu.set_max_registers increase 240
  // CHECK: tile_gpu.set_max_registers decrease 24
  tile_gpu.set_max_registers decrease 24
  return %t, %e, %w : i1, i1, i32
}

// CHECK-LABEL: func.func @clusters
func.func @clusters(%o: i32) -> (i32, i32, i32, i32) {
  // CHECK: tile_gpu.fence_proxy async_shared_cta
  tile_gpu.fence_proxy async_shared_cta
  // CHECK: tile_gpu.fence_proxy tensor_map_release
  tile_gpu.fence_proxy tensor_map_release
  // CHECK: tile_gpu.cluster_rank : i32
  %r = tile_gpu.cluster_rank : i32
  // CHECK: tile_gpu.cluster_id 1 : i32
  %c = tile_gpu.cluster_id 1 : i32
  // CHECK: tile_gpu.cluster_arrive {relaxed}
  tile_gpu.cluster_arrive {relaxed}
  // CHECK: tile_gpu.cluster_wait
  tile_gpu.cluster_wait
  // CHECK: tile_gpu.shared_address %{{.*}} : i32
  %s = tile_gpu.shared_address %o : i32
  // CHECK: tile_gpu.map_shared %{{.*}}, %{{.*}} : i32
  %m = tile_gpu.map_shared %o, %r : i32
  // CHECK: tile_gpu.griddepcontrol_wait
  tile_gpu.griddepcontrol_wait
  // CHECK: tile_gpu.griddepcontrol_launch_dependents
  tile_gpu.griddepcontrol_launch_dependents
  return %r, %c, %s, %m : i32, i32, i32, i32
}

// CHECK-LABEL: func.func @ptx
func.func @ptx(%a: i32, %A: memref<?xf16>) -> (i32, f16) {
  // CHECK: tile_gpu.ptx "add.sat.s32 $0, $1, $1;"(%{{.*}}) : (i32) -> i32
  %r = tile_gpu.ptx "add.sat.s32 $0, $1, $1;" (%a) : (i32) -> i32
  // CHECK: tile_gpu.ptx "ld.global.b16 $0, [$1];"(%{{.*}}) : (memref<?xf16>) -> f16
  %v = tile_gpu.ptx "ld.global.b16 $0, [$1];" (%A) : (memref<?xf16>) -> f16
  // CHECK: tile_gpu.ptx "nanosleep.u32 20;"() : () -> ()
  tile_gpu.ptx "nanosleep.u32 20;" () : () -> ()
  return %r, %v : i32, f16
}

// CHECK-LABEL: func.func @wgmma
func.func @wgmma(%a: i32, %acc: vector<64xf32>, %half: vector<4xf16>, %ints: vector<12xi32>, %words: vector<4xi32>, %p: i1) -> (vector<64xf32>, i32, vector<4xf16>, vector<12xi32>) {
  // CHECK: tile_gpu.wgmma_descriptor %{{.*}} + 32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
  %d = tile_gpu.wgmma_descriptor %a + 32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
  // CHECK: tile_gpu.wgmma_fence{{$}}
  tile_gpu.wgmma_fence
  // CHECK: tile_gpu.wgmma_fence(%{{.*}}) : vector<64xf32>
  %f = tile_gpu.wgmma_fence (%acc) : vector<64xf32>
  // CHECK: tile_gpu.wgmma %{{.*}}, %{{.*}}, %{{.*}} scale_d %{{.*}} {a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, shape = array<i64: 64, 128, 16>, transpose_b} : i64, vector<64xf32>
  %c = tile_gpu.wgmma %d, %d, %f scale_d %p {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, transpose_b} : i64, vector<64xf32>
  // CHECK: tile_gpu.wgmma %{{.*}}, %{{.*}}, %{{.*}} {a_type = #tile_gpu<matrix_type e4m3>, b_type = #tile_gpu<matrix_type e5m2>, negate_a, shape = array<i64: 64, 8, 32>} : vector<4xi32>, vector<4xf16>
  %h = tile_gpu.wgmma %words, %d, %half {shape = array<i64: 64, 8, 32>, a_type = #tile_gpu<matrix_type e4m3>, b_type = #tile_gpu<matrix_type e5m2>, negate_a} : vector<4xi32>, vector<4xf16>
  // CHECK: tile_gpu.wgmma %{{.*}} {a_type = #tile_gpu<matrix_type u8>, b_type = #tile_gpu<matrix_type s8>, saturate, shape = array<i64: 64, 24, 32>} : i64, vector<12xi32>
  %i = tile_gpu.wgmma %d, %d, %ints {shape = array<i64: 64, 24, 32>, a_type = #tile_gpu<matrix_type u8>, b_type = #tile_gpu<matrix_type s8>, saturate} : i64, vector<12xi32>
  // CHECK: tile_gpu.wgmma_commit
  tile_gpu.wgmma_commit
  // CHECK: tile_gpu.wgmma_wait 1
  tile_gpu.wgmma_wait 1
  // CHECK: tile_gpu.wgmma_wait 0(%{{.*}}, %{{.*}}, %{{.*}}) : vector<64xf32>, vector<4xf16>, vector<12xi32>
  %r:3 = tile_gpu.wgmma_wait 0 (%c, %h, %i) : vector<64xf32>, vector<4xf16>, vector<12xi32>
  // CHECK: tile_gpu.pin %{{.*}} : i32
  %q = tile_gpu.pin %a : i32
  return %r#0, %q, %r#1, %r#2 : vector<64xf32>, i32, vector<4xf16>, vector<12xi32>
}
