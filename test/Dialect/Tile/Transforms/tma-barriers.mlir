// Barriers and phases of copies by TMA outside of rings.
// RUN: tile-opt %s -tile-insert-mbarriers -split-input-file | filecheck %s

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>

// Loads that follow each other share a barrier; the wait is in front of the
// first use. Without a loop around the phase is known.
// CHECK-LABEL: @once
// CHECK: %[[BARRIER:.*]] = tile.alloc "loaded_a_b" : <1x!tile.barrier, shared>
// CHECK: tile.barrier_init %[[BARRIER]] {arrivals = 1 : i64}
// CHECK-NEXT: tile.sync_threads
// CHECK: tile.barrier_arrive %[[BARRIER]][%[[ZERO:.*]]] single {expect = 24576 : i64}
// CHECK-NEXT: tile.copy_async %{{.*}} barrier %[[BARRIER]][%[[ZERO]]]
// CHECK-NEXT: tile.copy_async %{{.*}} barrier %[[BARRIER]][%[[ZERO]]]
// CHECK-NEXT: tile.fill
// CHECK-NEXT: tile.barrier_wait %[[BARRIER]][%[[ZERO]]], %[[ZERO]]
// CHECK-NEXT: tile.gemm
func.func @once(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared, #shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, shared, #shared>
    %c = tile.alloc "c" : !tile.buffer<128x64xf32, fragment>
    tile.copy %A[%bx, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<128x64xf16, shared, #shared>
    tile.copy %B[%bx, %c0] [64, 64] to %b[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
    tile.fill %c, %zero : !tile.buffer<128x64xf32, fragment>, f32
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x64xf16, shared, #shared>, !tile.buffer<64x64xf16, shared, #shared>, !tile.buffer<128x64xf32, fragment>
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// In a loop the phase is a variable. A store becomes asynchronous.
// CHECK-LABEL: @in_a_loop
// CHECK: %[[PHASE:.*]] = tile.alloc "phase" : <1xi32, local>
// CHECK: %[[BARRIER:.*]] = tile.alloc "loaded_a"
// CHECK: tile.store %{{.*}}, %[[PHASE]][%{{.*}}]
// CHECK: scf.for
// CHECK: tile.barrier_arrive %[[BARRIER]][%{{.*}}] single {expect = 8192 : i64}
// CHECK-NEXT: tile.copy_async
// CHECK: %[[PARITY:.*]] = tile.load %[[PHASE]]
// CHECK: tile.barrier_wait %[[BARRIER]][%{{.*}}], %[[PARITY]]
// CHECK: %[[NEXT:.*]] = arith.xori %[[PARITY]], %{{.*}}
// CHECK: tile.store %[[NEXT]], %[[PHASE]]
// CHECK: tile.copy_async %{{.*}} to %{{.*}} : !tile.buffer<64x64xf16, shared, #{{.*}}> to memref<?x64xf16>
func.func @in_a_loop(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared, #shared>
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
      tile.copy %a[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<64x64xf16, shared, #shared> to memref<?x64xf16>
    }
  }
  return
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>

// Where the program orders its threads, each warp of the role arrives, so that none misses a phase.
// CHECK-LABEL: @in_a_role_of_the_program
// CHECK: %[[BARRIER:.*]] = tile.alloc "loaded_a"
// CHECK-NEXT: tile.barrier_init %[[BARRIER]] {arrivals = 4 : i64}
// CHECK: scf.for
// CHECK: tile.barrier_expect_tx %[[BARRIER]][%{{.*}}] {bytes = 8192 : i64}
// CHECK-NEXT: tile.barrier_arrive %[[BARRIER]][%{{.*}}] warp
// CHECK-NEXT: tile.copy_async
// CHECK: tile.barrier_wait %[[BARRIER]]
func.func @in_a_role_of_the_program(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(256) attributes {tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared, #shared>
    tile.warp_specialize [#tile.role<user, first = 4, warps = 4>] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #shared>
        tile.named_arrive {id = 1 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// -----

#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>

// A pipeline: a barrier for each slot, parities as bits of a variable; a load
// under a condition is expected there, and the arrival is unconditional.
// CHECK-LABEL: @pipeline
// CHECK: %[[PHASES:.*]] = tile.alloc "phases" : <1xi32, local>
// CHECK: %[[FULL:.*]] = tile.alloc "full" : <2x!tile.barrier, shared>
// CHECK: tile.barrier_init %[[FULL]] {arrivals = 1 : i64}
// CHECK: scf.if
// CHECK: scf.if
// CHECK: tile.barrier_expect_tx %[[FULL]][%[[FIRST:.*]]] {bytes = 8192 : i64}
// CHECK-NEXT: tile.copy_async %{{.*}} barrier %[[FULL]][%[[FIRST]]]
// CHECK: tile.barrier_arrive %[[FULL]][%[[FIRST]]] single
// CHECK: scf.for %{{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %[[ISSUED:.*]] = %{{.*}})
// CHECK: %[[BITS:.*]] = tile.load %[[PHASES]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[BITS]], %[[SLOT]]
// CHECK: %[[PARITY:.*]] = arith.andi %[[SHIFTED]]
// CHECK: tile.barrier_wait %[[FULL]][%[[SLOT]]], %[[PARITY]]
// CHECK: tile.store %{{.*}}, %[[PHASES]]
// CHECK: tile.barrier_expect_tx %[[FULL]][%[[ISSUED]]] {bytes = 8192 : i64}
func.func @pipeline(%A: memref<?x64xf16>, %n: i32, %p: i1, %q: i1) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %a = tile.alloc "a" {tile.slots = 2 : i64} : !tile.buffer<2x64x64xf16, shared, #slots>
    scf.if %p {
      scf.if %q {
        %s = tile.subview %a[%c0, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf16, shared, #slots> to !tile.buffer<64x64xf16, shared>
        tile.copy %A[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      }
    } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %issued = %c1) -> (i32, i32) : i32 {
      scf.if %p {
        scf.if %q {
          %s = tile.subview %a[%issued, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf16, shared, #slots> to !tile.buffer<64x64xf16, shared>
          tile.copy %A[%k, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
        }
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      %s0 = arith.addi %slot, %c1 : i32
      %w0 = arith.cmpi eq, %s0, %c2 : i32
      %n0 = arith.select %w0, %c0, %s0 : i32
      %s1 = arith.addi %issued, %c1 : i32
      %w1 = arith.cmpi eq, %s1, %c2 : i32
      %n1 = arith.select %w1, %c0, %s1 : i32
      scf.yield %n0, %n1 : i32, i32
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
  }
  return
}

// -----

#staging = #tile.shared_layout<order = [1, 0], panel = 16, swizzle = 32>
#sums = #tile.fragment_layout<[64, 24], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (3, 1, 8)]>

// A loop that matrix stores do writes what each warp holds, transposed: 16 columns, which the warp stores itself. Where
// the threads store elements, who writes what is another matter.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @transposed
// CHECK: tile.parallel {{.*}}tile.warp_layout = #tile.fragment_layout<[24, 64], threads = [(4, 0, 2), (8, 1, 1), (4, 1, 16)], registers = [(2, 0, 1), (2, 1, 8), (3, 0, 8)]>
// CHECK: tile.copy_async %s{{.*}}"TMA store of 1 box of 24x16 elements, 32-byte swizzle; each warp stores what it has written", {box = [16, 24]}>, tile.warp_layout
// CHECK: tile.copy_async %t{{.*}}by one thread for all warps: store (line {{[0-9]+}}) uses t in another way"
func.func @transposed(%C: memref<?x64xf16>, %D: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c24 = arith.constant 24 : i32
    %y = arith.muli %bx, %c24 : i32
    %f = tile.alloc "f" : !tile.buffer<64x24xf16, fragment, #sums>
    %s = tile.alloc "s" : !tile.buffer<24x64xf16, shared, #staging>
    %t = tile.alloc "t" : !tile.buffer<24x64xf16, shared, #staging>
    tile.parallel [64, 24] attributes {choice = #tile.choice<stmatrix, "">, layout = #sums} {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %f[%i, %j] : !tile.buffer<64x24xf16, fragment, #sums> -> f16
      tile.store %v, %s[%j, %i] : f16, !tile.buffer<24x64xf16, shared, #staging>
    }
    tile.copy %s[%c0, %c0] [24, 64] to %C[%y, %c0] [24, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<24x64xf16, shared, #staging> to memref<?x64xf16>
    tile.parallel [64, 24] attributes {choice = #tile.choice<simt, "">, layout = #sums} {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %f[%i, %j] : !tile.buffer<64x24xf16, fragment, #sums> -> f16
      tile.store %v, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared, #staging>
    }
    tile.copy %t[%c0, %c0] [24, 64] to %D[%y, %c0] [24, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<24x64xf16, shared, #staging> to memref<?x64xf16>
  }
  return
}
}
