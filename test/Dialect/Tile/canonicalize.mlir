// Folders of views and canonicalisation of copies.
// RUN: tile-opt %s -canonicalize -split-input-file | filecheck %s

// A view of everything is the buffer itself; reshapes of reshapes are one.
// CHECK-LABEL: func.func @views
func.func @views(%n: i32, %A: memref<8x4xf32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK: %a = tile.alloc "a"
    %a = tile.alloc "a" : !tile.buffer<4x8xf32, shared>
    %whole = tile.subview %a[%c0, %c0] [4, 8] : !tile.buffer<4x8xf32, shared> to !tile.buffer<4x8xf32, shared>
    %same = tile.bitcast %whole : !tile.buffer<4x8xf32, shared> to !tile.buffer<4x8xf32, shared>
    %flat = tile.reshape %same : !tile.buffer<4x8xf32, shared> to !tile.buffer<32xf32, shared>
    %other = tile.reshape %flat : !tile.buffer<32xf32, shared> to !tile.buffer<8x4xf32, shared>
    // CHECK-NOT: tile.subview
    // CHECK-NOT: tile.bitcast
    // CHECK: %[[VIEW:.*]] = tile.reshape %a : <4x8xf32, shared> to <8x4xf32, shared>
    // CHECK-NOT: tile.reshape
    // CHECK: tile.copy %[[VIEW]]
    tile.copy %other[%c0, %c0] [8, 4] to %A[%c0, %c0] [8, 4] : !tile.buffer<8x4xf32, shared> to memref<8x4xf32>
  }
  return
}

// -----

// A part is no whole, also when it starts at zero or has all elements of a dimension.
// CHECK-LABEL: func.func @parts
func.func @parts(%n: i32, %A: memref<8x4xf32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<2x8x4xf32, shared>
    // CHECK: tile.subview %a[%bx, %{{.*}}, %{{.*}}] [1, 8, 4]
    %part = tile.subview %a[%bx, %c0, %c0] [1, 8, 4] : !tile.buffer<2x8x4xf32, shared> to !tile.buffer<8x4xf32, shared>
    tile.copy %part[%c0, %c0] [8, 4] to %A[%c0, %c0] [8, 4] : !tile.buffer<8x4xf32, shared> to memref<8x4xf32>
  }
  return
}

// -----

// A copy of a buffer onto itself does nothing; copies between different places of it stay.
// CHECK-LABEL: func.func @self_copy
func.func @self_copy(%n: i32, %A: memref<8x8xf32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    // CHECK-COUNT-1: tile.copy
    // CHECK-NOT: tile.copy
    tile.copy %A[%c0, %bx] [4, 8] to %A[%c0, %bx] [4, 8] : memref<8x8xf32> to memref<8x8xf32>
    tile.copy %A[%c0, %c0] [4, 8] to %A[%c4, %c0] [4, 8] : memref<8x8xf32> to memref<8x8xf32>
  }
  return
}
