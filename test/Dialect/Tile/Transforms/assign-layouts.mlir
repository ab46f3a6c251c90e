// Layouts: pinned, dictated by instructions, propagated, free; conversions where they do not agree.
// RUN: tile-opt %s -tile-select-instructions -tile-assign-layouts -split-input-file | filecheck %s


// A gemm: the accumulator of mma.sync, operands swizzled for ldmatrix; a loop without fragments is spread for
// coalesced access, the epilogue writes what each thread has.
module attributes {tile.target = #tile.target<"sm_80">, tile.options = #tile.options<{}>} {
// CHECK-LABEL: func.func @gemm
// CHECK: %A_shared = tile.alloc "A_shared" : <128x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
// CHECK: %B_shared = tile.alloc "B_shared" : <32x128xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
// CHECK: %C_local = tile.alloc "C_local" : <128x128xf32, fragment, #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (2, 0, 64), (2, 1, 64)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8), (4, 0, 16)]>>
// CHECK: tile.copy {{.*}} to %A_shared
// CHECK-SAME: choice = #tile.choice<cp_async
// CHECK: tile.parallel [32, 128] attributes {choice = #tile.choice<simt, "free choice: neighbouring threads along dimension 1, 8 elements each">, layout = #tile.fragment_layout<[32, 128], threads = [(16, 1, 8), (8, 0, 1)], registers = [(8, 1, 1), (4, 0, 8)]>}
// CHECK-NOT: tile.convert
// CHECK: tile.copy %C_local
// CHECK-SAME: choice = #tile.choice<simt, "per-thread accesses of 4 bytes: threads hold 2 consecutive elements of C_local", {bytes = 4 : i64}>
func.func @gemm(%A: memref<1024x1024xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<1024>, #tile.expr<1024>], strides = [], alignment = 16>}, %B: memref<1024x1024xf16>, %C: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  tile.kernel "gemm" grid(%c8, %c8) threads(128) {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c128 = arith.constant 128 : i32
    %c32 = arith.constant 32 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<128x32xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<32x128xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<128x128xf32, fragment>
    tile.fill %acc, %zero : !tile.buffer<128x128xf32, fragment>, f32
    %y = arith.muli %by, %c128 : i32
    %x = arith.muli %bx, %c128 : i32
    tile.pipelined %c0 to %c32 stages(3) {
    ^bb0(%k: i32):
      %kk = arith.muli %k, %c32 : i32
      tile.copy %A[%y, %kk] [128, 32] to %a[%c0, %c0] [128, 32] : memref<1024x1024xf16> to !tile.buffer<128x32xf16, shared>
      tile.parallel [32, 128] {
      ^bb0(%i: i32, %j: i32):
        %row = arith.addi %kk, %i : i32
        %col = arith.addi %x, %j : i32
        %v = tile.load %B[%row, %col] : memref<1024x1024xf16> -> f16
        tile.store %v, %b[%i, %j] : f16, !tile.buffer<32x128xf16, shared>
      }
      tile.gemm %a, %b, %acc : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [128, 128] to %C[%y, %x] [128, 128] : !tile.buffer<128x128xf32, fragment> to memref<1024x1024xf16>
  }
  return
}
}

// -----

