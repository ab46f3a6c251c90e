// Roles of the program, named barriers, conditions on threads, and stores to tensors that the kernel reads.
// RUN: tile-opt %s -tile-verify-sync -verify-diagnostics=only-expected

!cell = !tile.buffer<64x64xf16, shared>
!held = !tile.buffer<64x64xf16, fragment>
!bars = !tile.buffer<2x!tile.barrier, shared>
!one = !tile.buffer<1x!tile.barrier, shared>
#tma = #tile.choice<tma, "">
#first = #tile.role<user, first = 0, warps = 4>
#second = #tile.role<user, first = 4, warps = 4>

// Two groups take turns on a buffer, as often as the loops of both say.
func.func @ping_pong(%n: i32) {
  tile.kernel "ping_pong" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f16
    %s = tile.alloc "s" : !cell
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.fill %s, %zero : !cell, f16
        tile.named_arrive {id = 2 : i64, count = 256 : i64}
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
      }
    }
    tile.warp_specialize [#second] {
      %f = tile.alloc "f" : !held
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.sync_threads {id = 2 : i64, count = 256 : i64}
        tile.copy %s[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !cell to !held
        tile.named_arrive {id = 1 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// The same with the roles inside of a loop that all threads run.
func.func @roles_in_a_loop(%n: i32) {
  tile.kernel "roles_in_a_loop" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f16
    %s = tile.alloc "s" : !cell
    scf.for %k = %c0 to %n step %c1 : i32 {
      tile.warp_specialize [#first] {
        tile.fill %s, %zero : !cell, f16
        tile.named_arrive {id = 2 : i64, count = 256 : i64}
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
      }
      tile.warp_specialize [#second] {
        %f = tile.alloc "f" : !held
        tile.sync_threads {id = 2 : i64, count = 256 : i64}
        tile.copy %s[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !cell to !held
        tile.named_arrive {id = 1 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// Each waits for its turn first.
func.func @nobody_begins(%n: i32) {
  tile.kernel "nobody_begins" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error-re@below {{deadlock: T.ws(0) waits at named barrier 1 (128 of 256 threads) since line {{[0-9]+}}; T.ws(1) waits at named barrier 2 (128 of 256 threads) since line {{[0-9]+}}}}
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
        tile.named_arrive {id = 2 : i64, count = 256 : i64}
      }
    }
    tile.warp_specialize [#second] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.sync_threads {id = 2 : i64, count = 256 : i64}
        tile.named_arrive {id = 1 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// The turn is given before the work is done.
func.func @turn_too_early(%n: i32) {
  tile.kernel "turn_too_early" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f16
    %s = tile.alloc "s" : !cell
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.named_arrive {id = 2 : i64, count = 256 : i64}
        tile.fill %s, %zero : !cell, f16
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
      }
    }
    tile.warp_specialize [#second] {
      %f = tile.alloc "f" : !held
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.sync_threads {id = 2 : i64, count = 256 : i64}
        // expected-error@below {{early read: copy of T.ws(1) reads s while fill of T.ws(0) may still fill it}}
        tile.copy %s[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !cell to !held
        tile.named_arrive {id = 1 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// Who only arrives does not know that the phase before is over.
func.func @arrives_twice(%n: i32) {
  tile.kernel "arrives_twice" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@below {{over-arrival: T.ws(0) arrives at named barrier 2 again in the same phase}}
        tile.named_arrive {id = 2 : i64, count = 256 : i64}
      }
    }
    tile.warp_specialize [#second] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.sync_threads {id = 2 : i64, count = 256 : i64}
      }
    }
  }
  return
}

func.func @clash(%n: i32) {
  tile.kernel "clash" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#first] {
      tile.sync_threads {id = 1 : i64, count = 256 : i64}
    }
    tile.warp_specialize [#second] {
      // expected-error@below {{barrier clash: T.ws(1) is at named barrier 1 of 128 threads, while others are at the same one with 256}}
      tile.sync_threads {id = 1 : i64, count = 128 : i64}
    }
  }
  return
}

// An elected thread arrives for all; another one for its warp. Counts differ between the barriers of a row.
func.func @elected(%n: i32) {
  tile.kernel "elected" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %bars = tile.alloc "bars" : !bars
    %all = tile.subview %bars[%c0] [1] : !bars to !one
    %each = tile.subview %bars[%c1] [1] : !bars to !one
    tile.barrier_init %all {arrivals = 1 : i64} : !one
    tile.barrier_init %each {arrivals = 4 : i64} : !one
    tile.sync_threads
    %leader = tile.elect {threads = 128 : i64} : i1
    scf.if %leader {
      tile.barrier_arrive %bars[%c0] thread : !bars
    }
    tile.barrier_wait %bars[%c0], %c0 : !bars
    %of_warp = tile.elect {threads = 32 : i64} : i1
    scf.if %of_warp {
      tile.barrier_arrive %each[%c0] thread : !one
    }
    tile.barrier_wait %bars[%c1], %c0 : !bars
  }
  return
}

func.func @too_many_elected(%n: i32) {
  tile.kernel "too_many_elected" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %bars = tile.alloc "bars" : !bars
    tile.barrier_init %bars {arrivals = 1 : i64} : !bars
    tile.sync_threads
    %leader = tile.elect {threads = 32 : i64} : i1
    scf.if %leader {
      // expected-error@below {{over-arrival: bars[0] takes 1 arrival in a phase, and this one of warp 0 of block may come on top}}
      tile.barrier_arrive %bars[%c0] thread : !bars
    }
    tile.barrier_wait %bars[%c0], %c0 : !bars
  }
  return
}

// Conditions on the number of the thread: 48 threads arrive, with the bytes of one of them.
func.func @some_threads(%A: memref<64x64xf16>, %n: i32) {
  tile.kernel "some_threads" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    %s = tile.alloc "s" : !cell
    %bars = tile.alloc "bars" : !bars
    tile.barrier_init %bars {arrivals = 48 : i64} : !bars
    tile.sync_threads
    %thread = tile.thread_id 0 : i32
    %is_first = arith.cmpi eq, %thread, %c0 : i32
    scf.if %is_first {
      tile.thread_expect_tx %bars[%c0] {bytes = 8192 : i64} : !bars
    }
    tile.copy_async %A[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] barrier %bars[%c0] : !bars {choice = #tma} : memref<64x64xf16> to !cell
    %above = arith.cmpi sge, %thread, %c16 : i32
    %below = arith.cmpi slt, %thread, %c64 : i32
    %both = arith.andi %above, %below : i1
    scf.if %both {
      tile.barrier_arrive %bars[%c0] thread : !bars
    }
    tile.barrier_wait %bars[%c0], %c0 : !bars
  }
  return
}

// One thread runs the whole loop of the producer.
func.func @elected_producer(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "elected_producer" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %full = tile.alloc "full" : !bars
    %empty = tile.alloc "empty" : !bars
    tile.barrier_init %full {arrivals = 1 : i64} : !bars
    tile.barrier_init %empty {arrivals = 128 : i64} : !bars
    tile.sync_threads
    tile.warp_specialize [#second] {
      %leader = tile.elect {threads = 128 : i64} : i1
      scf.if %leader {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %slot = arith.remui %k, %c2 : i32
          %lap = arith.divui %k, %c2 : i32
          %bit = arith.andi %lap, %c1 : i32
          %free = arith.xori %bit, %c1 : i32
          tile.barrier_wait %empty[%slot], %free : !bars
          tile.barrier_arrive %full[%slot] thread : !bars
        }
      }
    }
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %slot = arith.remui %k, %c2 : i32
        %lap = arith.divui %k, %c2 : i32
        %bit = arith.andi %lap, %c1 : i32
        tile.barrier_wait %full[%slot], %bit : !bars
        tile.barrier_arrive %empty[%slot] thread : !bars
      }
    }
  }
  return
}

