// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" | filecheck %s
// The backend drops the order of read-modify-writes: fences state it. Reading without changing, and writing without
// reading, are loads and stores, which have orders.

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @global
  llvm.func @global(%A: !llvm.ptr<1> {llvm.noalias}, %H: !llvm.ptr<1> {llvm.noalias}, %o: i64, %v: i32, %h: f16) attributes {nvvm.kernel} {
    %t = tile_gpu.tensor %A : !llvm.ptr<1> -> memref<?xi32>
    %u = tile_gpu.tensor %H : !llvm.ptr<1> -> memref<?xf16>
    %zero = arith.constant 0 : i32
    // CHECK-NOT: llvm.fence
    // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
    tile_gpu.global_atomic add %v, %t[%o] : i32, memref<?xi32>
    // CHECK-NEXT: %[[P:.*]] = llvm.getelementptr
    // CHECK-NEXT: llvm.fence syncscope("device") release
    // CHECK-NEXT: llvm.atomicrmw add %[[P]], %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
    tile_gpu.global_atomic add %v, %t[%o] {memory_order = #tile<memory_order release>} : i32, memref<?xi32>
    // CHECK: %[[OLD:.*]] = llvm.atomicrmw max %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
    // CHECK-NEXT: llvm.fence syncscope("device") acquire
    %a = tile_gpu.global_atomic max %v, %t[%o] {memory_order = #tile<memory_order acquire>} : i32, memref<?xi32> -> i32
    // CHECK: llvm.fence syncscope("device") release
    // CHECK-NEXT: llvm.atomicrmw _or %{{.*}}, %[[OLD]] syncscope("device") monotonic : !llvm.ptr<1>, i32
    // CHECK-NEXT: llvm.fence syncscope("device") acquire
    tile_gpu.global_atomic or %a, %t[%o] {memory_order = #tile<memory_order acq_rel>} : i32, memref<?xi32>
    // CHECK: %[[SEEN:.*]] = llvm.load %{{.*}} atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %b = tile_gpu.global_atomic or %zero, %t[%o] {memory_order = #tile<memory_order acquire>} : i32, memref<?xi32> -> i32
    // CHECK: llvm.store %[[SEEN]], %{{.*}} atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
    tile_gpu.global_atomic exchange %b, %t[%o] {memory_order = #tile<memory_order release>} : i32, memref<?xi32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
    tile_gpu.global_atomic exchange %v, %t[%o] : i32, memref<?xi32>
    // The old value is asked for, or the elements are too narrow.
    // CHECK: llvm.atomicrmw xchg %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
    %c = tile_gpu.global_atomic exchange %v, %t[%o] : i32, memref<?xi32> -> i32
    tile_gpu.global_store %c, %t[%o] {alignment = 4 : i64} : i32, memref<?xi32>
    // CHECK: llvm.atomicrmw xchg %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, f16
    tile_gpu.global_atomic exchange %h, %u[%o] : f16, memref<?xf16>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @shared
  llvm.func @shared(%a: i32, %v: i32) attributes {nvvm.kernel} {
    // CHECK: llvm.fence syncscope("block") release
    // CHECK-NEXT: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
    tile_gpu.shared_atomic add %v, %a {memory_order = #tile<memory_order release>} : i32
    llvm.return
  }
}
}
