// Raster orders that make no sense are refused.
// RUN: tile-opt %s -tile-map-blocks -split-input-file -verify-diagnostics

func.func @one_dimension(%n: i32) {
  // expected-error @+1 {{a raster order needs a grid of two dimensions, found one}}
  tile.kernel "k" grid(%n) threads(32) attributes {raster = #tile.raster<8, row>} {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @empty_panel(%n: i32) {
  // expected-error @+1 {{a raster panel has at least one line, found 0}}
  tile.kernel "k" grid(%n, %n) threads(32) attributes {raster = #tile.raster<0, row>} {
  ^bb0(%bx: i32, %by: i32):
  }
  return
}

// -----

func.func @cluster_beyond_the_grid(%n: i32) {
  // expected-error @+1 {{a cluster extends along axis y of a grid that has only 1 dimension}}
  tile.kernel "k" grid(%n) threads(32) attributes {cluster = array<i64: 1, 2>} {
  ^bb0(%bx: i32):
  }
  return
}
