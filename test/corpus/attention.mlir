// Online softmax over key tiles: the loads of keys and values are at different places of the iteration.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @attention(%Q: memref<?x4xf16>, %K: memref<?x4xf16>, %V: memref<?x4xf16>, %O: memref<?x4xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "attention" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %low = arith.constant -1.0e30 : f32
    %q = tile.alloc "Q_shared" : !tile.buffer<8x4xf16, shared>
    %ks = tile.alloc "K_shared" : !tile.buffer<8x4xf16, shared>
    %vs = tile.alloc "V_shared" : !tile.buffer<8x4xf16, shared>
    %s = tile.alloc "scores" : !tile.buffer<8x8xf32, fragment>
    %p = tile.alloc "probs" : !tile.buffer<8x8xf16, fragment>
    %acc = tile.alloc "acc" : !tile.buffer<8x4xf32, fragment>
    %max = tile.alloc "row_max" : !tile.buffer<8xf32, fragment>
    %old = tile.alloc "prev_max" : !tile.buffer<8xf32, fragment>
    %sum = tile.alloc "row_sum" : !tile.buffer<8xf32, fragment>
    tile.copy %Q[%c0, %c0] [8, 4] to %q[%c0, %c0] [8, 4] {choice = #tile.choice<cp_async, "test">} : memref<?x4xf16> to !tile.buffer<8x4xf16, shared>
    tile.fill %acc, %zero : !tile.buffer<8x4xf32, fragment>, f32
    tile.fill %sum, %zero : !tile.buffer<8xf32, fragment>, f32
    tile.fill %max, %low : !tile.buffer<8xf32, fragment>, f32
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c8 : i32
      tile.copy %K[%o, %c0] [8, 4] to %ks[%c0, %c0] [8, 4] {choice = #tile.choice<cp_async, "test">} : memref<?x4xf16> to !tile.buffer<8x4xf16, shared>
      tile.gemm %q, %ks, %s {transpose_b, clear_accum} : !tile.buffer<8x4xf16, shared>, !tile.buffer<8x4xf16, shared>, !tile.buffer<8x8xf32, fragment>
      tile.copy %max[%c0] [8] to %old[%c0] [8] : !tile.buffer<8xf32, fragment> to !tile.buffer<8xf32, fragment>
      tile.reduce max %s, %max {dim = 1 : i64} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
      tile.parallel [8, 8] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %s[%i, %j] : !tile.buffer<8x8xf32, fragment> -> f32
        %m = tile.load %max[%i] : !tile.buffer<8xf32, fragment> -> f32
        %d = arith.subf %x, %m : f32
        %e = math.exp2 %d : f32
        %h = arith.truncf %e : f32 to f16
        tile.store %h, %p[%i, %j] : f16, !tile.buffer<8x8xf16, fragment>
      }
      tile.parallel [8, 4] {
      ^bb0(%i: i32, %j: i32):
        %x = tile.load %acc[%i, %j] : !tile.buffer<8x4xf32, fragment> -> f32
        %a = tile.load %old[%i] : !tile.buffer<8xf32, fragment> -> f32
        %b = tile.load %max[%i] : !tile.buffer<8xf32, fragment> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %r = arith.mulf %x, %e : f32
        tile.store %r, %acc[%i, %j] : f32, !tile.buffer<8x4xf32, fragment>
      }
      tile.parallel [8] {
      ^bb0(%i: i32):
        %x = tile.load %sum[%i] : !tile.buffer<8xf32, fragment> -> f32
        %a = tile.load %old[%i] : !tile.buffer<8xf32, fragment> -> f32
        %b = tile.load %max[%i] : !tile.buffer<8xf32, fragment> -> f32
        %d = arith.subf %a, %b : f32
        %e = math.exp2 %d : f32
        %r = arith.mulf %x, %e : f32
        tile.store %r, %sum[%i] : f32, !tile.buffer<8xf32, fragment>
      }
      tile.reduce sum %p, %sum {dim = 1 : i64} : !tile.buffer<8x8xf16, fragment>, !tile.buffer<8xf32, fragment>
      tile.copy %V[%o, %c0] [8, 4] to %vs[%c0, %c0] [8, 4] {choice = #tile.choice<cp_async, "test">} : memref<?x4xf16> to !tile.buffer<8x4xf16, shared>
      tile.gemm %p, %vs, %acc : !tile.buffer<8x8xf16, fragment>, !tile.buffer<8x4xf16, shared>, !tile.buffer<8x4xf32, fragment>
    }
    tile.parallel [8, 4] {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %acc[%i, %j] : !tile.buffer<8x4xf32, fragment> -> f32
      %b = tile.load %sum[%i] : !tile.buffer<8xf32, fragment> -> f32
      %r = arith.divf %x, %b : f32
      tile.store %r, %O[%i, %j] : f32, memref<?x4xf32>
    }
  }
  return
}
}
