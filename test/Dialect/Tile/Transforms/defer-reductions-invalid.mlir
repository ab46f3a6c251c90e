// Deferring refuses nothing: reductions without layouts stay. What has no place for a result is refused in front of it.
// RUN: tile-opt %s -tile-defer-reductions -split-input-file -verify-diagnostics

func.func @reduce(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %p = tile.alloc "p" : !tile.buffer<32x32xf32, fragment>
    %l = tile.alloc "l" : !tile.buffer<16xf32, fragment>
    // expected-error @+1 {{expected [32] or [32, 1]}}
    tile.reduce sum %p, %l {dim = 1 : i64} : !tile.buffer<32x32xf32, fragment>, !tile.buffer<16xf32, fragment>
  }
  return
}
