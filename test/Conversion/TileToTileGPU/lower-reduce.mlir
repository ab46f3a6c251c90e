// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s
// Terms meet in a few chains; lanes exchange results at once, or behind the loop where they were left apart.

#tile = #tile.fragment_layout<[16, 32], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 8)]>
#rows = #tile.fragment_layout<[16], threads = [(4, -1, 0), (8, 0, 1)], registers = [(2, 0, 8)]>

module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @chains
func.func @chains(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %p = tile.alloc "p" : !tile.buffer<16x32xf32, fragment, #tile>
    %m = tile.alloc "m" : !tile.buffer<16xf32, fragment, #rows>
    // Eight terms of the first row in four chains, then of the second row.
    // CHECK: %[[A:.*]] = arith.maxnumf
    // CHECK-NEXT: %[[B:.*]] = arith.maxnumf
    // CHECK-NEXT: %[[C:.*]] = arith.maxnumf
    // CHECK-NEXT: %[[D:.*]] = arith.maxnumf
    // CHECK-NEXT: %[[AD:.*]] = arith.maxnumf %[[A]], %[[D]]
    // CHECK-NEXT: %[[BC:.*]] = arith.maxnumf %[[B]], %[[C]]
    // CHECK-NEXT: %[[R0:.*]] = arith.maxnumf %[[AD]], %[[BC]]
    // CHECK-COUNT-6: arith.maxnumf
    // CHECK-NEXT: %[[R1:.*]] = arith.maxnumf
    // Both rows are under way at the same time.
    // CHECK: tile_gpu.shuffle xor %[[R0]]
    // CHECK: tile_gpu.shuffle xor %[[R1]]
    // CHECK-COUNT-2: arith.maxnumf
    // CHECK-COUNT-2: tile_gpu.shuffle xor
    // CHECK-COUNT-2: arith.maxnumf
    // CHECK-NOT: tile_gpu.shuffle
    tile.reduce max %p, %m {dim = 1 : i64, clear} : !tile.buffer<16x32xf32, fragment, #tile>, !tile.buffer<16xf32, fragment, #rows>
  }
  return
}

// CHECK-LABEL: func.func @lanes
func.func @lanes(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %p = tile.alloc "p" : !tile.buffer<16x32xf32, fragment, #tile>
    %l = tile.alloc "l" : !tile.buffer<16xf32, fragment, #rows>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for
    scf.for %k = %c0 to %n step %c1 : i32 {
      // CHECK-NOT: tile_gpu.shuffle
      // CHECK: arith.addf
      tile.reduce sum %p, %l {choice = #tile.choice<registers, "", {partial}>, dim = 1 : i64} : !tile.buffer<16x32xf32, fragment, #tile>, !tile.buffer<16xf32, fragment, #rows>
    // CHECK: }
    }
    // CHECK-COUNT-2: tile_gpu.shuffle xor
    // CHECK-COUNT-2: arith.addf
    // CHECK-COUNT-2: tile_gpu.shuffle xor
    // CHECK-COUNT-2: arith.addf
    // CHECK: tile_gpu.write_fragment
    tile.convert %l, %l {choice = #tile.choice<shuffle, "", {distances = array<i64: 1, 2>, kind = #tile<reduce_kind sum>}>} : !tile.buffer<16xf32, fragment, #rows>, !tile.buffer<16xf32, fragment, #rows>
  }
  return
}
}
