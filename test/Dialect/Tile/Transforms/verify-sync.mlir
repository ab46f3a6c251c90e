// Correct protocols: no diagnostics, and nothing changes.
// RUN: tile-opt %s -tile-verify-sync 2>&1 | filecheck %s
// RUN: tile-opt %s -o %t.before.mlir
// RUN: tile-opt %s -tile-verify-sync -o %t.after.mlir
// RUN: diff %t.before.mlir %t.after.mlir

// CHECK-NOT: {{error|warning|remark}}:

!barriers1 = !tile.buffer<1x!tile.barrier, shared>
!barriers2 = !tile.buffer<2x!tile.barrier, shared>
!barriers3 = !tile.buffer<3x!tile.barrier, shared>
!barriers4 = !tile.buffer<4x!tile.barrier, shared>
!slot = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>
!ring = !tile.buffer<2xi32, local>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "">

// One slot: producer and consumers alternate.
// CHECK-LABEL: func.func @one_slot
// CHECK: tile.warp_specialize
func.func @one_slot(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "one_slot" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %slots = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <1x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers1
    %empty = tile.alloc "empty" : !barriers1
    %ring = tile.alloc "ring" : !ring
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers1
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers1
    tile.sync_threads
    tile.store %c0, %ring[%c0] : i32, !ring
    tile.store %c0, %ring[%one] : i32, !ring
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers1
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers1
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers1 {choice = #tma} : memref<?x64xf16> to !slot
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers1
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers1
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
    }
  }
  return
}

// Copies under a condition expect their bytes there; arrivals are unconditional.
// CHECK-LABEL: func.func @conditional
// CHECK: tile.warp_specialize
func.func @conditional(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "conditional" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %slots = arith.constant 2 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers2
    %empty = tile.alloc "empty" : !barriers2
    %ring = tile.alloc "ring" : !ring
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers2
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers2
    tile.sync_threads
    tile.store %c0, %ring[%c0] : i32, !ring
    tile.store %c0, %ring[%one] : i32, !ring
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers2
        %flag = tile.load %flags[%k] : memref<?xi32> -> i32
        %in = arith.cmpi ne, %flag, %c0 : i32
        scf.if %in {
          tile.barrier_expect_tx %full[%slot] {bytes = 8192 : i64} : !barriers2
          tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers2 {choice = #tma} : memref<?x64xf16> to !slot
        }
        tile.barrier_arrive %full[%slot] single : !barriers2
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers2
        %flag = tile.load %flags[%k] : memref<?xi32> -> i32
        %in = arith.cmpi ne, %flag, %c0 : i32
        scf.if %in {
          tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
          tile.mma_wait %acc {pending = 0 : i64} : !acc
        }
        tile.barrier_arrive %empty[%slot] warp : !barriers2
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
    }
  }
  return
}

