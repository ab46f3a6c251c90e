// RUN: tile-opt %s -pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" | filecheck %s
// Comparisons of two values that are shifted by constants.

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // Rows and columns of a mask: one difference, and the same comparison for
  // elements along a diagonal.
  // CHECK-LABEL: llvm.func @causal
  // CHECK-SAME: ([[ROW:%[a-z0-9]+]]: i32, [[COLUMN:%[a-z0-9]+]]: i32
  llvm.func @causal(%row: i32, %column: i32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xi1>
    %c8 = arith.constant 8 : i32
    %below = arith.addi %row, %c8 overflow<nsw> : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %c6 = arith.constant 6 : i32
    %c7 = arith.constant 7 : i32
    %c9 = arith.constant 9 : i32
    %c10 = arith.constant 10 : i32
    %c11 = arith.constant 11 : i32
    %c12 = arith.constant 12 : i32
    %c13 = arith.constant 13 : i32
    %c14 = arith.constant 14 : i32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %c17 = arith.constant 17 : i32
    %j1 = arith.addi %column, %c1 overflow<nsw> : i32
    %j2 = arith.addi %column, %c2 overflow<nsw> : i32
    %j3 = arith.addi %column, %c3 overflow<nsw> : i32
    %j4 = arith.addi %column, %c4 overflow<nsw> : i32
    %j5 = arith.addi %column, %c5 overflow<nsw> : i32
    %j6 = arith.addi %column, %c6 overflow<nsw> : i32
    %j7 = arith.addi %column, %c7 overflow<nsw> : i32
    %j8 = arith.addi %column, %c8 overflow<nsw> : i32
    %j9 = arith.addi %column, %c9 overflow<nsw> : i32
    %j10 = arith.addi %column, %c10 overflow<nsw> : i32
    %j11 = arith.addi %column, %c11 overflow<nsw> : i32
    %j12 = arith.addi %column, %c12 overflow<nsw> : i32
    %j13 = arith.addi %column, %c13 overflow<nsw> : i32
    %j14 = arith.addi %column, %c14 overflow<nsw> : i32
    %j15 = arith.addi %column, %c15 overflow<nsw> : i32
    %j16 = arith.addi %column, %c16 overflow<nsw> : i32
    // Constants of several sums are summed.
    %j17 = arith.addi %j8, %c9 overflow<nsw> : i32
    // CHECK: [[DIFFERENCE:%[0-9]+]] = llvm.intr.ssub.sat([[ROW]], [[COLUMN]])
    // CHECK-NOT: llvm.intr.ssub.sat
    // CHECK: llvm.icmp "sge" [[DIFFERENCE]]
    %x0 = arith.cmpi sge, %row, %column : i32
    // CHECK: [[ONE:%[0-9]+]] = llvm.mlir.constant(1 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[ONE]]
    %x1 = arith.cmpi sge, %row, %j1 : i32
    // CHECK: [[MINUS:%[0-9]+]] = llvm.mlir.constant(-8 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[MINUS]]
    %x2 = arith.cmpi sge, %below, %column : i32
    // CHECK: [[MINUS:%[0-9]+]] = llvm.mlir.constant(-7 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[MINUS]]
    %x3 = arith.cmpi sge, %below, %j1 : i32
    // As the first one.
    // CHECK: [[NONE:%[0-9]+]] = llvm.mlir.constant(0 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[NONE]]
    %x4 = arith.cmpi sge, %below, %j8 : i32
    // CHECK: [[SUM:%[0-9]+]] = llvm.mlir.constant(17 : i32)
    // CHECK-NEXT: llvm.icmp "sge" [[DIFFERENCE]], [[SUM]]
    %x5 = arith.cmpi sge, %row, %j17 : i32
    // CHECK-COUNT-5: llvm.icmp "slt" [[DIFFERENCE]]
    %x6 = arith.cmpi slt, %row, %j2 : i32
    %x7 = arith.cmpi slt, %row, %j3 : i32
    %x8 = arith.cmpi slt, %row, %j4 : i32
    %x9 = arith.cmpi slt, %row, %j5 : i32
    %x10 = arith.cmpi slt, %row, %j6 : i32
    // CHECK-COUNT-3: llvm.icmp "sle" [[DIFFERENCE]]
    %x11 = arith.cmpi sle, %row, %j7 : i32
    %x12 = arith.cmpi sle, %row, %j8 : i32
    %x13 = arith.cmpi sle, %row, %j9 : i32
    // CHECK-COUNT-7: llvm.icmp "sgt" [[DIFFERENCE]]
    %x14 = arith.cmpi sgt, %row, %j10 : i32
    %x15 = arith.cmpi sgt, %row, %j11 : i32
    %x16 = arith.cmpi sgt, %row, %j12 : i32
    %x17 = arith.cmpi sgt, %row, %j13 : i32
    %x18 = arith.cmpi sgt, %row, %j14 : i32
    %x19 = arith.cmpi sgt, %row, %j15 : i32
    %x20 = arith.cmpi sgt, %row, %j16 : i32
    // Another difference.
    // CHECK: llvm.icmp "sge" [[COLUMN]], [[ROW]]
    %x21 = arith.cmpi sge, %column, %row : i32
    %a1 = arith.andi %x0, %x1 : i1
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
    %a12 = arith.andi %a11, %x12 : i1
    %a13 = arith.andi %a12, %x13 : i1
    %a14 = arith.andi %a13, %x14 : i1
    %a15 = arith.andi %a14, %x15 : i1
    %a16 = arith.andi %a15, %x16 : i1
    %a17 = arith.andi %a16, %x17 : i1
    %a18 = arith.andi %a17, %x18 : i1
    %a19 = arith.andi %a18, %x19 : i1
    %a20 = arith.andi %a19, %x20 : i1
    %a21 = arith.andi %a20, %x21 : i1
    tile_gpu.global_store %a21, %tb[%o] : i1, memref<?xi1>
    llvm.return
  }

  // Nineteen comparisons are too few. Sums that may wrap around, comparisons
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
    %c10 = arith.constant 11 : i32
    %c11 = arith.constant 12 : i32
    %c12 = arith.constant 13 : i32
    %c13 = arith.constant 14 : i32
    %c14 = arith.constant 15 : i32
    %c15 = arith.constant 16 : i32
    %c16 = arith.constant 17 : i32
    %c17 = arith.constant 18 : i32
    %c18 = arith.constant 20 : i32
    %c19 = arith.constant 21 : i32
    %c20 = arith.constant 22 : i32
    %c21 = arith.constant 23 : i32
    %c22 = arith.constant 2147483647 : i32
    %c23 = arith.constant -2147483648 : i32
    %j0 = arith.addi %column, %c0 overflow<nsw> : i32
    %j1 = arith.addi %column, %c1 overflow<nsw> : i32
    %j2 = arith.addi %column, %c2 overflow<nsw> : i32
    %j3 = arith.addi %column, %c3 overflow<nsw> : i32
    %j4 = arith.addi %column, %c4 overflow<nsw> : i32
    %j5 = arith.addi %column, %c5 overflow<nsw> : i32
    %j6 = arith.addi %column, %c6 overflow<nsw> : i32
    %j7 = arith.addi %column, %c7 overflow<nsw> : i32
    %j8 = arith.addi %column, %c8 overflow<nsw> : i32
    %j9 = arith.addi %column, %c9 overflow<nsw> : i32
    %j10 = arith.addi %column, %c10 overflow<nsw> : i32
    %j11 = arith.addi %column, %c11 overflow<nsw> : i32
    %j12 = arith.addi %column, %c12 overflow<nsw> : i32
    %j13 = arith.addi %column, %c13 overflow<nsw> : i32
    %j14 = arith.addi %column, %c14 overflow<nsw> : i32
    %j15 = arith.addi %column, %c15 overflow<nsw> : i32
    %j16 = arith.addi %column, %c16 overflow<nsw> : i32
    %j17 = arith.addi %column, %c17 overflow<nsw> : i32
    %j18 = arith.addi %column, %c18 : i32
    %j19 = arith.addi %column, %c19 overflow<nuw> : i32
    %j20 = arith.addi %column, %c20 overflow<nsw> : i32
    %j21 = arith.addi %column, %c21 overflow<nsw> : i32
    %j22 = arith.addi %column, %c22 overflow<nsw> : i32
    %j23 = arith.addi %column, %c23 overflow<nsw> : i32
    %x = arith.cmpi sge, %row, %column : i32
    %x0 = arith.cmpi sge, %row, %j0 : i32
    %x1 = arith.cmpi sge, %row, %j1 : i32
    %x2 = arith.cmpi sge, %row, %j2 : i32
    %x3 = arith.cmpi sge, %row, %j3 : i32
    %x4 = arith.cmpi sge, %row, %j4 : i32
    %x5 = arith.cmpi sge, %row, %j5 : i32
    %x6 = arith.cmpi sge, %row, %j6 : i32
    %x7 = arith.cmpi sge, %row, %j7 : i32
    %x8 = arith.cmpi sge, %row, %j8 : i32
    %x9 = arith.cmpi sge, %row, %j9 : i32
    %x10 = arith.cmpi sge, %row, %j10 : i32
    %x11 = arith.cmpi sge, %row, %j11 : i32
    %x12 = arith.cmpi sge, %row, %j12 : i32
    %x13 = arith.cmpi sge, %row, %j13 : i32
    %x14 = arith.cmpi sge, %row, %j14 : i32
    %x15 = arith.cmpi sge, %row, %j15 : i32
    %x16 = arith.cmpi sge, %row, %j16 : i32
    %x17 = arith.cmpi sge, %row, %j17 : i32
    %x18 = arith.cmpi sge, %row, %j18 : i32
    %x19 = arith.cmpi sge, %row, %j19 : i32
    %x20 = arith.cmpi uge, %row, %j20 : i32
    %x21 = arith.cmpi eq, %row, %j21 : i32
    %x22 = arith.cmpi sgt, %row, %j22 : i32
    %x23 = arith.cmpi sge, %row, %j23 : i32
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
    %a12 = arith.andi %a11, %x12 : i1
    %a13 = arith.andi %a12, %x13 : i1
    %a14 = arith.andi %a13, %x14 : i1
    %a15 = arith.andi %a14, %x15 : i1
    %a16 = arith.andi %a15, %x16 : i1
    %a17 = arith.andi %a16, %x17 : i1
    %a18 = arith.andi %a17, %x18 : i1
    %a19 = arith.andi %a18, %x19 : i1
    %a20 = arith.andi %a19, %x20 : i1
    %a21 = arith.andi %a20, %x21 : i1
    %a22 = arith.andi %a21, %x22 : i1
    %a23 = arith.andi %a22, %x23 : i1
    %a24 = arith.andi %a23, %again : i1
    %a25 = arith.andi %a24, %other : i1
    tile_gpu.global_store %a25, %tb[%o] : i1, memref<?xi1>
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
    %c9 = arith.constant 9 : i32
    %j9 = arith.addi %column, %c9 overflow<nsw> : i32
    %x9 = arith.cmpi sge, %row, %j9 : i32
    %s9 = arith.select %x9, %seen, %hidden : f32
    tile_gpu.global_store %s9, %tb[%o] : f32, memref<?xf32>
    %c10 = arith.constant 10 : i32
    %j10 = arith.addi %column, %c10 overflow<nsw> : i32
    %x10 = arith.cmpi sge, %row, %j10 : i32
    %s10 = arith.select %x10, %seen, %hidden : f32
    tile_gpu.global_store %s10, %tb[%o] : f32, memref<?xf32>
    %c11 = arith.constant 11 : i32
    %j11 = arith.addi %column, %c11 overflow<nsw> : i32
    %x11 = arith.cmpi sge, %row, %j11 : i32
    %s11 = arith.select %x11, %seen, %hidden : f32
    tile_gpu.global_store %s11, %tb[%o] : f32, memref<?xf32>
    %c12 = arith.constant 12 : i32
    %j12 = arith.addi %column, %c12 overflow<nsw> : i32
    %x12 = arith.cmpi sge, %row, %j12 : i32
    %s12 = arith.select %x12, %seen, %hidden : f32
    tile_gpu.global_store %s12, %tb[%o] : f32, memref<?xf32>
    %c13 = arith.constant 13 : i32
    %j13 = arith.addi %column, %c13 overflow<nsw> : i32
    %x13 = arith.cmpi sge, %row, %j13 : i32
    %s13 = arith.select %x13, %seen, %hidden : f32
    tile_gpu.global_store %s13, %tb[%o] : f32, memref<?xf32>
    %c14 = arith.constant 14 : i32
    %j14 = arith.addi %column, %c14 overflow<nsw> : i32
    %x14 = arith.cmpi sge, %row, %j14 : i32
    %s14 = arith.select %x14, %seen, %hidden : f32
    tile_gpu.global_store %s14, %tb[%o] : f32, memref<?xf32>
    %c15 = arith.constant 15 : i32
    %j15 = arith.addi %column, %c15 overflow<nsw> : i32
    %x15 = arith.cmpi sge, %row, %j15 : i32
    %s15 = arith.select %x15, %seen, %hidden : f32
    tile_gpu.global_store %s15, %tb[%o] : f32, memref<?xf32>
    %c16 = arith.constant 16 : i32
    %j16 = arith.addi %column, %c16 overflow<nsw> : i32
    %x16 = arith.cmpi sge, %row, %j16 : i32
    %s16 = arith.select %x16, %seen, %hidden : f32
    tile_gpu.global_store %s16, %tb[%o] : f32, memref<?xf32>
    %c17 = arith.constant 17 : i32
    %j17 = arith.addi %column, %c17 overflow<nsw> : i32
    %x17 = arith.cmpi sge, %row, %j17 : i32
    %s17 = arith.select %x17, %seen, %hidden : f32
    tile_gpu.global_store %s17, %tb[%o] : f32, memref<?xf32>
    %c18 = arith.constant 18 : i32
    %j18 = arith.addi %column, %c18 overflow<nsw> : i32
    %x18 = arith.cmpi sge, %row, %j18 : i32
    %s18 = arith.select %x18, %seen, %hidden : f32
    tile_gpu.global_store %s18, %tb[%o] : f32, memref<?xf32>
    %c19 = arith.constant 19 : i32
    %j19 = arith.addi %column, %c19 overflow<nsw> : i32
    %x19 = arith.cmpi sge, %row, %j19 : i32
    %s19 = arith.select %x19, %seen, %hidden : f32
    tile_gpu.global_store %s19, %tb[%o] : f32, memref<?xf32>
    %c20 = arith.constant 20 : i32
    %j20 = arith.addi %column, %c20 overflow<nsw> : i32
    %x20 = arith.cmpi sge, %row, %j20 : i32
    %s20 = arith.select %x20, %seen, %hidden : f32
    tile_gpu.global_store %s20, %tb[%o] : f32, memref<?xf32>
    llvm.return
  }
}
}