// Attention: row statistics are the accumulator with its columns projected out, the probabilities are operand A as
// they are. Nothing has to move.
module attributes {tile.target = #tile.target<"sm_80">, tile.options = #tile.options<{}>} {
// CHECK-LABEL: func.func @attn
// CHECK-DAG: tile.alloc "scores" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
// CHECK-DAG: tile.alloc "probs" : <64x64xf16, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
// CHECK-DAG: tile.alloc "acc" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
// CHECK-DAG: tile.alloc "row_max" : <64xf32, fragment, #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>>
// CHECK-DAG: tile.alloc "row_sum" : <64xf32, fragment, #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>>
// CHECK-DAG: tile.alloc "prev_max" : <64xf32, fragment, #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>>
// CHECK-DAG: tile.alloc "rescale" : <64xf32, fragment, #tile.fragment_layout<[64], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8)]>>
// CHECK-NOT: tile.convert
// CHECK-NOT: .scratch
// CHECK: return
func.func @attn(%Q: memref<1x1024x8x64xf16>, %K: memref<1x1024x8x64xf16>, %V: memref<1x1024x8x64xf16>, %O: memref<1x1024x8x64xf16>) {
  %c16 = arith.constant 16 : i32
  %c8 = arith.constant 8 : i32
  %c1 = arith.constant 1 : i32
  tile.kernel "attn" grid(%c16, %c8, %c1) threads(128) {
  ^bb0(%bx: i32, %by: i32, %bz: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %scale = arith.constant 0.18 : f32
    %q = tile.alloc "Q_shared" : !tile.buffer<64x64xf16, shared>
    %k = tile.alloc "K_shared" : !tile.buffer<64x64xf16, shared>
    %v = tile.alloc "V_shared" : !tile.buffer<64x64xf16, shared>
    %scores = tile.alloc "scores" : !tile.buffer<64x64xf32, fragment>
    %probs = tile.alloc "probs" : !tile.buffer<64x64xf16, fragment>
    %acc = tile.alloc "acc" : !tile.buffer<64x64xf32, fragment>
    %rmax = tile.alloc "row_max" : !tile.buffer<64xf32, fragment>
    %rsum = tile.alloc "row_sum" : !tile.buffer<64xf32, fragment>
    %pmax = tile.alloc "prev_max" : !tile.buffer<64xf32, fragment>
    %resc = tile.alloc "rescale" : !tile.buffer<64xf32, fragment>
    %y = arith.muli %bx, %c64 : i32
    tile.copy %Q[%bz, %y, %by, %c0] [1, 64, 1, 64] to %q[%c0, %c0] [64, 64] : memref<1x1024x8x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.fill %acc, %zero : !tile.buffer<64x64xf32, fragment>, f32
    tile.fill %rsum, %zero : !tile.buffer<64xf32, fragment>, f32
    tile.fill %rmax, %ninf : !tile.buffer<64xf32, fragment>, f32
    %end = arith.addi %bx, %c1 : i32
    tile.pipelined %c0 to %end stages(2) {
    ^bb0(%ko: i32):
      %ky = arith.muli %ko, %c64 : i32
      tile.copy %K[%bz, %ky, %by, %c0] [1, 64, 1, 64] to %k[%c0, %c0] [64, 64] : memref<1x1024x8x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.fill %scores, %zero : !tile.buffer<64x64xf32, fragment>, f32
      tile.gemm %q, %k, %scores {transpose_b} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %r = arith.addi %y, %i : i32
        %c = arith.addi %ky, %j : i32
        %keep = arith.cmpi sge, %r, %c : i32
        %s = tile.load %scores[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %m = arith.mulf %s, %scale : f32
        %sel = arith.select %keep, %m, %ninf : f32
        tile.store %sel, %scores[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      }
      tile.copy %rmax[%c0] [64] to %pmax[%c0] [64] : !tile.buffer<64xf32, fragment> to !tile.buffer<64xf32, fragment>
      tile.reduce max %scores, %rmax {dim = 1 : i64} : !tile.buffer<64x64xf32, fragment>, !tile.buffer<64xf32, fragment>
      tile.parallel [64] {
      ^bb0(%i: i32):
        %a = tile.load %pmax[%i] : !tile.buffer<64xf32, fragment> -> f32
        %b = tile.load %rmax[%i] : !tile.buffer<64xf32, fragment> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        tile.store %e, %resc[%i] : f32, !tile.buffer<64xf32, fragment>
      }
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %a = tile.load %scores[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %b = tile.load %rmax[%i] : !tile.buffer<64xf32, fragment> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %t = arith.truncf %e : f32 to f16
        tile.store %t, %probs[%i, %j] : f16, !tile.buffer<64x64xf16, fragment>
      }
      tile.parallel [64, 64] {
      ^bb0(%i: i32, %j: i32):
        %a = tile.load %acc[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
        %b = tile.load %resc[%i] : !tile.buffer<64xf32, fragment> -> f32
        %d = arith.mulf %a, %b : f32
        tile.store %d, %acc[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      }
      tile.parallel [64] {
      ^bb0(%i: i32):
        %a = tile.load %rsum[%i] : !tile.buffer<64xf32, fragment> -> f32
        %b = tile.load %resc[%i] : !tile.buffer<64xf32, fragment> -> f32
        %d = arith.mulf %a, %b : f32
        tile.store %d, %rsum[%i] : f32, !tile.buffer<64xf32, fragment>
      }
      tile.reduce sum %probs, %rsum {dim = 1 : i64} : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64xf32, fragment>
      tile.copy %V[%bz, %ky, %by, %c0] [1, 64, 1, 64] to %v[%c0, %c0] [64, 64] : memref<1x1024x8x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.gemm %probs, %v, %acc : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    }
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %a = tile.load %acc[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
      %b = tile.load %rsum[%i] : !tile.buffer<64xf32, fragment> -> f32
      %d = arith.divf %a, %b : f32
      tile.store %d, %acc[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [64, 64] to %O[%bz, %y, %by, %c0] [1, 64, 1, 64] : !tile.buffer<64x64xf32, fragment> to memref<1x1024x8x64xf16>
  }
  return
}
}

// -----

// Accumulators of two gemms with different warps meet in one loop: one of them is converted before and after it.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @two_grids
// CHECK: %d.converted = tile.alloc "d.converted" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
// CHECK: %c = tile.alloc "c" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
// CHECK: %d = tile.alloc "d" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>>
// CHECK: tile.convert %d, %d.converted
// CHECK: tile.parallel [64, 64] attributes {choice = #tile.choice<simt, "follows c">
// CHECK: tile.load %c[
// CHECK: tile.load %d.converted[
// CHECK: tile.store %{{.*}}, %c[
// CHECK: tile.store %{{.*}}, %d.converted[
// CHECK: tile.convert %d.converted, %d :
func.func @two_grids(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %d = tile.alloc "d" : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %c {policy = #tile<warp_policy full_row>, choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.gemm %a, %b, %d {policy = #tile<warp_policy full_col>, choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [1, 4, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.parallel [64, 64] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %c[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
      %y = tile.load %d[%i, %j] : !tile.buffer<64x64xf32, fragment> -> f32
      %s = arith.addf %x, %y : f32
      tile.store %s, %c[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
      tile.store %s, %d[%i, %j] : f32, !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}
}

// -----

// An index that is no loop variable: the fragment is read through shared memory.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @irregular
// CHECK: %x.scratch = tile.alloc "x.scratch" : <256xf32, shared
// CHECK: tile.copy %x[%{{.*}}] [256] to %x.scratch
// CHECK: tile.parallel [256]
// CHECK: tile.load %x.scratch[
// CHECK: tile.store %{{.*}}, %x[%i]
func.func @irregular(%n: i32, %V: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %x = tile.alloc "x" : !tile.buffer<256xf32, fragment>
    tile.copy %V[%c0] [256] to %x[%c0] [256] : memref<?xf32> to !tile.buffer<256xf32, fragment>
    tile.parallel [256] {
    ^bb0(%i: i32):
      %h = arith.divsi %i, %c2 : i32
      %v = tile.load %x[%h] : !tile.buffer<256xf32, fragment> -> f32
      tile.store %v, %x[%i] : f32, !tile.buffer<256xf32, fragment>
    }
  }
  return
}
}

// -----

// Reductions from and to shared memory go through fragments; the old contents of the destination take part.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @reduce_shared
// CHECK: %r.fragment = tile.alloc "r.fragment" : <32xf32, fragment, #tile.fragment_layout<[32], threads = [(8, -1, 0), (16, 0, 1)], registers = [(2, 0, 16)]>>
// CHECK: %x.fragment = tile.alloc "x.fragment" : <32x96xf32, fragment, #tile.fragment_layout<[32, 96], threads = [(8, 1, 4), (16, 0, 1)], registers = [(4, 1, 1), (3, 1, 32), (2, 0, 16)]>>
// CHECK: tile.copy %x[{{.*}}] [32, 96] to %x.fragment
// CHECK: tile.copy %r[{{.*}}] [32] to %r.fragment
// CHECK: tile.reduce {{ *}}sum %x.fragment, %r.fragment
// CHECK: tile.copy %r.fragment[{{.*}}] [32] to %r[
func.func @reduce_shared(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %x = tile.alloc "x" : !tile.buffer<32x96xf32, shared>
    %r = tile.alloc "r" : !tile.buffer<32xf32, shared>
    tile.reduce sum %x, %r {dim = 1 : i64} : !tile.buffer<32x96xf32, shared>, !tile.buffer<32xf32, shared>
  }
  return
}
}

// -----

// Without a matrix instruction operands are in shared memory and the accumulator in a fragment, whatever the sizes.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @fma
// CHECK: %a.shared = tile.alloc "a.shared" : <24x20xf32, shared
// CHECK: %c.fragment = tile.alloc "c.fragment" : <24x40xf32, fragment
// CHECK: tile.copy %c[{{.*}}] [24, 40] to %c.fragment
// CHECK: tile.copy %a[{{.*}}] [24, 20] to %a.shared
// CHECK: tile.gemm %a.shared, %b, %c.fragment {choice = #tile.choice<fma
// CHECK: tile.copy %c.fragment[{{.*}}] [24, 40] to %c[
func.func @fma(%n: i32) {
  tile.kernel "k" grid(%n) threads(96) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<24x20xf32, fragment>
    %b = tile.alloc "b" : !tile.buffer<20x40xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<24x40xf32, shared>
    tile.gemm %a, %b, %c {choice = #tile.choice<fma, "">} : !tile.buffer<24x20xf32, fragment>, !tile.buffer<20x40xf32, shared>, !tile.buffer<24x40xf32, shared>
  }
  return
}
}

// -----

// Register operands come and go as 8x8 matrices.
module attributes {tile.target = #tile.target<"sm_90">} {
// CHECK-LABEL: func.func @matrices
// CHECK: tile.copy %s{{.*}} to %a{{.*}} {choice = #tile.choice<ldmatrix, "the fragment is made of 8x8 matrices of 16-bit elements"
// CHECK: tile.copy %c{{.*}} to %h{{.*}} {choice = #tile.choice<registers, "both fragments have the same layout">}
// CHECK: tile.copy %h{{.*}} to %o{{.*}} {choice = #tile.choice<stmatrix
// CHECK: tile.copy %a{{.*}} to %s{{.*}} {choice = #tile.choice<stmatrix
func.func @matrices(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x32xf16, shared>
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %h = tile.alloc "h" : !tile.buffer<64x64xf16, fragment>
    %o = tile.alloc "o" : !tile.buffer<64x64xf16, shared>
    tile.copy %s[%c0, %c0] [64, 32] to %a[%c0, %c0] [64, 32] : !tile.buffer<64x32xf16, shared> to !tile.buffer<64x32xf16, fragment>
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>} : !tile.buffer<64x32xf16, fragment>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    tile.copy %c[%c0, %c0] [64, 64] to %h[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment> to !tile.buffer<64x64xf16, fragment>
    tile.copy %h[%c0, %c0] [64, 64] to %o[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment> to !tile.buffer<64x64xf16, shared>
    tile.copy %a[%c0, %c0] [64, 32] to %s[%c0, %c0] [64, 32] : !tile.buffer<64x32xf16, fragment> to !tile.buffer<64x32xf16, shared>
  }
  return
}
}

// -----

// A short loop does not shrink the layout of the fragment: it runs in the threads that hold its elements.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @extents
// CHECK: %x = tile.alloc "x" : <256xf32, fragment, #tile.fragment_layout<[256], threads = [(128, 0, 2)], registers = [(2, 0, 1)]>>
// CHECK: tile.parallel [100] attributes {choice = #tile.choice<simt, "follows x">, layout = #tile.fragment_layout<[100], threads = [(128, 0, 2)], registers = [(2, 0, 1)]>}
// CHECK: tile.parallel [256] attributes {choice = #tile.choice<simt, "follows x">, layout = #tile.fragment_layout<[256], threads = [(128, 0, 2)], registers = [(2, 0, 1)]>}
func.func @extents(%n: i32, %V: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %x = tile.alloc "x" : !tile.buffer<256xf32, fragment>
    tile.parallel [100] {
    ^bb0(%i: i32):
      %v = tile.load %V[%i] : memref<?xf32> -> f32
      tile.store %v, %x[%i] : f32, !tile.buffer<256xf32, fragment>
    }
    tile.parallel [256] {
    ^bb0(%i: i32):
      %v = tile.load %x[%i] : !tile.buffer<256xf32, fragment> -> f32
      tile.store %v, %V[%i] : f32, memref<?xf32>
    }
  }
  return
}
}

