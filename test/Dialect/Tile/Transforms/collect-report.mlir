// What explain() shows: kernels with their memory, roles, channels and work, and every choice with its place.
// RUN: tile-opt %s -split-input-file -tile-collect-report | FileCheck %s

// CHECK: module attributes {tile.report = [
// CHECK-SAME: {buffers = [{bytes = 512 : i64, dtype = "f32", name = "A_shared", offset = 0 : i64, shape = [2, 64], slots = 2 : i64}],
// CHECK-SAME: channels = [], column = 3 : i64, file = "user.py", fragments = [{dtype = "f32", elements_per_thread = 2 : i64, name = "acc", shape = [64]}],
// CHECK-SAME: grid = [#tile.expr<1>], kernel = "k", line = 10 : i64, location = "user.py:10", op = "kernel", program_threads = 32 : i64, roles = [], shared_bytes = 512 : i64, shared_limit = 166912 : i64, target = "sm_80", threads = 32 : i64,
// One execution moves 64 elements; it runs once per iteration, at a place that depends on the loop.
// CHECK-SAME: work = [{bytes = 256 : i64, column = 7 : i64, conditions = [], depends = ["i0"], element_bits = 32 : i64, exact = true, extents = [#tile.expr<symbol("M")>], kind = "tensor", line = 13 : i64, loops = [["i0", #tile.expr<0>, #tile.expr<scalar(1)>, #tile.expr<1>]], name = "A", op = "copy", reads},
// CHECK-SAME: {bytes = 256 : i64, column = 7 : i64, conditions = [], exact = true, kind = "shared", line = 13 : i64, loops = [["i0", #tile.expr<0>, #tile.expr<scalar(1)>, #tile.expr<1>]], name = "A_shared", op = "copy", writes},
// CHECK-SAME: {arguments = {slots = 1 : i64}, buffers = ["A_shared"], bytes_in_flight = 512 : i64, column = 5 : i64, file = "user.py", kernel = "k", line = 12 : i64, location = "user.py:12", op = "pipelined", operands = [], path = "serial", reason = "num_stages = 0"}
// The two copies are one operation of the user.
// CHECK-SAME: {arguments = {bytes = 16 : i64}, column = 7 : i64, file = "user.py", kernel = "k", line = 13 : i64, location = "user.py:13", op = "copy", operands = ["A", "A_shared"], path = "cp_async", reason = "aligned"}
// CHECK-NOT: user.py:13
// CHECK: tile.target
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @k(%A: memref<?xf32> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>], strides = [], alignment = 16>}, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(32) attributes {tile.shared_bytes = 512 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" {tile.shared_offset = 0 : i64, tile.slots = 2 : i64} : !tile.buffer<2x64xf32, shared>
    %f = tile.alloc "acc" : !tile.buffer<64xf32, fragment, #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy_async %A[%k] [64] to %a[%c0, %c0] [1, 64] {choice = #tile.choice<cp_async, "aligned", {bytes = 16 : i64}>} : memref<?xf32> to !tile.buffer<2x64xf32, shared> loc(#copy)
      tile.copy_async %A[%n] [64] to %a[%one, %c0] [1, 64] {choice = #tile.choice<cp_async, "aligned", {bytes = 16 : i64}>} : memref<?xf32> to !tile.buffer<2x64xf32, shared> loc(#copy)
    } {tile.loop_choice = #tile.choice<serial, "num_stages = 0", {slots = 1 : i64}>} loc("user.py":12:5)
  } loc("user.py":10:3)
  return
}
}
#copy = loc(fused["user.py":13:7])

// -----

