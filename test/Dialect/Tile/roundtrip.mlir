// Every operation, type and attribute of the dialect survives printing and parsing, in text and as bytecode.
// RUN: tile-opt %s | tile-opt | filecheck %s
// RUN: tile-opt %s --emit-bytecode | tile-opt | filecheck %s

// CHECK: module attributes {tile.options = #tile.options<{alignment = 16 : i64, fast_math = true}>, tile.target = #tile.target<"sm_90a", ptx = 86>}
module attributes {tile.target = #tile.target<"sm_90a", ptx = 86>,
                   tile.options = #tile.options<{alignment = 16 : i64, fast_math = true}>} {

// CHECK-LABEL: func.func @host
// CHECK-SAME: tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], alignment = 16>
// CHECK-SAME: tile.argument = #tile.argument<"S", tensor, shape = [#tile.expr<ceildiv(dim(0, 1), 128)>], strides = [#tile.expr<stride(1, 0)>], alignment = 4>
// CHECK-SAME: tile.argument = #tile.argument<"n", scalar>
// CHECK-SAME: tile.outputs = array<i64: 1>
func.func @host(
    %a: memref<?x64xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], alignment = 16>},
    %s: memref<?xf32, strided<[?]>> {tile.argument = #tile.argument<"S", tensor, shape = [#tile.expr<ceildiv(dim(0, 1), 128)>], strides = [#tile.expr<stride(1, 0)>], alignment = 4>},
    %n: i32 {tile.argument = #tile.argument<"n", scalar>}) attributes {tile.outputs = array<i64: 1>} {
  // CHECK: tile.sm_count : i32
  %sms = tile.sm_count : i32
  // CHECK: tile.workspace(%{{.*}}) {name = "partial", zero} : memref<?x64xf32>
  %w = tile.workspace(%n) {zero, name = "partial"} : memref<?x64xf32>
  // CHECK: tile.kernel "first" grid(%{{.*}}, %{{.*}}) threads(256) attributes {cluster = array<i64: 2, 1>, min_blocks_per_sm = 1 : i64, raster = #tile.raster<8, column>, thread_shape = array<i64: 32, 8>} {
  // CHECK-NEXT: ^bb0(%bx: i32, %by: i32):
  tile.kernel "first" grid(%n, %sms) threads(256) attributes {thread_shape = array<i64: 32, 8>, cluster = array<i64: 2, 1>, raster = #tile.raster<8, column>, min_blocks_per_sm = 1 : i64} {
  ^bb0(%bx: i32, %by: i32):
    // CHECK: tile.thread_id 1 : i32
    %t = tile.thread_id 1 : i32
  }
  return
}

// CHECK-LABEL: func.func @storage
func.func @storage(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // CHECK: %A_shared = tile.alloc "A_shared" : <3x128x64xf16, shared>
    %a = tile.alloc "A_shared" : !tile.buffer<3x128x64xf16, shared>
    // CHECK: tile.alloc : <f32, local>
    %v = tile.alloc : !tile.buffer<f32, local>
    // CHECK: tile.alloc : <16x8xf32, fragment, #tile.fragment_layout<[16, 8], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8)]>>
    %f = tile.alloc : !tile.buffer<16x8xf32, fragment, #tile.fragment_layout<[16, 8], threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8)]>>
    // CHECK: tile.alloc : <16x8xf32, fragment, #tile.fragment_layout<[16, 8], threads = [(8, 0, 2), (4, -1, 0)], registers = [(2, 0, 1), (8, 1, 1)]>>
    %r = tile.alloc : !tile.buffer<16x8xf32, fragment, #tile.fragment_layout<[16, 8], threads = [(8, 0, 2), (4, -1, 0)], registers = [(2, 0, 1), (8, 1, 1)]>>
    // CHECK: tile.alloc : <32x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    %s = tile.alloc : !tile.buffer<32x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    // CHECK: tile.alloc : <3x32x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
    %p = tile.alloc : !tile.buffer<3x32x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
    // CHECK: tile.alloc : <64x32xf32, tmem>
    %m = tile.alloc : !tile.buffer<64x32xf32, tmem>
    // CHECK: tile.alloc : <64xui8, shared>
    %u = tile.alloc : !tile.buffer<64xui8, shared>
    // CHECK: tile.annotate_layout %A_shared : <3x128x64xf16, shared>, #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
    tile.annotate_layout %a : !tile.buffer<3x128x64xf16, shared>, #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
    // CHECK: tile.subview %A_shared[%bx, %{{.*}}, %{{.*}}] [1, 128, 64] : <3x128x64xf16, shared> to <128x64xf16, shared>
    %view = tile.subview %a[%bx, %c0, %c0] [1, 128, 64] : !tile.buffer<3x128x64xf16, shared> to !tile.buffer<128x64xf16, shared>
    // CHECK: tile.reshape %{{.*}} : <128x64xf16, shared> to <8192xf16, shared>
    %flat = tile.reshape %view : !tile.buffer<128x64xf16, shared> to !tile.buffer<8192xf16, shared>
    // CHECK: tile.bitcast %{{.*}} : <64xui8, shared> to <32xi16, shared>
    %cast = tile.bitcast %u : !tile.buffer<64xui8, shared> to !tile.buffer<32xi16, shared>
  }
  return
}

