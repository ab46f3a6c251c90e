// Element loops that copy or fill a region become tile operations.
// RUN: tile-opt %s -tile-raise-loops -split-input-file | filecheck %s

// CHECK-LABEL: func.func @copy
func.func @copy(%n: i32, %B: memref<?x?xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c32 = arith.constant 32 : i32
    %k0 = arith.muli %bx, %c32 : i32
    %b = tile.alloc "b" : !tile.buffer<32x128xf16, shared>
    // CHECK: %[[K0:.*]] = arith.muli %bx
    // CHECK-NOT: tile.parallel
    // CHECK: tile.copy %{{.*}}[%{{.*}}, %bx] [32, 128] to %b[%{{.*}}, %{{.*}}] [32, 128] {safe = 0x7C00 : f16} : memref<?x?xf16> to !tile.buffer<32x128xf16, shared>
    tile.parallel [32, 128] {
    ^bb0(%k: i32, %j: i32):
      %row = arith.addi %k0, %k : i32
      %column = arith.addi %bx, %j : i32
      %v = tile.load %B[%row, %column] {safe = 0x7C00 : f16} : memref<?x?xf16> -> f16
      tile.store %v, %b[%k, %j] : f16, !tile.buffer<32x128xf16, shared>
    }
  }
  return
}

// -----

// A conversion that tile.copy does as well, unit dimensions, and a constant offset.
// CHECK-LABEL: func.func @convert
func.func @convert(%n: i32, %B: memref<?x?x?xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c4 = arith.constant 4 : i32
    %b = tile.alloc "b" : !tile.buffer<8x64xf32, fragment>
    // CHECK: tile.copy %b[%{{.*}}, %{{.*}}] [4, 64] to %{{.*}}[%{{.*}}, %bx, %{{.*}}] [4, 1, 64] : !tile.buffer<8x64xf32, fragment> to memref<?x?x?xf16>
    tile.parallel [4, 64] {
    ^bb0(%i: i32, %j: i32):
      %row = arith.addi %i, %c4 : i32
      %v = tile.load %b[%row, %j] : !tile.buffer<8x64xf32, fragment> -> f32
      %t = arith.truncf %v : f32 to f16
      tile.store %t, %B[%i, %bx, %j] : f16, memref<?x?x?xf16>
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @fill
func.func @fill(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<8x64xf32, fragment>
    // CHECK-NOT: tile.parallel
    // CHECK: tile.fill %a, %{{.*}}
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %zero = arith.constant 0.0 : f32
      tile.store %zero, %a[%i, %j] : f32, !tile.buffer<8x64xf32, fragment>
    }
  }
  return
}

// -----

// What is no rectangular copy stays a loop: transposition, gathers, strides, guards, arithmetic, a part of a buffer,
// thread-dependent places, a copy inside of one buffer, per-thread storage.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: tile.fill
func.func @kept(%n: i32, %A: memref<?x?xf32>, %I: memref<?xi32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !tile.buffer<8x64xf32, shared>
    %l = tile.alloc "l" : !tile.buffer<64xf32, local>
    %t = tile.thread_id 0 : i32
    // CHECK-COUNT-9: tile.parallel
    tile.parallel [64, 8] {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %A[%i, %j] : memref<?x?xf32> -> f32
      tile.store %v, %a[%j, %i] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %row = arith.divsi %i, %c2 : i32
      %v = tile.load %A[%row, %j] : memref<?x?xf32> -> f32
      tile.store %v, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %row = arith.muli %i, %c2 : i32
      %v = tile.load %A[%row, %j] : memref<?x?xf32> -> f32
      tile.store %v, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %keep = arith.cmpi slt, %i, %n : i32
      scf.if %keep {
        %v = tile.load %A[%i, %j] : memref<?x?xf32> -> f32
        tile.store %v, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
      }
    }
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %A[%i, %j] : memref<?x?xf32> -> f32
      %w = arith.addf %v, %v : f32
      tile.store %w, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [4, 64] {
    ^bb0(%i: i32, %j: i32):
      tile.store %zero, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [8, 64] {
    ^bb0(%i: i32, %j: i32):
      %row = arith.addi %i, %t : i32
      %v = tile.load %A[%row, %j] : memref<?x?xf32> -> f32
      tile.store %v, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [4, 64] {
    ^bb0(%i: i32, %j: i32):
      %row = arith.addi %i, %c2 : i32
      %v = tile.load %a[%row, %j] : !tile.buffer<8x64xf32, shared> -> f32
      tile.store %v, %a[%i, %j] : f32, !tile.buffer<8x64xf32, shared>
    }
    tile.parallel [64] {
    ^bb0(%j: i32):
      %v = tile.load %A[%bx, %j] : memref<?x?xf32> -> f32
      tile.store %v, %l[%j] : f32, !tile.buffer<64xf32, local>
    }

  }
  return
}
