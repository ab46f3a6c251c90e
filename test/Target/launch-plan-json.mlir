// The launch plan of a function with dynamic sizes, a scalar, an output, a workspace and a persistent grid.
// RUN: tile-translate --tile-to-launch-plan %s | FileCheck %s

// CHECK: "arguments":[{"access":"read","alignment":16,"dtype":"f16","kind":"tensor","name":"A","shape":{{\[\[}}"symbol",0],64],"strided":false,"strides":[64,1]}
// CHECK-SAME: {"access":"read","alignment":0,"dtype":"u8","kind":"tensor","name":"arg1","shape":{{\[\[}}"dim",1,0],["symbol",0]],"strided":true,"strides":{{\[\[}}"stride",1,0],1]}
// CHECK-SAME: {"access":"readwrite","alignment":0,"dtype":"f32","kind":"tensor","name":"C","shape":{{\[\[}}"symbol",0],8]
// CHECK-SAME: {"dtype":"f32","kind":"scalar","name":"scale"}
// CHECK-SAME: "guards":[{"kind":"noalias","read":[0,1],"written":[2]}
// CHECK-SAME: {"kind":"expr_true","message":"an assumption of the kernel does not hold{{.*}}","value":["sub",1,["min",["max",["mod",["symbol",0],8]
// CHECK-SAME: "launches":[{"cluster":[1,1,1],"cooperative":false,"grid":{{\[\[}}"ceildiv",["symbol",0],16],["min",["sm_count"],8],1],"kernel":"scale_rows"
// CHECK-SAME: "parameters":[{"argument":0,"kind":"pointer"},{"argument":1,"kind":"pointer"},{"argument":2,"kind":"pointer"},{"index":0,"kind":"workspace"},{"index":1,"kind":"workspace"},{"dtype":"i64","kind":"expr","value":["symbol",0]},{"dtype":"i64","kind":"expr","value":["dim",1,0]},{"dtype":"i64","kind":"expr","value":["stride",1,0]},{"argument":3,"kind":"scalar"},{"dtype":"i32","kind":"expr","value":["ceildiv",["symbol",0],16]}]
// CHECK-SAME: "threads":128
// CHECK-SAME: "kernel":"scale_rows_1"
// CHECK-SAME: "outputs":[2]
// CHECK-SAME: "symbols":[{"name":"M","source":["dim",0,0]}]
// CHECK-SAME: "target":"cpu"
// CHECK-SAME: "workspaces":[{"bytes":["mul",["symbol",0],4],"zero":true},{"bytes":256,"kept":true,"zero":false}]
module attributes {tile.target = #tile.target<"cpu">} {
  func.func @scale(
      %A: memref<?x64xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], alignment = 16>},
      %B: memref<?x?xui8, strided<[?, 1]>> {tile.argument = #tile.argument<"arg1", tensor, shape = [#tile.expr<dim(1, 0)>, #tile.expr<symbol("M")>], strides = [#tile.expr<stride(1, 0)>, #tile.expr<1>], alignment = 0>},
      %C: memref<?x8xf32> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<8>], strides = [], alignment = 0>},
      %scale: f32 {tile.argument = #tile.argument<"scale", scalar>}) attributes {tile.outputs = array<i64: 2>} {
    %c0 = arith.constant 0 : index
    %dim = memref.dim %A, %c0 : memref<?x64xf16>
    %m = arith.index_cast %dim : index to i32
    %c16 = arith.constant 16 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0 : i32
    %blocks = arith.ceildivsi %m, %c16 : i32
    %sms = tile.sm_count : i32
    %persistent = arith.minsi %sms, %c8 : i32
    %rest = arith.remsi %m, %c8 : i32
    %divisible = arith.cmpi eq, %rest, %zero : i32
    tile.assume %divisible
    %w = tile.workspace(%m) {zero} : memref<?xf32>
    %counters = tile.workspace() {kept} : memref<64xi32>
    tile.kernel "scale rows" grid(%blocks, %persistent) threads(128) {
    ^bb0(%bx: i32, %by: i32):
      %last = arith.addi %bx, %blocks : i32
      %a = tile.load %A[%bx, %by] : memref<?x64xf16> -> f16
      %b = tile.load %B[%bx, %by] : memref<?x?xui8, strided<[?, 1]>> -> i8
      %c = tile.load %C[%bx, %by] : memref<?x8xf32> -> f32
      %s = arith.mulf %c, %scale : f32
      tile.store %s, %C[%last, %by] : f32, memref<?x8xf32>
      tile.store %s, %w[%bx] : f32, memref<?xf32>
      tile.store %by, %counters[%by] : i32, memref<64xi32>
    }
    tile.kernel "scale rows" grid(%blocks) threads(32) {
    ^bb0(%bx: i32):
    }
    return
  }
}