// -----

// Vectors beside a tile of 48 columns: along columns and along rows, from a loop and from a reduction.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @width48
// CHECK: %x = tile.alloc "x" : <64x48xf32, fragment, #tile.fragment_layout<[64, 48], threads = [(4, 1, 4), (32, 0, 1)], registers = [(4, 1, 1), (3, 1, 16), (2, 0, 32)]>>
// CHECK: %c = tile.alloc "c" : <48xf32, fragment, #tile.fragment_layout<[48], threads = [(4, 0, 4), (32, -1, 0)], registers = [(4, 0, 1), (3, 0, 16)]>>
// CHECK: %r = tile.alloc "r" : <64xf32, fragment, #tile.fragment_layout<[64], threads = [(4, -1, 0), (32, 0, 1)], registers = [(2, 0, 32)]>>
// CHECK-NOT: tile.convert
// CHECK-NOT: .scratch
// CHECK: return
func.func @width48(%n: i32, %X: memref<?x48xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %x = tile.alloc "x" : !tile.buffer<64x48xf32, fragment>
    %c = tile.alloc "c" : !tile.buffer<48xf32, fragment>
    %r = tile.alloc "r" : !tile.buffer<64xf32, fragment>
    tile.copy %X[%c0, %c0] [64, 48] to %x[%c0, %c0] [64, 48] : memref<?x48xf32> to !tile.buffer<64x48xf32, fragment>
    tile.parallel [64, 48] {
    ^bb0(%i: i32, %j: i32):
      %a = tile.load %x[%i, %j] : !tile.buffer<64x48xf32, fragment> -> f32
      %b = tile.load %c[%j] : !tile.buffer<48xf32, fragment> -> f32
      %e = arith.mulf %a, %b : f32
      tile.store %e, %x[%i, %j] : f32, !tile.buffer<64x48xf32, fragment>
    }
    tile.reduce sum %x, %r {dim = 1 : i64, clear} : !tile.buffer<64x48xf32, fragment>, !tile.buffer<64xf32, fragment>
    tile.parallel [64, 48] {
    ^bb0(%i: i32, %j: i32):
      %a = tile.load %r[%i] : !tile.buffer<64xf32, fragment> -> f32
      %b = tile.load %c[%j] : !tile.buffer<48xf32, fragment> -> f32
      %e = arith.addf %a, %b : f32
      tile.store %e, %X[%i, %j] : f32, memref<?x48xf32>
    }
  }
  return
}
}

