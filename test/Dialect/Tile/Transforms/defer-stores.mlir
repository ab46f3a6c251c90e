// The result of a tile leaves behind the first products of the next one.
// RUN: tile-opt %s -tile-defer-stores -split-input-file | filecheck %s

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#store = #tile.choice<tma, "TMA store">
#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sum = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#part = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
!a = !tile.buffer<64x64xf16, shared>
!b = !tile.buffer<64x128xf16, shared>
!ring_a = !tile.buffer<2x64x64xf16, shared>
!ring_b = !tile.buffer<2x64x128xf16, shared>
!acc = !tile.buffer<64x128xf32, fragment, #sum>
!staging = !tile.buffer<64x64xf16, shared, #shared>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>
#consumer = #tile.role<consumer, first = 0, warps = 4>

// Two chunks behind two products, one behind each. The row comes from a
// division, which is done behind the first product.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @certain
func.func @certain(%C: memref<?x128xf16>, %n: i32, %m: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    // CHECK: %[[PLACES:.*]] = tile.alloc "deferred" : <1xi32, local>
    // CHECK: %[[RESULT:.*]] = tile.alloc "c.deferred" : <64x128xf16, fragment, #tile.fragment_layout<[64, 128]
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      // Nothing to be stored yet: the place is past the end of the tensor.
      // CHECK: tile.fill %[[RESULT]], %{{.*}} : <64x128xf16, fragment
      // CHECK: %[[ROWS:.*]] = memref.dim %arg0, %c0
      // CHECK: arith.index_cast %[[ROWS]]
      // CHECK: %[[PAST:.*]] = arith.muli %{{.*}}, %c256_i32
      // CHECK-NEXT: tile.store %[[PAST]], %[[PLACES]][%c0_i32
      // CHECK: scf.for %[[TILE:.*]] = %bx
      scf.for %tile = %bx to %n step %c1 : i32 {
        %row = arith.divui %tile, %m : i32
        %poison = ub.poison : f32
        // CHECK-NOT: arith.divui
        // CHECK: tile.fill %c
        tile.fill %c, %poison : !acc, f32
        // CHECK: tile.barrier_wait
        // CHECK: tile.gemm_async %{{.*}}, %{{.*}}, %c {choice = {{.*}}, clear_accum}
        // CHECK-NEXT: %[[DIVIDED:.*]] = arith.divui %[[TILE]], %arg2
        // CHECK-NEXT: %[[ROW:.*]] = tile.pin %[[DIVIDED]] : i32
        // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
        // No slot is free yet.
        // CHECK-NOT: tile.barrier_arrive
        // CHECK: tile.copy %[[RESULT]][%c0_i32{{.*}}, %c0_i32{{.*}}] [64, 64] to %s[{{.*}}tile.warp_layout
        // CHECK: %[[LAST:.*]] = tile.load %[[PLACES]][%c0_i32
        // CHECK: tile.copy_async %s[{{.*}} to %arg0[%[[LAST]], %c0_i32{{.*}}] [64, 64] {bounds = #tile<bounds predicated>, choice = #tile.choice<tma, "TMA store; deferred: behind the first 2 products of the next tile">
        // CHECK: tile.gemm_async %{{.*}}, %{{.*}}, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>} :
        // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
        // CHECK: tile.barrier_arrive %empty
        // CHECK: tile.copy %[[RESULT]][%c0_i32{{.*}}, %c64_i32{{.*}}] [64, 64] to %t
        // CHECK: tile.copy_async %t
        // The loop goes on without a condition.
        // CHECK: scf.for %{{.*}} = %c2_i32{{.*}} to %c8_i32
        // CHECK: tile.gemm_async %{{.*}}, %{{.*}}, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>} :
        // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
        // CHECK-NOT: scf.if
        // CHECK: tile.barrier_arrive %empty
        // CHECK: tile.pipeline
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c accumulate %more {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        // CHECK: tile.mma_wait %c {pending = 0 : i64}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        // CHECK: %[[Y:.*]] = arith.muli %[[ROW]], %c64_i32
        %y = arith.muli %row, %c64 : i32
        // CHECK-NEXT: tile.copy %c[{{.*}}] [64, 128] to %[[RESULT]][{{.*}}] [64, 128] {choice = #tile.choice<registers, "the result is kept until the next tile">}
        // CHECK-NEXT: tile.pin_fragment %[[RESULT]]
        // CHECK: tile.store %[[Y]], %[[PLACES]][%c0_i32
        // CHECK-NEXT: }
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
      }
      // The last tile.
      // CHECK-NEXT: tile.bulk_wait {pending = 0 : i64, tile.per_warp}
      // CHECK-NEXT: tile.copy %[[RESULT]]
      // CHECK: tile.copy_async %s
      // CHECK-NEXT: tile.copy %[[RESULT]]
      // CHECK: tile.copy_async %t
      // CHECK-NEXT: }
    }
  }
  return
}
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#store = #tile.choice<tma, "TMA store">
#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sum = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#part = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
!a = !tile.buffer<64x64xf16, shared>
!b = !tile.buffer<64x128xf16, shared>
!ring_a = !tile.buffer<2x64x64xf16, shared>
!ring_b = !tile.buffer<2x64x128xf16, shared>
!acc = !tile.buffer<64x128xf32, fragment, #sum>
!staging = !tile.buffer<64x64xf16, shared, #shared>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>
#consumer = #tile.role<consumer, first = 0, warps = 4>

