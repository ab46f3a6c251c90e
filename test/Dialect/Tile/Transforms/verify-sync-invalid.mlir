// Protocols with one fault each, and some that cannot be followed.
// RUN: tile-opt %s -tile-verify-sync -verify-diagnostics=only-expected

!barriers = !tile.buffer<2x!tile.barrier, shared>
!slot = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "">

// Wrong initial parity: nobody frees a slot that was never filled.
func.func @initial_parity(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "initial_parity" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        // expected-error-re@below {{deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line {{[0-9]+}}; consumer waits for parity 0 of full[0] (0 of 1 arrivals) since line {{[0-9]+}}}}
        tile.barrier_wait %empty[%slot], %phase : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// The producer does not flip its phase: it does not wait for the second lap.
func.func @producer_flip(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "producer_flip" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %phase = arith.constant 0 : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        // expected-error@below {{over-arrival: full[0] takes 1 arrival in a phase, and this one of producer may come on top}}
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// The consumers do not flip theirs: they read before the second lap has come.
func.func @consumer_flip(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "consumer_flip" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %phase = arith.constant 0 : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        // expected-error@below {{phase overrun: this wait of consumer is for parity 0 of full[0], a phase that it knows to be complete, while the next one may complete too (is a flip of the phase missing?)}}
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// Nobody gives the slots back.
func.func @no_release(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "no_release" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        // expected-error-re@below {{deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line {{[0-9]+}}; consumer waits for parity 1 of full[0] (0 of 1 arrivals) since line {{[0-9]+}}}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
      }
    }
  }
  return
}

// Nobody arrives for the filled slot.
func.func @no_arrival(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "no_arrival" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        // expected-error-re@below {{deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line {{[0-9]+}}; consumer waits for parity 0 of full[0] (0 of 1 arrivals) since line {{[0-9]+}}}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// The slot goes back before it has been read.
func.func @early_release(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "early_release" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.barrier_arrive %empty[%slot] warp : !barriers
        // expected-error@below {{early read: gemm_async of consumer reads slot 0 of A_shared while copy_async of producer may still fill it}}
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
      }
    }
  }
  return
}

// Less arrivals in a phase than come.
func.func @too_many_arrivals(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "too_many_arrivals" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 3 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        // expected-error@below {{over-arrival: empty[0] takes 3 arrivals in a phase, and this one of consumer may come on top}}
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// More arrivals in a phase than come.
func.func @too_few_arrivals(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "too_few_arrivals" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 5 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        // expected-error-re@below {{deadlock: producer waits for parity 0 of empty[0] (4 of 5 arrivals) since line {{[0-9]+}}; consumer waits for parity 1 of full[0] (0 of 1 arrivals) since line {{[0-9]+}}}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// More bytes are expected than are copied.
func.func @too_many_bytes(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "too_many_bytes" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        // expected-error@below {{wrong number of bytes: full[0] expects 16384 bytes in this phase, but 8192 are copied}}
        tile.barrier_arrive %full[%slot] single {expect = 16384 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// Less bytes are expected than are copied.
func.func @too_few_bytes(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "too_few_bytes" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 4096 : i64} : !barriers
        // expected-error@below {{wrong number of bytes: full[0] expects 4096 bytes in this phase, but 8192 are copied}}
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// The consumers give back the other slot.
func.func @swapped_slot(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "swapped_slot" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        // expected-error@below {{phase overrun: empty[1] may complete the next phase before this wait of producer returns}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        %other = arith.xori %slot, %one : i32
        tile.barrier_arrive %empty[%other] warp : !barriers
      }
    }
  }
  return
}

// The slot goes back while a product still reads it.
func.func @release_in_flight(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "release_in_flight" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        // expected-error@below {{early overwrite: copy_async of producer starts to fill slot 0 of A_shared while gemm_async of consumer may still read it}}
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
        tile.mma_wait %acc {pending = 0 : i64} : !acc
      }
    }
  }
  return
}