// CHECK-LABEL: func.func @tile_operations
func.func @tile_operations(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n, %n, %n) threads(128) {
  // CHECK: ^bb0(%bx: i32, %by: i32, %bz: i32):
  ^bb0(%bx: i32, %by: i32, %bz: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "a" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<64x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %d = tile.alloc "d" : !tile.buffer<64x64xf32, fragment>
    %m = tile.alloc "m" : !tile.buffer<64xf32, fragment>
    %x = tile.alloc "x" : !tile.buffer<4x64xf32, shared>
    // CHECK: tile.copy %{{.*}}[%bx, %by] [64, 32] to %a[%{{.*}}, %{{.*}}] [64, 32] {bounds = #tile<bounds predicated>, choice = #tile.choice<cp_async, "why", {bytes = 16 : i64}>, coalesced_width = 8 : i64, disable_tma, eviction_policy = #tile<eviction_policy evict_first>, prefer = #tile<path cp_async>, safe = 0xFC00 : f16} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
    tile.copy %A[%bx, %by] [64, 32] to %a[%c0, %c0] [64, 32] {safe = 0xFC00 : f16, bounds = #tile<bounds predicated>, choice = #tile.choice<cp_async, "why", {bytes = 16 : i64}>, disable_tma, eviction_policy = #tile<eviction_policy evict_first>, prefer = #tile<path cp_async>, coalesced_width = 8 : i64} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
    // CHECK: tile.copy_async %{{.*}}[%bx, %by] [64, 32] to %b[%{{.*}}, %{{.*}}] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
    tile.copy_async %A[%bx, %by] [64, 32] to %b[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
    // CHECK: tile.async_commit
    tile.async_commit
    // CHECK: tile.async_wait {pending = 0 : i64}
    tile.async_wait {pending = 0 : i64}
    // CHECK: tile.fill %c, %{{.*}} : <64x64xf32, fragment>, f32
    tile.fill %c, %zero : !tile.buffer<64x64xf32, fragment>, f32
    // CHECK: tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "why", {instruction = [16, 8, 16], warps = [2, 2, 1]}>, clear_accum, policy = #tile<warp_policy full_row>, transpose_b} : <64x32xf16, shared>, <64x32xf16, shared>, <64x64xf32, fragment>
    tile.gemm %a, %b, %c {transpose_b, clear_accum, policy = #tile<warp_policy full_row>, choice = #tile.choice<mma_sync, "why", {instruction = [16, 8, 16], warps = [2, 2, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<64x32xf16, shared>, !tile.buffer<64x64xf32, fragment>
    // CHECK: tile.reduce {{ *}}max %c, %m {clear, dim = 1 : i64, nan_propagate} : <64x64xf32, fragment>, <64xf32, fragment>
    tile.reduce max %c, %m {dim = 1 : i64, clear, nan_propagate} : !tile.buffer<64x64xf32, fragment>, !tile.buffer<64xf32, fragment>
    // CHECK: tile.reduce {{ *}}sum %c, %m scratch %x : !tile.buffer<4x64xf32, shared> {choice = #tile.choice<scratch, "why">, dim = 1 : i64} : <64x64xf32, fragment>, <64xf32, fragment>
    tile.reduce sum %c, %m scratch %x : !tile.buffer<4x64xf32, shared> {dim = 1 : i64, choice = #tile.choice<scratch, "why">} : !tile.buffer<64x64xf32, fragment>, !tile.buffer<64xf32, fragment>
    // CHECK: tile.convert %c, %d {choice = #tile.choice<registers, "why">} : <64x64xf32, fragment>, <64x64xf32, fragment>
    tile.convert %c, %d {choice = #tile.choice<registers, "why">} : !tile.buffer<64x64xf32, fragment>, !tile.buffer<64x64xf32, fragment>
    // CHECK: tile.sync_threads
    tile.sync_threads
    // CHECK: tile.sync_threads {count = 64 : i64, id = 1 : i64}
    tile.sync_threads {id = 1 : i64, count = 64 : i64}
  }
  return
}

// CHECK-LABEL: func.func @loops
func.func @loops(%A: memref<?x?xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = tile.alloc "s" : !tile.buffer<64xi32, shared>
    // CHECK: tile.pipelined %{{.*}} to %{{.*}} stages(3) attributes {order = array<i64: 0, 1>, stage = array<i64: 0, 2>} {
    // CHECK-NEXT: ^bb0(%k: i32):
    tile.pipelined %c0 to %n stages(3) attributes {stage = array<i64: 0, 2>, order = array<i64: 0, 1>} {
    ^bb0(%k: i32):
      // CHECK: tile.parallel [%{{.*}}, 64] attributes {coalesced_width = 4 : i64} {
      // CHECK-NEXT: ^bb0(%i: i32, %j: i32):
      tile.parallel [%n, 64] attributes {coalesced_width = 4 : i64} {
      ^bb0(%i: i32, %j: i32):
        // CHECK: tile.load %{{.*}}[%i, %j] {bounds = #tile<bounds full>, safe = 7 : i32} : memref<?x?xi32> -> i32
        %v = tile.load %A[%i, %j] {safe = 7 : i32, bounds = #tile<bounds full>} : memref<?x?xi32> -> i32
        // CHECK: tile.store %{{.*}}, %s[%j] : i32, !tile.buffer<64xi32, shared>
        tile.store %v, %s[%j] : i32, !tile.buffer<64xi32, shared>
        // CHECK: tile.atomic {{ *}}add %{{.*}}, %{{.*}}[%i, %j] : i32, memref<?x?xi32>
        tile.atomic add %v, %A[%i, %j] : i32, memref<?x?xi32>
        // CHECK: tile.atomic {{ *}}max %{{.*}}, %s[%j] {is_unsigned, memory_order = #tile<memory_order acq_rel>} : i32, !tile.buffer<64xi32, shared> -> i32
        %old = tile.atomic max %v, %s[%j] {is_unsigned, memory_order = #tile<memory_order acq_rel>} : i32, !tile.buffer<64xi32, shared> -> i32
      }
      // CHECK: tile.parallel [4] attributes {choice = #tile.choice<simt, "why">, layout = #tile.fragment_layout<[4], threads = [(4, 0, 1), (32, -1, 0)], registers = []>} {
      tile.parallel [4] attributes {layout = #tile.fragment_layout<[4], threads = [(4, 0, 1), (32, -1, 0)], registers = []>, choice = #tile.choice<simt, "why">} {
      ^bb0(%i: i32):
      }
    }
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 : i32 {
      // CHECK: tile.print "i = "(%{{.*}} : i32)
      tile.print "i = "(%i : i32)
    // CHECK: {tile.loop_hint = #tile.loop_hint<unroll, 4>}
    } {tile.loop_hint = #tile.loop_hint<unroll, 4>}
    // CHECK: tile.print "s" buffer %s : !tile.buffer<64xi32, shared>
    tile.print "s" buffer %s : !tile.buffer<64xi32, shared>
    %positive = arith.cmpi sgt, %n, %c0 : i32
    // CHECK: tile.assert %{{.*}}, "n must be positive"
    tile.assert %positive, "n must be positive"
    // CHECK: tile.assume %{{.*}}
    tile.assume %positive
  }
  return
}

// CHECK-LABEL: func.func @expressions
// CHECK-SAME: #tile.expr<add(mul(dim(0, 0), 2), sub(stride(0, 1), scalar(1)))>
// CHECK-SAME: #tile.expr<max(min(sm_count(), 7), mod(floordiv(symbol("M"), 4), 3))>
func.func @expressions(%A: memref<?x?xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<add(mul(dim(0, 0), 2), sub(stride(0, 1), scalar(1)))>, #tile.expr<max(min(sm_count(), 7), mod(floordiv(symbol("M"), 4), 3))>], strides = [], alignment = 0>}) {
  return
}
}
