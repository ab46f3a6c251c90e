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

// -----

// Clusters are what a raster renumbers: of two rows of blocks each here.
// CHECK-LABEL: func.func @raster_of_clusters
// CHECK-SAME: %[[GX:[a-z0-9]*]]: i32
func.func @raster_of_clusters(%gx: i32, %A: memref<?x?xf32>) {
  %c16 = arith.constant 16 : i32
  tile.kernel "k" grid(%gx, %c16) threads(32) attributes {cluster = array<i64: 1, 2>, raster = #tile.raster<8, row>} {
  ^bb0(%bx: i32, %by: i32):
    %one = arith.constant 1.0 : f32
    // CHECK: %[[PLACE:.*]] = arith.remui %by, %[[TWO:.*]] : i32
    // CHECK: %[[CLUSTER:.*]] = arith.divui %by, %[[TWO]]
    // CHECK: arith.divui %{{.*}}, %[[TWO]]
    // CHECK: %[[SCALED:.*]] = arith.muli %[[CLUSTER]], %[[GX]]
    // CHECK: arith.addi %bx, %[[SCALED]]
    // CHECK: tile.assume
    // CHECK: tile.assume
    // CHECK: tile.assume
    // CHECK: tile.assume
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
    // CHECK: %[[BLOCK:.*]] = arith.addi %[[ROW]], %[[PLACE]]
    // CHECK-NOT: scf.if
    // CHECK: tile.store %{{.*}}, %{{.*}}[%[[BLOCK]], %{{.*}}]
    tile.store %one, %A[%by, %bx] : f32, memref<?x?xf32>
  }
  return
}

// -----

// A grid that may end inside of a cluster is rounded up; the blocks that this
// adds have no effect.
// CHECK-LABEL: func.func @surplus_blocks
// CHECK-SAME: %[[GX:[a-z0-9]*]]: i32
func.func @surplus_blocks(%gx: i32, %A: memref<?xf32>, %counter: memref<1xi32>) {
  %c5 = arith.constant 5 : i32
  // CHECK: %[[CLUSTERS:.*]] = arith.ceildivsi %[[GX]], %[[TWO:.*]] : i32
  // CHECK: %[[ROUNDED:.*]] = arith.muli %[[CLUSTERS]], %[[TWO]]
  // CHECK: %[[EIGHT:.*]] = arith.constant 8
  // CHECK: tile.kernel "k" grid(%[[ROUNDED]], %[[EIGHT]], %{{.*}}) threads(32)
  tile.kernel "k" grid(%gx, %c5, %c5) threads(32) attributes {cluster = array<i64: 2, 4, 1>} {
  ^bb0(%bx: i32, %by: i32, %bz: i32):
    // CHECK: %[[X:.*]] = arith.cmpi slt, %bx, %[[GX]]
    // CHECK: %[[Y:.*]] = arith.cmpi slt, %by, %{{.*}}
    // CHECK: %[[EXISTS:.*]] = arith.andi %[[X]], %[[Y]]
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "S_shared" : <32xf32, shared>
    // What others do not see is done all the same.
    // CHECK: tile.fill %S_shared
    tile.fill %s, %one : !tile.buffer<32xf32, shared>, f32
    scf.for %i = %c0 to %c5 step %c1 : i32 {
      // CHECK: scf.for
      // CHECK-NEXT: scf.if %[[EXISTS]] {
      // CHECK-NEXT: tile.copy %S_shared
      tile.copy %s[%c0] [32] to %A[%bx] [32] : !tile.buffer<32xf32, shared> to memref<?xf32>
    }
    // CHECK: %[[OLD:.*]] = scf.if %[[EXISTS]] -> (i32) {
    // CHECK: tile.atomic
    // CHECK: } else {
    %old = tile.atomic add %c1, %counter[%c0] : i32, memref<1xi32> -> i32
    // CHECK: scf.if %[[EXISTS]] {
    // CHECK-NEXT: tile.print "old"(%[[OLD]]
    tile.print "old"(%old : i32)
  }
  return
}

// -----

// Whole clusters need no condition.
// CHECK-LABEL: func.func @whole_clusters
func.func @whole_clusters(%n: i32, %A: memref<?xf32>) {
  %c2 = arith.constant 2 : i32
  %gx = arith.muli %n, %c2 : i32
  tile.kernel "k" grid(%gx) threads(32) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    // CHECK-NOT: scf.if
    // CHECK: tile.store
    %one = arith.constant 1.0 : f32
    tile.store %one, %A[%bx] : f32, memref<?xf32>
  }
  return
}

// -----