// The position goes on over an outer loop; products stay in flight for one
// iteration, and slots go back one iteration later.
// CHECK-LABEL: func.func @persistent
// CHECK: tile.warp_specialize
func.func @persistent(%A: memref<?x64xf16>, %n: i32, %m: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "persistent" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %slots = arith.constant 3 : i32
    %last = arith.constant 2 : i32
    %a = tile.alloc "A_shared" : <3x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers3
    %empty = tile.alloc "empty" : !barriers3
    %ring = tile.alloc "ring" : !ring
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers3
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers3
    tile.sync_threads
    tile.store %c0, %ring[%c0] : i32, !ring
    tile.store %c0, %ring[%one] : i32, !ring
    tile.warp_specialize [#producer, #consumer] {
      scf.for %t = %c0 to %m step %one : i32 {
        scf.for %k = %c0 to %n step %one : i32 {
          %slot = tile.load %ring[%c0] : !ring -> i32
          %phase = tile.load %ring[%one] : !ring -> i32
          %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <3x64x64xf16, shared> to !slot
          %free = arith.xori %phase, %one : i32
          tile.barrier_wait %empty[%slot], %free : !barriers3
          tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers3
          tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers3 {choice = #tma} : memref<?x64xf16> to !slot
          %next = arith.addi %slot, %one : i32
          %w = arith.cmpi eq, %next, %slots : i32
          %s = arith.select %w, %c0, %next : i32
          tile.store %s, %ring[%c0] : i32, !ring
          %f = arith.extui %w : i1 to i32
          %p = arith.xori %phase, %f : i32
          tile.store %p, %ring[%one] : i32, !ring
        }
      }
    }, {
      scf.for %t = %c0 to %m step %one : i32 {
        scf.for %k = %c0 to %n step %one : i32 {
          %slot = tile.load %ring[%c0] : !ring -> i32
          %phase = tile.load %ring[%one] : !ring -> i32
          %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <3x64x64xf16, shared> to !slot
          tile.barrier_wait %full[%slot], %phase : !barriers3
          tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
          tile.mma_wait {pending = 1 : i64}
          %z = arith.cmpi eq, %slot, %c0 : i32
          %d = arith.subi %slot, %one : i32
          %previous = arith.select %z, %last, %d : i32
          %later = arith.cmpi sgt, %k, %c0 : i32
          scf.if %later {
            tile.barrier_arrive %empty[%previous] warp : !barriers3
          }
          %next = arith.addi %slot, %one : i32
          %w = arith.cmpi eq, %next, %slots : i32
          %s = arith.select %w, %c0, %next : i32
          tile.store %s, %ring[%c0] : i32, !ring
          %f = arith.extui %w : i1 to i32
          %p = arith.xori %phase, %f : i32
          tile.store %p, %ring[%one] : i32, !ring
        }
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        %position = tile.load %ring[%c0] : !ring -> i32
        %z = arith.cmpi eq, %position, %c0 : i32
        %d = arith.subi %position, %one : i32
        %previous = arith.select %z, %last, %d : i32
        %ran = arith.cmpi sgt, %n, %c0 : i32
        scf.if %ran {
          tile.barrier_arrive %empty[%previous] warp : !barriers3
        }
      }
    }
  }
  return
}

// Four slots, the last product waited for behind the loop.
// CHECK-LABEL: func.func @four_slots
// CHECK: tile.warp_specialize
func.func @four_slots(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "four_slots" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %slots = arith.constant 4 : i32
    %last = arith.constant 3 : i32
    %a = tile.alloc "A_shared" : <4x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers4
    %empty = tile.alloc "empty" : !barriers4
    %ring = tile.alloc "ring" : !ring
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers4
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers4
    tile.sync_threads
    tile.store %c0, %ring[%c0] : i32, !ring
    tile.store %c0, %ring[%one] : i32, !ring
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <4x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers4
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers4
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers4 {choice = #tma} : memref<?x64xf16> to !slot
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = tile.load %ring[%c0] : !ring -> i32
        %phase = tile.load %ring[%one] : !ring -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <4x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers4
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait {pending = 1 : i64}
        %z = arith.cmpi eq, %slot, %c0 : i32
        %d = arith.subi %slot, %one : i32
        %previous = arith.select %z, %last, %d : i32
        %later = arith.cmpi sgt, %k, %c0 : i32
        scf.if %later {
          tile.barrier_arrive %empty[%previous] warp : !barriers4
        }
        %next = arith.addi %slot, %one : i32
        %w = arith.cmpi eq, %next, %slots : i32
        %s = arith.select %w, %c0, %next : i32
        tile.store %s, %ring[%c0] : i32, !ring
        %f = arith.extui %w : i1 to i32
        %p = arith.xori %phase, %f : i32
        tile.store %p, %ring[%one] : i32, !ring
      }
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      %position = tile.load %ring[%c0] : !ring -> i32
      %z = arith.cmpi eq, %position, %c0 : i32
      %d = arith.subi %position, %one : i32
      %previous = arith.select %z, %last, %d : i32
      %ran = arith.cmpi sgt, %n, %c0 : i32
      scf.if %ran {
        tile.barrier_arrive %empty[%previous] warp : !barriers4
      }
    }
  }
  return
}