// One slot is not enough for products that stay in flight until the next
// iteration.
func.func @lag_without_slot(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "lag_without_slot" grid(%c1) threads(128) {
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
        // expected-error-re@below {{deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line {{[0-9]+}}; consumer waits for parity 1 of full[0] (0 of 1 arrivals) since line {{[0-9]+}}}}
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

// The number of arrivals is missing.
func.func @no_init(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "no_init" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        // expected-error@below {{empty[0] is used before tile.barrier_init says how many arrivals a phase takes}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// Other threads may use the barriers before they are initialised.
func.func @no_sync(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "no_sync" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        // expected-error@below {{full[0] may be used before it is initialised: a tile.sync_threads of all threads is missing after tile.barrier_init}}
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
  }
  return
}

// Nothing waits for the last product.
func.func @left_in_flight(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "left_in_flight" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        // expected-error@below {{asynchronous work is left at the end of the kernel: no tile.mma_wait covers this product}}
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait {pending = 1 : i64}
        %previous = arith.xori %slot, %one : i32
        %later = arith.cmpi sgt, %k, %c0 : i32
        scf.if %later {
          tile.barrier_arrive %empty[%previous] warp : !barriers
        }
      }
    }
  }
  return
}

// The accumulator is used while the last product is in flight.
func.func @early_use(%A: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "early_use" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : <2x64x64xf16, shared>
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : <2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : <2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        %free = arith.xori %phase, %one : i32
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #tma} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <2x64x64xf16, shared> to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait {pending = 1 : i64}
        %previous = arith.xori %slot, %one : i32
        %later = arith.cmpi sgt, %k, %c0 : i32
        scf.if %later {
          tile.barrier_arrive %empty[%previous] warp : !barriers
        }
      }
      // expected-error@below {{early use: print uses C_local before a tile.mma_wait covers gemm_async}}
      tile.print "acc" buffer %acc : !acc
    }
  }
  return
}

// A parity that comes from memory cannot be followed.
func.func @unknown_parity(%flags: memref<?xi32>) {
  %c1 = arith.constant 1 : i32
  // expected-warning@below {{the synchronisation of this kernel is not verified}}
  tile.kernel "unknown_parity" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" : !barriers
    tile.barrier_init %full {arrivals = 4 : i64} : !barriers
    tile.sync_threads
    tile.barrier_arrive %full[%c0] warp : !barriers
    %parity = tile.load %flags[%bx] : memref<?xi32> -> i32
    // expected-note@below {{the parity of the wait for full[0] cannot be calculated}}
    tile.barrier_wait %full[%c0], %parity : !barriers
  }
  return
}

// Nor can one thread of a role be chosen among those that are not all here.
func.func @divergent() {
  %c1 = arith.constant 1 : i32
  // expected-warning@below {{the synchronisation of this kernel is not verified}}
  tile.kernel "divergent" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.sync_threads
    %thread = tile.thread_id 0 : i32
    %first = arith.cmpi eq, %thread, %c0 : i32
    scf.if %first {
      // expected-note@below {{it is under a condition that differs between the threads of a warp}}
      tile.barrier_arrive %full[%c0] single : !barriers
    }
    tile.barrier_wait %full[%c0], %c0 : !barriers
  }
  return
}

// Threads go ways that depend on what they read.
func.func @unknown_divergence(%flags: memref<?xi32>) {
  %c1 = arith.constant 1 : i32
  // expected-warning@below {{the synchronisation of this kernel is not verified}}
  tile.kernel "unknown_divergence" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.sync_threads
    %thread = tile.thread_id 0 : i32
    %flag = tile.load %flags[%thread] : memref<?xi32> -> i32
    %first = arith.cmpi eq, %flag, %c0 : i32
    // expected-note@below {{the condition may differ between threads}}
    scf.if %first {
      tile.barrier_arrive %full[%c0] thread : !barriers
    }
    tile.barrier_wait %full[%c0], %c0 : !barriers
  }
  return
}