// How many products there are is known when the kernel runs. Where they are
// enough, the first one starts the sum; otherwise, everything is as it was.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @at_launch
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sge, %arg2, %c2_i32
// CHECK-NEXT: scf.if %[[ENOUGH]] {
// CHECK: scf.for
// CHECK-NOT: tile.fill
// CHECK: tile.gemm_async %{{.*}}, %{{.*}}, %c {choice = {{.*}}, clear_accum}
// CHECK: "TMA store; deferred: behind the first 2 products of the next tile"
// CHECK: scf.for %{{.*}} = %c2_i32{{.*}} to %arg2
// CHECK: } else {
// CHECK-NEXT: scf.for
// CHECK: tile.fill %c
// CHECK: scf.for %{{.*}} = %c0_i32{{.*}} to %arg2
// CHECK: scf.if
// CHECK: "TMA store; not deferred: used where a tile has fewer than 2 products"
func.func @at_launch(%C: memref<?x128xf16>, %n: i32, %trips: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %trips step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
      }
    }
  }
  return
}
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#store = #tile.choice<tma, "TMA store">
#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sum = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#part = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
!a = !tile.buffer<64x64xf16, shared>
!b = !tile.buffer<64x128xf16, shared>
!ring_a = !tile.buffer<2x64x64xf16, shared>
!ring_b = !tile.buffer<2x64x128xf16, shared>
!acc = !tile.buffer<64x128xf32, fragment, #sum>
!staging = !tile.buffer<64x64xf16, shared, #shared>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>
#consumer = #tile.role<consumer, first = 0, warps = 4>

// What stays where it is, and why.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @one_thread
// CHECK: TMA store; not deferred: one thread stores for all warps
// CHECK-LABEL: func.func @few
// CHECK: TMA store; not deferred: a tile has fewer products than the 2 chunks of the result
// CHECK-LABEL: func.func @changes
// CHECK: TMA store; not deferred: the number of products may differ from tile to tile
// CHECK-LABEL: func.func @flag
// CHECK: TMA store; not deferred: atomic{{.*}} comes after it in the loop over tiles
func.func @one_thread(%C: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store} : !staging to memref<?x128xf16>
      }
    }
  }
  return
}

func.func @few(%C: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %c1 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
      }
    }
  }
  return
}

func.func @changes(%C: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %tile step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
      }
    }
  }
  return
}

func.func @flag(%C: memref<?x128xf16>, %n: i32, %F: memref<8xi32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.atomic add %c1, %F[%c0] : i32, memref<8xi32>
      }
    }
  }
  return
}
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#store = #tile.choice<tma, "TMA store">
#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sum = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#part = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
!a = !tile.buffer<64x64xf16, shared>
!b = !tile.buffer<64x128xf16, shared>
!ring_a = !tile.buffer<2x64x64xf16, shared>
!ring_b = !tile.buffer<2x64x128xf16, shared>
!acc = !tile.buffer<64x128xf32, fragment, #sum>
!staging = !tile.buffer<64x64xf16, shared, #shared>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>
#consumer = #tile.role<consumer, first = 0, warps = 4>

module attributes {tile.options = #tile.options<{disable_defer_stores = true}>, tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @switched_off
// CHECK-NOT: deferred
func.func @switched_off(%C: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring_a
    %b = tile.alloc "b" : !ring_b
    %c = tile.alloc "c" : !acc
    %s = tile.alloc "s" : !staging
    %t = tile.alloc "t" : !staging
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.warp_specialize [#consumer] {
      scf.for %tile = %bx to %n step %c1 : i32 {
        %y = arith.muli %tile, %c64 : i32
        tile.fill %c, %zero : !acc, f32
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = tile.load %ring[%c0] : !position -> i32
          %phase = tile.load %ring[%c1] : !position -> i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring_a to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !ring_b to !b
          tile.barrier_wait %full[%slot], %phase : !bars
          %more = arith.cmpi sgt, %k, %c0 : i32
          tile.gemm_async %va, %vb, %c {choice = #ss} : !a, !b, !acc
          tile.mma_wait {pending = 1 : i64}
          %previous = arith.subi %c1, %slot : i32
          scf.if %more {
            tile.barrier_arrive %empty[%previous] warp : !bars
          }
          tile.store %previous, %ring[%c0] : i32, !position
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.mma_wait %c {pending = 0 : i64} : !acc
        tile.copy %c[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %s[%c0, %c0] [64, 64] to %C[%y, %c0] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
        tile.copy %c[%c0, %c64] [64, 64] to %t[%c0, %c0] [64, 64] {tile.warp_layout = #part} : !acc to !staging
        tile.copy_async %t[%c0, %c0] [64, 64] to %C[%y, %c64] [64, 64] {choice = #store, tile.warp_layout = #part} : !staging to memref<?x128xf16>
      }
    }
  }
  return
}
}
