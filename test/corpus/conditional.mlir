// Blocks are accumulated only where a flag, read from a tensor, is set.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @conditional(%A: memref<?x8xf16>, %F: memref<?xi32>, %C: memref<8x8xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "conditional" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8x8xf16, shared>
    %acc = tile.alloc "acc" : !tile.buffer<8x8xf32, fragment>
    tile.fill %acc, %zero : !tile.buffer<8x8xf32, fragment>, f32
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %flag = tile.load %F[%k] : memref<?xi32> -> i32
      %set = arith.cmpi ne, %flag, %c0 : i32
      scf.if %set {
        %o = arith.muli %k, %c8 : i32
        tile.copy %A[%o, %c0] [8, 8] to %a[%c0, %c0] [8, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x8xf16> to !tile.buffer<8x8xf16, shared>
        tile.gemm %a, %a, %acc {transpose_b} : !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf32, fragment>
      }
    }
    tile.copy %acc[%c0, %c0] [8, 8] to %C[%c0, %c0] [8, 8] : !tile.buffer<8x8xf32, fragment> to memref<8x8xf32>
  }
  return
}
}
