// Multiplications that a vote may skip are marked; others say nothing and stay.
// RUN: tile-opt %s -tile-skip-unit-factors -split-input-file | filecheck %s

#sums = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#rows = #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>

#few = #tile.fragment_layout<[64, 32], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 8)]>
#half = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

// CHECK-LABEL: func.func @rescale
func.func @rescale(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %sums = tile.alloc "sums" : !tile.buffer<64x128xf32, fragment, #sums>
    %half_sums = tile.alloc "half_sums" : !tile.buffer<64x64xf32, fragment, #half>
    %less_sums = tile.alloc "less_sums" : !tile.buffer<64x32xf32, fragment, #few>
    %old = tile.alloc "old" : !tile.buffer<64xf32, fragment, #rows>
    %new = tile.alloc "new" : !tile.buffer<64xf32, fragment, #rows>
    %factor = tile.alloc "factor" : !tile.buffer<64xf32, fragment, #rows>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: tile.parallel [64] attributes {layout
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %a = tile.load %old[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %b = tile.load %new[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %less = arith.cmpf olt, %a, %b : f32
        %s = arith.select %less, %e, %one : f32
        tile.store %s, %factor[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
      // CHECK: tile.parallel [64, 128] attributes {choice = #tile.choice<simt, "64 multiplications of a thread by 2 factors are skipped where all factors of a warp are 1", {factors = 2 : i64, multiplications = 64 : i64}>, layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // The same with the factor in the body, and the other way round.
      // CHECK: tile.parallel [64, 128] attributes {choice = #tile.choice<simt, "64 multiplications of a thread by 2 factors
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %a = tile.load %old[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %b = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %less = arith.cmpf olt, %a, %b : f32
        %s = arith.select %less, %e, %one : f32
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %y = arith.mulf %s, %x : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // One factor for each element: a vote would save nothing.
      // CHECK: tile.parallel [64, 128] attributes {layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %g = arith.sitofp %j : i32 to f32
        %d = arith.subf %f, %g : f32
        %less = arith.cmpf olt, %d, %g : f32
        %e = arith.select %less, %d, %one : f32
        %y = arith.mulf %x, %e : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // Other work in the body.
      // CHECK: tile.parallel [64, 128] attributes {layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        %z = arith.addf %y, %y : f32
        tile.store %z, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // An exponential is 1 where its argument is 0, but the program does not say that this is to be expected.
      // CHECK: tile.parallel [64, 128] attributes {layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %a = tile.load %old[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %b = tile.load %new[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %y = arith.mulf %x, %e : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // CHECK: tile.parallel [64, 64] attributes {choice = #tile.choice<simt, "32 multiplications of a thread by 2 factors
      tile.parallel [64, 64] attributes {layout = #half} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %half_sums[%i, %j] : !tile.buffer<64x64xf32, fragment, #half> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %half_sums[%i, %j] : f32, !tile.buffer<64x64xf32, fragment, #half>
      }
      // A quarter of the elements: the multiplications cost less than the vote.
      // CHECK: tile.parallel [64, 32] attributes {layout
      tile.parallel [64, 32] attributes {layout = #few} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %less_sums[%i, %j] : !tile.buffer<64x32xf32, fragment, #few> -> f32
        %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %less_sums[%i, %j] : f32, !tile.buffer<64x32xf32, fragment, #few>
      }
    }
    // Not in a loop.
    // CHECK: tile.parallel [64, 128] attributes {layout
    tile.parallel [64, 128] attributes {layout = #sums} {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
      %f = tile.load %factor[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
      %y = arith.mulf %x, %f : f32
      tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
    }
  }
  return
}

// -----

#sums = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#rows = #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>

// A factor that is anything, one that does not change in the loop, and one that is 1 on one side of a selection and
// comes through a copy.
// CHECK-LABEL: func.func @factors
func.func @factors(%n: i32, %scale: f32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %sums = tile.alloc "sums" : !tile.buffer<64x128xf32, fragment, #sums>
    %any = tile.alloc "any" : !tile.buffer<64xf32, fragment, #rows>
    %first = tile.alloc "first" : !tile.buffer<64xf32, fragment, #rows>
    %second = tile.alloc "second" : !tile.buffer<64xf32, fragment, #rows>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%c0] [64] to %any[%c0] [64] : memref<64xf32> to !tile.buffer<64xf32, fragment, #rows>
      // CHECK: tile.parallel [64, 128] attributes {layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %any[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      // CHECK: tile.parallel [64, 128] attributes {layout
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %y = arith.mulf %x, %scale : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
      tile.parallel [64] attributes {layout = #rows} {
      ^bb0(%i: i32):
        %a = tile.load %any[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %more = arith.cmpf ogt, %a, %one : f32
        %f = arith.select %more, %a, %one : f32
        tile.store %f, %first[%i] : f32, !tile.buffer<64xf32, fragment, #rows>
      }
      tile.copy %first[%c0] [64] to %second[%c0] [64] : !tile.buffer<64xf32, fragment, #rows> to !tile.buffer<64xf32, fragment, #rows>
      // CHECK: tile.parallel [64, 128] attributes {choice = #tile.choice<simt, "64 multiplications
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %second[%i] : !tile.buffer<64xf32, fragment, #rows> -> f32
        %y = arith.mulf %x, %f : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
    }
  }
  return
}

// -----

#sums = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#narrow = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>

// The factor changes with a product.
// CHECK-LABEL: func.func @product
func.func @product(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %a = tile.alloc "a" : !tile.buffer<64x16xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<16x8xf16, shared>
    %p = tile.alloc "p" : !tile.buffer<64x8xf32, fragment, #narrow>
    %sums = tile.alloc "sums" : !tile.buffer<64x128xf32, fragment, #sums>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.gemm %a, %b, %p : !tile.buffer<64x16xf16, shared>, !tile.buffer<16x8xf16, shared>, !tile.buffer<64x8xf32, fragment, #narrow>
      // CHECK: tile.parallel [64, 128] attributes {choice = #tile.choice<simt, "64 multiplications of a thread by 2 factors
      tile.parallel [64, 128] attributes {layout = #sums} {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %sums[%i, %j] : !tile.buffer<64x128xf32, fragment, #sums> -> f32
        %f = tile.load %p[%i, %c0] : !tile.buffer<64x8xf32, fragment, #narrow> -> f32
        %less = arith.cmpf olt, %f, %one : f32
        %e = arith.select %less, %f, %one : f32
        %y = arith.mulf %x, %e : f32
        tile.store %y, %sums[%i, %j] : f32, !tile.buffer<64x128xf32, fragment, #sums>
      }
    }
  }
  return
}