// -----

// Parts of a fragment: its layout makes each part a set of registers. Part to part goes through shared memory, and
// so do elements that scalar code reads of a large fragment.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @views
// CHECK: %x = tile.alloc "x" : <2x64x64xf32, fragment, #tile.fragment_layout<[2, 64, 64], threads = [(16, 2, 4), (8, 1, 1)], registers = [(4, 2, 1), (8, 1, 8), (2, 0, 1)]>>
// CHECK: %[[PART:.*]] = tile.subview %x
// CHECK: tile.copy %{{.*}} to %[[PART]]
// CHECK: tile.copy %[[PART]][%c16_i32, %{{.*}}] [32, 64] to %[[SCRATCH:[a-z.0-9_]*]][
// CHECK: tile.copy %[[SCRATCH]][{{.*}}] [32, 64] to %y[
// CHECK: tile.copy %y[{{.*}}] [32, 64] to %y.scratch
// CHECK: tile.load %y.scratch[
func.func @views(%n: i32, %X: memref<?x64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %x = tile.alloc "x" : !tile.buffer<2x64x64xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<32x64xf32, fragment>
    %v = tile.subview %x[%c1, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment> to !tile.buffer<64x64xf32, fragment>
    tile.copy %X[%c0, %c0] [64, 64] to %v[%c0, %c0] [64, 64] : memref<?x64xf32> to !tile.buffer<64x64xf32, fragment>
    tile.copy %v[%c16, %c0] [32, 64] to %y[%c0, %c0] [32, 64] : !tile.buffer<64x64xf32, fragment> to !tile.buffer<32x64xf32, fragment>
    %first = tile.load %y[%c0, %bx] : !tile.buffer<32x64xf32, fragment> -> f32
    tile.store %first, %X[%bx, %bx] : f32, memref<?x64xf32>
  }
  return
}
}

