// C = A B with a pipelined K loop; no extent needs to divide a tile.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @gemm(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf16>, %n: i32) {
  %c2 = arith.constant 2 : i32
  tile.kernel "gemm" grid(%c2, %c2) threads(32) {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8x4xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<4x8xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<8x8xf32, fragment>
    %y = arith.muli %by, %c8 : i32
    %x = arith.muli %bx, %c8 : i32
    tile.fill %acc, %zero : !tile.buffer<8x8xf32, fragment>, f32
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c4 : i32
      tile.copy %A[%y, %o] [8, 4] to %a[%c0, %c0] [8, 4] {choice = #tile.choice<cp_async, "test">} : memref<?x?xf16> to !tile.buffer<8x4xf16, shared>
      tile.copy %B[%o, %x] [4, 8] to %b[%c0, %c0] [4, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
      tile.gemm %a, %b, %acc : !tile.buffer<8x4xf16, shared>, !tile.buffer<4x8xf16, shared>, !tile.buffer<8x8xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [8, 8] to %C[%y, %x] [8, 8] : !tile.buffer<8x8xf32, fragment> to memref<?x?xf16>
  }
  return
}
}
