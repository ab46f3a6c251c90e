// Loops with masks run without them where no element of the tile is masked.
// RUN: tile-opt %s -tile-peel-masks -split-input-file | filecheck %s

// A causal mask: the first row against the last column decides.
// CHECK-LABEL: func.func @causal
func.func @causal(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %infinity = arith.constant 0xFF800000 : f32
    %scale = arith.constant 0.5 : f32
    %s = tile.alloc "s" : !tile.buffer<128x64xf32, fragment>
    // CHECK: tile.pipelined
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: %[[ROW:.*]] = arith.muli %bx, %{{.*}} : i32
      // CHECK: %[[COLUMN:.*]] = arith.muli %k, %{{.*}} : i32
      // CHECK: %[[C63:.*]] = arith.constant 63 : i32
      // CHECK: %[[LAST:.*]] = arith.addi %[[COLUMN]], %[[C63]] : i32
      // CHECK: %[[ALL:.*]] = arith.cmpi sge, %[[ROW]], %[[LAST]] : i32
      // CHECK: scf.if %[[ALL]] {
      // CHECK-NEXT: tile.parallel [128, 64] attributes {choice = #tile.choice<simt, "no mask: runs for tiles in which the mask hides nothing">}
      // CHECK-NOT: arith.cmpi
      // CHECK-NOT: arith.select
      // CHECK: tile.store
      // CHECK: } else {
      // CHECK: tile.parallel [128, 64] attributes {choice = #tile.choice<simt, "masked: runs for tiles with an element that the mask hides">}
      // CHECK: arith.cmpi sge
      // CHECK: arith.select
      tile.parallel [128, 64] {
      ^bb0(%i: i32, %j: i32):
        %r0 = arith.muli %bx, %c128 : i32
        %r = arith.addi %r0, %i : i32
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi sge, %r, %q : i32
        %x = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
        %y = arith.mulf %x, %scale : f32
        %z = arith.select %seen, %y, %infinity : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
      }
    }
  }
  return
}

// -----