// -----

// What users pin stays and spreads; a copy that cannot be asynchronous any more says why.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @pinned
// CHECK: %a = tile.alloc "a" : <64x64xf16, shared, #tile.shared_layout<order = [0, 1], panel = 64, swizzle = 0>>
// CHECK: %f = tile.alloc "f" : <64x64xf16, fragment, #tile.fragment_layout<[64, 64], threads = [(64, 0, 1)], registers = [(64, 1, 1)]>>
// CHECK: %g = tile.alloc "g" : <64x64xf32, fragment, #tile.fragment_layout<[64, 64], threads = [(64, 0, 1)], registers = [(64, 1, 1)]>>
// CHECK: tile.copy {{.*}} to %a{{.*}} {choice = #tile.choice<simt, "loads and stores of 2 bytes: cp.async moves at least 4 bytes; the layout of a does not keep its last dimension contiguous"
func.func @pinned(%n: i32, %A: memref<?x64xf16>) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [0, 1], panel = 64, swizzle = 0>>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment, #tile.fragment_layout<[64, 64], threads = [(64, 0, 1)], registers = [(64, 1, 1)]>>
    %g = tile.alloc "g" : !tile.buffer<64x64xf32, fragment>
    tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [0, 1], panel = 64, swizzle = 0>>
    tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [0, 1], panel = 64, swizzle = 0>> to !tile.buffer<64x64xf16, fragment, #tile.fragment_layout<[64, 64], threads = [(64, 0, 1)], registers = [(64, 1, 1)]>>
    tile.copy %f[%c0, %c0] [64, 64] to %g[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment, #tile.fragment_layout<[64, 64], threads = [(64, 0, 1)], registers = [(64, 1, 1)]>> to !tile.buffer<64x64xf32, fragment>
    tile.copy %g[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment> to memref<?x64xf16>
  }
  return
}
}

