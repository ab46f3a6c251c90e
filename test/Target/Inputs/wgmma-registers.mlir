// A traced f16 gemm of 1024 x 1024 x 1024 by wgmma with two warp groups, contiguous K and A in registers, without roles.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_tma = true, disable_warp_specialized = true}>} {
func.func @registers(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>, %C: memref<1024x1024xf32>) attributes {tile.outputs = array<i64: 2>} {
  %g = arith.constant 8 : i32
  tile.kernel "registers" grid(%g, %g) threads(256) {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %trips = arith.constant 16 : i32
    %c128 = arith.constant 128 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_local" : !tile.buffer<128x64xf16, fragment>
    %b = tile.alloc "B_shared" : !tile.buffer<128x64xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<128x128xf32, fragment>
    %y = arith.muli %by, %c128 : i32
    %x = arith.muli %bx, %c128 : i32
    tile.fill %acc, %zero : !tile.buffer<128x128xf32, fragment>, f32
    tile.pipelined %c0 to %trips stages(2) {
    ^bb0(%i: i32):
      %ko = arith.muli %i, %c64 : i32
      tile.copy %A[%y, %ko] [128, 64] to %a[%c0, %c0] [128, 64] : memref<1024x1024xf16> to !tile.buffer<128x64xf16, fragment>
      tile.copy %B[%x, %ko] [128, 64] to %b[%c0, %c0] [128, 64] : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
      tile.gemm %a, %b, %acc {transpose_b} : !tile.buffer<128x64xf16, fragment>, !tile.buffer<128x64xf16, shared>, !tile.buffer<128x128xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [128, 128] to %C[%y, %x] [128, 128] : !tile.buffer<128x128xf32, fragment> to memref<1024x1024xf32>
  }
  return
}
}
