// The instruction of each gemm and copy, and the reason why.
// RUN: tile-opt %s -tile-select-instructions -split-input-file | filecheck %s

// Square warps by default.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80", {instruction = [16, 8, 16], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// The policy of the user.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 bf16 x bf16 -> f32 on sm_80", {instruction = [16, 8, 16], warps = [4, 1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x32xbf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x128xbf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c {policy = #tile<warp_policy full_row>} : !tile.buffer<128x32xbf16, shared>, !tile.buffer<32x128xbf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// tf32.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k8 tf32 x tf32 -> f32 on sm_80; f32 operands are rounded to tf32; B is read element by element because K is not contiguous", {instruction = [16, 8, 8], warps = [2, 2, 1]}>
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

// Signed times unsigned bytes.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k32 ui8 x i8 -> i32 on sm_80; B is read element by element because K is not contiguous", {instruction = [16, 8, 32], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xui8, shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xi8, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xi32, fragment>
    tile.gemm %a, %b, %c {a_unsigned} : !tile.buffer<64x64xui8, shared>, !tile.buffer<64x64xi8, shared>, !tile.buffer<64x64xi32, fragment>
  }
  return
}
}

// -----

// The half-depth instruction where K asks for it.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k8 f16 x f16 -> f16 on sm_80", {instruction = [16, 8, 8], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x24xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<24x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x24xf16, shared>, !tile.buffer<24x64xf16, shared>, !tile.buffer<64x64xf16, fragment>
  }
  return
}
}

// -----

// 8-bit floats came with sm_89.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: mma.sync with f8E4M3FN operands needs sm_89, the target is sm_80
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xf8E5M2, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf8E4M3FN, shared>, !tile.buffer<64x64xf8E5M2, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// ... mixed as one likes.
module attributes {tile.target = #tile.target<"sm_89">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k32 f8E4M3FN x f8E5M2 -> f32 on sm_89; B is read element by element because K is not contiguous", {instruction = [16, 8, 32], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x64xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xf8E5M2, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf8E4M3FN, shared>, !tile.buffer<64x64xf8E5M2, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Their half-depth form needs a newer PTX.
module attributes {tile.target = #tile.target<"sm_89">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: K = 16 is no multiple of 32, the smallest K of mma.sync for f8E4M3FN
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x16xf8E4M3FN, shared>
    %b = tile.alloc "b" : !tile.buffer<16x64xf8E4M3FN, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x16xf8E4M3FN, shared>, !tile.buffer<16x64xf8E4M3FN, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// On Hopper the reason says why there is no wgmma.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_wgmma = true}>} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_90a; wgmma is turned off by disable_wgmma", {instruction = [16, 8, 16], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// Nor has the portable sm_90 it.
module attributes {tile.target = #tile.target<"sm_90">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_90; wgmma needs the arch-specific target (sm_90a)", {instruction = [16, 8, 16], warps = [2, 2, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<128x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}
}

// -----

// K below the smallest instruction.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: K = 4 is no multiple of 8, the smallest K of mma.sync for f16
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x4xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<4x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x4xf16, shared>, !tile.buffer<4x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// K below the smallest instruction for bytes.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: K = 8 is no multiple of 16, the smallest K of mma.sync for i8
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x8xi8, shared>
    %b = tile.alloc "b" : !tile.buffer<8x64xi8, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xi32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x8xi8, shared>, !tile.buffer<8x64xi8, shared>, !tile.buffer<64x64xi32, fragment>
  }
  return
}
}

// -----

// M that no instruction divides.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: mma.sync m16n8 does not fit
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<24x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<24x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<24x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<24x64xf32, fragment>
  }
  return
}
}

// -----

// N of eight columns for several warps.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80", {instruction = [16, 8, 16], warps = [4, 1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x8xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x8xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x8xf16, shared>, !tile.buffer<64x8xf32, fragment>
  }
  return
}
}

// -----

// More warps than atoms: they repeat work.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80; 3 of 4 warps repeat the work of others", {instruction = [16, 8, 16], warps = [1, 1, 4]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<16x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x8xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<16x8xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<16x32xf16, shared>, !tile.buffer<32x8xf16, shared>, !tile.buffer<16x8xf32, fragment>
  }
  return
}
}

