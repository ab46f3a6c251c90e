// The tile of the last iteration is used behind the loop; without iterations that is what was there before.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @last_tile(%A: memref<?xf32>, %C: memref<8xf32>, %D: memref<8xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "last_tile" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %seven = arith.constant 7.0 : f32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8xf32, shared>
    %acc = tile.alloc "acc" : !tile.buffer<8xf32, fragment>
    tile.fill %a, %seven : !tile.buffer<8xf32, shared>, f32
    tile.fill %acc, %zero : !tile.buffer<8xf32, fragment>, f32
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c8 : i32
      tile.copy %A[%o] [8] to %a[%c0] [8] {choice = #tile.choice<cp_async, "test">} : memref<?xf32> to !tile.buffer<8xf32, shared>
      tile.parallel [8] {
      ^bb0(%i: i32):
        %x = tile.load %a[%i] : !tile.buffer<8xf32, shared> -> f32
        %y = tile.load %acc[%i] : !tile.buffer<8xf32, fragment> -> f32
        %z = arith.addf %x, %y : f32
        tile.store %z, %acc[%i] : f32, !tile.buffer<8xf32, fragment>
      }
    }
    tile.copy %a[%c0] [8] to %C[%c0] [8] : !tile.buffer<8xf32, shared> to memref<8xf32>
    tile.copy %acc[%c0] [8] to %D[%c0] [8] : !tile.buffer<8xf32, fragment> to memref<8xf32>
  }
  return
}
}
