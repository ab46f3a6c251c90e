// The place of the loads is a running sum of steps that are read from a tensor; the compute part sees its own sum.
module attributes {tile.target = #tile.target<"sm_80">} {
func.func @variables(%A: memref<?xf32>, %I: memref<?xi32>, %C: memref<?xf32>, %P: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "variables" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %p = tile.alloc "position" : !tile.buffer<i32, local>
    %a = tile.alloc "A_shared" : !tile.buffer<8xf32, shared>
    tile.store %c0, %p[] : i32, !tile.buffer<i32, local>
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %step = tile.load %I[%k] : memref<?xi32> -> i32
      %x = tile.load %p[] : !tile.buffer<i32, local> -> i32
      %y = arith.addi %x, %step : i32
      %positive = arith.cmpi sgt, %step, %c0 : i32
      scf.if %positive {
        tile.store %y, %p[] : i32, !tile.buffer<i32, local>
      }
      %z = tile.load %p[] : !tile.buffer<i32, local> -> i32
      tile.copy %A[%z] [8] to %a[%c0] [8] {choice = #tile.choice<cp_async, "test">} : memref<?xf32> to !tile.buffer<8xf32, shared>
      %o = arith.muli %k, %c8 : i32
      tile.copy %a[%c0] [8] to %C[%o] [8] : !tile.buffer<8xf32, shared> to memref<?xf32>
      %now = tile.load %p[] : !tile.buffer<i32, local> -> i32
      tile.store %now, %P[%k] : i32, memref<?xi32>
    }
  }
  return
}
}