// Without roles: one thread loads, all wait; the barrier of the threads orders
// the next load behind the reads of this one, and the store is waited for.
// CHECK-LABEL: func.func @no_roles
// CHECK: tile.barrier_wait
func.func @no_roles(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "no_roles" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slot
    %b = tile.alloc "B_shared" : !slot
    %f = tile.alloc "A_local" : <64x64xf16, fragment>
    %full = tile.alloc "full" : !barriers1
    %phase = tile.alloc "phase" : <1xi32, local>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers1
    tile.sync_threads
    tile.store %c0, %phase[%c0] : i32, !tile.buffer<1xi32, local>
    scf.for %k = %bx to %n step %c1 : i32 {
      tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !barriers1
      tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !barriers1 {choice = #tma} : memref<?x64xf16> to !slot
      %parity = tile.load %phase[%c0] : !tile.buffer<1xi32, local> -> i32
      tile.barrier_wait %full[%c0], %parity : !barriers1
      %next = arith.xori %parity, %one : i32
      tile.store %next, %phase[%c0] : i32, !tile.buffer<1xi32, local>
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !slot to !tile.buffer<64x64xf16, fragment>
      tile.bulk_wait {pending = 0 : i64, read}
      tile.sync_threads
      tile.copy %f[%c0, %c0] [64, 64] to %b[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !slot
      tile.fence_proxy
      tile.sync_threads
      tile.copy_async %b[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma} : !slot to memref<?x64xf16>
      tile.bulk_commit
    }
    tile.bulk_wait {pending = 0 : i64, read}
  }
  return
}

// A producer of many threads: TMA for one buffer, cp.async for the other, whose
// arrivals come when the copies of the thread are complete.
// CHECK-LABEL: func.func @cp_async
// CHECK: tile.warp_specialize
func.func @cp_async(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "cp_async" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %b = tile.alloc "B_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers2
    %empty = tile.alloc "empty" : !barriers2
    tile.barrier_init %full {arrivals = 129 : i64} : !barriers2
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers2
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers2
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers2
        tile.copy_async %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers2 {choice = #tma} : memref<?x64xf16> to !slot
        tile.copy_async %B[%k, %c0] [64, 64] to %vb[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !slot
        tile.barrier_arrive %full[%slot] thread {cp_async} : !barriers2
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %va = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers2
        tile.gemm_async %va, %vb, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers2
      }
    }
  }
  return
}

// Choices about the block's index come between what the warps calculate of it: the trips of the loop after the
// condition, and the outer condition before the inner one. All warps decide in the same way.
// CHECK-LABEL: func.func @chosen_in_between
// CHECK: tile.async_wait
func.func @chosen_in_between(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %flags: memref<?xi32>) {
  %c2 = arith.constant 2 : i32
  tile.kernel "chosen_in_between" grid(%c2) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "A_shared" : !slot
    %flag = tile.load %flags[%bx] : memref<?xi32> -> i32
    %set = arith.cmpi ne, %flag, %c0 : i32
    scf.if %set {
      %trips = arith.addi %bx, %one : i32
      scf.for %k = %c0 to %trips step %one : i32 {
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !slot
        tile.async_commit
        tile.async_wait {pending = 0 : i64}
        tile.sync_threads
        tile.copy %a[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] : !slot to memref<?x64xf16>
        tile.sync_threads
      }
    }
    %rest = arith.remui %bx, %two : i32
    %even = arith.cmpi eq, %rest, %c0 : i32
    scf.if %even {
      %negative = arith.cmpi slt, %bx, %c0 : i32
      scf.if %negative {
        tile.sync_threads
      }
      tile.sync_threads
    }
  }
  return
}

// The two parts of one loop of the program, of which one has a loop inside that synchronises. Both leave out the same
// of very many iterations.
// CHECK-LABEL: func.func @loop_in_one_part
// CHECK: tile.warp_specialize
func.func @loop_in_one_part(%A: memref<?x64xf16>, %n: i32) {
  %c2 = arith.constant 2 : i32
  tile.kernel "loop_in_one_part" grid(%c2) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers2
    %empty = tile.alloc "empty" : !barriers2
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers2
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers2
    tile.sync_threads
    %many = arith.cmpi sgt, %bx, %one : i32
    scf.if %many {
      tile.sync_threads
    }
    %trips = arith.addi %bx, %one : i32
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %trips step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers2
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers2
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers2 {choice = #tma} : memref<?x64xf16> to !slot
      } loc("program.py":3:5)
    }, {
      scf.for %k = %c0 to %trips step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers2
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers2
        scf.for %j = %c0 to %n step %one : i32 {
          tile.sync_threads
        }
      } loc("program.py":3:5)
    }
  }
  return
}
