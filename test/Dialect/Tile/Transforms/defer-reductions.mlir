// Lanes keep results of their own while a loop runs, and are combined behind it.
// RUN: tile-opt %s -tile-defer-reductions -split-input-file | filecheck %s

#tile = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#rows = #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>

// CHECK-LABEL: func.func @scaled_sum
func.func @scaled_sum(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    %factor = tile.alloc "factor" : !tile.buffer<64xf32, fragment, #rows>
    // CHECK: %[[L:.*]] = tile.alloc "l"
    %l = tile.alloc "l" : !tile.buffer<64xf32, fragment, #rows>
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    // CHECK: tile.pipelined
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %x = tile.load %l[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %l[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
      // CHECK: tile.reduce sum %{{.*}}, %[[L]] {choice = #tile.choice<registers, "lanes are combined behind the loop", {partial}>, dim = 1 : i64}
      tile.reduce sum %p, %l {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
    }
    // CHECK: tile.convert %[[L]], %[[L]] {choice = #tile.choice<shuffle, "combines the lanes that reductions of the loop left apart", {distances = array<i64: 1, 2>, kind = {{.*}}sum
    tile.copy %l[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
  }
  return
}

// The sum of an iteration that only goes to another one: nobody reads it behind the loop.
// CHECK-LABEL: func.func @added
func.func @added(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    %factor = tile.alloc "factor" : !tile.buffer<64xf32, fragment, #rows>
    %part = tile.alloc "part" : !tile.buffer<64xf32, fragment, #rows>
    // CHECK: %[[L:.*]] = tile.alloc "l"
    %l = tile.alloc "l" : !tile.buffer<64xf32, fragment, #rows>
    %out = tile.alloc "out" : !tile.buffer<64xf32, fragment, #rows>
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: tile.reduce sum {{.*}}{partial}
      tile.reduce sum %p, %part {dim = 1 : i64, clear} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %x = tile.load %l[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = tile.load %part[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %s = arith.mulf %x, %f : f32
        %t = arith.addf %s, %y : f32
        tile.store %t, %l[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
    }
    // CHECK: tile.convert %[[L]], %[[L]]
    // CHECK-NEXT: tile.convert %[[L]], %{{.*}} :
    tile.convert %l, %out : !tile.buffer<64xf32, fragment, #rows>, !tile.buffer<64xf32, fragment, #rows>
  }
  return
}

// A sum over all iterations of two loops begins in front of both.
// CHECK-LABEL: func.func @nested
func.func @nested(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    // CHECK: %[[L:.*]] = tile.alloc "l"
    %l = tile.alloc "l" : !tile.buffer<64xf32, fragment, #rows>
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    // CHECK: scf.for
    scf.for %o = %c0 to %n step %c1 : i32 {
      // CHECK: scf.for
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK: tile.reduce abssum {{.*}}{partial}
        tile.reduce abssum %p, %l {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      // CHECK-NEXT: }
      }
    // CHECK-NEXT: }
    }
    // CHECK-NEXT: tile.convert %[[L]], %[[L]]
    tile.copy %l[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
  }
  return
}

// A maximum may begin with anything.
// CHECK-LABEL: func.func @maximum
func.func @maximum(%n: i32, %start: f32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    %m = tile.alloc "m" : !tile.buffer<64xf32, fragment, #rows>
    tile.fill %m, %start : !tile.buffer<64xf32, fragment, #rows>, f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      // CHECK: tile.reduce max {{.*}}{partial}
      tile.reduce max %p, %m {dim = 1 : i64, nan_propagate} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
    }
    // CHECK: tile.convert {{.*}}nan_propagate
    tile.copy %m[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
  }
  return
}

// -----

#tile = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#rows = #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>

// A sum that is added to something complete, one that is squared, and one whose last value counts although there may be
// no iteration.
// CHECK-LABEL: func.func @complete
// CHECK-NOT: partial
func.func @complete(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    %complete = tile.alloc "complete" : !tile.buffer<64xf32, fragment, #rows>
    %part = tile.alloc "part" : !tile.buffer<64xf32, fragment, #rows>
    %square = tile.alloc "square" : !tile.buffer<64xf32, fragment, #rows>
    %last = tile.alloc "last" : !tile.buffer<64xf32, fragment, #rows>
    tile.copy %A[%c0] [64] to %complete[%c0] [64] : memref<64xf32> to !tile.buffer<64xf32, fragment, #rows>
    tile.fill %square, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    tile.copy %A[%c0] [64] to %last[%c0] [64] : memref<64xf32> to !tile.buffer<64xf32, fragment, #rows>
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.reduce sum %p, %part {dim = 1 : i64, clear} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.reduce sum %p, %square {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.reduce sum %p, %last {dim = 1 : i64, clear} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %x = tile.load %complete[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = tile.load %part[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %s = arith.addf %x, %y : f32
        tile.store %s, %complete[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
        %z = tile.load %square[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %q = arith.mulf %z, %z : f32
        tile.store %q, %square[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
    }
    tile.copy %last[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
  }
  return
}

// -----

#tile = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#rows = #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>

// What has to stay: a sum that does not begin with zeros, one that the loop reads, one that each iteration begins anew,
// one of 16 bits, a maximum that is scaled, and a reduction without a loop.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: partial
// CHECK-NOT: tile.convert
func.func @stays(%n: i32, %start: f32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.0 : f16
    %p = tile.alloc "p" : !tile.buffer<64x64xf32, fragment, #tile>
    %h = tile.alloc "h" : !tile.buffer<64x64xf16, fragment, #tile>
    %other = tile.alloc "other" : !tile.buffer<64xf32, fragment, #rows>
    %read = tile.alloc "read" : !tile.buffer<64xf32, fragment, #rows>
    %cleared = tile.alloc "cleared" : !tile.buffer<64xf32, fragment, #rows>
    %small = tile.alloc "small" : !tile.buffer<64xf16, fragment, #rows>
    %scaled = tile.alloc "scaled" : !tile.buffer<64xf32, fragment, #rows>
    tile.fill %other, %start : !tile.buffer<64xf32, fragment, #rows>, f32
    tile.fill %read, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    tile.fill %cleared, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    tile.fill %small, %half : !tile.buffer<64xf16, fragment, #rows>, f16
    tile.fill %scaled, %zero : !tile.buffer<64xf32, fragment, #rows>, f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.reduce sum %p, %other {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.reduce sum %p, %read {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.copy %read[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
      tile.reduce sum %p, %cleared {dim = 1 : i64, clear} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.copy %cleared[%c0] [64] to %A[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to memref<64xf32>
      tile.reduce sum %h, %small {dim = 1 : i64} : !tile.buffer<64x64xf16, fragment, #tile>, !tile.buffer<64xf16, fragment, #rows>
      tile.reduce max %p, %scaled {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %x = tile.load %scaled[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %start : f32
        tile.store %y, %scaled[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
    }
    tile.reduce sum %p, %read {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment, #tile>, !tile.buffer<64xf32, fragment, #rows>
  }
  return
}

// -----


// Rows that cross warps meet in shared memory in every iteration.
// CHECK-LABEL: func.func @across_warps
// CHECK-NOT: partial
func.func @across_warps(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %p = tile.alloc "p" : !tile.buffer<64x128xf32, fragment, #tile.fragment_layout<[64, 128], threads = [(128, 1, 1)], registers = [(64, 0, 1)]>>
    %l = tile.alloc "l" : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(128, -1, 0)], registers = [(64, 0, 1)]>>
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(128, -1, 0)], registers = [(64, 0, 1)]>>, f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.reduce sum %p, %l {dim = 1 : i64} : !tile.buffer<64x128xf32, fragment, #tile.fragment_layout<[64, 128], threads = [(128, 1, 1)], registers = [(64, 0, 1)]>>, !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(128, -1, 0)], registers = [(64, 0, 1)]>>
    }
  }
  return
}