// -----

// No whole warps.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: 48 threads are no whole warps, which mma.sync needs
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(48) {
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

// IEEE multiplications.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: precision ieee asks for f32 multiplications, which tensor cores do not have
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c {precision = #tile<precision ieee>} : !tile.buffer<64x32xf32, shared>, !tile.buffer<32x64xf32, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// An accumulator that the instruction does not have.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: mma.sync has no bf16 x bf16 -> f16, only the accumulator f32
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xbf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xbf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xbf16, shared>, !tile.buffer<32x64xbf16, shared>, !tile.buffer<64x64xf16, fragment>
  }
  return
}
}

// -----

// Types that no matrix instruction multiplies.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<fma, "one multiply-add per thread and element: mma.sync does not multiply f64 by f64
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf64, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf64, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf64, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf64, shared>, !tile.buffer<32x64xf64, shared>, !tile.buffer<64x64xf64, fragment>
  }
  return
}
}

// -----

// A is unpacked in registers from narrower elements: threads take neighbours along K, also instead of wgmma, which fixes
// where they hold K.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_90a; wgmma fixes where threads hold K, but A (a) is unpacked in registers for 16 columns only; warps along M because A is in registers; each thread takes 16 neighbours along K, to unpack whole words", {instruction = [16, 8, 16], run = 16 : i64, warps = [4, 1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %packed = tile.alloc "packed" : !tile.buffer<64x64xi8, shared>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<16x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x16xf32, fragment>
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %packed[%i, %j] : !tile.buffer<64x64xi8, shared> -> i8
      %y = arith.sitofp %x : i8 to f16
      tile.store %y, %a[%i, %j] : f16, !tile.buffer<64x64xf16, fragment>
    }
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<64x64xf16, fragment>, !tile.buffer<16x64xf16, shared>, !tile.buffer<64x16xf32, fragment>
  }
  return
}
}

// -----

// Rows of the other operand are not along K: the order of the instruction.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80; warps along M because A is in registers", {instruction = [16, 8, 16], warps = [4, 1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %packed = tile.alloc "packed" : !tile.buffer<64x64xi8, shared>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<64x16xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x16xf32, fragment>
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %packed[%i, %j] : !tile.buffer<64x64xi8, shared> -> i8
      %y = arith.sitofp %x : i8 to f16
      tile.store %y, %a[%i, %j] : f16, !tile.buffer<64x64xf16, fragment>
    }
    tile.gemm %a, %b, %c : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64x16xf16, shared>, !tile.buffer<64x16xf32, fragment>
  }
  return
}
}

// -----

// Access widths count the elements of memory, whatever registers convert them to.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "per-thread accesses of 16 bytes", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xbf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf32, fragment>
    tile.copy %A[%c0, %c0] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xbf16> to !tile.buffer<64x32xf32, fragment>
  }
  return
}
}

// -----

// A in registers: warps along M, so that it is not replicated.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.gemm
// CHECK-SAME: #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80; warps along M because A is in registers", {instruction = [16, 8, 16], warps = [4, 1, 1]}>
func.func @gemm(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, fragment>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// Scores become probabilities in registers and then operand A: warps along M in both gemms.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @chain
// CHECK: tile.gemm
// CHECK-SAME: warps along M because the result becomes operand A of another gemm from registers
// CHECK-SAME: warps = [4, 1, 1]
// CHECK: tile.gemm
// CHECK-SAME: warps = [4, 1, 1]
func.func @chain(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %q = tile.alloc "q" : !tile.buffer<64x32xf16, shared>
    %k = tile.alloc "k" : !tile.buffer<64x32xf16, shared>
    %v = tile.alloc "v" : !tile.buffer<64x32xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    %p = tile.alloc "p" : !tile.buffer<64x64xf16, fragment>
    %o = tile.alloc "o" : !tile.buffer<64x32xf32, fragment>
    tile.gemm %q, %k, %s {transpose_b, clear_accum} : !tile.buffer<64x32xf16, shared>, !tile.buffer<64x32xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %s[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
      %t = arith.truncf %x : f32 to f16
      tile.store %t, %p[%i, %j] : f16, !tile.buffer<64x64xf16, fragment>
    }
    tile.gemm %p, %v, %o : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64x32xf16, shared>, !tile.buffer<64x32xf32, fragment>
  }
  return
}
}

