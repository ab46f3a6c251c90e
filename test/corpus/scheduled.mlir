// A schedule of the user: one iteration ahead in three slots, the loads issued behind the first gemm.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @scheduled(%A: memref<?x8xf16>, %B: memref<?x8xf16>, %C: memref<8x8xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "scheduled" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8x8xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<8x8xf16, shared>
    %acc = tile.alloc "acc" : !tile.buffer<8x8xf32, fragment>
    tile.fill %acc, %zero : !tile.buffer<8x8xf32, fragment>, f32
    tile.pipelined %c0 to %n stages(3) attributes {stage = array<i64: 0, 0, 1, 1>, order = array<i64: 0, 2, 1, 3>} {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c8 : i32
      tile.copy %A[%o, %c0] [8, 8] to %a[%c0, %c0] [8, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x8xf16> to !tile.buffer<8x8xf16, shared>
      tile.copy %B[%o, %c0] [8, 8] to %b[%c0, %c0] [8, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x8xf16> to !tile.buffer<8x8xf16, shared>
      tile.gemm %a, %a, %acc : !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf32, fragment>
      tile.gemm %a, %b, %acc {transpose_b} : !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf16, shared>, !tile.buffer<8x8xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [8, 8] to %C[%c0, %c0] [8, 8] : !tile.buffer<8x8xf32, fragment> to memref<8x8xf32>
  }
  return
}
}
