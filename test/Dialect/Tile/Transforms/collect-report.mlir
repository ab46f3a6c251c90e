// What explain() shows: kernels with their memory, and every choice with its place.
// RUN: tile-opt %s -tile-collect-report | FileCheck %s

// CHECK: module attributes {tile.report = [
// CHECK-SAME: {buffers = [{bytes = 512 : i64, dtype = "f32", name = "A_shared", offset = 0 : i64, shape = [2, 64], slots = 2 : i64}],
// CHECK-SAME: column = 3 : i64, file = "user.py", fragments = [{dtype = "f32", elements_per_thread = 2 : i64, name = "acc", shape = [64]}],
// CHECK-SAME: kernel = "k", line = 10 : i64, location = "user.py:10", op = "kernel", shared_bytes = 512 : i64, shared_limit = 166912 : i64, target = "sm_80", threads = 32 : i64}
// CHECK-SAME: {arguments = {slots = 1 : i64}, column = 5 : i64, file = "user.py", kernel = "k", line = 12 : i64, location = "user.py:12", op = "pipelined", operands = [], path = "serial", reason = "num_stages = 0"}
// The two copies are one operation of the user.
// CHECK-SAME: {arguments = {bytes = 16 : i64}, column = 7 : i64, file = "user.py", kernel = "k", line = 13 : i64, location = "user.py:13", op = "copy_async", operands = ["A", "A_shared"], path = "cp_async", reason = "aligned"}
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
