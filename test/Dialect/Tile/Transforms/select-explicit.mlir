// RUN: tile-opt %s -tile-select-instructions -split-input-file | filecheck %s
// What the program asks for by name is chosen whatever the options say: TMA with its boxes; wgmma for the threads of
// the role, as a plain product with a mark until tile-schedule-mma.

module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_tma = true}>} {
func.func @f(%n: i32, %A: memref<256x64xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<256>, #tile.expr<64>], strides = [], alignment = 16>}) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %bar = tile.alloc "bar" : !tile.buffer<1x!tile.barrier, shared>
    tile.barrier_init %bar {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.warp_specialize [#tile.role<user, first = 4, warps = 4>] {
      tile.barrier_expect_tx %bar[%c0] {bytes = 16384 : i64} : !tile.buffer<1x!tile.barrier, shared>
      // CHECK: tile.copy_async
      // CHECK-SAME: choice = #tile.choice<tma, "T.tma_copy asks for it", {box = [64, 128]
      tile.copy_async %A[%bx, %c0] [128, 64] to %a[%c0, %c0] [128, 64] barrier %bar[%c0] : !tile.buffer<1x!tile.barrier, shared>
        {choice = #tile.choice<tma, "T.tma_copy asks for it">} : memref<256x64xf16> to !tile.buffer<128x64xf16, shared>
    }
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // CHECK: tile.gemm %
      // CHECK-SAME: instruction = [64, 128, 16], warpgroups = [1, 1]
      // CHECK-SAME: tile.user_product
      tile.gemm_async %a, %a, %c {transpose_b} : !tile.buffer<128x64xf16, shared>, !tile.buffer<128x64xf16, shared>, !tile.buffer<128x128xf32, fragment>
      // CHECK-NEXT: tile.mma_wait
      tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<128x128xf32, fragment>
    }
  }
  return
}
}

// -----

// Registers that the other warp group gives up come, also behind a condition.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @registers
// CHECK-COUNT-4: tile.set_max_registers
func.func @registers(%n: i32, %some: i1) {
  tile.kernel "k" grid(%n) threads(256) attributes {min_blocks_per_sm = 2 : i64} {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<user, first = 4, warps = 4>] {
      tile.set_max_registers {count = 24 : i64}
    }
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      tile.set_max_registers {count = 232 : i64}
    }
  }
  tile.kernel "k" grid(%n) threads(256) attributes {min_blocks_per_sm = 2 : i64} {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<user, first = 4, warps = 4>] {
      scf.if %some {
        tile.set_max_registers {count = 24 : i64}
      }
    }
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      tile.set_max_registers {count = 240 : i64}
    }
  }
  return
}
}