// A window has two bounds; the selection may be the other way round. Without the mask nothing is left to do.
// CHECK-LABEL: func.func @window
func.func @window(%n: i32, %width: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %infinity = arith.constant 0xFF800000 : f32
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    scf.for %k = %c0 to %n step %c64 : i32 {
      // The lowest row against the last column, the last row against the first column plus the width.
      // CHECK: arith.cmpi sge
      // CHECK: arith.cmpi sgt
      // CHECK: %[[ALL:.*]] = arith.andi
      // CHECK: %[[SOME:.*]] = arith.xori %[[ALL]]
      // CHECK: scf.if %[[SOME]] {
      // CHECK-NEXT: tile.parallel
      // CHECK: arith.ori
      // CHECK-NOT: else
      // CHECK: return
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %r0 = arith.muli %bx, %c64 : i32
        %r = arith.addi %r0, %i : i32
        %q = arith.addi %k, %j : i32
        %after = arith.cmpi slt, %r, %q : i32
        %low = arith.subi %r, %width : i32
        %before = arith.cmpi sle, %q, %low : i32
        %hidden = arith.ori %after, %before : i1
        %x = tile.load %s[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %z = arith.select %hidden, %infinity, %x : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----

// Guards of dynamic extents: all chunks but the last one need none.
// CHECK-LABEL: func.func @guard
func.func @guard(%n: i32, %A: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    %zero = arith.constant 0.0 : f32
    // CHECK: scf.for %[[K:.*]] =
    scf.for %k = %c0 to %n step %c512 : i32 {
      // CHECK: %[[END:.*]] = arith.addi %[[K]], %{{.*}} : i32
      // CHECK: %[[ALL:.*]] = arith.cmpi sgt, %{{.*}}, %[[END]] : i32
      // CHECK: scf.if %[[ALL]] {
      // CHECK-NEXT: tile.parallel
      // CHECK-NOT: scf.if
      // CHECK: } else {
      // CHECK-NEXT: tile.parallel
      // CHECK: scf.if
      tile.parallel [512] {
      ^bb0(%i: i32):
        %p = arith.addi %k, %i : i32
        %inside = arith.cmpi slt, %p, %n : i32
        scf.if %inside {
          tile.store %zero, %A[%p] : f32, memref<?xf32>
        }
      }
    }
  }
  return
}

// -----

// A length that is a multiple of the tile: no mask, no branch. One that is not: the mask of the last tile.
// CHECK-LABEL: func.func @lengths
func.func @lengths() {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c256 = arith.constant 256 : i32
    %c255 = arith.constant 255 : i32
    %infinity = arith.constant 0xFF800000 : f32
    %s = tile.alloc "s" : !tile.buffer<64xf32, fragment>
    // CHECK: tile.pipelined
    tile.pipelined %c0 to %c4 stages(2) {
    ^bb0(%k: i32):
      // CHECK-NEXT: ^bb0
      // CHECK-NEXT: tile.parallel
      // CHECK-NEXT: ^bb0
      // CHECK-NEXT: tile.load
      // CHECK-NEXT: arith.addf
      // CHECK-NEXT: tile.store
      tile.parallel [64] {
      ^bb0(%j: i32):
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi slt, %q, %c256 : i32
        %x = tile.load %s[%j] : !tile.buffer<64xf32, fragment> -> f32
        %y = arith.addf %x, %x : f32
        %z = arith.select %seen, %y, %infinity : f32
        tile.store %z, %s[%j] : f32, !tile.buffer<64xf32, fragment>
      }
      // CHECK: scf.if
      // CHECK: else
      tile.parallel [64] {
      ^bb0(%j: i32):
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi slt, %q, %c255 : i32
        %x = tile.load %s[%j] : !tile.buffer<64xf32, fragment> -> f32
        %y = arith.addf %x, %x : f32
        %z = arith.select %seen, %y, %infinity : f32
        tile.store %z, %s[%j] : f32, !tile.buffer<64xf32, fragment>
      }
    }
  }
  return
}

// -----

// Peeled by hand: where the mask is, it hides something; nothing is added.
// CHECK-LABEL: func.func @by_hand
func.func @by_hand(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %infinity = arith.constant 0xFF800000 : f32
    %s = tile.alloc "s" : !tile.buffer<128x64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      %next = arith.addi %k, %c1 : i32
      %end = arith.muli %next, %c64 : i32
      %row = arith.muli %bx, %c128 : i32
      %cut = arith.cmpi sgt, %end, %row : i32
      // CHECK: scf.if
      // CHECK-NEXT: tile.parallel
      // CHECK-NOT: scf.if
      // CHECK: return
      scf.if %cut {
        tile.parallel [128, 64] {
        ^bb0(%i: i32, %j: i32):
          %r = arith.addi %row, %i : i32
          %q0 = arith.muli %k, %c64 : i32
          %q = arith.addi %q0, %j : i32
          %seen = arith.cmpi sge, %r, %q : i32
          %x = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
          %z = arith.select %seen, %x, %infinity : f32
          tile.store %z, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
        }
      }
    }
  }
  return
}

// -----

// A length that is loaded in the body is loaded once, in front of it; what depends on the thread stays as it is.
// CHECK-LABEL: func.func @loaded
func.func @loaded(%n: i32, %lengths: memref<?xi32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %infinity = arith.constant 0xFF800000 : f32
    %s = tile.alloc "s" : !tile.buffer<64xf32, fragment>
    %t = tile.thread_id 0 : i32
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: %[[LENGTH:.*]] = tile.load %arg1[%bx]
      // CHECK: arith.cmpi sgt, %[[LENGTH]], %{{.*}} : i32
      // CHECK: scf.if
      // CHECK: else
      tile.parallel [64] {
      ^bb0(%j: i32):
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %length = tile.load %lengths[%bx] : memref<?xi32> -> i32
        %seen = arith.cmpi slt, %q, %length : i32
        %x = tile.load %s[%j] : !tile.buffer<64xf32, fragment> -> f32
        %y = arith.addf %x, %x : f32
        %z = arith.select %seen, %y, %infinity : f32
        tile.store %z, %s[%j] : f32, !tile.buffer<64xf32, fragment>
      }
      // CHECK-NOT: scf.if
      // CHECK: return
      tile.parallel [64] {
      ^bb0(%j: i32):
        %q = arith.addi %k, %j : i32
        %seen = arith.cmpi slt, %q, %t : i32
        %x = tile.load %s[%j] : !tile.buffer<64xf32, fragment> -> f32
        %y = arith.addf %x, %x : f32
        %z = arith.select %seen, %y, %infinity : f32
        tile.store %z, %s[%j] : f32, !tile.buffer<64xf32, fragment>
      }
    }
  }
  return
}