// -----

// Asynchronous copies of 16 bytes where everything is aligned; dynamic pitches are promised to be.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<cp_async, "cp.async of 16 bytes on sm_80", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// A pitch of 1554 bytes leaves single elements.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the stride of dimension 0 of <unnamed> is 1554 bytes", {bytes = 2 : i64}>
func.func @copy(%A: memref<1000x777xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<1000x777xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// A pitch of 8 bytes modulo 16.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<cp_async, "cp.async of 8 bytes on sm_80; the stride of dimension 0 of <unnamed> is 200 bytes", {bytes = 8 : i64}>
func.func @copy(%A: memref<1000x100xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<1000x100xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// An unknown start.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the start in the last dimension of <unnamed> is only known to be a multiple of 1 elements", {bytes = 2 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %y] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// Without a promise about alignment.
module attributes {tile.target = #tile.target<"sm_80">, tile.options = #tile.options<{alignment = 0}>} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the base of <unnamed> is only known to be aligned to 2 bytes", {bytes = 2 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// Strides that the caller chooses are not promised to be aligned.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the stride of dimension 0 of <unnamed> is dynamic", {bytes = 2 : i64}>
func.func @copy(%A: memref<?x?xf16, strided<[?, 1]>>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16, strided<[?, 1]>> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// Nor is their last dimension contiguous.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the last dimension of <unnamed> is not contiguous", {bytes = 2 : i64}>
func.func @copy(%A: memref<?x?xf16, strided<[?, ?]>>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16, strided<[?, ?]>> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// A conversion.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 16 bytes: cp.async cannot convert f16 to f32", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf32, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf32, shared>
  }
  return
}
}

// -----

// Another fill value than zero.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 16 bytes: cp.async fills with zero, not with the safe value", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] {safe = 0xFC00 : f16} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// ... which does not matter when nothing is outside.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<cp_async, "cp.async of 16 bytes on sm_80", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] {safe = 0xFC00 : f16, bounds = #tile<bounds full>} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// Asynchronous copies turned off.
module attributes {tile.target = #tile.target<"sm_80">, tile.options = #tile.options<{disable_async_copy = true}>} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "loads and stores of 16 bytes: asynchronous copies are disabled by disable_async_copy", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// To registers.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK: tile.copy
// CHECK-SAME: #tile.choice<simt, "per-thread accesses of 16 bytes", {bytes = 16 : i64}>
func.func @copy(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%y: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, fragment>
    %at = arith.muli %y, %c64 : i32
    tile.copy %A[%at, %at] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, fragment>
  }
  return
}
}

// -----

// 7 row blocks on 8 warps: one warp without rows costs less than parts of rows that warps exchange.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @rows_on_some_warps
// CHECK: tile.gemm {{.*}}"mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80; warps along M because the result becomes operand A of another gemm from registers; 7 of 8 warps have rows, which costs less than to exchange parts of rows", {instruction = [16, 8, 16], warps = [8, 1, 1]}
// CHECK: tile.gemm {{.*}}"mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80; warps along M because A is in registers; 7 of 8 warps have rows, which costs less than to exchange parts of rows", {instruction = [16, 8, 16], warps = [8, 1, 1]}
func.func @rows_on_some_warps(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %q = tile.alloc "q" : !tile.buffer<112x64xf16, shared>
    %k = tile.alloc "k" : !tile.buffer<64x64xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<112x64xf32, fragment>
    %p = tile.alloc "p" : !tile.buffer<112x64xf16, fragment>
    %o = tile.alloc "o" : !tile.buffer<112x64xf32, fragment>
    %c0 = arith.constant 0 : i32
    tile.gemm %q, %k, %s {transpose_b} : !tile.buffer<112x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<112x64xf32, fragment>
    tile.copy %s[%c0, %c0] [112, 64] to %p[%c0, %c0] [112, 64] : !tile.buffer<112x64xf32, fragment> to !tile.buffer<112x64xf16, fragment>
    tile.gemm %p, %k, %o : !tile.buffer<112x64xf16, fragment>, !tile.buffer<64x64xf16, shared>, !tile.buffer<112x64xf32, fragment>
  }
  return
}
}