// -----

// A transposed write to a fragment gives it the permuted layout.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @transposed
// CHECK: %c = tile.alloc "c" : <64x48xf32, fragment, #tile.fragment_layout<[64, 48], threads = [(4, 1, 2), (8, 0, 1), (2, 0, 32), (2, 1, 24)], registers = [(2, 1, 1), (2, 0, 8), (3, 1, 8), (2, 0, 16)]>>
// CHECK: %d = tile.alloc "d" : <48x64xf32, fragment, #tile.fragment_layout<[48, 64], threads = [(4, 0, 2), (8, 1, 1), (2, 1, 32), (2, 0, 24)], registers = [(2, 0, 1), (2, 1, 8), (3, 0, 8), (2, 1, 16)]>>
// CHECK-NOT: tile.convert
// CHECK: return
func.func @transposed(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x48xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x48xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<48x64xf16, shared>
    %d = tile.alloc "d" : !tile.buffer<48x64xf32, fragment>
    tile.gemm %a, %b, %c {clear_accum} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x48xf16, shared>, !tile.buffer<64x48xf32, fragment>
    tile.parallel [64, 48] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %c[%i, %j] : !tile.buffer<64x48xf32, fragment> -> f32
      %y = arith.truncf %x : f32 to f16
      tile.store %y, %t[%j, %i] : f16, !tile.buffer<48x64xf16, shared>
      tile.store %x, %d[%j, %i] : f32, !tile.buffer<48x64xf32, fragment>
    }
    tile.parallel [48, 64] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %d[%i, %j] : !tile.buffer<48x64xf32, fragment> -> f32
      tile.store %x, %d[%i, %j] : f32, !tile.buffer<48x64xf32, fragment>
    }
  }
  return
}
}

// -----

// A shifted write goes through shared memory. A small fragment that scalar code reads is held by every thread;
// so its loop runs in every thread.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @shifted
// CHECK: %small = tile.alloc "small" : <4xf32, fragment, #tile.fragment_layout<[4], threads = [(64, -1, 0)], registers = [(4, 0, 1)]>>
// CHECK: tile.copy %f[{{.*}}] [65] to %f.scratch[
// CHECK: tile.parallel [64]
// CHECK: tile.store %{{.*}}, %f.scratch[
// CHECK: tile.copy %f.scratch[{{.*}}] [65] to %f[
// CHECK: tile.parallel [4] attributes {choice = #tile.choice<simt, "follows small">
// CHECK: tile.load %small[%c1_i32]
func.func @shifted(%n: i32, %V: memref<?xf32>) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.alloc "f" : !tile.buffer<65xf32, fragment>
    %r = tile.alloc "small" : !tile.buffer<4xf32, fragment>
    tile.copy %V[%c0] [65] to %f[%c0] [65] : memref<?xf32> to !tile.buffer<65xf32, fragment>
    tile.parallel [64] {
    ^bb0(%i: i32):
      %next = arith.addi %i, %c1 : i32
      %v = tile.load %f[%i] : !tile.buffer<65xf32, fragment> -> f32
      tile.store %v, %f[%next] : f32, !tile.buffer<65xf32, fragment>
    }
    tile.copy %f[%c0] [65] to %V[%c0] [65] : !tile.buffer<65xf32, fragment> to memref<?xf32>
    tile.parallel [4] {
    ^bb0(%i: i32):
      %v = tile.load %V[%i] : memref<?xf32> -> f32
      tile.store %v, %r[%i] : f32, !tile.buffer<4xf32, fragment>
    }
    %third = tile.load %r[%c1] : !tile.buffer<4xf32, fragment> -> f32
    tile.store %third, %V[%bx] : f32, memref<?xf32>
  }
  return
}
}

// -----

// The result of an atomic exists in the thread that performed it: no replicas run the loop, and what it wrote to a
// replicated fragment is sent to all holders.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @atomic_result
// CHECK: %old = tile.alloc "old" : <4xi32, fragment, #tile.fragment_layout<[4], threads = [(32, -1, 0)], registers = [(4, 0, 1)]>>
// CHECK: tile.parallel [4] attributes {{.*}} layout = #tile.fragment_layout<[4], threads = [(32, 0, 4)], registers = [(4, 0, 1)]>
// CHECK: tile.store %{{.*}}, %old.converted[
// CHECK: tile.convert %old.converted, %old :
func.func @atomic_result(%n: i32, %V: memref<?xi32>) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c1 = arith.constant 1 : i32
    %old = tile.alloc "old" : !tile.buffer<4xi32, fragment>
    tile.parallel [4] {
    ^bb0(%i: i32):
      %v = tile.atomic add %c1, %V[%i] : i32, memref<?xi32> -> i32
      tile.store %v, %old[%i] : i32, !tile.buffer<4xi32, fragment>
    }
    %second = tile.load %old[%c1] : !tile.buffer<4xi32, fragment> -> i32
    tile.store %second, %V[%bx] : i32, memref<?xi32>
  }
  return
}
}

