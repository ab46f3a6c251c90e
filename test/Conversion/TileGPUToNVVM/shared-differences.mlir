// RUN: tile-opt %s -pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" | filecheck %s
// Comparisons of two values that are shifted by constants.

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // Rows and columns of a mask: one difference, and one comparison for elements
  // along a diagonal once equal ones are merged.
  // CHECK-LABEL: llvm.func @causal
  // CHECK-SAME: ([[ROW:%[a-z0-9]+]]: i32, [[COLUMN:%[a-z0-9]+]]: i32
  llvm.func @causal(%row: i32, %column: i32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xi1>
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c9 = arith.constant 9 : i32
    %c16 = arith.constant 16 : i32
    %c17 = arith.constant 17 : i32
    %c24 = arith.constant 24 : i32
    %c25 = arith.constant 25 : i32
    %below = arith.addi %row, %c8 overflow<nsw> : i32
    %j1 = arith.addi %column, %c1 overflow<nsw> : i32
    %j8 = arith.addi %column, %c8 overflow<nsw> : i32
    %j9 = arith.addi %column, %c9 overflow<nsw> : i32
    %j16 = arith.addi %column, %c16 overflow<nsw> : i32
    // Constants of several sums are summed.
    %j17 = arith.addi %j8, %c9 overflow<nsw> : i32
    %j24 = arith.addi %column, %c24 overflow<nsw> : i32
    %j25 = arith.addi %column, %c25 overflow<nsw> : i32
    // CHECK: [[DIFFERENCE:%[0-9]+]] = llvm.intr.ssub.sat([[ROW]], [[COLUMN]])
    // CHECK-NOT: llvm.intr.ssub.sat
    // CHECK: llvm.icmp "sge" [[DIFFERENCE]]
    %0 = arith.cmpi sge, %row, %column : i32
    // CHECK: [[ONE:%[0-9]+]] = llvm.mlir.constant(1 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[ONE]]
    %1 = arith.cmpi sge, %row, %j1 : i32
    // CHECK: [[MINUS:%[0-9]+]] = llvm.mlir.constant(-8 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[MINUS]]
    %2 = arith.cmpi sge, %below, %column : i32
    // CHECK: [[MINUS:%[0-9]+]] = llvm.mlir.constant(-7 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[MINUS]]
    %3 = arith.cmpi sge, %below, %j1 : i32
    // The same predicate as of the first one.
    // CHECK: [[NONE:%[0-9]+]] = llvm.mlir.constant(0 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[NONE]]
    %4 = arith.cmpi sge, %below, %j8 : i32
    // CHECK-COUNT-3: llvm.icmp "slt" [[DIFFERENCE]]
    %5 = arith.cmpi slt, %row, %j9 : i32
    %6 = arith.cmpi slt, %row, %j16 : i32
    %7 = arith.cmpi slt, %row, %j17 : i32
    // CHECK-COUNT-2: llvm.icmp "sgt" [[DIFFERENCE]]
    %8 = arith.cmpi sgt, %row, %j24 : i32
    %9 = arith.cmpi sgt, %row, %j25 : i32
    // Another difference.
    // CHECK: llvm.icmp "sge" [[COLUMN]], [[ROW]]
    %10 = arith.cmpi sge, %column, %row : i32
    %a0 = arith.andi %0, %1 : i1
    %a1 = arith.andi %a0, %2 : i1
    %a2 = arith.andi %a1, %3 : i1
    %a3 = arith.andi %a2, %4 : i1
    %a4 = arith.andi %a3, %5 : i1
    %a5 = arith.andi %a4, %6 : i1
    %a6 = arith.andi %a5, %7 : i1
    %a7 = arith.andi %a6, %8 : i1
    %a8 = arith.andi %a7, %9 : i1
    %a9 = arith.andi %a8, %10 : i1
    tile_gpu.global_store %a9, %tb[%o] : i1, memref<?xi1>
    llvm.return
  }

  // Seven comparisons are too few. Sums that may wrap around, comparisons
  // without sign, and constants that a saturated difference could be equal to,
  // do not count.
  // CHECK-LABEL: llvm.func @others
  // CHECK-NOT: ssub.sat
  // CHECK: llvm.return
  llvm.func @others(%row: i32, %column: i32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xi1>
    %c0 = arith.constant 1 : i32
    %c1 = arith.constant 2 : i32
    %c2 = arith.constant 3 : i32
    %c3 = arith.constant 4 : i32
    %c4 = arith.constant 5 : i32
    %c5 = arith.constant 6 : i32
    %c6 = arith.constant 7 : i32
    %c7 = arith.constant 8 : i32
    %c8 = arith.constant 9 : i32
    %c9 = arith.constant 10 : i32
    %c10 = arith.constant 2147483647 : i32
    %c11 = arith.constant -2147483648 : i32
    %j0 = arith.addi %column, %c0 overflow<nsw> : i32
    %j1 = arith.addi %column, %c1 overflow<nsw> : i32
    %j2 = arith.addi %column, %c2 overflow<nsw> : i32
    %j3 = arith.addi %column, %c3 overflow<nsw> : i32
    %j4 = arith.addi %column, %c4 overflow<nsw> : i32
    %j5 = arith.addi %column, %c5 overflow<nsw> : i32
    %j6 = arith.addi %column, %c6 : i32
    %j7 = arith.addi %column, %c7 overflow<nuw> : i32
    %j8 = arith.addi %column, %c8 overflow<nsw> : i32
    %j9 = arith.addi %column, %c9 overflow<nsw> : i32
    %j10 = arith.addi %column, %c10 overflow<nsw> : i32
    %j11 = arith.addi %column, %c11 overflow<nsw> : i32
    %x = arith.cmpi sge, %row, %column : i32
    %x0 = arith.cmpi sge, %row, %j0 : i32
    %x1 = arith.cmpi sge, %row, %j1 : i32
    %x2 = arith.cmpi sge, %row, %j2 : i32
    %x3 = arith.cmpi sge, %row, %j3 : i32
    %x4 = arith.cmpi sge, %row, %j4 : i32
    %x5 = arith.cmpi sge, %row, %j5 : i32
    %x6 = arith.cmpi sge, %row, %j6 : i32
    %x7 = arith.cmpi sge, %row, %j7 : i32
    %x8 = arith.cmpi uge, %row, %j8 : i32
    %x9 = arith.cmpi eq, %row, %j9 : i32
    %x10 = arith.cmpi sgt, %row, %j10 : i32
    %x11 = arith.cmpi sge, %row, %j11 : i32
    // Once more, and from the other side.
    %again = arith.cmpi slt, %row, %j5 : i32
    %other = arith.cmpi slt, %j4, %row : i32
    %a0 = arith.andi %x, %x0 : i1
    %a1 = arith.andi %a0, %x1 : i1
    %a2 = arith.andi %a1, %x2 : i1
    %a3 = arith.andi %a2, %x3 : i1
    %a4 = arith.andi %a3, %x4 : i1
    %a5 = arith.andi %a4, %x5 : i1
    %a6 = arith.andi %a5, %x6 : i1
    %a7 = arith.andi %a6, %x7 : i1
    %a8 = arith.andi %a7, %x8 : i1
    %a9 = arith.andi %a8, %x9 : i1
    %a10 = arith.andi %a9, %x10 : i1
    %a11 = arith.andi %a10, %x11 : i1
    %a12 = arith.andi %a11, %again : i1
    %a13 = arith.andi %a12, %other : i1
    tile_gpu.global_store %a13, %tb[%o] : i1, memref<?xi1>
    llvm.return
  }

  // Choices between constants, which would become the same value.
  // CHECK-LABEL: llvm.func @constants
  // CHECK-NOT: ssub.sat
  // CHECK: llvm.return
  llvm.func @constants(%row: i32, %column: i32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf32>
    %seen = arith.constant 0.0 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %c1 = arith.constant 1 : i32
    %j1 = arith.addi %column, %c1 overflow<nsw> : i32
    %x1 = arith.cmpi sge, %row, %j1 : i32
    %s1 = arith.select %x1, %seen, %hidden : f32
    tile_gpu.global_store %s1, %tb[%o] : f32, memref<?xf32>
    %c2 = arith.constant 2 : i32
    %j2 = arith.addi %column, %c2 overflow<nsw> : i32
    %x2 = arith.cmpi sge, %row, %j2 : i32
    %s2 = arith.select %x2, %seen, %hidden : f32
    tile_gpu.global_store %s2, %tb[%o] : f32, memref<?xf32>
    %c3 = arith.constant 3 : i32
    %j3 = arith.addi %column, %c3 overflow<nsw> : i32
    %x3 = arith.cmpi sge, %row, %j3 : i32
    %s3 = arith.select %x3, %seen, %hidden : f32
    tile_gpu.global_store %s3, %tb[%o] : f32, memref<?xf32>
    %c4 = arith.constant 4 : i32
    %j4 = arith.addi %column, %c4 overflow<nsw> : i32
    %x4 = arith.cmpi sge, %row, %j4 : i32
    %s4 = arith.select %x4, %seen, %hidden : f32
    tile_gpu.global_store %s4, %tb[%o] : f32, memref<?xf32>
    %c5 = arith.constant 5 : i32
    %j5 = arith.addi %column, %c5 overflow<nsw> : i32
    %x5 = arith.cmpi sge, %row, %j5 : i32
    %s5 = arith.select %x5, %seen, %hidden : f32
    tile_gpu.global_store %s5, %tb[%o] : f32, memref<?xf32>
    %c6 = arith.constant 6 : i32
    %j6 = arith.addi %column, %c6 overflow<nsw> : i32
    %x6 = arith.cmpi sge, %row, %j6 : i32
    %s6 = arith.select %x6, %seen, %hidden : f32
    tile_gpu.global_store %s6, %tb[%o] : f32, memref<?xf32>
    %c7 = arith.constant 7 : i32
    %j7 = arith.addi %column, %c7 overflow<nsw> : i32
    %x7 = arith.cmpi sge, %row, %j7 : i32
    %s7 = arith.select %x7, %seen, %hidden : f32
    tile_gpu.global_store %s7, %tb[%o] : f32, memref<?xf32>
    %c8 = arith.constant 8 : i32
    %j8 = arith.addi %column, %c8 overflow<nsw> : i32
    %x8 = arith.cmpi sge, %row, %j8 : i32
    %s8 = arith.select %x8, %seen, %hidden : f32
    tile_gpu.global_store %s8, %tb[%o] : f32, memref<?xf32>
    llvm.return
  }
}
}