// -----

// 4 row blocks on 6 warps: warps without rows would cost more than the exchange.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @columns_too
// CHECK: tile.gemm {{.*}}warps = [2, 3, 1]
// CHECK: tile.gemm {{.*}}warps = [2, 3, 1]
func.func @columns_too(%n: i32) {
  tile.kernel "k" grid(%n) threads(192) {
  ^bb0(%bx: i32):
    %q = tile.alloc "q" : !tile.buffer<64x256xf16, shared>
    %k = tile.alloc "k" : !tile.buffer<96x256xf16, shared>
    %v = tile.alloc "v" : !tile.buffer<96x192xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<64x96xf32, fragment>
    %p = tile.alloc "p" : !tile.buffer<64x96xf16, fragment>
    %o = tile.alloc "o" : !tile.buffer<64x192xf32, fragment>
    %c0 = arith.constant 0 : i32
    tile.gemm %q, %k, %s {transpose_b} : !tile.buffer<64x256xf16, shared>, !tile.buffer<96x256xf16, shared>, !tile.buffer<64x96xf32, fragment>
    tile.copy %s[%c0, %c0] [64, 96] to %p[%c0, %c0] [64, 96] : !tile.buffer<64x96xf32, fragment> to !tile.buffer<64x96xf16, fragment>
    tile.gemm %p, %v, %o : !tile.buffer<64x96xf16, fragment>, !tile.buffer<96x192xf16, shared>, !tile.buffer<64x192xf32, fragment>
  }
  return
}
}

// -----

// Two products into one accumulator, one of them with its A in registers: both have their warps along M.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @shared_accumulator
// CHECK: tile.gemm {{.*}}warps along M as in the other product into this accumulator, whose A is in registers", {instruction = [16, 8, 16], warps = [4, 1, 1]}
// CHECK: tile.gemm {{.*}}warps along M because A is in registers", {instruction = [16, 8, 16], warps = [4, 1, 1]}
func.func @shared_accumulator(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %q = tile.alloc "q" : !tile.buffer<64x32xf16, shared>
    %h = tile.alloc "h" : !tile.buffer<32x64xf16, shared>
    %p = tile.alloc "p" : !tile.buffer<64x64xf16, fragment>
    %v = tile.alloc "v" : !tile.buffer<64x64xf16, shared>
    %o = tile.alloc "o" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %q, %h, %o : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.gemm %p, %v, %o : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}
}

// -----

// 6 row blocks on 4 warps: two blocks for each warp would need more registers than there are.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @too_many_registers
// CHECK: tile.gemm {{.*}}warps = [2, 2, 1]
// CHECK: tile.gemm {{.*}}warps = [2, 2, 1]
func.func @too_many_registers(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %q = tile.alloc "q" : !tile.buffer<96x64xf16, shared>
    %k = tile.alloc "k" : !tile.buffer<192x64xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<96x192xf32, fragment>
    %p = tile.alloc "p" : !tile.buffer<96x192xf16, fragment>
    %o = tile.alloc "o" : !tile.buffer<96x64xf32, fragment>
    %c0 = arith.constant 0 : i32
    tile.gemm %q, %k, %s {transpose_b} : !tile.buffer<96x64xf16, shared>, !tile.buffer<192x64xf16, shared>, !tile.buffer<96x192xf32, fragment>
    tile.copy %s[%c0, %c0] [96, 192] to %p[%c0, %c0] [96, 192] : !tile.buffer<96x192xf32, fragment> to !tile.buffer<96x192xf16, fragment>
    tile.gemm %p, %k, %o : !tile.buffer<96x192xf16, fragment>, !tile.buffer<192x64xf16, shared>, !tile.buffer<96x64xf32, fragment>
  }
  return
}
}
