// RUN: tile-opt %s -tile-schedule-mma -split-input-file | filecheck %s
// Products of warp groups start asynchronously; waits cover them.

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
#mma = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>

!op = !tile.buffer<64x64xf16, shared>
!reg = !tile.buffer<64x64xf16, fragment>
!acc = !tile.buffer<64x64xf32, fragment>

// CHECK-LABEL: func.func @in_place
func.func @in_place(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !op
    %b = tile.alloc "b" : !op
    %r = tile.alloc "r" : !reg
    %c = tile.alloc "c" : !acc
    %d = tile.alloc "d" : !acc
    // Other instructions are complete when they are done.
    // CHECK: tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync
    tile.gemm %a, %b, %c {choice = #mma} : !op, !op, !acc
    // CHECK-NEXT: tile.gemm_async %a, %b, %c {choice = #tile.choice<wgmma_ss, {{.*}}, clear_accum, transpose_b}
    // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
    tile.gemm %a, %b, %c {choice = #ss, clear_accum, transpose_b} : !op, !op, !acc
    tile.sync_threads
    // Neighbours wait together, also for the registers of A.
    // CHECK: tile.gemm_async %a, %b, %c
    // CHECK-NEXT: tile.gemm_async %r, %b, %d
    // CHECK-NEXT: tile.mma_wait %c, %d, %r {pending = 0 : i64}
    tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
    tile.gemm %r, %b, %d {choice = #rs} : !reg, !op, !acc
    tile.sync_threads
    // CHECK: tile.gemm_async %a, %b, %c
    // CHECK-NEXT: tile.gemm_async %b, %a, %c
    // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
    tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
    tile.gemm %b, %a, %c {choice = #ss} : !op, !op, !acc
    tile.sync_threads
    // Sums that start from zero do without it.
    // CHECK: tile.sync_threads
    // CHECK-NOT: tile.fill
    // CHECK: tile.gemm_async %a, %b, %c {choice = #tile.choice<wgmma_ss, {{.*}}, clear_accum}
    %zero = arith.constant 0.0 : f32
    tile.fill %c, %zero : !acc, f32
    tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
    tile.sync_threads
    // CHECK: tile.fill %c
    // CHECK-NEXT: tile.gemm_async %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>} :
    %one = arith.constant 1.0 : f32
    tile.fill %c, %one : !acc, f32
    tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
  }
  return
}

// Results that become A of the next product have to be there.
// CHECK-LABEL: func.func @dependent
func.func @dependent(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !op
    %s = tile.alloc "s" : !reg
    %c = tile.alloc "c" : !acc
    // CHECK: tile.gemm_async
    // CHECK-NEXT: tile.mma_wait %s {pending = 0 : i64}
    // CHECK-NEXT: tile.gemm_async
    // CHECK-NEXT: tile.mma_wait %c, %s {pending = 0 : i64}
    tile.gemm %a, %a, %s {choice = #ss} : !op, !op, !reg
    tile.gemm %s, %a, %c {choice = #rs} : !reg, !op, !acc
  }
  return
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
!ring = !tile.buffer<4x64x64xf16, shared>
!op = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>
!bars = !tile.buffer<4x!tile.barrier, shared>

// The product of an iteration runs during the next; its slot goes back then.
// CHECK-LABEL: func.func @ring
func.func @ring(%n: i32, %trips: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring
    %b = tile.alloc "b" : !ring
    %c = tile.alloc "c" : !acc
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    %position = tile.alloc "ring" {tile.ring = 4 : i64} : !tile.buffer<2xi32, local>
    // How often the loop runs is not known: the accumulator starts from zero.
    // CHECK: tile.fill %c, %cst
    tile.fill %c, %zero : !acc, f32
    // CHECK: scf.for [[K:%.*]] = %c0
    scf.for %k = %c0 to %trips step %c1 : i32 {
      // CHECK: [[SLOT:%.*]] = tile.load %ring[%c0
      %slot = tile.load %position[%c0] : !tile.buffer<2xi32, local> -> i32
      %phase = tile.load %position[%c1] : !tile.buffer<2xi32, local> -> i32
      %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring to !op
      %bs = tile.subview %b[%slot, %c0, %c0] [1, 64, 64] : !ring to !op
      // CHECK: tile.barrier_wait %full
      tile.barrier_wait %full[%slot], %phase : !bars
      // CHECK-NEXT: tile.gemm_async {{%.*}}, {{%.*}}, %c {choice
      // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
      tile.gemm %as, %bs, %c {choice = #ss} : !op, !op, !acc
      // CHECK: [[MORE:%.*]] = arith.cmpi sgt, [[K]], %c0
      // CHECK: [[BEFORE:%.*]] = arith.addi [[SLOT]], [[THREE:%c3.*]] : i32
      // CHECK: [[PREVIOUS:%.*]] = arith.andi [[BEFORE]], [[THREE]]
      // CHECK: scf.if [[MORE]]
      // CHECK-NEXT: tile.barrier_arrive %empty[[[PREVIOUS]]] warp
      // CHECK-NOT: tile.barrier_arrive
      tile.barrier_arrive %empty[%slot] warp : !bars
      %next = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c4 : i32
      %new = arith.select %wraps, %c0, %next : i32
      // CHECK: tile.store
      tile.store %new, %position[%c0] : i32, !tile.buffer<2xi32, local>
    } {tile.pipeline = #tile.pipeline<ring, slots = 4, ahead = 0>}
    // CHECK: tile.pipeline = #tile.pipeline<ring
    // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
    // CHECK: arith.cmpi sgt, {{%.*}}, %c0
    // CHECK: scf.if
    // CHECK: [[NOW:%.*]] = tile.load %ring[%c0
    // CHECK: [[LAST:%.*]] = arith.andi
    // CHECK: tile.barrier_arrive %empty[[[LAST]]] warp
  }
  return
}

// Where it is known, the first product starts the sum.
// CHECK-LABEL: func.func @first_product
func.func @first_product(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring
    %c = tile.alloc "c" : !acc
    %d = tile.alloc "d" : !acc
    %empty = tile.alloc "empty" : !bars
    %position = tile.alloc "ring" {tile.ring = 4 : i64} : !tile.buffer<2xi32, local>
    // CHECK: [[NONE:%.*]] = ub.poison : f32
    // CHECK-NEXT: tile.fill %c, [[NONE]]
    tile.fill %c, %zero : !acc, f32
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      %slot = tile.load %position[%c0] : !tile.buffer<2xi32, local> -> i32
      %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring to !op
      // CHECK: [[MORE:%.*]] = arith.cmpi sgt
      // CHECK-NEXT: tile.gemm_async {{.*}}, %c accumulate [[MORE]]
      // CHECK-NEXT: tile.gemm_async {{.*}}, %d {choice
      // CHECK-NEXT: tile.mma_wait {pending = 2 : i64}
      tile.gemm %as, %as, %c {choice = #ss} : !op, !op, !acc
      tile.gemm %as, %as, %d {choice = #ss} : !op, !op, !acc
      tile.barrier_arrive %empty[%slot] warp : !bars
    } {tile.pipeline = #tile.pipeline<ring, slots = 4, ahead = 0>}
    // CHECK: tile.pipeline<ring
    // CHECK-NEXT: tile.mma_wait %c, %d {pending = 0 : i64}
    // CHECK-NOT: scf.if
    // CHECK: tile.barrier_arrive
  }
  return
}

// Few slots: a slot goes back as soon as its products are done. In a loop over tiles they stay in flight.
!ring3 = !tile.buffer<3x64x64xf16, shared>
!bars3 = !tile.buffer<3x!tile.barrier, shared>
// CHECK-LABEL: func.func @few_slots
func.func @few_slots(%n: i32, %trips: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !ring3
    %b = tile.alloc "b" : !ring3
    %c = tile.alloc "c" : !acc
    %empty = tile.alloc "empty" : !bars3
    %position = tile.alloc "ring" {tile.ring = 3 : i64} : !tile.buffer<2xi32, local>
    tile.fill %c, %zero : !acc, f32
    // CHECK: scf.for
    scf.for %k = %c0 to %trips step %c1 : i32 {
      // CHECK: [[SLOT:%.*]] = tile.load %ring[%c0
      %slot = tile.load %position[%c0] : !tile.buffer<2xi32, local> -> i32
      %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring3 to !op
      %bs = tile.subview %b[%slot, %c0, %c0] [1, 64, 64] : !ring3 to !op
      // CHECK: tile.gemm_async
      // CHECK-NEXT: tile.mma_wait {pending = 0 : i64}
      // CHECK-NEXT: tile.barrier_arrive %empty[[[SLOT]]] warp
      tile.gemm %as, %bs, %c {choice = #ss} : !op, !op, !acc
      tile.barrier_arrive %empty[%slot] warp : !bars3
      %next = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c3 : i32
      %new = arith.select %wraps, %c0, %next : i32
      tile.store %new, %position[%c0] : i32, !tile.buffer<2xi32, local>
    // CHECK: tile.pipeline = #tile.pipeline<ring
    // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
    } {tile.pipeline = #tile.pipeline<ring, slots = 3, ahead = 0>}
    scf.for %t = %c0 to %n step %c1 : i32 {
      scf.for %k = %c0 to %trips step %c1 : i32 {
        %slot = tile.load %position[%c0] : !tile.buffer<2xi32, local> -> i32
        %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !ring3 to !op
        %bs = tile.subview %b[%slot, %c0, %c0] [1, 64, 64] : !ring3 to !op
        // CHECK: tile.gemm_async
        // CHECK-NEXT: tile.mma_wait {pending = 1 : i64}
        tile.gemm %as, %bs, %c {choice = #ss} : !op, !op, !acc
        tile.barrier_arrive %empty[%slot] warp : !bars3
        %next = arith.addi %slot, %c1 : i32
        %wraps = arith.cmpi eq, %next, %c3 : i32
        %new = arith.select %wraps, %c0, %next : i32
        tile.store %new, %position[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 3, ahead = 0>}
    }
  }
  return
}

// One slot, an accumulator that the loop also reads, a condition: no overlap.
// CHECK-LABEL: func.func @no_overlap
func.func @no_overlap(%n: i32, %p: i1) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %a = tile.alloc "a" : !op
    %b = tile.alloc "b" : !op
    %c = tile.alloc "c" : !acc
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      // CHECK: tile.gemm_async
      // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
      tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
    } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      // CHECK: tile.gemm_async
      // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
      tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
      tile.copy %c[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : !acc to !op
    } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    // An operand that the loop itself writes has to be free again.
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      tile.copy %b[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : !op to !op
      // CHECK: tile.gemm_async
      // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
      tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
    } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      scf.if %p {
        // CHECK: tile.gemm_async
        // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
        tile.gemm %a, %b, %c {choice = #ss} : !op, !op, !acc
      }
    } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
  }
  return
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
!slots = !tile.buffer<2x64x64xf16, shared>
!op = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>

// Without roles, the loads for a later iteration start while the product runs.
// CHECK-LABEL: func.func @steady
func.func @steady(%A: memref<64x1024xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %a = tile.alloc "a" : !slots
    %c = tile.alloc "c" : !acc
    scf.for %k = %c0 to %c16 step %c1 iter_args(%slot = %c0, %next = %c1) -> (i32, i32) : i32 {
      // CHECK: tile.async_wait
      // CHECK-NOT: tile.copy_async
      // CHECK: tile.gemm_async
      // CHECK-NEXT: scf.if
      // CHECK: tile.copy_async
      // CHECK: tile.async_commit
      // CHECK-NEXT: tile.mma_wait %c {pending = 0 : i64}
      tile.async_wait {pending = 0 : i64}
      %more = arith.cmpi slt, %k, %c16 : i32
      scf.if %more {
        %in = tile.subview %a[%next, %c0, %c0] [1, 64, 64] : !slots to !op
        tile.copy_async %A[%c0, %k] [64, 64] to %in[%c0, %c0] [64, 64] : memref<64x1024xf16> to !op
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      tile.async_commit
      %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !op
      tile.gemm %as, %as, %c {choice = #ss} : !op, !op, !acc
      scf.yield %next, %slot : i32, i32
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
  }
  return
}
