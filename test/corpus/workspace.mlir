// Threads exchange data through a tensor: written by one operation of a block, read transposed by another.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @workspace(%A: memref<?x8xf32>, %W: memref<8x8xf32>, %C: memref<?x8xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "workspace" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %f = tile.alloc "A_local" : !tile.buffer<8x8xf32, fragment>
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c8 : i32
      tile.copy %A[%o, %c0] [8, 8] to %f[%c0, %c0] [8, 8] : memref<?x8xf32> to !tile.buffer<8x8xf32, fragment>
      tile.copy %f[%c0, %c0] [8, 8] to %W[%c0, %c0] [8, 8] : !tile.buffer<8x8xf32, fragment> to memref<8x8xf32>
      tile.parallel [8, 8] {
      ^bb0(%i: i32, %j: i32):
        %v = tile.load %W[%j, %i] : memref<8x8xf32> -> f32
        %r = arith.addi %o, %i : i32
        tile.store %v, %C[%r, %j] : f32, memref<?x8xf32>
      }
    }
  }
  return
}
}