// -----

// Scalar code reads elements that other threads hold through shared memory. The copy there is collective: it stands in
// front of control flow that threads take differently. A copy to a local buffer reads in the same way.
// CHECK-LABEL: func.func @scalar_reads
// CHECK: %[[SECOND:.*]] = tile.alloc "f.scratch" : <512xf32, shared
// CHECK: %[[FIRST:.*]] = tile.alloc "f.scratch" : <512xf32, shared
// CHECK: tile.copy %{{.*}} to %[[FIRST]]
// CHECK: tile.copy %{{.*}} to %[[SECOND]]
// CHECK: scf.if
// CHECK: tile.load %[[FIRST]]
// CHECK: tile.copy %[[SECOND]]{{.*}} to %mine{{.*}} : !tile.buffer<512xf32, shared{{.*}}> to !tile.buffer<4xf32, local>
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @scalar_reads(%A: memref<512xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %f = tile.alloc "f" : !tile.buffer<512xf32, fragment>
    %mine = tile.alloc "mine" : !tile.buffer<4xf32, local>
    tile.copy %A[%c0] [512] to %f[%c0] [512] : memref<512xf32> to !tile.buffer<512xf32, fragment>
    %t = tile.thread_id 0 : i32
    %first = arith.cmpi slt, %t, %c4 : i32
    scf.if %first {
      %x = tile.load %f[%t] : !tile.buffer<512xf32, fragment> -> f32
      tile.store %x, %A[%t] : f32, memref<512xf32>
      tile.copy %f[%t] [4] to %mine[%c0] [4] : !tile.buffer<512xf32, fragment> to !tile.buffer<4xf32, local>
      tile.copy %mine[%c0] [4] to %A[%t] [4] : !tile.buffer<4xf32, local> to memref<512xf32>
    }
  }
  return
}
}

// -----

// A transposed store is done by matrix stores, with a conversion on the way. With something else on the way, or on
// targets without stmatrix, threads store elements.
module attributes {tile.target = #tile.target<"sm_90">} {
// CHECK-LABEL: func.func @transposed_store
func.func @transposed_store(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x24xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x24xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<24x64xf16, shared>
    %two = arith.constant 2.0 : f16
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x24xf16, shared>, !tile.buffer<64x24xf32, fragment>
    // CHECK: tile.parallel {{.*}}choice = #tile.choice<stmatrix, "the fragment is made of 8x8 matrices of 16-bit elements, which are transposed on their way">
    tile.parallel [64, 24] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x24xf32, fragment> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared>
    }
    // CHECK: tile.parallel {{.*}}choice = #tile.choice<simt
    tile.parallel [64, 24] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x24xf32, fragment> -> f32
      %h = arith.truncf %v : f32 to f16
      %d = arith.mulf %h, %two : f16
      tile.store %d, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared>
    }
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @transposed_store_before_stmatrix
func.func @transposed_store_before_stmatrix(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x24xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x24xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<24x64xf16, shared>
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x24xf16, shared>, !tile.buffer<64x24xf32, fragment>
    // CHECK: tile.parallel {{.*}}choice = #tile.choice<simt
    tile.parallel [64, 24] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x24xf32, fragment> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared>
    }
  }
  return
}
}

// -----

// A fragment that takes a part of another one has registers for that part only, wherever the first part begins.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @parts
// CHECK: %part = tile.alloc "part" : <64x16xf32, fragment, #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>>
func.func @parts(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, fragment>
    %part = tile.alloc "part" : !tile.buffer<64x16xf32, fragment>
    %c16 = arith.constant 16 : i32
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "", {instruction = [16, 8, 16], warps = [4, 1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<64x32xf32, fragment>
    tile.parallel [64, 16] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x32xf32, fragment> -> f32
      tile.store %v, %part[%i, %j] : f32, !tile.buffer<64x16xf32, fragment>
    }
    tile.parallel [64, 16] {
      ^bb0(%i: i32, %j: i32):
      %at = arith.addi %j, %c16 : i32
      %v = tile.load %c[%i, %at] : !tile.buffer<64x32xf32, fragment> -> f32
      tile.store %v, %part[%i, %j] : f32, !tile.buffer<64x16xf32, fragment>
    }
  }
  return
}
}

