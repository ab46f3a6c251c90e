// Kernels become an entry point and a loop over blocks with plain memory; nothing of the dialect but attributes is left.
// RUN: tile-opt --tile-to-cpu --canonicalize --cse --split-input-file %s | FileCheck %s
// RUN: tile-opt --tile-cpu-pipeline="vector-bits=256 native-f16=true" --split-input-file %s | FileCheck %s --check-prefix=LLVM

// A copy that may leave the tensor is tested once per tile; so is a parallel loop.

// CHECK-LABEL: module
// CHECK-SAME: tile.launch_plan = #tile.launch_plan<name = "rows", target = "cpu"
// CHECK: func.func private @rows_blocks(%[[A:.*]]: !llvm.ptr {llvm.noalias}, %[[B:.*]]: !llvm.ptr {llvm.noalias}, %{{.*}}: i64
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// CHECK-NOT: tile.
// CHECK: %[[TILE:.*]] = llvm.alloca
// CHECK: scf.for %{{.*}} = %[[FIRST:.*]] to
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.for %{{.*}} = %c0_i64 to %c16_i64 step %c1_i64
// CHECK-NEXT: scf.for %{{.*}} = %c0_i64 to %c40_i64 step %c1_i64
// CHECK-NOT: arith.cmpi
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> f16
// CHECK: llvm.store
// CHECK: } else {
// The clipped copy: fill, copy, fill; nothing is left of the row here.
// CHECK: scf.for
// CHECK: arith.select
// CHECK: scf.for
// CHECK: llvm.store %cst
// CHECK: scf.for
// The parallel loop, without tests and with.
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NOT: scf.if
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK: } else {
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK: func.func @rows(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: call @rows_blocks

// LLVM-LABEL: module
// LLVM: llvm.func internal @rows_blocks(%{{.*}}: !llvm.ptr {llvm.noalias}
// LLVM-NOT: tile.
// LLVM: llvm.func @rows(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
func.func @rows(%A: memref<?x40xf16>, %B: memref<?x40xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : i32
  %d = memref.dim %A, %c0 : memref<?x40xf16>
  %m = arith.index_cast %d : index to i32
  %blocks = arith.ceildivsi %m, %c16 : i32
  tile.kernel "rows" grid(%blocks) threads(64) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %y = arith.muli %bx, %c16 : i32
    %s = tile.alloc "s" : !tile.buffer<16x40xf16, shared>
    tile.copy %A[%y, %z] [16, 40] to %s[%z, %z] [16, 40] : memref<?x40xf16> to !tile.buffer<16x40xf16, shared>
    tile.parallel [16, 40] {
    ^bb1(%i: i32, %j: i32):
      %r = arith.addi %y, %i : i32
      %h = tile.load %s[%i, %j] : !tile.buffer<16x40xf16, shared> -> f16
      %v = arith.extf %h : f16 to f32
      tile.store %v, %B[%r, %j] : f32, memref<?x40xf32>
    }
  }
  return
}

// -----

// Known bounds need no test; asynchronous copies are plain ones; large buffers come from the scratch of the thread.

// CHECK-LABEL: module
// CHECK-SAME: guards = []
// CHECK: func.func private @tilemlir_scratch(i64) -> !llvm.ptr
// CHECK: func.func private @known_blocks(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %[[SCRATCH:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// CHECK-NOT: llvm.alloca
// CHECK-NOT: scf.if
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: func.func @known
// CHECK: %[[ARENA:.*]] = call @tilemlir_scratch(%c32768_i64)
// CHECK: call @known_blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ARENA]]
// LLVM-LABEL: module
module attributes {tile.options = #tile.options<{noalias = false}>} {
  func.func @known(%A: memref<512x64xf32>) {
    %grid = arith.constant 4 : i32
    tile.kernel "known" grid(%grid) threads(64) {
    ^bb0(%bx: i32):
      %z = arith.constant 0 : i32
      %c128 = arith.constant 128 : i32
      %y = arith.muli %bx, %c128 : i32
      %s = tile.alloc "s" : !tile.buffer<128x64xf32, shared>
      tile.copy_async %A[%y, %z] [128, 64] to %s[%z, %z] [128, 64] {bounds = #tile<bounds full>} : memref<512x64xf32> to !tile.buffer<128x64xf32, shared>
      tile.async_commit
      tile.async_wait {pending = 0 : i64}
      tile.sync_threads
      tile.copy %s[%z, %z] [128, 64] to %A[%y, %z] [128, 64] {bounds = #tile<bounds full>} : !tile.buffer<128x64xf32, shared> to memref<512x64xf32>
    }
    return
  }
}

// -----

// The gemm: packing of both operands, then rows x vectors of accumulators in the loop over k.

// CHECK-LABEL: func.func private @multiply_blocks
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: scf.for %{{.*}} = %c0_i64 to %c32_i64 step %c4_i64 iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-COUNT-48: llvm.intr.fmuladd
// CHECK-NOT: llvm.intr.fmuladd
// CHECK: scf.yield
// LLVM-LABEL: llvm.func internal @multiply_blocks
// LLVM: llvm.intr.fmuladd(%{{.*}}) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
func.func @multiply(%A: memref<24x32xf16>, %B: memref<32x32xf16>, %C: memref<24x32xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "multiply" grid(%grid) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<24x32xf16, shared>
    %b = tile.alloc : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc : !tile.buffer<24x32xf32, fragment>
    tile.copy %A[%z, %z] [24, 32] to %a[%z, %z] [24, 32] : memref<24x32xf16> to !tile.buffer<24x32xf16, shared>
    tile.copy %B[%z, %z] [32, 32] to %b[%z, %z] [32, 32] : memref<32x32xf16> to !tile.buffer<32x32xf16, shared>
    tile.gemm %a, %b, %c {clear_accum} : !tile.buffer<24x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<24x32xf32, fragment>
    tile.copy %c[%z, %z] [24, 32] to %C[%z, %z] [24, 32] : !tile.buffer<24x32xf32, fragment> to memref<24x32xf32>
  }
  return
}

// -----

// Code that depends on the thread: one loop over the threads before the barrier, one after, and the value between in
// an array.

// CHECK-LABEL: func.func private @mirror_blocks
// CHECK: %[[KEPT:.*]] = llvm.alloca %c256_i64 x i8
// CHECK: scf.for %[[T:.*]] = %c0_i64 to %c64_i64 step %c1_i64
// CHECK: llvm.getelementptr %[[KEPT]]
// CHECK: }
// CHECK: scf.for %{{.*}} = %c0_i64 to %c64_i64 step %c1_i64
// CHECK: llvm.getelementptr %[[KEPT]]
// LLVM-LABEL: llvm.func internal @mirror_blocks
func.func @mirror(%A: memref<64xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "mirror" grid(%grid) threads(64) {
  ^bb0(%bx: i32):
    %c63 = arith.constant 63 : i32
    %t = tile.thread_id 0 : i32
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    %v = tile.load %A[%t] : memref<64xf32> -> f32
    tile.store %v, %s[%t] : f32, !tile.buffer<64xf32, shared>
    tile.sync_threads
    %back = arith.subi %c63, %t : i32
    %w = tile.load %s[%back] : !tile.buffer<64xf32, shared> -> f32
    %sum = arith.addf %v, %w : f32
    tile.store %sum, %A[%t] : f32, memref<64xf32>
  }
  return
}

// -----

// Atomics: one instruction where there is one, else compare and exchange; prints and assertions call the runtime.

// CHECK-LABEL: func.func private @diagnostics_blocks
// CHECK: llvm.atomicrmw max %{{.*}}, %{{.*}} acquire : !llvm.ptr, i32
// CHECK: scf.while
// CHECK: llvm.cmpxchg %{{.*}}, %{{.*}}, %{{.*}} monotonic monotonic : !llvm.ptr, i16
// CHECK: call @tilemlir_print
// CHECK: call @tilemlir_assert_fail
// LLVM-LABEL: llvm.func internal @diagnostics_blocks
// LLVM: llvm.call @tilemlir_print
func.func @diagnostics(%A: memref<64xi32>, %B: memref<64xbf16>) {
  %grid = arith.constant 1 : i32
  tile.kernel "diagnostics" grid(%grid) threads(64) {
  ^bb0(%bx: i32):
    %c = arith.constant 1.0 : bf16
    %s = tile.alloc "s" : !tile.buffer<4xi32, shared>
    tile.parallel [64] {
    ^bb1(%i: i32):
      tile.atomic max %i, %A[%i] {memory_order = #tile<memory_order acquire>} : i32, memref<64xi32>
      tile.atomic add %c, %B[%i] : bf16, memref<64xbf16>
    }
    tile.print "s" buffer %s : !tile.buffer<4xi32, shared>
    %ok = arith.cmpi eq, %bx, %bx : i32
    %v = tile.load %A[%bx] : memref<64xi32> -> i32
    %positive = arith.cmpi sgt, %v, %bx : i32
    tile.assert %positive, "must be positive"
  }
  return
}

// -----

// Copies with a local operand belong to each thread. Neighbours exchange elements: the loop over the threads is split where a
// GPU would have a barrier.

// CHECK-LABEL: func.func private @exchange_blocks
// CHECK: scf.for %{{.*}} = %c0_i64 to %c64_i64
// CHECK: scf.for %{{.*}} = %c0_i64 to %c64_i64
// CHECK-NOT: scf.for %{{.*}} = %c0_i64 to %c64_i64
// CHECK: return
func.func @exchange(%A: memref<256xf32>, %B: memref<256xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "exchange" grid(%grid) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c63 = arith.constant 63 : i32
    %mine = tile.alloc "mine" : !tile.buffer<4xf32, local>
    %s = tile.alloc "s" : !tile.buffer<256xf32, shared>
    %t = tile.thread_id 0 : i32
    %at = arith.muli %t, %c4 : i32
    %other = arith.subi %c63, %t : i32
    %from = arith.muli %other, %c4 : i32
    tile.copy %A[%at] [4] to %mine[%c0] [4] : memref<256xf32> to !tile.buffer<4xf32, local>
    tile.copy %mine[%c0] [4] to %s[%at] [4] : !tile.buffer<4xf32, local> to !tile.buffer<256xf32, shared>
    tile.copy %s[%from] [4] to %mine[%c0] [4] : !tile.buffer<256xf32, shared> to !tile.buffer<4xf32, local>
    tile.copy %mine[%c0] [4] to %B[%at] [4] : !tile.buffer<4xf32, local> to memref<256xf32>
  }
  return
}
