// RUN: tile-opt %s -tile-select-instructions -split-input-file | filecheck %s
// When a gemm takes instructions of warp groups, how the groups divide the tile,
// and why it does not.

// Both operands in shared memory, B with contiguous N.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// B with contiguous K.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<128x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x64xf16, shared>, !tile.buffer<128x64xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// A with contiguous M.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x128xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c {transpose_a} : !tile.buffer<64x128xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// Two warp groups stand along M.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n256k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 256, 16], warpgroups = [2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<128x256xf32, fragment>
  }
  return
}
}

// -----

// Three of them.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [3, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(384) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<192x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<192x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<192x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<192x128xf32, fragment>
  }
  return
}
}

// -----

// Two blocks on a multiprocessor leave 80 registers for each thread of two
// groups and a producer.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n64k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 64, 16], warpgroups = [2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) attributes {min_blocks_per_sm = 2 : i64} {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// In a role of one group, all threads of the block share the registers.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n64k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(384) attributes {min_blocks_per_sm = 2 : i64} {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x128xf32, fragment>
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<64x128xf32, fragment>
    }
  }
  return
}
}

// -----

// More blocks than threads fit are not there.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n8k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 8, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {min_blocks_per_sm = 1000 : i64} {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<64x128xf32, fragment>
  }
  return
}
}

// -----

// The user wants them along N.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [1, 2]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, fragment>
    tile.gemm %a, %b, %c {policy = #tile<warp_policy full_col>} : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<128x256xf32, fragment>
  }
  return
}
}

// -----

// Four warp groups of 128 registers per thread at launch: no instruction with
// 256 columns.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 128, 16], warpgroups = [3, 1]}
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(384) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<192x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x256xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<192x256xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<192x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<192x256xf32, fragment>
  }
  return
}
}

// -----

// One block of rows only: they divide the columns.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n64k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 64, 16], warpgroups = [1, 2]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<64x128xf32, fragment>
  }
  return
}
}

// -----

// More columns than an instruction has.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n256k16 f16 x f16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 256, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x512xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x512xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x512xf16, shared>, !tile.buffer<64x512xf32, fragment>
  }
  return
}
}

// -----

// Neither rows nor columns divide.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n8k16 f16 x f16 -> f32 on sm_90a, A from shared memory; 1 of 2 warp groups repeat the work of others", {instruction = [64, 8, 16], warpgroups = [1, 1, 2]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x8xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x8xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x8xf16, shared>, !tile.buffer<64x8xf32, fragment>
  }
  return
}
}

// -----

// f16 sums.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n96k16 f16 x f16 -> f16 on sm_90a, A from shared memory", {instruction = [64, 96, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x16xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<16x96xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x96xf16, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x16xf16, shared>, !tile.buffer<16x96xf16, shared>, !tile.buffer<64x96xf16, fragment>
  }
  return
}
}

// -----

// bf16.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n8k16 bf16 x bf16 -> f32 on sm_90a, A from shared memory", {instruction = [64, 8, 16], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xbf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x8xbf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x8xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xbf16, shared>, !tile.buffer<32x8xbf16, shared>, !tile.buffer<64x8xf32, fragment>
  }
  return
}
}

// -----

// 8-bit floats, of two types.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n64k32 f8E4M3FN x f8E5M2 -> f32 on sm_90a, A from shared memory", {instruction = [64, 64, 32], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<64x32xf8E5M2, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<64x32xf8E4M3FN, shared>, !tile.buffer<64x32xf8E5M2, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// 8-bit floats with f16 sums.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n64k32 f8E4M3FN x f8E4M3FN -> f16 on sm_90a, A from shared memory", {instruction = [64, 64, 32], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xf8E4M3FN, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, fragment>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<64x64xf8E4M3FN, shared>, !tile.buffer<64x64xf8E4M3FN, shared>, !tile.buffer<64x64xf16, fragment>
  }
  return
}
}

// -----

// 8-bit integers have fewer column counts.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss, "wgmma.m64n8k32 i8 x i8 -> i32 on sm_90a, A from shared memory", {instruction = [64, 8, 32], warpgroups = [1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xi8, shared>
    %b = tile.alloc "b" : !tile.buffer<40x32xi8, shared>
    %c = tile.alloc "c" : !tile.buffer<64x40xi32, fragment>
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<64x32xi8, shared>, !tile.buffer<40x32xi8, shared>, !tile.buffer<64x40xi32, fragment>
  }
  return
}
}

// -----

// A in registers.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_rs, "wgmma.m64n128k16 f16 x f16 -> f32 on sm_90a, A from registers; warps along M because A is in registers", {instruction = [64, 128, 16], warpgroups = [2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x64xf16, fragment>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// No rows of 64.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma m64n8 does not fit: M = 96 of the 96x64 tile is not a positive multiple of 64
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<96x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<96x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<96x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<96x64xf32, fragment>
  }
  return
}
}

// -----

// Half a warp group.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma needs whole warp groups of 128 threads, the kernel has 64
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// K of half an instruction.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}K = 8 is no multiple of 16, the K of wgmma for f16
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x8xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<8x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x8xf16, shared>, !tile.buffer<8x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// B in a fragment.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma reads B from shared memory, it is in a fragment
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, fragment>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, fragment>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// N contiguous in 8-bit B.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma cannot read B (b): K must be contiguous for elements of 8 bits
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xi8, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xi8, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xi32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xi8, shared>, !tile.buffer<32x64xi8, shared>, !tile.buffer<64x64xi32, fragment>
  }
  return
}
}

// -----

// M contiguous in 8-bit A.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma cannot read A (a): K must be contiguous for elements of 8 bits
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<32x64xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<64x32xf8E4M3FN, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c {transpose_a, transpose_b} : !tile.buffer<32x64xf8E4M3FN, shared>, !tile.buffer<64x32xf8E4M3FN, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// f32 operands.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma truncates f32 operands to tf32 instead of rounding them, unless TMA has rounded them
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf32, shared>, !tile.buffer<32x64xf32, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Neither it nor mma.sync has bf16 sums.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "{{.*}}mma.sync has no bf16 x bf16 -> bf16, only the accumulator f32
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xbf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xbf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xbf16, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xbf16, shared>, !tile.buffer<32x64xbf16, shared>, !tile.buffer<64x64xbf16, fragment>
  }
  return
}
}

// -----

// Another architecture.
module attributes {tile.target = #tile.target<"sm_100a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma exists on sm_90a only, the target is sm_100a
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Without the features of the architecture.
module attributes {tile.target = #tile.target<"sm_90">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma needs the arch-specific target (sm_90a)
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Turned off.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_wgmma = true}>} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma is turned off by disable_wgmma
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Parts of a buffer: rows at a multiple of 8 and k-steps will do.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma cannot read A (a): its parts begin at multiples of 4 elements, not of 8"
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<2x128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %half = tile.subview %a[%bx, %c64, %c16] [1, 64, 32] : !tile.buffer<2x128x64xf16, shared> to !tile.buffer<64x32xf16, shared>
    tile.gemm %half, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    %odd = tile.subview %a[%bx, %c4, %c16] [1, 64, 32] : !tile.buffer<2x128x64xf16, shared> to !tile.buffer<64x32xf16, shared>
    tile.gemm %odd, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// A layout that the user gave is kept, and has to be one that wgmma reads.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<wgmma_ss
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "{{.*}}wgmma cannot read A (rows): the given layout: rows without a swizzle must be cut in panels of 16 bytes, these have 128"
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
    %rows = tile.alloc "rows" : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 0>>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.gemm %rows, %b, %c : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 0>>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}
