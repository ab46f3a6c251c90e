// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s
// A vote on the different factors of a thread; the scaled registers are results of a branch.

#sums = #tile.fragment_layout<[16, 32], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 8)]>
#rows = #tile.fragment_layout<[16], threads = [(4, -1, 0), (8, 0, 1)], registers = [(2, 0, 8)]>

module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @scale
func.func @scale(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %sums = tile.alloc "sums" : !tile.buffer<16x32xf32, fragment, #sums>
    %old = tile.alloc "old" : !tile.buffer<16xf32, fragment, #rows>
    %new = tile.alloc "new" : !tile.buffer<16xf32, fragment, #rows>
    // Two rows of a thread: two factors, each computed once.
    // CHECK: arith.subf
    // CHECK: %[[A:.*]] = math.exp2
    // CHECK: arith.subf
    // CHECK: %[[B:.*]] = math.exp2
    // CHECK-NOT: math.exp2
    // CHECK: arith.cmpf une, %[[A]], %{{.*}} : f32
    // CHECK: arith.cmpf une, %[[B]], %{{.*}} : f32
    // CHECK: %[[OR:.*]] = arith.ori
    // CHECK: %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %[[OR]] -> i1
    // CHECK: %[[RESULTS:.*]]:16 = scf.if %[[ANY]] -> (f32,
    // CHECK: arith.mulf
    // CHECK: scf.yield
    // CHECK: } else {
    // CHECK-NEXT: scf.yield
    // CHECK: tile_gpu.write_fragment
    tile.parallel [16, 32] attributes {choice = #tile.choice<simt, "", {multiplications = 16 : i64}>, layout = #sums} {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %sums[%i, %j] : !tile.buffer<16x32xf32, fragment, #sums> -> f32
      %a = tile.load %old[%i] : !tile.buffer<16xf32, fragment, #rows> -> f32
      %b = tile.load %new[%i] : !tile.buffer<16xf32, fragment, #rows> -> f32
      %d = arith.subf %a, %b : f32
      %f = math.exp2 %d : f32
      %y = arith.mulf %x, %f : f32
      tile.store %y, %sums[%i, %j] : f32, !tile.buffer<16x32xf32, fragment, #sums>
    }
  }
  return
}
}
