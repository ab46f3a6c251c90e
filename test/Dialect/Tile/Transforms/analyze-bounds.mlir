// Accesses to tensors are marked full only when they are proven to be inside.
// RUN: tile-opt %s -tile-analyze-bounds -split-input-file | filecheck %s

// CHECK-LABEL: func.func @static
func.func @static(%A: memref<1024x96xf16>) {
  %c8 = arith.constant 8 : i32
  tile.kernel "k" grid(%c8) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %a = tile.alloc "a" : !tile.buffer<128x32xf16, shared>
    %y = arith.muli %bx, %c128 : i32
    // Eight blocks of 128 rows, three steps of 32 columns: exactly the tensor.
    tile.pipelined %c0 to %c3 stages(2) {
    ^bb0(%k: i32):
      %x = arith.muli %k, %c32 : i32
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds full>}
      tile.copy %A[%y, %x] [128, 32] to %a[%c0, %c0] [128, 32] : memref<1024x96xf16> to !tile.buffer<128x32xf16, shared>
      // One column further the last step leaves it.
      %x1 = arith.addi %x, %c1 : i32
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds predicated>}
      tile.copy %A[%y, %x1] [128, 32] to %a[%c0, %c0] [128, 32] : memref<1024x96xf16> to !tile.buffer<128x32xf16, shared>
      // And before the first column.
      %x2 = arith.subi %x, %c1 : i32
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds predicated>}
      tile.copy %A[%y, %x2] [128, 16] to %a[%c0, %c0] [128, 16] : memref<1024x96xf16> to !tile.buffer<128x32xf16, shared>
    }
    // A copy between buffers has no bounds.
    // CHECK: tile.copy %a{{.*}} to %a{{.*}} [8, 32] :
    tile.copy %a[%c0, %c0] [8, 32] to %a[%c32, %c0] [8, 32] : !tile.buffer<128x32xf16, shared> to !tile.buffer<128x32xf16, shared>
  }
  return
}

// -----

// Dynamic extents: only with a divisibility promise.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%A: memref<?x?xf16>) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %md = memref.dim %A, %i0 : memref<?x?xf16>
  %m = arith.index_cast %md : index to i32
  %kd = memref.dim %A, %i1 : memref<?x?xf16>
  %k = arith.index_cast %kd : index to i32
  %gx = arith.ceildivsi %m, %c128 : i32
  %rest = arith.remsi %k, %c64 : i32
  %divisible = arith.cmpi eq, %rest, %c0 : i32
  tile.assume %divisible
  %steps = arith.ceildivsi %k, %c64 : i32
  tile.kernel "k" grid(%gx) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %y = arith.muli %bx, %c128 : i32
    tile.pipelined %c0 to %steps stages(2) {
    ^bb0(%s: i32):
      %x = arith.muli %s, %c64 : i32
      // The rows are not known to be a multiple of 128 ...
      // CHECK: tile.copy {{.*}} [128, 64] to {{.*}} {bounds = #tile<bounds predicated>}
      tile.copy %A[%y, %x] [128, 64] to %a[%c0, %c0] [128, 64] : memref<?x?xf16> to !tile.buffer<128x64xf16, shared>
      // ... the first of them exists in each block, though not provably here.
      // CHECK: tile.copy {{.*}} [1, 64] to {{.*}} {bounds = #tile<bounds predicated>}
      tile.copy %A[%y, %x] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x?xf16> to !tile.buffer<128x64xf16, shared>
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @promised
func.func @promised(%A: memref<?x64xf16>) {
  %i0 = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %md = memref.dim %A, %i0 : memref<?x64xf16>
  %m = arith.index_cast %md : index to i32
  %rest = arith.remsi %m, %c128 : i32
  %divisible = arith.cmpi eq, %rest, %c0 : i32
  tile.assume %divisible
  %sum = arith.addi %m, %c127 : i32
  %gx = arith.divsi %sum, %c128 : i32
  tile.kernel "k" grid(%gx) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %y = arith.muli %bx, %c128 : i32
    // CHECK: tile.copy {{.*}} {bounds = #tile<bounds full>}
    tile.copy %A[%y, %c0] [128, 64] to %a[%c0, %c0] [128, 64] : memref<?x64xf16> to !tile.buffer<128x64xf16, shared>
  }
  return
}

// -----

// Guards around element accesses count, in the branch where they hold.
// CHECK-LABEL: func.func @guarded
func.func @guarded(%A: memref<?xf32>, %B: memref<100xf32>, %n: i32) {
  %i0 = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c100 = arith.constant 100 : i32
  %c128 = arith.constant 128 : i32
  %d = memref.dim %A, %i0 : memref<?xf32>
  %m = arith.index_cast %d : index to i32
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %y = arith.muli %bx, %c128 : i32
    tile.parallel [128] {
    ^bb0(%i: i32):
      %at = arith.addi %y, %i : i32
      %inside = arith.cmpi slt, %at, %m : i32
      scf.if %inside {
        // CHECK: tile.load {{.*}} {bounds = #tile<bounds full>}
        %v = tile.load %A[%at] : memref<?xf32> -> f32
        // CHECK: tile.store {{.*}} {bounds = #tile<bounds predicated>}
        tile.store %v, %B[%at] : f32, memref<100xf32>
      } else {
        // CHECK: tile.load {{.*}} {bounds = #tile<bounds predicated>}
        %v = tile.load %A[%at] : memref<?xf32> -> f32
        %small = arith.cmpi slt, %i, %c100 : i32
        scf.if %small {
          // CHECK: tile.atomic {{.*}} {bounds = #tile<bounds full>}
          tile.atomic add %v, %B[%i] : f32, memref<100xf32>
        }
      }
      // CHECK: tile.load {{.*}} {bounds = #tile<bounds predicated>}
      %w = tile.load %B[%i] : memref<100xf32> -> f32
      tile.store %w, %A[%c0] : f32, memref<?xf32>
    }
  }
  return
}

