// Kernels of which two blocks fit a multiprocessor but for their registers at launch.
// RUN: tile-opt %s -split-input-file -tile-allocate-memory | filecheck %s

!slots = !tile.buffer<3x128x64xf16, shared>
!slot = !tile.buffer<128x64xf16, shared>
!sums = !tile.buffer<128x128xf32, fragment, #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8), (2, 0, 64)]>>
!bars = !tile.buffer<3x!tile.barrier, shared>
#tma = #tile.choice<tma, "">
#wgmma = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#producer = #tile.role<producer, first = 0, warps = 4, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>

module attributes {tile.target = #tile.target<"sm_90a">} {
// 48 KiB of shared memory, 128 registers of sums: threads have 128 registers at launch, and the roles trade.
// CHECK-LABEL: func.func @two_blocks
// CHECK: tile.kernel "two_blocks" {{.*}}min_blocks_per_sm = 2 : i64
// CHECK: tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 4, registers = 232>]
func.func @two_blocks(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "two_blocks" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !slots
    %c = tile.alloc "c" : !sums
    %full = tile.alloc "full" : !bars
    tile.warp_specialize [#producer, #consumer] {
      %v = tile.subview %a[%c0, %c0, %c0] [1, 128, 64] : !slots to !slot
      tile.copy_async %A[%bx, %c0] [128, 64] to %v[%c0, %c0] [128, 64] barrier %full[%c0] : !bars {choice = #tma} : memref<?x64xf16> to !slot
    }, {
      %v = tile.subview %a[%c0, %c0, %c0] [1, 128, 64] : !slots to !slot
      tile.gemm_async %v, %v, %c {choice = #wgmma, transpose_b} : !slot, !slot, !sums
    }
  }
  return
}

// What stands against it: the program's word, a grid that every multiprocessor gets one block of, registers that the
// consumers would not have, an instruction with more columns than 128 registers at launch allow.
// CHECK-LABEL: func.func @one_block
// CHECK: tile.kernel "asked" {{.*}}min_blocks_per_sm = 1 : i64
// CHECK-NOT: registers = 24
// CHECK: tile.kernel "persistent"
// CHECK-NOT: registers = 24
// CHECK: tile.kernel "few"
// CHECK-NOT: registers = 24
// CHECK: tile.kernel "large"
// CHECK-NOT: registers = 24
// CHECK: tile.kernel "wide"
// CHECK-NOT: registers = 24
func.func @one_block(%A: memref<?x64xf16>, %n: i32) {
  %sms = tile.sm_count : i32
  %c132 = arith.constant 132 : i32
  tile.kernel "asked" grid(%n) threads(128) attributes {min_blocks_per_sm = 1 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !slot
    %c = tile.alloc "c" : !sums
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %a, %c {choice = #wgmma, transpose_b} : !slot, !slot, !sums
    }
  }
  tile.kernel "persistent" grid(%sms) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !slot
    %c = tile.alloc "c" : !sums
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %a, %c {choice = #wgmma, transpose_b} : !slot, !slot, !sums
    }
  }
  tile.kernel "few" grid(%c132) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !slot
    %c = tile.alloc "c" : !sums
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %a, %c {choice = #wgmma, transpose_b} : !slot, !slot, !sums
    }
  }
  tile.kernel "large" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !slot
    %c = tile.alloc "c" : !sums
    %d = tile.alloc "d" : !sums
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %a, %c {choice = #wgmma, transpose_b} : !slot, !slot, !sums
      tile.gemm_async %a, %a, %d {choice = #wgmma, transpose_b} : !slot, !slot, !sums
    }
  }
  tile.kernel "wide" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<256x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x256xf32, fragment, #tile.fragment_layout<[64, 256], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (32, 1, 8)]>>
    tile.warp_specialize [#producer, #consumer] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %b, %c {transpose_b, choice = #tile.choice<wgmma_ss, "", {instruction = [64, 256, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x64xf16, shared>, !tile.buffer<256x64xf16, shared>, !tile.buffer<64x256xf32, fragment, #tile.fragment_layout<[64, 256], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (32, 1, 8)]>>
    }
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">} {
// Shared memory has room for one only.
// CHECK-LABEL: func.func @no_room
// CHECK-NOT: min_blocks_per_sm
func.func @no_room(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "no_room" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x464xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment, #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8), (2, 0, 64)]>>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.warp_sync
    }, {
      tile.gemm_async %a, %a, %c {transpose_b} : !tile.buffer<128x464xf16, shared>, !tile.buffer<128x464xf16, shared>, !tile.buffer<128x128xf32, fragment, #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8), (2, 0, 64)]>>
    }
  }
  return
}
}
