// Blocks of a cluster that fill each other's slots: a correct protocol, and one
// fault at a time.
// RUN: tile-opt %s -tile-verify-sync -verify-diagnostics=only-expected

!barriers = !tile.buffer<2x!tile.barrier, shared>
!slots = !tile.buffer<2x64x64xf16, shared>
!slot = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>
#producer = #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#shared = #tile.choice<tma, "", {multicast = array<i64: 0>}>

// Each block sends half of a tile to both, and gives its slots back to both.
func.func @correct(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "correct" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// The same of four blocks.
func.func @four_blocks(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "four_blocks" grid(%c4) threads(128) attributes {cluster = array<i64: 4>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 16 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Blocks wait for their own consumers only: those of the other one may still read.
func.func @own_consumers_only(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "own_consumers_only" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        // expected-error-re@below {{early overwrite: copy_async of producer of block {{[01]}} {{.*}} slot 0 of A_shared while}}
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Half of the arrivals are counted: slots are filled again too early.
func.func @count_of_one_block(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "count_of_one_block" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 4 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        // expected-error-re@below {{over-arrival: full[0] of block {{[01]}} takes 1 arrival in a phase}}
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Slots are given back to the own block only, which waits for both.
func.func @release_own_only(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "release_own_only" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        // expected-error-re@below {{deadlock: producer of block 0 waits for parity 0 of empty[0] of block 0 (4 of 8 arrivals)}}
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Only the own part is expected, so that the other one comes unnoticed.
func.func @half_the_bytes(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "half_the_bytes" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 4096 : i64} : !barriers
        // expected-error-re@below {{early overwrite: copy_async of producer of block {{[01]}} starts to fill slot 0 of A_shared while gemm_async of consumer of block {{[01]}} may still read it}}
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// The other block may not have initialised its barriers yet.
func.func @no_meeting_at_the_beginning(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "no_meeting_at_the_beginning" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.sync_threads
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        // expected-error@below {{full[0] of block 1 may be used before it is initialised: a tile.cluster_arrive and tile.cluster_wait is missing after tile.barrier_init}}
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// The other block may be gone when the last slots are given back.
func.func @no_meeting_at_the_end(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "no_meeting_at_the_end" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        // expected-error-re@below {{early exit: block {{[01]}} of the cluster may have left the kernel when consumer of block {{[01]}} uses its shared memory here}}
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
  }
  return
}

// Blocks that run different numbers of iterations wait for each other in vain.
func.func @different_trips(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "different_trips" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %bx step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        // expected-error-re@below {{wrong number of bytes: full[0] of block {{[01]}} expects 8192 bytes in this phase, but 4096 are copied}}
        tile.barrier_arrive %full[%slot] single {expect = 8192 : i64} : !barriers
        tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
      }
    }, {
      scf.for %k = %c0 to %bx step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Without loads nothing keeps a block from giving a slot back before the other
// one has given it back the last time.
func.func @conditional(%A: memref<?x64xf16>, %flags: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  tile.kernel "conditional" grid(%c4) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !slots
    %acc = tile.alloc "C_local" : !acc
    %full = tile.alloc "full" : !barriers
    %empty = tile.alloc "empty" : !barriers
    tile.barrier_init %full {arrivals = 1 : i64} : !barriers
    tile.barrier_init %empty {arrivals = 8 : i64} : !barriers
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %free = arith.xori %phase, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %empty[%slot], %free : !barriers
        %flag = tile.load %flags[%k] : memref<?xi32> -> i32
        %loads = arith.cmpi eq, %flag, %c0 : i32
        scf.if %loads {
          tile.barrier_expect_tx %full[%slot] {bytes = 8192 : i64} : !barriers
          tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : !barriers {choice = #shared} : memref<?x64xf16> to !slot
        }
        tile.barrier_arrive %full[%slot] single : !barriers
      }
    }, {
      scf.for %k = %c0 to %n step %one : i32 {
        %slot = arith.andi %k, %one : i32
        %lap = arith.shrui %k, %one : i32
        %phase = arith.andi %lap, %one : i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !slots to !slot
        tile.barrier_wait %full[%slot], %phase : !barriers
        tile.gemm_async %v, %v, %acc : !slot, !slot, !acc
        tile.mma_wait %acc {pending = 0 : i64} : !acc
        // expected-error-re@below {{over-arrival: empty[{{[01]}}] of block {{[01]}} takes 8 arrivals in a phase}}
        tile.barrier_arrive %empty[%slot] warp {tile.reach = [array<i64: 0>]} : !barriers
      }
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Arrivals and waits at the barrier of the cluster take turns, in all threads.
func.func @arrives_twice() {
  %c4 = arith.constant 4 : i32
  tile.kernel "arrives_twice" grid(%c4) threads(64) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    tile.cluster_arrive
    // expected-error@below {{block of block 0 arrives at the barrier of the cluster again without tile.cluster_wait in between}}
    tile.cluster_arrive
    tile.cluster_wait
  }
  return
}

func.func @one_block_only() {
  %c4 = arith.constant 4 : i32
  tile.kernel "one_block_only" grid(%c4) threads(64) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %place = arith.remui %bx, %c2 : i32
    %first = arith.cmpi eq, %place, %c0 : i32
    scf.if %first {
      tile.cluster_arrive
      // expected-error@below {{deadlock: block of block 0 waits at tile.cluster_wait (64 of 128 threads)}}
      tile.cluster_wait
    }
  }
  return
}

// One block loads for both, as the program says; both give the slot back to it.
func.func @by_the_program(%A: memref<?x64xf16>, %n: i32) {
  %c4 = arith.constant 4 : i32
  tile.kernel "by_the_program" grid(%c4) threads(128) attributes {cluster = array<i64: 2>, tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "a" : !slot
    %acc = tile.alloc "acc" : !acc
    %full = tile.alloc "full" : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 256 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.cluster_arrive
    tile.cluster_wait
    %rank = arith.remui %bx, %two : i32
    %loads = arith.cmpi eq, %rank, %c0 : i32
    scf.for %k = %c0 to %n step %one : i32 {
      %phase = arith.andi %k, %one : i32
      %free = arith.xori %phase, %one : i32
      scf.if %loads {
        tile.barrier_wait %empty[%c0], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, tile.cluster_mask = 3 : i64} : memref<?x64xf16> to !slot
      } else {
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      }
      tile.barrier_wait %full[%c0], %phase : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %acc : !slot, !slot, !acc
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      tile.barrier_arrive %empty[%c0] thread {tile.cluster_index} : !tile.buffer<1x!tile.barrier, shared>
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// In a grid of one cluster, block indices are ranks.
func.func @one_cluster(%A: memref<?x64xf16>, %n: i32) {
  %c2 = arith.constant 2 : i32
  tile.kernel "one_cluster" grid(%c2) threads(128) attributes {cluster = array<i64: 2>, tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "a" : !slot
    %acc = tile.alloc "acc" : !acc
    %full = tile.alloc "full" : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 256 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.cluster_arrive
    tile.cluster_wait
    %loads = arith.cmpi eq, %bx, %c0 : i32
    scf.for %k = %c0 to %n step %one : i32 {
      %phase = arith.andi %k, %one : i32
      %free = arith.xori %phase, %one : i32
      scf.if %loads {
        tile.barrier_wait %empty[%c0], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, tile.cluster_mask = 3 : i64} : memref<?x64xf16> to !slot
      } else {
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      }
      tile.barrier_wait %full[%c0], %phase : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %acc : !slot, !slot, !acc
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      tile.barrier_arrive %empty[%c0] thread {tile.cluster_index} : !tile.buffer<1x!tile.barrier, shared>
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// The block that receives has to expect all of it.
func.func @other_bytes(%A: memref<?x64xf16>, %n: i32) {
  %c4 = arith.constant 4 : i32
  tile.kernel "other_bytes" grid(%c4) threads(128) attributes {cluster = array<i64: 2>, tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "a" : !slot
    %acc = tile.alloc "acc" : !acc
    %full = tile.alloc "full" : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 256 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.cluster_arrive
    tile.cluster_wait
    %rank = arith.remui %bx, %two : i32
    %loads = arith.cmpi eq, %rank, %c0 : i32
    scf.for %k = %c0 to %n step %one : i32 {
      %phase = arith.andi %k, %one : i32
      %free = arith.xori %phase, %one : i32
      scf.if %loads {
        tile.barrier_wait %empty[%c0], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, tile.cluster_mask = 3 : i64} : memref<?x64xf16> to !slot
      } else {
        // expected-error @+1 {{wrong number of bytes: full[0] of block 1 expects 4096 bytes in this phase, but 8192 are copied}}
        tile.barrier_arrive %full[%c0] single {expect = 4096 : i64} : !tile.buffer<1x!tile.barrier, shared>
      }
      tile.barrier_wait %full[%c0], %phase : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %acc : !slot, !slot, !acc
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      tile.barrier_arrive %empty[%c0] thread {tile.cluster_index} : !tile.buffer<1x!tile.barrier, shared>
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// Nobody waits for the second block's barrier, and the first one is never free again.
func.func @wrong_block(%A: memref<?x64xf16>, %n: i32) {
  %c4 = arith.constant 4 : i32
  tile.kernel "wrong_block" grid(%c4) threads(128) attributes {cluster = array<i64: 2>, tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "a" : !slot
    %acc = tile.alloc "acc" : !acc
    %full = tile.alloc "full" : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 256 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.cluster_arrive
    tile.cluster_wait
    %rank = arith.remui %bx, %two : i32
    %loads = arith.cmpi eq, %rank, %c0 : i32
    scf.for %k = %c0 to %n step %one : i32 {
      %phase = arith.andi %k, %one : i32
      %free = arith.xori %phase, %one : i32
      scf.if %loads {
        tile.barrier_wait %empty[%c0], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, tile.cluster_mask = 3 : i64} : memref<?x64xf16> to !slot
      } else {
        // expected-error @+1 {{full[0] of block 1 expects 8192 bytes in this phase, but 0 are copied}}
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      }
      tile.barrier_wait %full[%c0], %phase : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %acc : !slot, !slot, !acc
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      tile.barrier_arrive %empty[%one] thread {tile.cluster_index} : !tile.buffer<1x!tile.barrier, shared>
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}

// There is no third block.
func.func @no_such_block(%A: memref<?x64xf16>, %n: i32) {
  %c4 = arith.constant 4 : i32
  tile.kernel "no_such_block" grid(%c4) threads(128) attributes {cluster = array<i64: 2>, tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "a" : !slot
    %acc = tile.alloc "acc" : !acc
    %full = tile.alloc "full" : !tile.buffer<1x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 256 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.cluster_arrive
    tile.cluster_wait
    %rank = arith.remui %bx, %two : i32
    %loads = arith.cmpi eq, %rank, %c0 : i32
    scf.for %k = %c0 to %n step %one : i32 {
      %phase = arith.andi %k, %one : i32
      %free = arith.xori %phase, %one : i32
      scf.if %loads {
        tile.barrier_wait %empty[%c0], %free : !tile.buffer<1x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
        tile.copy_async %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] barrier %full[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, tile.cluster_mask = 3 : i64} : memref<?x64xf16> to !slot
      } else {
        tile.barrier_arrive %full[%c0] single {expect = 8192 : i64} : !tile.buffer<1x!tile.barrier, shared>
      }
      tile.barrier_wait %full[%c0], %phase : !tile.buffer<1x!tile.barrier, shared>
      tile.gemm_async %a, %a, %acc : !slot, !slot, !acc
      tile.mma_wait %acc {pending = 0 : i64} : !acc
      // expected-error @+1 {{barrier 2 of empty does not exist}}
      tile.barrier_arrive %empty[%two] thread {tile.cluster_index} : !tile.buffer<1x!tile.barrier, shared>
    }
    tile.cluster_arrive {relaxed}
    tile.cluster_wait
  }
  return
}
