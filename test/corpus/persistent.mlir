// A loop over tiles around the pipelined K loop, and an epilogue through shared memory that shares memory with the operands.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @persistent(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf32>, %n: i32, %tiles: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "persistent" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8x4xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<4x8xf16, shared>
    %c = tile.alloc "C_shared" : !tile.buffer<8x8xf32, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<8x8xf32, fragment>
    scf.for %t = %c0 to %tiles step %c1 : i32 {
      %y = arith.muli %t, %c8 : i32
      tile.fill %acc, %zero : !tile.buffer<8x8xf32, fragment>, f32
      tile.pipelined %c0 to %n stages(3) {
      ^bb0(%k: i32):
        %o = arith.muli %k, %c4 : i32
        tile.copy %A[%y, %o] [8, 4] to %a[%c0, %c0] [8, 4] {choice = #tile.choice<cp_async, "test">} : memref<?x?xf16> to !tile.buffer<8x4xf16, shared>
        tile.copy %B[%o, %c0] [4, 8] to %b[%c0, %c0] [4, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
        tile.gemm %a, %b, %acc : !tile.buffer<8x4xf16, shared>, !tile.buffer<4x8xf16, shared>, !tile.buffer<8x8xf32, fragment>
      }
      tile.copy %acc[%c0, %c0] [8, 8] to %c[%c0, %c0] [8, 8] : !tile.buffer<8x8xf32, fragment> to !tile.buffer<8x8xf32, shared>
      tile.copy %c[%c0, %c0] [8, 8] to %C[%y, %c0] [8, 8] : !tile.buffer<8x8xf32, shared> to memref<?x?xf32>
    }
  }
  return
}
}
