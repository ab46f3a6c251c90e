// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @nowhere(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
    // expected-error @+1 {{has no memory for the number; run tile-insert-mbarriers}}
    %s = tile.share_tile %counter from %f : memref<1xi32>
    tile.print "tile"(%s : i32)
  }
  return
}
}