// -----

// A buffer that matrix stores fill transposed and TMA stores: panels as wide as what a warp writes, 16 columns, so that
// each warp can store its own. Threads that are ordered by the program keep the widest swizzle.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @transposed_staging
// CHECK: tile.alloc "t" : <24x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 16, swizzle = 32>>
// CHECK: tile.alloc "t" : <24x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
func.func @transposed_staging(%C: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x24xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x24xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<24x64xf16, shared>
    tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 24, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x24xf16, shared>, !tile.buffer<64x24xf32, fragment>
    tile.parallel [64, 24] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x24xf32, fragment> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared>
    }
    tile.copy %t[%c0, %c0] [24, 64] to %C[%bx, %c0] [24, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<24x64xf16, shared> to memref<?x64xf16>
  }
  tile.kernel "explicit" grid(%n) threads(128) attributes {tile.explicit} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x24xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x24xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<24x64xf16, shared>
    tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 24, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x24xf16, shared>, !tile.buffer<64x24xf32, fragment>
    tile.parallel [64, 24] {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x24xf32, fragment> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<24x64xf16, shared>
    }
    tile.copy %t[%c0, %c0] [24, 64] to %C[%bx, %c0] [24, 64] {choice = #tile.choice<tma, "">} : !tile.buffer<24x64xf16, shared> to memref<?x64xf16>
  }
  return
}
}

// -----

// A loop over fewer elements than there are threads, which reads memory that it writes: replicas would read while the
// primary one writes, so there are none. Fragments that have replicas are written by way of one that has not.
module attributes {tile.target = #tile.target<"sm_80">, tile.options = #tile.options<{}>} {
// CHECK-LABEL: func.func @reads_what_it_writes
// CHECK: %[[OWN:.*]] = tile.alloc "sums.converted" : <16xf32, fragment, #tile.fragment_layout<[16], threads = [(16, 0, 1), (4, 0, 16)], registers = []>>
// CHECK: %sums = tile.alloc "sums" : <16xf32, fragment, #tile.fragment_layout<[16], threads = [(16, 0, 1), (4, -1, 0)], registers = []>>
// CHECK: tile.parallel [16] attributes {choice = {{.*}}, layout = #tile.fragment_layout<[16], threads = [(16, 0, 1), (4, -1, 0)], registers = []>}
// CHECK: tile.parallel [16] attributes {choice = {{.*}}, layout = #tile.fragment_layout<[16], threads = [(16, 0, 1), (4, 0, 16)], registers = []>}
// CHECK: tile.store {{.*}}, %memory
// CHECK: tile.store {{.*}}, %[[OWN]]
// CHECK: tile.convert %[[OWN]], %sums
// CHECK: tile.parallel [16] attributes {choice = {{.*}}, layout = #tile.fragment_layout<[16], threads = [(16, 0, 1), (4, 0, 16)], registers = []>}
// CHECK: tile.store {{.*}}, %arg0
func.func @reads_what_it_writes(%A: memref<16xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "reads_what_it_writes" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    %memory = tile.alloc "memory" : !tile.buffer<16xf32, shared>
    %sums = tile.alloc "sums" : !tile.buffer<16xf32, fragment>
    tile.parallel [16] {
    ^bb0(%i: i32):
      tile.store %one, %memory[%i] : f32, !tile.buffer<16xf32, shared>
      tile.store %one, %sums[%i] : f32, !tile.buffer<16xf32, fragment>
    }
    tile.parallel [16] {
    ^bb0(%i: i32):
      %v = tile.load %memory[%i] : !tile.buffer<16xf32, shared> -> f32
      %w = arith.addf %v, %one : f32
      tile.store %w, %memory[%i] : f32, !tile.buffer<16xf32, shared>
      %s = tile.load %sums[%i] : !tile.buffer<16xf32, fragment> -> f32
      %t = arith.addf %s, %v : f32
      tile.store %t, %sums[%i] : f32, !tile.buffer<16xf32, fragment>
    }
    tile.parallel [16] {
    ^bb0(%i: i32):
      %v = tile.load %A[%i] : memref<16xf32> -> f32
      %s = tile.load %sums[%i] : !tile.buffer<16xf32, fragment> -> f32
      %w = arith.addf %v, %s : f32
      tile.store %w, %A[%i] : f32, memref<16xf32>
    }
  }
  return
}
}