// Work that only seems to be done: what follows the mask has no effect.
// CHECK-LABEL: func.func @masked
func.func @masked(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    scf.for %i = %c0 to %n step %c1 : i32 {
      // CHECK: %[[EXISTS:.*]] = arith.cmpi
      %exists = arith.cmpi slt, %i, %bx : i32
      // CHECK-NOT: tile.mask_effects
      tile.mask_effects %exists
      // CHECK: scf.if %[[EXISTS]] {
      // CHECK-NEXT: tile.store
      tile.store %one, %A[%bx] : f32, memref<?xf32>
    }
    // CHECK: }
    // CHECK: }
    // CHECK-NEXT: tile.store
    tile.store %one, %A[%bx] : f32, memref<?xf32>
  }
  return
}

// -----

// A loop that waits for a value of a tensor ends where the block does not exist; one that counts stays as it is.
// CHECK-LABEL: func.func @wait
func.func @wait(%gx: i32, %n: i32, %A: memref<?xi32>) {
  tile.kernel "k" grid(%gx) threads(32) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %bx, %arg0
    // CHECK: scf.while
    // CHECK-NEXT: %[[READ:.*]] = scf.if %[[EXISTS]] -> (i32) {
    // CHECK-NEXT: tile.atomic or
    // CHECK: %[[LESS:.*]] = arith.cmpi slt, %[[READ]], %arg1
    // CHECK-NEXT: %[[GOES_ON:.*]] = arith.andi %[[EXISTS]], %[[LESS]]
    // CHECK-NEXT: scf.condition(%[[GOES_ON]])
    scf.while : () -> () {
      %read = tile.atomic or %c0, %A[%c0] : i32, memref<?xi32> -> i32
      %less = arith.cmpi slt, %read, %n : i32
      scf.condition(%less)
    } do {
      scf.yield
    }
    // CHECK: scf.while
    // CHECK-NEXT: %[[FEWER:.*]] = arith.cmpi
    // CHECK-NEXT: scf.condition(%[[FEWER]])
    %count = scf.while (%i = %c0) : (i32) -> i32 {
      %fewer = arith.cmpi slt, %i, %n : i32
      scf.condition(%fewer) %i : i32
    } do {
    ^bb0(%i: i32):
      tile.atomic add %c1, %A[%i] : i32, memref<?xi32>
      %next = arith.addi %i, %c1 : i32
      scf.yield %next : i32
    }
  }
  return
}

// -----

// Blocks that do not exist touch no buffer at places that follow from their number and may be beyond its end.
// CHECK-LABEL: func.func @places
func.func @places(%A: memref<3xi32>) {
  %c3 = arith.constant 3 : i32
  tile.kernel "k" grid(%c3) threads(32) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %s = tile.alloc "s" : !tile.buffer<3xi32, shared>
    %t = tile.alloc "t" : !tile.buffer<4xi32, shared>
    // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %bx
    // CHECK: scf.if %[[EXISTS]] {
    // CHECK-NEXT: tile.store %{{.*}}, %s[%bx]
    tile.store %c0, %s[%bx] : i32, !tile.buffer<3xi32, shared>
    // CHECK: }
    // CHECK-NEXT: tile.store %{{.*}}, %t[%bx]
    tile.store %c0, %t[%bx] : i32, !tile.buffer<4xi32, shared>
    // CHECK: scf.if %[[EXISTS]] -> (i32) {
    // CHECK-NEXT: tile.load %s[%bx]
    %v = tile.load %s[%bx] : !tile.buffer<3xi32, shared> -> i32
    // CHECK: %[[PLACE:.*]] = arith.remsi
    %place = arith.remsi %bx, %c2 : i32
    // CHECK-NEXT: tile.load %s[%[[PLACE]]]
    %w = tile.load %s[%place] : !tile.buffer<3xi32, shared> -> i32
    // What memory says does not follow from the number of the block.
    // CHECK-NEXT: tile.load %s[%[[PLACE]]]
    // CHECK-NEXT: %[[LOADED:.*]] = tile.load %arg0[%bx]
    // CHECK-NEXT: tile.store %{{.*}}, %s[%[[LOADED]]]
    %x = tile.load %s[%place] : !tile.buffer<3xi32, shared> -> i32
    %loaded = tile.load %A[%bx] : memref<3xi32> -> i32
    tile.store %x, %s[%loaded] : i32, !tile.buffer<3xi32, shared>
    // CHECK: scf.if %[[EXISTS]] {
    // CHECK-NEXT: tile.parallel
    tile.parallel [2] {
    ^bb0(%i: i32):
      %sum = arith.addi %bx, %i : i32
      tile.store %w, %s[%sum] : i32, !tile.buffer<3xi32, shared>
    }
  }
  return
}