// Roles with what they do, barriers with who uses them; a condition with an expression is listed, one without makes the
// count inexact, and the parts of a pipeline in front of its loop belong to the loop.
// CHECK: channels = [{arrivals = [1], arrive = ["producer"], barriers = 2 : i64, bytes = 4096 : i64, name = "full", wait = ["consumer"]},
// CHECK-SAME: {arrivals = [4], arrive = ["consumer"], barriers = 2 : i64, bytes = 0 : i64, name = "empty", wait = ["producer"]}]
// CHECK-SAME: grid = [#tile.expr<ceildiv(symbol("M"), 64)>, #tile.expr<2>]
// CHECK-SAME: program_threads = 128 : i64,
// CHECK-SAME: roles = [{first_warp = 0 : i64, operations = [{{{.*}}op = "copy", operands = ["A", "a"], path = "tma"}], registers = 24 : i64, role = "producer", single_thread = true, threads = 128 : i64, warps = 4 : i64},
// CHECK-SAME: {first_warp = 4 : i64, operations = [{{{.*}}op = "gemm", operands = ["a", "b", "c"], path = "wgmma_ss"}], registers = 240 : i64, role = "consumer", single_thread = false, threads = 128 : i64, warps = 4 : i64}]
// CHECK-SAME: threads = 256 : i64,
// CHECK-SAME: work = [{bytes = 4096 : i64, {{.*}}conditions = [#tile.expr<{{.*}}symbol("i0"){{.*}}>], depends = ["block.x", "i0"], element_bits = 16 : i64, exact = true, extents = [#tile.expr<symbol("M")>, #tile.expr<512>], kind = "tensor", {{.*}}loops = [["i0", #tile.expr<0>, #tile.expr<16>, #tile.expr<1>]], name = "A", op = "copy", reads},
// CHECK-SAME: conditions = [], exact = false, flops = 262144 : i64, kind = "product", {{.*}}loops = [["i1", #tile.expr<0>, #tile.expr<16>, #tile.expr<1>]], op = "gemm", path = "wgmma_ss", shape = [64, 64, 32], types = ["f16", "f16", "f32"]},
// A: two instructions of 32 columns read it; B: one of 64 rows does.
// CHECK-SAME: {bytes = 8192 : i64, {{.*}}conditions = [], exact = false, kind = "shared", {{.*}}name = "a", op = "gemm", reads},
// CHECK-SAME: {bytes = 4096 : i64, {{.*}}conditions = [], exact = false, kind = "shared", {{.*}}name = "b", op = "gemm", reads},
// CHECK-SAME: conditions = [], exact = true, flops = 192 : i64, kind = "arithmetic", {{.*}}loops = [], op = "exp2", special = 64 : i64}
// CHECK-NOT: gemm_async
// CHECK: tile.target
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @ring(%A: memref<?x512xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<512>], strides = [], alignment = 16>}, %n: i32, %data: i1) {
  %zero = arith.constant 0 : index
  %dim = memref.dim %A, %zero : memref<?x512xf16>
  %m = arith.index_cast %dim : index to i32
  %c64 = arith.constant 64 : i32
  %c2 = arith.constant 2 : i32
  %x = arith.ceildivsi %m, %c64 : i32
  tile.kernel "ring" grid(%x, %c2) threads(128) {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %a = tile.alloc "a" {tile.slots = 2 : i64} : !tile.buffer<2x64x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %row = tile.alloc "row" : !tile.buffer<64xf32, fragment>
    %flag = tile.alloc "flag" : !tile.buffer<i1, local>
    %full = tile.alloc "full" : !tile.buffer<2x!tile.barrier, shared>
    %empty = tile.alloc "empty" : !tile.buffer<2x!tile.barrier, shared>
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.barrier_init %empty {arrivals = 4 : i64} : !tile.buffer<2x!tile.barrier, shared>
    tile.sync_threads
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>, #tile.role<consumer, first = 4, warps = 4, registers = 240>] {
      scf.for %k = %c0 to %c16 step %c1 : i32 {
        %y = arith.muli %bx, %c64 : i32
        %o = arith.muli %k, %c32 : i32
        %slot = tile.subview %a[%c0, %c0, %c0] [1, 64, 32] : !tile.buffer<2x64x32xf16, shared> to !tile.buffer<64x32xf16, shared>
        tile.barrier_wait %empty[%c0], %c1 : !tile.buffer<2x!tile.barrier, shared>
        tile.barrier_arrive %full[%c0] single {expect = 4096 : i64} : !tile.buffer<2x!tile.barrier, shared>
        %odd = arith.cmpi ne, %k, %c1 : i32
        scf.if %odd {
          tile.copy_async %A[%y, %o] [64, 32] to %slot[%c0, %c0] [64, 32] barrier %full[%c0] : !tile.buffer<2x!tile.barrier, shared> {choice = #tile.choice<tma, "TMA load">} : memref<?x512xf16> to !tile.buffer<64x32xf16, shared>
        }
      }
    }, {
      scf.for %k = %c0 to %c16 step %c1 : i32 {
        %slot = tile.subview %a[%c0, %c0, %c0] [1, 64, 32] : !tile.buffer<2x64x32xf16, shared> to !tile.buffer<64x32xf16, shared>
        tile.barrier_wait %full[%c0], %c1 : !tile.buffer<2x!tile.barrier, shared>
        %held = tile.load %flag[] : !tile.buffer<i1, local> -> i1
        scf.if %held {
          tile.gemm_async %slot, %b, %c {choice = #tile.choice<wgmma_ss, "wgmma", {instruction = [64, 32, 16], warpgroups = [1, 1]}>} : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
        }
        tile.barrier_arrive %empty[%c0] warp : !tile.buffer<2x!tile.barrier, shared>
      }
      tile.parallel [64] {
      ^bb0(%i: i32):
        %v = tile.load %row[%i] : !tile.buffer<64xf32, fragment> -> f32
        %e = math.exp2 %v : f32
        %f = math.fma %e, %v, %v : f32
        %g = arith.mulf %f, %e : f32
        tile.store %g, %row[%i] : f32, !tile.buffer<64xf32, fragment>
      }
    }
  }
  return
}
}

