// The raster order becomes arithmetic on block indices; the attribute is gone.
// RUN: tile-opt %s -tile-map-blocks -split-input-file | filecheck %s

// CHECK-LABEL: func.func @row_panels
// CHECK-SAME: %[[GX:[a-z0-9]*]]: i32, %[[GY:[a-z0-9]*]]: i32
func.func @row_panels(%gx: i32, %gy: i32, %A: memref<?x?xf32>) {
  // CHECK: tile.kernel "k" grid(%[[GX]], %[[GY]]) threads(32) {
  tile.kernel "k" grid(%gx, %gy) threads(32) attributes {raster = #tile.raster<8, row>} {
  // CHECK-NEXT: ^bb0(%bx: i32, %by: i32):
  ^bb0(%bx: i32, %by: i32):
    %one = arith.constant 1.0 : f32
    // The linear block index is cut into panels of eight rows of the grid.
    // CHECK: %[[SCALED:.*]] = arith.muli %by, %[[GX]]
    // CHECK: %[[LINEAR:.*]] = arith.addi %bx, %[[SCALED]]
    // CHECK: %[[BLOCKS:.*]] = arith.muli %[[EIGHT:.*]], %[[GX]]
    // CHECK: %[[PANEL:.*]] = arith.divsi %[[LINEAR]], %[[BLOCKS]]
    // CHECK: %[[FIRST:.*]] = arith.muli %[[PANEL]], %[[EIGHT]]
    // The last panel may be narrower.
    // CHECK: %[[LEFT:.*]] = arith.subi %[[GY]], %[[FIRST]]
    // CHECK: %[[WIDTH:.*]] = arith.minsi %[[EIGHT]], %[[LEFT]]
    // CHECK: %[[REST:.*]] = arith.subi %[[LINEAR]]
    // CHECK: %[[IN:.*]] = arith.remsi %[[REST]], %[[WIDTH]]
    // CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[IN]]
    // CHECK: %[[FORWARD:.*]] = arith.divsi %[[REST]], %[[WIDTH]]
    // CHECK: %[[COLUMN:.*]] = arith.select %{{.*}}, %{{.*}}, %[[FORWARD]]
    // What is known about the new indices stays known.
    // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[ROW]], %[[GY]]
    // CHECK: tile.assume %[[BELOW]]
    // CHECK: %[[LEFT_OF:.*]] = arith.cmpi slt, %[[COLUMN]], %[[GX]]
    // CHECK: tile.assume %[[LEFT_OF]]
    // CHECK: tile.store %{{.*}}, %{{.*}}[%[[ROW]], %[[COLUMN]]]
    tile.store %one, %A[%by, %bx] : f32, memref<?x?xf32>
  }
  return
}

// -----

// Column panels exchange the roles of the dimensions; the third one is left alone.
// CHECK-LABEL: func.func @column_panels
// CHECK-SAME: %[[GX:[a-z0-9]*]]: i32, %[[GY:[a-z0-9]*]]: i32
func.func @column_panels(%gx: i32, %gy: i32, %A: memref<?x?x?xf32>) {
  tile.kernel "k" grid(%gx, %gy, %gx) threads(32) attributes {raster = #tile.raster<4, column>} {
  ^bb0(%bx: i32, %by: i32, %bz: i32):
    %one = arith.constant 1.0 : f32
    // CHECK: %[[LEFT:.*]] = arith.subi %[[GX]], %{{.*}}
    // CHECK: %[[WIDTH:.*]] = arith.minsi %{{.*}}, %[[LEFT]]
    // CHECK: %[[COLUMN:.*]] = arith.addi
    // CHECK: %[[ROW:.*]] = arith.select
    // CHECK: tile.store %{{.*}}, %{{.*}}[%bz, %[[ROW]], %[[COLUMN]]]
    tile.store %one, %A[%bz, %by, %bx] : f32, memref<?x?x?xf32>
  }
  return
}

// -----

// Without a raster order nothing changes.
// CHECK-LABEL: func.func @plain
func.func @plain(%gx: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%gx) threads(32) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    // CHECK-NOT: arith.divsi
    // CHECK: tile.store %{{.*}}, %{{.*}}[%bx]
    tile.store %one, %A[%bx] : f32, memref<?xf32>
  }
  return
}