// -----

// Tiles for a ring are filled where the pipeline expects it: the reason says so.
// CHECK-LABEL: func.func @shared
func.func @shared(%n: i32, %A: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK-NOT: scf.if
      // CHECK: tile.parallel [64] attributes {choice = #tile.choice<simt, "the mask is applied to every tile: the loop writes shared memory">}
      tile.parallel [64] {
      ^bb0(%j: i32):
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi slt, %q, %n : i32
        %x = tile.load %A[%q] : memref<?xf32> -> f32
        %y = arith.addf %x, %x : f32
        %z = arith.select %seen, %y, %zero : f32
        tile.store %z, %s[%j] : f32, !tile.buffer<64xf32, shared>
      }
    }
  }
  return
}

// -----

// A mask that hides everything takes another one, which only it used, away with it.
// CHECK-LABEL: func.func @nested_decided
func.func @nested_decided(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %s = tile.alloc "s" : !tile.buffer<128x64xf32, fragment>
    // CHECK: tile.pipelined
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: tile.parallel
      // CHECK-NOT: arith.select
      // CHECK: tile.store %{{[a-z0-9_]+}}, %s
      tile.parallel [128, 64] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
        %seen = arith.cmpi sge, %j, %k : i32
        %y = arith.select %seen, %x, %one : f32
        %never = arith.cmpi slt, %bx, %c0 : i32
        %z = arith.select %never, %y, %two : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
      }
    }
  }
  return
}

// -----

// What a product starts from: of two constants, zero is the one of tiles that are seen in full, on whatever side.
// CHECK-LABEL: func.func @start
func.func @start(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %infinity = arith.constant 0xFF800000 : f32
    // CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
    %zero = arith.constant 0.0 : f32
    %s = tile.alloc "s" : !tile.buffer<128x64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: scf.if
      // CHECK-NEXT: tile.parallel [128, 64] attributes {choice = #tile.choice<simt, "no mask: runs for tiles in which the mask hides nothing">}
      // CHECK-NOT: arith.select
      // CHECK: tile.store %[[ZERO]]
      // CHECK: } else {
      // CHECK: arith.cmpi slt
      // CHECK: arith.select
      tile.parallel [128, 64] {
      ^bb0(%i: i32, %j: i32):
        %r0 = arith.muli %bx, %c128 : i32
        %r = arith.addi %r0, %i : i32
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %hidden = arith.cmpi slt, %r, %q : i32
        %z = arith.select %hidden, %infinity, %zero : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
      }
    }
  }
  return
}

// -----

// Another store comes between what a store without its mask puts back and what it finds: it stays.
// CHECK-LABEL: func.func @behind_a_store
func.func @behind_a_store(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %minus = arith.constant -1.0 : f32
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: no mask: runs
      // CHECK: %[[X:.*]] = tile.load
      // CHECK: scf.if
      // CHECK-NEXT: tile.store
      // CHECK: tile.store %[[X]]
      // CHECK: masked: runs
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %s[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %positive = arith.cmpf ogt, %x, %zero : f32
        scf.if %positive {
          tile.store %minus, %s[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
        }
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi slt, %q, %n : i32
        %z = arith.select %seen, %x, %zero : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----

// A mask that hides nothing goes, with those on the side that it hid; the others are looked at all the same.
// CHECK-LABEL: func.func @mask_of_a_mask
func.func @mask_of_a_mask(%n: i32, %m: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %seven = arith.constant 7.0 : f32
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      // CHECK: masked: runs
      // CHECK: %[[X:.*]] = tile.load
      // CHECK-NEXT: arith.muli
      // CHECK-NEXT: arith.addi
      // CHECK-NEXT: arith.cmpi
      // CHECK-NEXT: arith.select %{{.*}}, %[[X]]
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %s[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %inside = arith.cmpi slt, %j, %c64 : i32
        %y = scf.if %inside -> f32 {
          scf.yield %x : f32
        } else {
          %early = arith.cmpi slt, %k, %m : i32
          %w = arith.select %early, %seven, %zero : f32
          scf.yield %w : f32
        }
        %q0 = arith.muli %k, %c64 : i32
        %q = arith.addi %q0, %j : i32
        %seen = arith.cmpi slt, %q, %m : i32
        %z = arith.select %seen, %y, %zero : f32
        tile.store %z, %s[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}
