// Which copies TMA does, in which boxes, and why it does not do the others.
// RUN: tile-opt %s -tile-select-instructions -split-input-file | filecheck %s

// Rows of two swizzle spans: one box of two panels. The last rows are clipped by hardware.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @load_and_store
// CHECK: tile.copy %{{.*}} #tile.choice<tma, "TMA load of 1 box of 2x64x64 elements, 128-byte swizzle", {box = [64, 64, 2]}>
// CHECK: tile.copy %{{.*}} #tile.choice<tma, "TMA store of 1 box of 2x64x64 elements, 128-byte swizzle", {box = [64, 64, 2]}>
func.func @load_and_store(%A: memref<?x128xf16>, %B: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x128xf16, shared>
    tile.copy %A[%bx, %c0] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x128xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %s[%c0, %c0] [64, 128] to %B[%bx, %c0] [64, 128] : !tile.buffer<64x128xf16, shared> to memref<?x128xf16>
  }
  return
}
}

// -----

// Boxes start at 16 bytes along the innermost dimension. A narrow row has a narrow swizzle or none.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @narrow_rows
// CHECK: "TMA load of 1 box of 64x32 elements, 32-byte swizzle"
// CHECK: "TMA load of 1 box of 64x64 elements, 64-byte swizzle"
// CHECK: "TMA load of 1 box of 64x48 elements"
// CHECK: "TMA load of 3 boxes of 64x144 elements; a box per panel: the extent of dimension 1 of <unnamed> is only known to be a multiple of 1024, panels have 144 elements"
// CHECK: #tile.choice<simt, "{{.*}}the start in dimension 1 of <unnamed> is only known to be a multiple of 1 bytes, TMA needs 16"
func.func @narrow_rows(%A: memref<?x1024xi8>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %x = arith.muli %bx, %c16 : i32
    %a = tile.alloc "a" : !tile.buffer<64x32xi8, shared>
    %b = tile.alloc "b" : !tile.buffer<64x64xi8, shared>
    %c = tile.alloc "c" : !tile.buffer<64x48xi8, shared>
    %d = tile.alloc "d" : !tile.buffer<64x432xi8, shared>
    tile.copy %A[%c0, %x] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x1024xi8> to !tile.buffer<64x32xi8, shared>
    tile.copy %A[%c0, %x] [64, 64] to %b[%c0, %c0] [64, 64] : memref<?x1024xi8> to !tile.buffer<64x64xi8, shared>
    tile.copy %A[%c0, %x] [64, 48] to %c[%c0, %c0] [64, 48] : memref<?x1024xi8> to !tile.buffer<64x48xi8, shared>
    tile.copy %A[%c0, %x] [64, 432] to %d[%c0, %c0] [64, 432] : memref<?x1024xi8> to !tile.buffer<64x432xi8, shared>
    tile.copy %A[%c0, %bx] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x1024xi8> to !tile.buffer<64x32xi8, shared>
  }
  return
}
}

// -----

