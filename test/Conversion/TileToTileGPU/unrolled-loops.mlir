// Loops that index a fragment are unrolled, and the indices fold to constants; a loop whose variable is only stored or
// compared stays a loop.
// RUN: tile-opt %s -tile-to-tile-gpu | filecheck %s

module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @indexed
// CHECK: tile.kernel
// CHECK-NOT: scf.for
// CHECK: return
func.func @indexed() {
  %c1 = arith.constant 1 : i32
  tile.kernel "indexed" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant 0.0 : f32
    %f = tile.alloc "f" : !tile.buffer<4xf32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>
    tile.fill %f, %zero : !tile.buffer<4xf32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>, f32
    scf.for %i = %c0 to %c4 step %one : i32 {
      %v = arith.sitofp %i : i32 to f32
      tile.store %v, %f[%i] : f32, !tile.buffer<4xf32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>
    }
  }
  return
}

// CHECK-LABEL: func.func @stored
// CHECK: scf.for
func.func @stored(%n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "stored" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %f = tile.alloc "f" : !tile.buffer<4xi32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>
    tile.fill %f, %c0 : !tile.buffer<4xi32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>, i32
    scf.for %i = %c0 to %c4 step %one : i32 {
      tile.store %i, %f[%one] : i32, !tile.buffer<4xi32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>
    }
  }
  return
}
}
