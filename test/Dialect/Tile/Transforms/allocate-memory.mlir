// Offsets of shared buffers, and which of them share memory.
// RUN: tile-opt %s -split-input-file -tile-allocate-memory | FileCheck %s

// The operands of a loop and the tile of the epilogue behind it.
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.kernel {{.*}}tile.shared_bytes = 1024 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : i32
    // CHECK: tile.alloc "A_shared" {tile.shared_offset = 0 : i64}
    // CHECK: tile.alloc "B_shared" {tile.shared_offset = 512 : i64}
    // CHECK: tile.alloc "C_shared" {tile.shared_offset = 0 : i64}
    %a = tile.alloc "A_shared" : !tile.buffer<128xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    %c = tile.alloc "C_shared" : !tile.buffer<256xf32, shared>
    %f = tile.alloc "acc" : !tile.buffer<256xf32, fragment>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %A[%k] [128] to %a[%c0] [128] : memref<?xf32> to !tile.buffer<128xf32, shared>
      tile.copy %A[%k] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<128xf32, shared> to memref<?xf32>
      tile.copy %b[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    tile.copy %f[%c0] [256] to %c[%c0] [256] : !tile.buffer<256xf32, fragment> to !tile.buffer<256xf32, shared>
    tile.copy %c[%c0] [256] to %C[%c0] [256] : !tile.buffer<256xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// Written before the loop and read in it: alive in the whole loop, also where later iterations use it first.
// CHECK-LABEL: func.func @through_loop
func.func @through_loop(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 512 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // CHECK: tile.alloc "Q_shared" {tile.shared_offset = 0 : i64}
    // CHECK: tile.alloc "T_shared" {tile.shared_offset = 256 : i64}
    %q = tile.alloc "Q_shared" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %q[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %q[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %A[%k] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %t[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// What one iteration leaves for the next is alive in the whole loop: sums is read before it is written.
// CHECK-LABEL: func.func @carried
func.func @carried(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32, %m: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 512 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %s = tile.alloc "sums" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      scf.for %l = %c0 to %m step %one : i32 {
        tile.copy %s[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
        tile.copy %A[%k] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      }
      tile.copy %A[%k] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %t[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A persistent kernel: neither tile survives an iteration of the outer loop.
// CHECK-LABEL: func.func @persistent
func.func @persistent(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32, %m: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 256 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %s = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "C_shared" : !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      scf.for %l = %c0 to %m step %one : i32 {
        tile.copy %A[%k] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
        tile.copy %s[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      }
      tile.copy %A[%k] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %t[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A copy that is still under way keeps its memory, although nobody reads it.
// CHECK-LABEL: func.func @in_flight
func.func @in_flight(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 512 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    tile.copy_async %A[%c0] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.async_commit
    tile.copy %A[%c0] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %t[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.async_wait {pending = 0 : i64}
  }
  return
}

// -----

// Memory under way is taken until the next wait, which is not in sight behind a pipeline.
// CHECK-LABEL: func.func @under_way
func.func @under_way(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.kernel {{.*}}tile.shared_bytes = 1536 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %last = arith.subi %n, %one : i32
    // CHECK: tile.alloc "A_shared" {tile.shared_offset = 1024 : i64
    // CHECK: tile.alloc "C_shared" {tile.shared_offset = 0 : i64}
    %s = tile.alloc "A_shared" {tile.slots = 2 : i64} : !tile.buffer<2x64xf32, shared>
    %t = tile.alloc "C_shared" : !tile.buffer<256xf32, shared>
    %f = tile.alloc "sum" : !tile.buffer<256xf32, fragment>
    %first = tile.subview %s[%c0, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
    tile.copy_async %A[%c0] [64] to %first[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.async_commit
    scf.for %k = %c0 to %n step %one : i32 {
      tile.async_wait {pending = 0 : i64}
      %slot = arith.andi %k, %one : i32
      %here = tile.subview %s[%slot, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
      tile.copy %here[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      %more = arith.cmpi slt, %k, %last : i32
      scf.if %more {
        %other = arith.subi %one, %slot : i32
        %next = tile.subview %s[%other, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
        tile.copy_async %A[%k] [64] to %next[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      tile.async_commit
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
    tile.copy %f[%c0] [256] to %t[%c0] [256] : !tile.buffer<256xf32, fragment> to !tile.buffer<256xf32, shared>
    tile.copy %t[%c0] [256] to %C[%c0] [256] : !tile.buffer<256xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// A pipeline waits for what it loads ahead: behind its loop the slots are free, if nothing else fits.
module attributes {tile.options = #tile.options<{shared_limit = 1024 : i64}>} {
// CHECK-LABEL: func.func @ahead
func.func @ahead(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.kernel {{.*}}tile.shared_bytes = 1024 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %last = arith.subi %n, %one : i32
    // CHECK: tile.alloc "A_shared" {tile.shared_offset = 0 : i64
    // CHECK: tile.alloc "C_shared" {tile.shared_offset = 0 : i64}
    %s = tile.alloc "A_shared" {tile.slots = 2 : i64} : !tile.buffer<2x64xf32, shared>
    %t = tile.alloc "C_shared" : !tile.buffer<256xf32, shared>
    %f = tile.alloc "sum" : !tile.buffer<256xf32, fragment>
    %first = tile.subview %s[%c0, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
    tile.copy_async %A[%c0] [64] to %first[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.async_commit
    scf.for %k = %c0 to %n step %one : i32 {
      tile.async_wait {pending = 0 : i64}
      %slot = arith.andi %k, %one : i32
      %here = tile.subview %s[%slot, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
      tile.copy %here[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      %more = arith.cmpi slt, %k, %last : i32
      scf.if %more {
        %other = arith.subi %one, %slot : i32
        %next = tile.subview %s[%other, %c0] [1, 64] : !tile.buffer<2x64xf32, shared> to !tile.buffer<64xf32, shared>
        tile.copy_async %A[%k] [64] to %next[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      tile.async_commit
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
    tile.copy %f[%c0] [256] to %t[%c0] [256] : !tile.buffer<256xf32, fragment> to !tile.buffer<256xf32, shared>
    tile.copy %t[%c0] [256] to %C[%c0] [256] : !tile.buffer<256xf32, shared> to memref<?xf32>
  }
  return
}
}

// -----

// Swizzled layouts are aligned to their pattern. A buffer without uses takes nothing.
// CHECK-LABEL: func.func @alignment
func.func @alignment(%A: memref<?x64xf16>, %C: memref<?x64xf16>, %B: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 1040 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK: "small" {tile.shared_offset = 1024 : i64}
    // CHECK: "A_shared" {tile.shared_offset = 0 : i64}
    %t = tile.alloc "small" : !tile.buffer<4xf32, shared>
    %a = tile.alloc "A_shared" : !tile.buffer<8x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %u = tile.alloc "unused" : !tile.buffer<4096xf32, shared>
    tile.copy %B[%c0] [4] to %t[%c0] [4] : memref<?xf32> to !tile.buffer<4xf32, shared>
    tile.copy %A[%c0, %c0] [8, 64] to %a[%c0, %c0] [8, 64] : memref<?x64xf16> to !tile.buffer<8x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    tile.copy %a[%c0, %c0] [8, 64] to %C[%c0, %c0] [8, 64] : !tile.buffer<8x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>> to memref<?x64xf16>
    tile.copy %t[%c0] [4] to %B[%c0] [4] : !tile.buffer<4xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @no_reuse
module attributes {tile.options = #tile.options<{disable_shared_reuse = true}>} {
func.func @no_reuse(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.shared_bytes = 512 : i64
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %s[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.copy %A[%c0] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %t[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
  }
  return
}
}

// -----

// In one innermost loop buffers share memory only if the kernel does not fit otherwise.
// CHECK-LABEL: func.func @in_loop
module attributes {tile.options = #tile.options<{shared_limit = 512 : i64}>} {
func.func @in_loop(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.kernel "fits" {{.*}}tile.shared_bytes = 512 : i64
  tile.kernel "fits" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %s = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %A[%c0] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %s[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %A[%c0] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %t[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  // CHECK: tile.kernel "tight" {{.*}}tile.shared_bytes = 512 : i64
  tile.kernel "tight" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %s = tile.alloc "A_shared" : !tile.buffer<128xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %A[%c0] [128] to %s[%c0] [128] : memref<?xf32> to !tile.buffer<128xf32, shared>
      tile.copy %s[%c0] [128] to %C[%c0] [128] : !tile.buffer<128xf32, shared> to memref<?xf32>
      tile.copy %A[%c0] [64] to %t[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %t[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}
}

// -----

// A conversion makes do with the memory that the kernel leaves: pieces of some rows and columns of every warp.
#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>
module attributes {tile.options = #tile.options<{shared_limit = 3072 : i64}>} {
// CHECK-LABEL: func.func @pieces
func.func @pieces(%A: memref<64x64xf16>, %C: memref<64x64xf16>) {
  %c1 = arith.constant 1 : i32
  // CHECK: tile.kernel {{.*}}tile.shared_bytes = 2176 : i64
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK: tile.alloc "scratch" {{.*}}<4x1x8x4x1x4x2xf16, shared
    %scratch = tile.alloc "scratch" : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %kept = tile.alloc "kept" : !tile.buffer<1x64xf16, shared>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, fragment, #rows>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, fragment, #columns>
    tile.copy %A[%c0, %c0] [1, 64] to %kept[%c0, %c0] [1, 64] : memref<64x64xf16> to !tile.buffer<1x64xf16, shared>
    tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<64x64xf16> to !tile.buffer<64x64xf16, fragment, #rows>
    // CHECK: tile.convert {{.*}} {choice = #tile.choice<scratch, "through shared memory in 4 pieces of 2048 bytes, as much as is left, {{[0-9]+}} clocks: other warps", {space = [4, 2, 8, 4, 2, 4, 2]}>}
    tile.convert %a, %b scratch %scratch : !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>> {choice = #tile.choice<scratch, "through shared memory, 100 clocks: other warps">} : !tile.buffer<64x64xf16, fragment, #rows>, !tile.buffer<64x64xf16, fragment, #columns>
    tile.copy %b[%c0, %c0] [64, 64] to %C[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment, #columns> to memref<64x64xf16>
    tile.copy %kept[%c0, %c0] [1, 64] to %C[%c0, %c0] [1, 64] : !tile.buffer<1x64xf16, shared> to memref<64x64xf16>
  }
  return
}
}
