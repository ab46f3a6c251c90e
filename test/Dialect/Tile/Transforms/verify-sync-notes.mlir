// What an error says: who waits where, the last steps of each role, and the input that leads there.
// RUN: not tile-opt %s -tile-verify-sync 2>&1 | filecheck %s

!slot = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "">

// CHECK: error: deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line [[PRODUCER:[0-9]+]]; consumer waits for parity 1 of full[0] (0 of 1 arrivals) since line [[CONSUMER:[0-9]+]]
// CHECK: :[[CONSUMER]]:{{[0-9]+}}: note: consumer waits here
// CHECK: :[[PRODUCER]]:{{[0-9]+}}: note: producer, 3 before: barrier_wait empty[0], parity 1
// CHECK: note: producer, 2 before: barrier_arrive full[0]
// CHECK: note: producer, 1 before: copy_async full[0] to A_shared
// CHECK: note: producer, last step: barrier_wait empty[0], parity 0, iteration 1 of the loop (line {{[0-9]+}})
// CHECK: note: consumer, 3 before: barrier_wait full[0], parity 0
// CHECK: note: consumer, 2 before: gemm_async
// CHECK: note: consumer, 1 before: mma_wait, pending 1
// CHECK: note: consumer, last step: barrier_wait full[0], parity 1
// CHECK: note: this happens when the loop (line {{[0-9]+}}) runs 2 times
func.func @one_slot(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "one_slot" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <1x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 4 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.constant 0 : i32
        %phase = arith.andi %k, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !tile.buffer<1x!tile.barrier, shared> {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.constant 0 : i32
        %phase = arith.andi %k, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !tile.buffer<1x!tile.barrier, shared>
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait {pending = 1 : i64}
        %previous = arith.constant 0 : i32
        %later = arith.cmpi sgt, %k, %c0 : i32
        scf.if %later {
          tile.barrier_arrive %empty[%previous] warp : !tile.buffer<1x!tile.barrier, shared>
        }
      }
      tile.mma_wait %acc {pending = 0 : i64} : !acc
    }
  }
  return
}
