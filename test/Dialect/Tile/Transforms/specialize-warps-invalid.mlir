// Kernels that cannot be split although copies are marked for a producer.
// RUN: tile-opt %s --split-input-file --verify-diagnostics --tile-specialize-warps

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @thread(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "thread" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      %t = tile.thread_id 0 : i32
      // expected-error@+1 {{cannot be left to a producer role: it depends on the thread, and a producer has other threads}}
      tile.copy %A[%t, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @threads(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // expected-error@+1 {{cannot be split into roles: 96 threads are no whole warp groups}}
    tile.kernel "threads" grid(%c8) threads(96) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @wait(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "wait" grid(%c8) threads(128) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      %t = tile.thread_id 0 : i32
      %first = arith.cmpi eq, %t, %c0 : i32
      scf.if %first {
        // expected-error@+1 {{cannot be done by a producer role: its condition cannot be known ahead: it depends on the thread, and a producer has other threads}}
        tile.dependency_wait
      }
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @registers(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // expected-error@+1 {{the roles of the kernel ask for 66560 registers together, and 384 threads have 64512, so that consumers would wait for ever; ask for fewer in T.annotate_producer_reg_dealloc and T.annotate_consumer_reg_alloc}}
    tile.kernel "registers" grid(%c8) threads(256) attributes {tile.role_registers = array<i64: 24, 248>} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}

// -----

// They are enough for one block.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @blocks(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // expected-error@+1 {{the roles of the kernel ask for 64512 registers together, and 384 threads in each of 2 blocks on a multiprocessor have 30720}}
    tile.kernel "blocks" grid(%c8) threads(256) attributes {min_blocks_per_sm = 2 : i64, tile.role_registers = array<i64: 24, 240>} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      tile.copy %A[%c0, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, choice = #tile.choice<tma, "by hand">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
    }
    return
  }
}
