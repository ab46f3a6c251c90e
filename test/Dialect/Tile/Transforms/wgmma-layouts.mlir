// RUN: tile-opt %s -tile-assign-layouts -split-input-file | filecheck %s
// Layouts that wgmma asks for: fragments of accumulators and of A, and the
// swizzles of operands in shared memory.

#ss1 = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
#ss2 = #tile.choice<wgmma_ss, "", {instruction = [64, 96, 16], warpgroups = [1, 2]}>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 24, 16], warpgroups = [2, 1]}>
#wide = #tile.choice<wgmma_ss, "", {instruction = [64, 256, 16], warpgroups = [1, 1]}>

module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @one_group
func.func @one_group(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // K and N are contiguous: 128-byte swizzles, in panels.
    // CHECK-DAG: tile.alloc "a" : <128x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // CHECK-DAG: tile.alloc "b" : <64x128xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // Two blocks of rows; 64 registers of each follow each other.
    // CHECK-DAG: tile.alloc "c" : <128x128xf32, fragment, #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8), (2, 0, 64)]>>
    // Row values follow the accumulator.
    // CHECK-DAG: tile.alloc "row" : <128xf32, fragment, #tile.fragment_layout<[128], threads = [(4, -1, 0), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8), (2, 0, 64)]>>
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    %row = tile.alloc "row" : !tile.buffer<128xf32, fragment>
    tile.gemm %a, %b, %c {choice = #ss1} : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
    tile.reduce max %c, %row {dim = 1 : i64, clear} : !tile.buffer<128x128xf32, fragment>, !tile.buffer<128xf32, fragment>
  }
  return
}

// CHECK-LABEL: func.func @along_n
func.func @along_n(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    // Each group reads 96 columns, which have to begin at a panel.
    // CHECK-DAG: tile.alloc "b" : <32x192xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
    // K-major rows of 64 bytes.
    // CHECK-DAG: tile.alloc "a" : <64x32xf16, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>>
    // CHECK-DAG: tile.alloc "c" : <64x192xf32, fragment, #tile.fragment_layout<[64, 192], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16), (2, 1, 96)], registers = [(2, 1, 1), (2, 0, 8), (12, 1, 8)]>>
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x192xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x192xf32, fragment>
    tile.gemm %a, %b, %c {choice = #ss2} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x192xf16, shared>, !tile.buffer<64x192xf32, fragment>
  }
  return
}

// CHECK-LABEL: func.func @slots_of_the_program
func.func @slots_of_the_program(%B: memref<64x1024xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // A dimension in which all views and copies have extent 1 is one of slots: each is a block of all its panels.
    // CHECK-DAG: tile.alloc "b" : <3x64x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
    // Two of them at once: their panels follow each other.
    // CHECK-DAG: tile.alloc "both" : <2x64x128xf16, shared, #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>>
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<3x64x128xf16, shared>
    %both = tile.alloc "both" : !tile.buffer<2x64x128xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x128xf32, fragment>
    tile.copy %B[%c0, %c0] [64, 128] to %b[%bx, %c0, %c0] [1, 64, 128] {choice = #tile.choice<tma, "">} : memref<64x1024xf16> to !tile.buffer<3x64x128xf16, shared>
    %view = tile.subview %b[%bx, %c0, %c0] [1, 64, 128] : !tile.buffer<3x64x128xf16, shared> to !tile.buffer<64x128xf16, shared>
    tile.gemm %a, %view, %c {choice = #ss1} : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
    %halves = tile.subview %both[%c0, %c0, %c0] [2, 32, 128] : !tile.buffer<2x64x128xf16, shared> to !tile.buffer<2x32x128xf16, shared>
    %first = tile.subview %both[%c0, %c0, %c0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared> to !tile.buffer<64x128xf16, shared>
    tile.gemm %a, %first, %c {choice = #ss1} : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<128x128xf32, fragment>
  }
  return
}

// CHECK-LABEL: func.func @registers
func.func @registers(%n: i32) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    // CHECK-DAG: tile.alloc "a" : <128x64xf16, fragment, #tile.fragment_layout<[128, 64], threads = [(4, 1, 2), (8, 0, 1), (8, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>>
    // Rows of 48 bytes: panels of 16 without a swizzle.
    // CHECK-DAG: tile.alloc "b" : <64x24xf16, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 0>>
    %a = tile.alloc "a" : !tile.buffer<128x64xf16, fragment>
    %b = tile.alloc "b" : !tile.buffer<64x24xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<128x24xf32, fragment>
    tile.gemm %a, %b, %c {choice = #rs} : !tile.buffer<128x64xf16, fragment>, !tile.buffer<64x24xf16, shared>, !tile.buffer<128x24xf32, fragment>
  }
  return
}

// CHECK-LABEL: func.func @shared_sum
func.func @shared_sum(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // Sums in shared memory pass through a fragment.
    // CHECK-DAG: [[SUM:%.*]] = tile.alloc "c.fragment" : <64x512xf16, fragment, #tile.fragment_layout<[64, 512], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (64, 1, 8)]>>
    %a = tile.alloc "a" : !tile.buffer<64x16xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<512x16xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x512xf16, shared>
    // CHECK: tile.copy %c[
    // CHECK: tile.gemm %a, %b, [[SUM]]
    // CHECK: tile.copy [[SUM]][
    tile.gemm %a, %b, %c {choice = #wide, transpose_b} : !tile.buffer<64x16xf16, shared>, !tile.buffer<512x16xf16, shared>, !tile.buffer<64x512xf16, shared>
  }
  return
}
}