// -----

// A place that a variable holds may be any place of around.
// CHECK: depends = ["block.x", "block.y", "i0"]
// CHECK-SAME: op = "copy", writes}
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @held(%A: memref<64xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "held" grid(%c1, %c1) threads(32) {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %place = tile.alloc "place" : !tile.buffer<1xi32, local>
    %s = tile.alloc "s" : !tile.buffer<8xf32, shared>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %at = tile.load %place[%c0] : !tile.buffer<1xi32, local> -> i32
      tile.copy %s[%c0] [8] to %A[%at] [8] : !tile.buffer<8xf32, shared> to memref<64xf32>
    }
  }
  return
}
}

// -----

// Rings inside of rings: each loop keeps its own buffers in flight, whichever it uses.
// CHECK: buffers = ["q"], bytes_in_flight = 8192 : i64
// CHECK: buffers = ["k"], bytes_in_flight = 16384 : i64
module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @ring_of_a_tile(%n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "ring_of_a_tile" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %q = tile.alloc "q" {tile.slots = 1 : i64} : !tile.buffer<1x64x64xf16, shared>
    %k = tile.alloc "k" {tile.slots = 2 : i64} : !tile.buffer<2x64x64xf16, shared>
    %tiles = tile.alloc "ring" {tile.ring = 1 : i64} : !tile.buffer<2xi32, local>
    %steps = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    scf.for %once = %c0 to %c1 step %c1 : i32 {
      %tile = tile.load %tiles[%c0] : !tile.buffer<2xi32, local> -> i32
      scf.for %i = %c0 to %n step %c1 : i32 {
        %step = tile.load %steps[%c0] : !tile.buffer<2xi32, local> -> i32
        %before = arith.xori %step, %c1 : i32
        %own = tile.subview %k[%before, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf16, shared> to !tile.buffer<64x64xf16, shared>
        %outer = tile.subview %q[%tile, %c0, %c0] [1, 64, 64] : !tile.buffer<1x64x64xf16, shared> to !tile.buffer<64x64xf16, shared>
        %u = tile.load %own[%c0, %c0] : !tile.buffer<64x64xf16, shared> -> f16
        %v = tile.load %outer[%c0, %c0] : !tile.buffer<64x64xf16, shared> -> f16
        tile.print "both"(%u, %v : f16, f16)
      } {tile.loop_choice = #tile.choice<tma, "inner", {slots = 2 : i64}>, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    } {tile.loop_choice = #tile.choice<tma, "outer", {slots = 1 : i64}>, tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
  }
  return
}
}