// More rows than a box has, a vector, a slice of a 4-D tensor, five dimensions.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @shapes
// CHECK: "TMA load of 2 boxes of 192x32 elements, 128-byte swizzle", {box = [32, 192]}
// CHECK: "TMA load of 4 boxes of 256 elements; a box per panel: the extent of dimension 0 of <unnamed> is only known to be a multiple of 1, panels have 256 elements", {box = [256]}
// CHECK: "TMA load of 1 box of 1x1x128x64 elements, 128-byte swizzle", {box = [64, 128, 1, 1]}
// CHECK: "TMA load of 2 boxes of 2x2x2x2x64 elements, 128-byte swizzle; a box per panel: with the panels the map would have 6 dimensions, at most 5 are possible", {box = [64, 2, 2, 2, 2]}
func.func @shapes(%A: memref<?x64xf32>, %V: memref<?xf32>, %Q: memref<2x?x8x64xf16>, %T: memref<4x4x4x4x128xbf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %x = arith.muli %bx, %c4 : i32
    %a = tile.alloc "a" : !tile.buffer<384x32xf32, shared>
    %v = tile.alloc "v" : !tile.buffer<1024xf32, shared>
    %q = tile.alloc "q" : !tile.buffer<128x64xf16, shared>
    %t = tile.alloc "t" : !tile.buffer<2x2x2x2x128xbf16, shared>
    tile.copy %A[%bx, %c0] [384, 32] to %a[%c0, %c0] [384, 32] : memref<?x64xf32> to !tile.buffer<384x32xf32, shared>
    tile.copy %V[%x] [1024] to %v[%c0] [1024] : memref<?xf32> to !tile.buffer<1024xf32, shared>
    tile.copy %Q[%c0, %bx, %n, %c0] [1, 128, 1, 64] to %q[%c0, %c0] [128, 64] : memref<2x?x8x64xf16> to !tile.buffer<128x64xf16, shared>
    tile.copy %T[%c0, %c0, %c0, %c0, %c0] [2, 2, 2, 2, 128] to %t[%c0, %c0, %c0, %c0, %c0] [2, 2, 2, 2, 128] : memref<4x4x4x4x128xbf16> to !tile.buffer<2x2x2x2x128xbf16, shared>
  }
  return
}
}

// -----

