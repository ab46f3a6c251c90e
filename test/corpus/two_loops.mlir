// Two loops fill the same tile, with different numbers of stages; the second converts while loading.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @two_loops(%A: memref<?xf32>, %B: memref<?xf16>, %C: memref<8xf32>, %n: i32, %m: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "two_loops" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<8xf32, shared>
    %acc = tile.alloc "acc" : !tile.buffer<8xf32, fragment>
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
    tile.pipelined %c0 to %m stages(2) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c8 : i32
      tile.copy %B[%o] [8] to %a[%c0] [8] {choice = #tile.choice<simt, "converts">} : memref<?xf16> to !tile.buffer<8xf32, shared>
      tile.parallel [8] {
      ^bb0(%i: i32):
        %c7 = arith.constant 7 : i32
        %j = arith.subi %c7, %i : i32
        %x = tile.load %a[%j] : !tile.buffer<8xf32, shared> -> f32
        %y = tile.load %acc[%i] : !tile.buffer<8xf32, fragment> -> f32
        %z = arith.subf %y, %x : f32
        tile.store %z, %acc[%i] : f32, !tile.buffer<8xf32, fragment>
      }
    }
    tile.copy %acc[%c0] [8] to %C[%c0] [8] : !tile.buffer<8xf32, fragment> to memref<8xf32>
  }
  return
}
}
