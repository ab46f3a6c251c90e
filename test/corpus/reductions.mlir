// Reductions and transposes through shared memory in a serial loop, with scratch memory and reuse.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @reductions(%A: memref<?x8xf32>, %S: memref<?xf32>, %M: memref<?xf32>, %T: memref<?x8xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "reductions" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<8x8xf32, shared>
    %t = tile.alloc "T_shared" : !tile.buffer<8x8xf32, shared>
    %x = tile.alloc "scratch" : !tile.buffer<64xf32, shared>
    %f = tile.alloc "A_local" : !tile.buffer<8x8xf32, fragment>
    %s = tile.alloc "sums" : !tile.buffer<8xf32, fragment>
    %m = tile.alloc "maxima" : !tile.buffer<8xf32, fragment>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %o = arith.muli %k, %c8 : i32
      tile.copy %A[%o, %c0] [8, 8] to %a[%c0, %c0] [8, 8] {choice = #tile.choice<cp_async, "test">} : memref<?x8xf32> to !tile.buffer<8x8xf32, shared>
      tile.copy %a[%c0, %c0] [8, 8] to %f[%c0, %c0] [8, 8] : !tile.buffer<8x8xf32, shared> to !tile.buffer<8x8xf32, fragment>
      tile.reduce sum %f, %s scratch %x : !tile.buffer<64xf32, shared> {dim = 1 : i64, clear} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
      tile.reduce max %f, %m scratch %x : !tile.buffer<64xf32, shared> {dim = 0 : i64, clear} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
      tile.copy %s[%c0] [8] to %S[%o] [8] : !tile.buffer<8xf32, fragment> to memref<?xf32>
      tile.copy %m[%c0] [8] to %M[%o] [8] : !tile.buffer<8xf32, fragment> to memref<?xf32>
      tile.parallel [8, 8] {
      ^bb0(%i: i32, %j: i32):
        %v = tile.load %f[%i, %j] : !tile.buffer<8x8xf32, fragment> -> f32
        tile.store %v, %t[%j, %i] : f32, !tile.buffer<8x8xf32, shared>
      }
      tile.copy %t[%c0, %c0] [8, 8] to %T[%o, %c0] [8, 8] : !tile.buffer<8x8xf32, shared> to memref<?x8xf32>
    }
  }
  return
}
}
