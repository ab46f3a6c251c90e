// RUN: tile-opt %s -tile-schedule-mma -split-input-file | filecheck %s
// In a ring loop in which one product feeds another from registers, the second
// one of a step runs beside the first one, and the computation, of the next.

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#tma = #tile.choice<tma, "">
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
!tile = !tile.buffer<64x64xf16, shared>
!ring = !tile.buffer<2x64x64xf16, shared>
!scores = !tile.buffer<64x64xf32, fragment>
!weights = !tile.buffer<64x64xf16, fragment>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>

// CHECK-LABEL: func.func @late_conversion
func.func @late_conversion(%n: i32, %trips: i32, %K: memref<?x64xf16>, %V: memref<?x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %q = tile.alloc "q" : !tile
    %k = tile.alloc "k" : !ring
    %v = tile.alloc "v" : !ring
    %s = tile.alloc "s" : !scores
    %p = tile.alloc "p" : !weights
    %o = tile.alloc "o" : !scores
    %full_k = tile.alloc "full_k" : !bars
    %empty_k = tile.alloc "empty_k" : !bars
    %full_v = tile.alloc "full_v" : !bars
    %empty_v = tile.alloc "empty_v" : !bars
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    tile.warp_specialize [#producer, #consumer] {
      // Loads come in the order of their use: those for the second product one
      // step later.
      // CHECK: arith.cmpi sgt, %arg1, %c0
      // CHECK-NEXT: scf.if
      // CHECK: tile.barrier_wait %empty_k
      // CHECK: tile.copy_async %arg2
      // CHECK-NOT: tile.copy_async %arg3
      // CHECK: scf.for [[I:%.*]] = {{%.*}} to %arg1
      // CHECK: [[FIRST:%.*]] = tile.load %ring[%c0
      // CHECK: tile.barrier_wait %empty_k[[[FIRST]]]
      // CHECK: tile.barrier_arrive %full_k[[[FIRST]]] single
      // CHECK: tile.copy_async %arg2[[[I]],
      // CHECK: [[NOW:%.*]] = tile.load %ring[%c0
      // CHECK: [[PHASE:%.*]] = tile.load %ring[%c1
      // CHECK: [[WRAPPED:%.*]] = arith.cmpi eq, [[NOW]], %c0
      // CHECK: [[FLIPS:%.*]] = arith.extui [[WRAPPED]]
      // CHECK: [[OLD:%.*]] = arith.andi
      // CHECK: [[OLD_PHASE:%.*]] = arith.xori [[PHASE]], [[FLIPS]]
      // CHECK: [[FREE:%.*]] = arith.xori [[OLD_PHASE]], %c1
      // CHECK: tile.barrier_wait %empty_v[[[OLD]]], [[FREE]]
      // CHECK: tile.barrier_arrive %full_v[[[OLD]]] single
      // CHECK: tile.copy_async %arg3
      // CHECK: tile.store {{.*}}, %ring[%c0
      // CHECK: } {tile.delayed_loads
      // CHECK: tile.barrier_wait %empty_v
      // CHECK: tile.copy_async %arg3
      scf.for %i = %c0 to %trips step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %vs = tile.subview %v[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %phase_k = tile.load %ring[%c1] : !position -> i32
        %free_k = arith.xori %phase_k, %c1 : i32
        tile.barrier_wait %empty_k[%slot], %free_k : !bars
        tile.barrier_arrive %full_k[%slot] single {expect = 8192 : i64} : !bars
        tile.copy_async %K[%i, %c0] [64, 64] to %ks[%c0, %c0] [64, 64] barrier %full_k[%slot] : !bars {tile.produce, choice = #tma} : memref<?x64xf16> to !tile
        %phase_v = tile.load %ring[%c1] : !position -> i32
        %free_v = arith.xori %phase_v, %c1 : i32
        tile.barrier_wait %empty_v[%slot], %free_v : !bars
        tile.barrier_arrive %full_v[%slot] single {expect = 8192 : i64} : !bars
        tile.copy_async %V[%i, %c0] [64, 64] to %vs[%c0, %c0] [64, 64] barrier %full_v[%slot] : !bars {tile.produce, choice = #tma} : memref<?x64xf16> to !tile
        %next = arith.addi %slot, %c1 : i32
        %new = arith.andi %next, %c1 : i32
        tile.store %new, %ring[%c0] : i32, !position
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }, {
      // Without steps there is nothing to start with.
      // CHECK: [[ANY:%.*]] = arith.cmpi sgt, %arg1, %c0
      // CHECK: scf.if [[ANY]] {
      // The first step: nothing runs beside it.
      // CHECK: tile.barrier_wait %full_k
      // CHECK-NEXT: tile.gemm_async %q, {{%.*}}, %s {{{.*}}clear_accum
      // CHECK-NEXT: tile.mma_wait %s {pending = 0 : i64}
      // CHECK-NEXT: tile.barrier_arrive %empty_k
      // CHECK: tile.parallel
      // CHECK: tile.barrier_wait %full_v
      // CHECK-NOT: tile.mma_wait
      // CHECK-NOT: tile.parallel
      // CHECK: tile.copy %s{{.*}} to %p
      // CHECK: [[SECOND:%.*]] = arith.addi %c0{{.*}}, %c1
      // CHECK: scf.for [[N:%.*]] = [[SECOND]] to %arg1
      // CHECK: [[SLOT:%.*]] = tile.load %ring[%c0
      // CHECK: tile.barrier_wait %full_k[[[SLOT]]]
      // CHECK-NEXT: tile.gemm_async %q, {{%.*}}, %s
      // The slot before.
      // CHECK-NEXT: [[SUM:%.*]] = arith.addi [[SLOT]], %c1
      // CHECK-NEXT: [[BEFORE:%.*]] = arith.andi [[SUM]], %c1
      // What the step before left to do to the accumulator.
      // CHECK: tile.parallel
      // CHECK: tile.load %o
      // CHECK: [[VIEW:%.*]] = tile.subview %v[[[BEFORE]]
      // CHECK-NEXT: tile.gemm_async %p, [[VIEW]], %o
      // CHECK-NEXT: tile.mma_wait %s {pending = 1 : i64}
      // CHECK-NEXT: tile.barrier_arrive %empty_k[[[SLOT]]]
      // What touches neither product's registers runs beside it.
      // CHECK: tile.parallel
      // CHECK: tile.barrier_wait %full_v[[[SLOT]]]
      // CHECK: tile.mma_wait %o, %p, %s {pending = 0 : i64}
      // CHECK-NEXT: tile.barrier_arrive %empty_v[[[BEFORE]]]
      // CHECK-NEXT: tile.copy %s{{.*}} to %p
      // CHECK: tile.store {{.*}}, %ring[%c0
      // CHECK: } {tile.loop_choice = #tile.choice<tma, "from a ring; the last product of a step runs beside the first one, and the computation, of the next">, tile.pipeline = #tile.pipeline<ring
      // The last step is finished behind the loop.
      // CHECK: [[NOW:%.*]] = tile.load %ring[%c0
      // CHECK: [[PLUS:%.*]] = arith.addi [[NOW]]
      // CHECK: [[LAST:%.*]] = arith.andi [[PLUS]]
      // CHECK: tile.parallel
      // CHECK: tile.gemm_async %p, {{%.*}}, %o
      // CHECK-NEXT: tile.mma_wait %o, %p {pending = 0 : i64}
      // CHECK-NEXT: tile.barrier_arrive %empty_v[[[LAST]]]
      scf.for %i = %c0 to %trips step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %phase = tile.load %ring[%c1] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %vs = tile.subview %v[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        tile.fill %s, %zero : !scores, f32
        tile.barrier_wait %full_k[%slot], %phase : !bars
        tile.gemm %q, %ks, %s {choice = #ss, transpose_b} : !tile, !tile, !scores
        tile.barrier_arrive %empty_k[%slot] warp : !bars
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %s[%x, %y] : !scores -> f32
          %more = arith.mulf %value, %two : f32
          tile.store %more, %s[%x, %y] : f32, !scores
        }
        // Stands in front of the conversion, and has time until the product.
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %o[%x, %y] : !scores -> f32
          %more = arith.mulf %value, %two : f32
          tile.store %more, %o[%x, %y] : f32, !scores
        }
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.barrier_wait %full_v[%slot], %phase : !bars
        tile.gemm %p, %vs, %o {choice = #rs} : !weights, !tile, !scores
        tile.barrier_arrive %empty_v[%slot] warp : !bars
        %next = arith.addi %slot, %c1 : i32
        %new = arith.andi %next, %c1 : i32
        tile.store %new, %ring[%c0] : i32, !position
      } {tile.loop_choice = #tile.choice<tma, "from a ring">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
!tile = !tile.buffer<64x64xf16, shared>
!ring = !tile.buffer<2x64x64xf16, shared>
!one = !tile.buffer<1x64x64xf16, shared>
!scores = !tile.buffer<64x64xf32, fragment>
!weights = !tile.buffer<64x64xf16, fragment>
!rows = !tile.buffer<64xf32, fragment>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>

// Weights that are used otherwise too: the product reads registers of its own.
// The loop runs at least once: no condition.
// CHECK-LABEL: func.func @own_operand
func.func @own_operand(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %q = tile.alloc "q" : !tile
    %k = tile.alloc "k" : !ring
    %v = tile.alloc "v" : !ring
    %s = tile.alloc "s" : !scores
    // CHECK: tile.alloc "p_operand"
    %p = tile.alloc "p" : !weights
    %o = tile.alloc "o" : !scores
    %sum = tile.alloc "sum" : !rows
    %empty_v = tile.alloc "empty_v" : !bars
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    // CHECK-NOT: scf.if
    // CHECK: scf.for
    // CHECK: tile.gemm_async %q, {{%.*}}, %s
    // CHECK: tile.gemm_async %p_operand, {{%.*}}, %o
    // CHECK-NEXT: tile.mma_wait %s {pending = 1 : i64}
    // CHECK-NEXT: tile.parallel
    // CHECK: tile.reduce {{.*}}%p, %sum
    // CHECK-NEXT: tile.mma_wait %o, %p_operand, %p {pending = 0 : i64}
    // CHECK-NEXT: tile.barrier_arrive
    // CHECK-NEXT: tile.convert %p, %p_operand
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %vs = tile.subview %v[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        tile.gemm %q, %ks, %s {choice = #ss, transpose_b, clear_accum} : !tile, !tile, !scores
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %s[%x, %y] : !scores -> f32
          %rounded = arith.truncf %value : f32 to f16
          tile.store %rounded, %p[%x, %y] : f16, !weights
        }
        tile.reduce sum %p, %sum {dim = 1 : i64} : !weights, !rows
        tile.gemm %p, %vs, %o {choice = #rs} : !weights, !tile, !scores
        tile.barrier_arrive %empty_v[%slot] warp : !bars
        %next = arith.addi %slot, %c1 : i32
        %new = arith.andi %next, %c1 : i32
        tile.store %new, %ring[%c0] : i32, !position
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}

// One after the other, and why.
// CHECK-LABEL: func.func @in_order
func.func @in_order(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %q = tile.alloc "q" : !tile
    %k = tile.alloc "k" : !one
    %s = tile.alloc "s" : !scores
    %p = tile.alloc "p" : !weights
    %o = tile.alloc "o" : !scores
    %ring = tile.alloc "ring" {tile.ring = 1 : i64} : !position
    %ring2 = tile.alloc "ring2" {tile.ring = 2 : i64} : !position
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      // CHECK: tile.gemm_async %q
      // CHECK-NEXT: tile.mma_wait %s {pending = 0 : i64}
      // CHECK: tile.gemm_async %p
      // CHECK-NEXT: tile.mma_wait %o, %p {pending = 0 : i64}
      // CHECK: from a ring; products run one after the other: with one slot, the second product would keep the first one of the next step waiting
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !one to !tile
        tile.gemm %q, %ks, %s {choice = #ss, transpose_b, clear_accum} : !tile, !tile, !scores
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.gemm %p, %ks, %o {choice = #rs} : !weights, !tile, !scores
      } {tile.loop_choice = #tile.choice<tma, "from a ring">, tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
      // CHECK: products run one after the other: 'o' is used in front of the first product
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring2[%c0] : !position -> i32
        tile.copy %o[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !scores to !scores
        tile.gemm %q, %q, %s {choice = #ss, transpose_b} : !tile, !tile, !scores
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.gemm %p, %q, %o {choice = #rs} : !weights, !tile, !scores
      } {tile.loop_choice = #tile.choice<tma, "from a ring">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      // CHECK: products run one after the other: copy (line {{[0-9]+}}) comes behind the products
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring2[%c0] : !position -> i32
        tile.gemm %q, %q, %s {choice = #ss, transpose_b, clear_accum} : !tile, !tile, !scores
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.gemm %p, %q, %o {choice = #rs} : !weights, !tile, !scores
        tile.copy %o[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : !scores to !scores
      } {tile.loop_choice = #tile.choice<tma, "from a ring">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [2, 1]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 64, 16], warpgroups = [2, 1]}>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 8>
!rows = !tile.buffer<128x64xf16, shared>
!tile = !tile.buffer<64x64xf16, shared>
!scores = !tile.buffer<128x64xf32, fragment>
!weights = !tile.buffer<128x64xf16, fragment>
!position = !tile.buffer<2xi32, local>

// Two warp groups take turns at starting their products.
// CHECK-LABEL: func.func @turns
func.func @turns(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %q = tile.alloc "q" : !rows
    %k = tile.alloc "k" : !tile
    %s = tile.alloc "s" : !scores
    %p = tile.alloc "p" : !weights
    %o = tile.alloc "o" : !scores
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    // CHECK: tile.pass_turn {begins, groups = 2 : i64, id = 8 : i64}
    // CHECK-NEXT: scf.for
    // CHECK: tile.take_turn {groups = 2 : i64, id = 8 : i64}
    // CHECK-NEXT: tile.gemm_async %q
    // CHECK: tile.gemm_async %p
    // CHECK-NEXT: tile.pass_turn {groups = 2 : i64, id = 8 : i64}
    // CHECK-NEXT: tile.mma_wait %s {pending = 1 : i64}
    // CHECK-NOT: tile.take_turns
    // CHECK: of the next; the warp groups take turns at starting products
    // CHECK-NEXT: tile.take_turn {ends, groups = 2 : i64, id = 8 : i64}
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        tile.gemm %q, %k, %s {choice = #ss, transpose_b, clear_accum} : !rows, !tile, !scores
        tile.copy %s[%c0, %c0] [128, 64] to %p[%c0, %c0] [128, 64] : !scores to !weights
        tile.gemm %p, %k, %o {choice = #rs} : !weights, !tile, !scores
      } {tile.loop_choice = #tile.choice<tma, "from a ring">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>, tile.take_turns}
    }
  }
  return
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
!tile = !tile.buffer<64x64xf16, shared>
!ring = !tile.buffer<2x64x64xf16, shared>
!scores = !tile.buffer<64x64xf32, fragment>
!weights = !tile.buffer<64x64xf16, fragment>
!rows = !tile.buffer<64xf32, fragment>
!factors = !tile.buffer<64xf32, shared>
!bars = !tile.buffer<2x!tile.barrier, shared>
!position = !tile.buffer<2xi32, local>

// A factor of the step is applied in front of the next product; what reads the
// accumulator or shared memory, or changes something else too, stays behind the
// wait, and so does what comes before it.
// CHECK-LABEL: func.func @delayed_factor
func.func @delayed_factor(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %q = tile.alloc "q" : !tile
    %k = tile.alloc "k" : !ring
    %v = tile.alloc "v" : !ring
    %s = tile.alloc "s" : !scores
    %p = tile.alloc "p" : !weights
    %o = tile.alloc "o" : !scores
    %sum = tile.alloc "sum" : !rows
    %factor = tile.alloc "factor" : !rows
    %shared = tile.alloc "shared" : !factors
    %empty_v = tile.alloc "empty_v" : !bars
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !position
    // CHECK: scf.for
    // CHECK: tile.gemm_async %q, {{%.*}}, %s
    // CHECK: tile.parallel
    // CHECK: tile.load %factor
    // CHECK: arith.mulf
    // CHECK: tile.gemm_async %p, {{%.*}}, %o
    // CHECK: tile.reduce sum %s, %factor
    // CHECK: tile.mma_wait %o, %p, %s {pending = 0 : i64}
    // CHECK: tile.parallel
    // CHECK: tile.load %shared
    // CHECK: tile.reduce sum %o, %sum
    // CHECK-NEXT: tile.copy
    // CHECK: scf.for
    // CHECK: tile.gemm_async %q, {{%.*}}, %s
    // CHECK-NOT: tile.parallel
    // CHECK: tile.gemm_async %p, {{%.*}}, %o
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %vs = tile.subview %v[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        tile.gemm %q, %ks, %s {choice = #ss, transpose_b, clear_accum} : !tile, !tile, !scores
        tile.reduce sum %s, %factor {clear, dim = 1 : i64} : !scores, !rows
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %o[%x, %y] : !scores -> f32
          %by = tile.load %shared[%x] : !factors -> f32
          %scaled = arith.mulf %value, %by : f32
          tile.store %scaled, %o[%x, %y] : f32, !scores
        }
        tile.reduce sum %o, %sum {clear, dim = 1 : i64} : !scores, !rows
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %o[%x, %y] : !scores -> f32
          %by = tile.load %factor[%x] : !rows -> f32
          %scaled = arith.mulf %value, %by : f32
          tile.store %scaled, %o[%x, %y] : f32, !scores
        }
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.gemm %p, %vs, %o {choice = #rs} : !weights, !tile, !scores
        tile.barrier_arrive %empty_v[%slot] warp : !bars
        %next = arith.addi %slot, %c1 : i32
        %new = arith.andi %next, %c1 : i32
        tile.store %new, %ring[%c0] : i32, !position
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      // The factor is that of the next step already.
      scf.for %i = %c0 to %c5 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !position -> i32
        %ks = tile.subview %k[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        %vs = tile.subview %v[%slot, %c0, %c0] [1, 64, 64] : !ring to !tile
        tile.gemm %q, %ks, %s {choice = #ss, transpose_b, clear_accum} : !tile, !tile, !scores
        tile.parallel [64, 64] {
        ^bb0(%x: i32, %y: i32):
          %value = tile.load %o[%x, %y] : !scores -> f32
          %by = tile.load %factor[%x] : !rows -> f32
          %scaled = arith.mulf %value, %by : f32
          tile.store %scaled, %o[%x, %y] : f32, !scores
        }
        tile.reduce sum %o, %factor {clear, dim = 1 : i64} : !scores, !rows
        tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !scores to !weights
        tile.gemm %p, %vs, %o {choice = #rs} : !weights, !tile, !scores
        tile.barrier_arrive %empty_v[%slot] warp : !bars
        %next = arith.addi %slot, %c1 : i32
        %new = arith.andi %next, %c1 : i32
        tile.store %new, %ring[%c0] : i32, !position
      } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    }
  }
  return
}