// Roles decide alike, in whatever form they say it.
func.func @same_condition(%n: i32, %m: i32) {
  tile.kernel "same_condition" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %column = arith.addi %bx, %k : i32
        %small = arith.cmpi slt, %column, %m : i32
        %odd = arith.andi %column, %c1 : i32
        %isOdd = arith.cmpi ne, %odd, %c0 : i32
        %both = arith.andi %small, %isOdd : i1
        scf.if %both {
          tile.sync_threads {id = 1 : i64, count = 256 : i64}
        }
      }
    }
    tile.warp_specialize [#second] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %column = arith.addi %k, %bx : i32
        %odd = arith.andi %column, %c1 : i32
        %isEven = arith.cmpi eq, %odd, %c0 : i32
        scf.if %isEven {
        } else {
          %next = arith.addi %column, %c1 : i32
          %large = arith.cmpi sle, %m, %column : i32
          %small = arith.xori %large, %true : i1
          scf.if %small {
            tile.sync_threads {id = 1 : i64, count = 256 : i64}
          }
        }
      }
    }
  }
  return
}

// What one role says in shared memory, the other one reads.
func.func @condition_in_shared_memory(%flags: memref<?xi32>, %n: i32) {
  tile.kernel "condition_in_shared_memory" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = tile.alloc "s" : !tile.buffer<1xi32, shared>
    tile.warp_specialize [#first] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %flag = tile.load %flags[%k] : memref<?xi32> -> i32
        tile.store %flag, %s[%c0] : i32, !tile.buffer<1xi32, shared>
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
        %own = tile.load %s[%c0] : !tile.buffer<1xi32, shared> -> i32
        %is = arith.cmpi eq, %own, %c1 : i32
        scf.if %is {
          tile.named_arrive {id = 2 : i64, count = 256 : i64}
        }
        tile.sync_threads {id = 3 : i64, count = 256 : i64}
      }
    }
    tile.warp_specialize [#second] {
      scf.for %k = %c0 to %n step %c1 : i32 {
        tile.sync_threads {id = 1 : i64, count = 256 : i64}
        %flag = tile.load %s[%c0] : !tile.buffer<1xi32, shared> -> i32
        %is = arith.cmpi eq, %c1, %flag : i32
        scf.if %is {
          tile.sync_threads {id = 2 : i64, count = 256 : i64}
        }
        tile.sync_threads {id = 3 : i64, count = 256 : i64}
      }
    }
  }
  return
}

