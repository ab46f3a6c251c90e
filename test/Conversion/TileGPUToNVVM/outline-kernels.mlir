// RUN: tile-opt %s --tile-outline-kernels --split-input-file | filecheck %s

// The launch plan stays, the host function goes.
// CHECK: module attributes {{.*}}tile.launch_plan = #tile.launch_plan<name = "scale"
// CHECK-NOT: func.func
// CHECK: gpu.module @kernels
// CHECK: llvm.func @scale(%[[A:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %[[B:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %[[N:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: i64, %[[S:[a-z0-9]+]]: f32)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
module attributes {tile.target = #tile.target<"sm_80">} {
  func.func @scale(%A: memref<?xf32>, %B: memref<?xf32>, %s: f32, %unused: i32) attributes {tile.outputs = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %n = memref.dim %A, %c0 : memref<?xf32>
    %ni = arith.index_cast %n : index to i32
    %c128 = arith.constant 128 : i32
    %g = arith.ceildivsi %ni, %c128 : i32
    tile.kernel "scale" grid(%g) threads(128) {
    ^bb0(%bx: i32):
      // CHECK-DAG: tile_gpu.tensor %[[A]]
      // CHECK-DAG: tile_gpu.tensor %[[B]]
      // CHECK-DAG: arith.trunci %[[N]] : i64 to i32
      // CHECK-DAG: tile_gpu.block_id 0
      %t = tile_gpu.thread_id : i32
      %base = arith.muli %bx, %c128 : i32
      %i = arith.addi %base, %t : i32
      %e = tile_gpu.extent %A, 0 : memref<?xf32>
      %p = arith.cmpi ult, %i, %e : i32
      %o = arith.extsi %i : i32 to i64
      %v = tile_gpu.global_load %A[%o] if %p : memref<?xf32> -> f32
      // CHECK: arith.mulf %{{.*}}, %[[S]]
      %w = arith.mulf %v, %s : f32
      tile_gpu.global_store %w, %B[%o] if %p : f32, memref<?xf32>
      // CHECK: llvm.return
    }
    return
  }
}

// -----

// Launches in front of one that begins early may write what it only reads.
// CHECK: llvm.func @early(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias})
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @early(%A: memref<64xi32>, %B: memref<64xi32>) attributes {tile.outputs = array<i64: 1>} {
    %c8 = arith.constant 8 : i32
    tile.kernel "early" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %o = arith.constant 0 : i64
      tile_gpu.griddepcontrol_wait
      %v = tile_gpu.global_load %A[%o] : memref<64xi32> -> i32
      tile_gpu.global_store %v, %B[%o] : i32, memref<64xi32>
    }
    return
  }
}

// -----

// Blocks that order their accesses to memory see what others have written: no promise that nobody else does.
// CHECK: llvm.func @meet(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64})
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @meet(%A: memref<64xi32>, %B: memref<64xi32>) attributes {tile.outputs = array<i64: 1>} {
    %c8 = arith.constant 8 : i32
    tile.kernel "meet" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %o = arith.constant 0 : i64
      %v = tile_gpu.global_load %A[%o] : memref<64xi32> -> i32
      tile_gpu.global_atomic add %v, %B[%o] {memory_order = #tile<memory_order release>} : i32, memref<64xi32>
    }
    return
  }
}

// -----

// Registers that are saved for a second block are for nothing where its shared memory does not fit.
// CHECK-LABEL: llvm.func @alone
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-LABEL: llvm.func @together
// CHECK-NOT: nvvm.minctasm
module attributes {tile.target = #tile.target<"sm_80">} {
  func.func @both() {
    %c1 = arith.constant 1 : i32
    tile.kernel "alone" grid(%c1) threads(128) attributes {tile.shared_bytes = 82945 : i64} {
    ^bb0(%bx: i32):
    }
    tile.kernel "together" grid(%c1) threads(128) attributes {tile.shared_bytes = 82944 : i64} {
    ^bb0(%bx: i32):
    }
    return
  }
}

// -----

// Inline PTX may write a tensor whose address it is given, and tell other blocks about all of them.
// CHECK: llvm.func @inline(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64})
// What it is not given it does not write.
// CHECK: llvm.func @arithmetic(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly})
// CHECK: llvm.func @fence(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly})
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @all(%A: memref<64xi32>, %B: memref<64xi32>, %C: memref<64xi32>) attributes {tile.outputs = array<i64: 1>} {
    %c8 = arith.constant 8 : i32
    tile.kernel "inline" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %o = arith.constant 0 : i64
      tile_gpu.ptx "st.global.b32 [$0], 1;"(%A) : (memref<64xi32>) -> ()
      %v = tile_gpu.global_load %A[%o] : memref<64xi32> -> i32
      tile_gpu.global_store %v, %B[%o] : i32, memref<64xi32>
    }
    tile.kernel "arithmetic" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %o = arith.constant 0 : i64
      %v = tile_gpu.global_load %C[%o] : memref<64xi32> -> i32
      %w = tile_gpu.ptx "add.sat.s32 $0, $1, 1;"(%v) : (i32) -> i32
      tile_gpu.global_store %w, %B[%o] : i32, memref<64xi32>
    }
    tile.kernel "fence" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %o = arith.constant 0 : i64
      %v = tile_gpu.global_load %C[%o] : memref<64xi32> -> i32
      tile_gpu.ptx "fence.acq_rel.gpu;"() : () -> ()
      tile_gpu.global_store %v, %B[%o] : i32, memref<64xi32>
    }
    return
  }
}