// Pitches: static, promised, of strided tensors.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @pitches
// CHECK: #tile.choice<cp_async, "cp.async of 4 bytes on sm_90a; {{.*}}; the stride of dimension 0 of A is only known to be a multiple of 132 bytes, maps need 16"
// CHECK: #tile.choice<tma, "TMA load of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: #tile.choice<simt, "{{.*}}; the stride of dimension 0 of C is only known to be a multiple of 2 bytes, maps need 16"
// CHECK: #tile.choice<tma, "TMA load of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: #tile.choice<simt, "{{.*}}; dimension 1 of E, along which shared memory is filled, is not contiguous"
// CHECK: #tile.choice<cp_async, "{{.*}}; the base of F is only known to be aligned to 8 bytes, maps need 16"
func.func @pitches(%A: memref<?x66xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                   %B: memref<?x?xf16> {tile.argument = #tile.argument<"B", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                   %C: memref<?x?xf16, strided<[?, 1]>> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                   %D: memref<?x?xf16, strided<[?, 1]>> {tile.argument = #tile.argument<"D", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [#tile.expr<mul(symbol("p"), 8)>, #tile.expr<1>], alignment = 16>},
                   %E: memref<?x?xf16, strided<[?, ?]>> {tile.argument = #tile.argument<"E", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                   %F: memref<?x64xf16> {tile.argument = #tile.argument<"F", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 8>}, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x66xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %B[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x?xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %C[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x?xf16, strided<[?, 1]>> to !tile.buffer<64x64xf16, shared>
    tile.copy %D[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x?xf16, strided<[?, 1]>> to !tile.buffer<64x64xf16, shared>
    tile.copy %E[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x?xf16, strided<[?, ?]>> to !tile.buffer<64x64xf16, shared>
    tile.copy %F[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

// Requests and values that TMA cannot honour.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @requests
// CHECK: #tile.choice<cp_async, "cp.async of 16 bytes on sm_90a; TMA is disabled for this copy by disable_tma"
// CHECK: #tile.choice<simt, "loads and stores of 16 bytes: asked for by the user; simt is asked for by the user"
// CHECK: #tile.choice<simt, "loads and stores of 16 bytes: cp.async fills with zero, not with the safe value; TMA fills with zero, not with the safe value"
// CHECK: #tile.choice<simt, "loads and stores of 16 bytes: cp.async cannot convert f32 to f16; TMA cannot convert f32 to f16"
// CHECK: #tile.choice<simt, "per-thread accesses of 2 bytes: {{.*}}; dimension 0 of <unnamed>, along which shared memory is filled, is not contiguous"
func.func @requests(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %F: memref<?x64xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {disable_tma} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {prefer = #tile<path simt>} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {safe = 1.0 : f16} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %F[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf32> to !tile.buffer<64x64xf16, shared>
    %t = tile.alloc "t" : !tile.buffer<64xf16, shared>
    tile.copy %t[%c0] [64] to %B[%bx, %c0] [64, 1] : !tile.buffer<64xf16, shared> to memref<?x64xf16>
  }
  return
}
}

// -----

// TMA is not ordered with what threads do to the same tensor.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @other_accesses
// CHECK: tile.copy %{{.*}}; the kernel also writes arg0"
// CHECK: tile.copy %{{.*}}; the kernel also reads arg0"
// CHECK: tile.copy %{{.*}}"TMA store of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: tile.copy %{{.*}}"TMA store of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: tile.copy %{{.*}}; the kernel writes arg2 in several places"
// CHECK: tile.copy %{{.*}}; the kernel writes arg2 in several places"
func.func @other_accesses(%A: memref<?x64xf16> {tile.argument = #tile.argument<"arg0", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                          %B: memref<?x128xf16>,
                          %C: memref<?x128xf16> {tile.argument = #tile.argument<"arg2", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>}, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %s[%c0, %c0] [64, 64] to %A[%bx, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %B[%bx, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x128xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %B[%bx, %c64] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x128xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %C[%bx, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x128xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %C[%bx, %c32] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x128xf16>
  }
  return
}
}

// -----

// A store that begins in front of the tensor is an illegal instruction; a load finds zeros there.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @before_the_tensor
// CHECK: tile.copy %{{.*}}"TMA load of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: tile.copy %{{.*}}; a store must not begin in front of a tensor, and the start in dimension 0 of arg1 is not known to be at least 0 (T.assume says so)"
// CHECK: tile.copy %{{.*}}"TMA store of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: tile.copy %{{.*}}"TMA store of 1 box of 64x64 elements, 128-byte swizzle"
// CHECK: tile.copy %{{.*}}"TMA store of 1 box of 64x64 elements, 128-byte swizzle"
func.func @before_the_tensor(%A: memref<?x64xf16> {tile.argument = #tile.argument<"arg0", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<64>], strides = [], alignment = 16>},
                             %B: memref<?x64xf16> {tile.argument = #tile.argument<"arg1", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<64>], strides = [], alignment = 16>},
                             %C: memref<?x64xf16> {tile.argument = #tile.argument<"arg2", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<64>], strides = [], alignment = 16>},
                             %D: memref<?x64xf16> {tile.argument = #tile.argument<"arg3", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<64>], strides = [], alignment = 16>},
                             %E: memref<?x64xf16> {tile.argument = #tile.argument<"arg4", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<64>], strides = [], alignment = 16>},
                             %n: i32, %first: i32, %known: i32) {
  %index = arith.constant 0 : index
  %rows = memref.dim %A, %index : memref<?x64xf16>
  %extent = arith.index_cast %rows : index to i32
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %positive = arith.cmpi sge, %known, %c0 : i32
    tile.assume %positive
    %last = arith.maxsi %first, %c0 : i32
    // Nothing divides by 0, and a rest is not negative.
    %quotient = arith.floordivsi %bx, %extent : i32
    %whole = arith.muli %quotient, %extent : i32
    %rest = arith.subi %bx, %whole : i32
    %start = arith.addi %quotient, %rest : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%first, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    tile.copy %s[%c0, %c0] [64, 64] to %B[%first, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %C[%known, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %D[%last, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
    tile.copy %s[%c0, %c0] [64, 64] to %E[%start, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<?x64xf16>
  }
  return
}
}

// -----

// Options and targets.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_tma = true}>} {
// CHECK-LABEL: @disabled
// CHECK: #tile.choice<cp_async, "cp.async of 16 bytes on sm_90a; TMA is disabled by disable_tma"
func.func @disabled(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: @ampere
// CHECK: #tile.choice<cp_async, "cp.async of 16 bytes on sm_80", {bytes = 16 : i64}>
func.func @ampere(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

// The variant for tensors at any address, and the one for tensors that overlap.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{alignment = 0 : i64}>} {
// CHECK-LABEL: @unaligned
// CHECK: #tile.choice<simt, "{{.*}}; the base of <unnamed> is only known to be aligned to 2 bytes, maps need 16"
func.func @unaligned(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{noalias = false}>} {
// CHECK-LABEL: @overlapping
// CHECK: #tile.choice<cp_async, "{{.*}}; tensors may overlap in this variant, and TMA is not ordered with ordinary accesses"
func.func @overlapping(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<64x64xf16, shared>
    tile.copy %A[%bx, %c0] [64, 64] to %s[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
  }
  return
}
}

// -----

// One box for all panels: only where the rows of the tensor fall into whole panels, by a static extent, a declared or
// assumed one, and where the copy begins at a panel. What is assumed of one tensor holds for others of the same size.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: @panels
// CHECK: "TMA load of 1 box of 4x64x64 elements, 128-byte swizzle", {box = [64, 64, 4]}
// CHECK: "TMA load of 2 boxes of 64x64 elements, 128-byte swizzle; a box per panel: the extent of dimension 1 of B is only known to be a multiple of 200, panels have 64 elements"
// CHECK: "TMA load of 2 boxes of 64x64 elements, 128-byte swizzle; a box per panel: the extent of dimension 1 of C is only known to be a multiple of 8, panels have 64 elements"
// CHECK: "TMA load of 1 box of 2x64x64 elements, 128-byte swizzle"
// CHECK: "TMA load of 1 box of 2x64x64 elements, 128-byte swizzle"
// CHECK: "TMA load of 2 boxes of 64x64 elements, 128-byte swizzle; a box per panel: the start in dimension 1 of A is only known to be a multiple of 8, panels have 64 elements"
// Without a swizzle, panels have 16 bytes, which the pitch is promised to be a multiple of.
// CHECK: "TMA load of 1 box of 3x64x8 elements", {box = [8, 64, 3]}
func.func @panels(%A: memref<?x256xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<256>], strides = [], alignment = 16>},
                  %B: memref<?x200xf16> {tile.argument = #tile.argument<"B", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<200>], strides = [], alignment = 16>},
                  %C: memref<?x?xf16> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<symbol("n")>], strides = [], alignment = 16>},
                  %D: memref<?x?xf16> {tile.argument = #tile.argument<"D", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<mul(symbol("n"), 64)>], strides = [], alignment = 16>},
                  %E: memref<?x?xf16> {tile.argument = #tile.argument<"E", tensor, shape = [#tile.expr<symbol("k")>, #tile.expr<symbol("p")>], strides = [], alignment = 16>},
                  %F: memref<?x?xf16> {tile.argument = #tile.argument<"F", tensor, shape = [#tile.expr<symbol("p")>, #tile.expr<symbol("k")>], strides = [], alignment = 16>}, %n: i32) {
  %i0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %pd = memref.dim %F, %i0 : memref<?x?xf16>
  %p = arith.index_cast %pd : index to i32
  %rest = arith.remsi %p, %c64 : i32
  %divisible = arith.cmpi eq, %rest, %zero : i32
  tile.assume %divisible
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %x = arith.muli %bx, %c8 : i32
    %w = tile.alloc "w" : !tile.buffer<64x256xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<64x128xf16, shared>
    %t = tile.alloc "t" : !tile.buffer<64x24xf16, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 0>>
    tile.copy %A[%bx, %c0] [64, 256] to %w[%c0, %c0] [64, 256] : memref<?x256xf16> to !tile.buffer<64x256xf16, shared>
    tile.copy %B[%bx, %c0] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x200xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %C[%bx, %c0] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x?xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %D[%bx, %c0] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x?xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %E[%bx, %c0] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x?xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %A[%bx, %x] [64, 128] to %s[%c0, %c0] [64, 128] : memref<?x256xf16> to !tile.buffer<64x128xf16, shared>
    tile.copy %C[%bx, %c0] [64, 24] to %t[%c0, %c0] [64, 24] : memref<?x?xf16> to !tile.buffer<64x24xf16, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 0>>
  }
  return
}
}