// A bulk store still reads what is overwritten.
func.func @overwritten_store(%B: memref<64x64xf16>, %n: i32) {
  tile.kernel "overwritten_store" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f16
    %s = tile.alloc "s" : !cell
    scf.for %k = %c0 to %n step %c1 : i32 {
      // expected-error@below {{early overwrite: fill of block writes s while copy_async of block may still read it}}
      tile.fill %s, %zero : !cell, f16
      tile.sync_threads
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%c0, %c0] [64, 64] {choice = #tma} : !cell to memref<64x64xf16>
      tile.bulk_commit
      tile.sync_threads
    }
    tile.bulk_wait {pending = 0 : i64, read}
  }
  return
}

// The tensor is read when the shared memory of its store is free: too early.
func.func @early_load(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "early_load" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !cell
    tile.warp_specialize [#first] {
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tma} : !cell to memref<?x64xf16>
      tile.bulk_commit
      tile.bulk_wait {pending = 0 : i64, read}
      tile.sync_threads {id = 1 : i64, count = 256 : i64}
    }
    tile.warp_specialize [#second] {
      %f = tile.alloc "f" : !held
      tile.sync_threads {id = 1 : i64, count = 256 : i64}
      // expected-error@below {{early read: copy of T.ws(1) reads <unnamed> while copy_async of T.ws(0) may still fill it}}
      tile.copy %B[%bx, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : memref<?x64xf16> to !held
    }
  }
  return
}

// The whole store is waited for.
func.func @late_load(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "late_load" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !cell
    tile.warp_specialize [#first] {
      tile.copy_async %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] {choice = #tma} : !cell to memref<?x64xf16>
      tile.bulk_commit
      tile.bulk_wait {pending = 0 : i64}
      tile.sync_threads {id = 1 : i64, count = 256 : i64}
    }
    tile.warp_specialize [#second] {
      %f = tile.alloc "f" : !held
      tile.sync_threads {id = 1 : i64, count = 256 : i64}
      tile.copy %B[%bx, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : memref<?x64xf16> to !held
    }
  }
  return
}

// Inline PTX may do anything.
func.func @unknown(%n: i32) {
  // expected-warning@below {{the synchronisation of this kernel is not verified}}
  tile.kernel "unknown" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    tile.named_arrive {id = 1 : i64, count = 512 : i64}
    // expected-note@below {{its inline PTX synchronises or copies}}
    tile.ptx "bar.sync 1, 512;" () : () -> ()
  }
  return
}