// -----

// Indices that are computed by division, remainder and minimum; loaded ones are unknown.
// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%A: memref<64x64xf32>, %I: memref<64xi32>) {
  %c7 = arith.constant 7 : i32
  tile.kernel "k" grid(%c7) threads(128) {
  ^bb0(%bx: i32):
    %c3 = arith.constant 3 : i32
    %c60 = arith.constant 60 : i32
    %c64 = arith.constant 64 : i32
    %t = tile.thread_id 0 : i32
    %row = arith.remsi %t, %c64 : i32
    %column = arith.divsi %t, %c3 : i32
    // CHECK: tile.load {{.*}} {bounds = #tile<bounds full>} : memref<64x64xf32>
    %v = tile.load %A[%row, %column] : memref<64x64xf32> -> f32
    // CHECK: tile.load {{.*}} {bounds = #tile<bounds predicated>} : memref<64x64xf32>
    %w = tile.load %A[%row, %t] : memref<64x64xf32> -> f32
    %low = arith.minsi %t, %c60 : i32
    // CHECK: tile.load {{.*}} {bounds = #tile<bounds full>} : memref<64xi32>
    %i = tile.load %I[%low] : memref<64xi32> -> i32
    // CHECK: tile.store {{.*}} {bounds = #tile<bounds predicated>} : f32
    tile.store %v, %A[%i, %row] : f32, memref<64x64xf32>
  }
  return
}

// -----

// Extents of one symbol are equal: the trip count comes from A, the access is to B.
// CHECK-LABEL: func.func @symbols
func.func @symbols(
    %A: memref<64x?xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<64>, #tile.expr<symbol("K")>], strides = [], alignment = 16>},
    %B: memref<?x64xf16> {tile.argument = #tile.argument<"B", tensor, shape = [#tile.expr<symbol("K")>, #tile.expr<64>], strides = [], alignment = 16>},
    %C: memref<?x64xf16> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("N")>, #tile.expr<64>], strides = [], alignment = 16>}) {
  %i1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %d = memref.dim %A, %i1 : memref<64x?xf16>
  %k = arith.index_cast %d : index to i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %b = tile.alloc "b" : !tile.buffer<1x64xf16, shared>
    %c32 = arith.constant 32 : i32
    %rest = arith.remsi %k, %c32 : i32
    %divisible = arith.cmpi eq, %rest, %c0 : i32
    tile.assume %divisible
    %steps = arith.ceildivsi %k, %c32 : i32
    tile.pipelined %c0 to %steps stages(2) {
    ^bb0(%s: i32):
      %at = arith.muli %s, %c32 : i32
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds full>}
      tile.copy %B[%at, %c0] [1, 64] to %b[%c0, %c0] [1, 64] : memref<?x64xf16> to !tile.buffer<1x64xf16, shared>
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds predicated>}
      tile.copy %C[%at, %c0] [1, 64] to %b[%c0, %c0] [1, 64] : memref<?x64xf16> to !tile.buffer<1x64xf16, shared>
    }
  }
  return
}

// -----

// The user's promise stands in for the proof.
module attributes {tile.options = #tile.options<{disable_bounds_checks = true}>} {
  // CHECK-LABEL: func.func @promised
  func.func @promised(%A: memref<?xf32>, %i: i32) {
    %c8 = arith.constant 8 : i32
    tile.kernel "k" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "a" : !tile.buffer<32xf32, shared>
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds full>}
      tile.copy %A[%i] [32] to %a[%c0] [32] : memref<?xf32> to !tile.buffer<32xf32, shared>
    }
    return
  }
}

// -----

// Blocks that walk over tiles, as many at a time as there are multiprocessors: no tile is in front of the first one.
// CHECK-LABEL: func.func @persistent
func.func @persistent(%A: memref<1024x96xf16>) {
  %c8 = arith.constant 8 : i32
  %sms = tile.sm_count : i32
  tile.kernel "k" grid(%sms) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c128 = arith.constant 128 : i32
    %a = tile.alloc "a" : !tile.buffer<128x96xf16, shared>
    scf.for %tile = %bx to %c8 step %sms : i32 {
      %y = arith.muli %tile, %c128 : i32
      // CHECK: tile.copy {{.*}} {bounds = #tile<bounds full>}
      tile.copy %A[%y, %c0] [128, 96] to %a[%c0, %c0] [128, 96] : memref<1024x96xf16> to !tile.buffer<128x96xf16, shared>
    }
  }
  return
}
