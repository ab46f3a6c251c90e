// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file -verify-diagnostics

#row = #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @other_work(%n: i32, %f: f32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %s = tile.alloc "s" : !tile.buffer<64xf32, fragment, #row>
    // expected-error @+1 {{is marked by tile-skip-unit-factors, but does not only scale fragments}}
    tile.parallel [64] attributes {choice = #tile.choice<simt, "", {multiplications = 2 : i64}>, layout = #row} {
    ^bb0(%i: i32):
      %x = tile.load %s[%i] : !tile.buffer<64xf32, fragment, #row> -> f32
      %y = arith.addf %x, %f : f32
      tile.store %y, %s[%i] : f32, !tile.buffer<64xf32, fragment, #row>
    }
  }
  return
}
}

// -----

#row = #tile.fragment_layout<[64], threads = [(16, 0, 1)], registers = [(4, 0, 16)]>

module attributes {tile.target = #tile.target<"sm_80">} {
func.func @half_a_warp(%n: i32, %f: f32) {
  tile.kernel "k" grid(%n) threads(16) {
  ^bb0(%bx: i32):
    %s = tile.alloc "s" : !tile.buffer<64xf32, fragment, #row>
    // expected-error @+1 {{is marked by tile-skip-unit-factors in a kernel without whole warps}}
    tile.parallel [64] attributes {choice = #tile.choice<simt, "", {multiplications = 4 : i64}>, layout = #row} {
    ^bb0(%i: i32):
      %x = tile.load %s[%i] : !tile.buffer<64xf32, fragment, #row> -> f32
      %y = arith.mulf %x, %f : f32
      tile.store %y, %s[%i] : f32, !tile.buffer<64xf32, fragment, #row>
    }
  }
  return
}
}
