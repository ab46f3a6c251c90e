// Who may hand out tiles from a counter.
// RUN: tile-opt %s -tile-insert-mbarriers -split-input-file -verify-diagnostics

func.func @user(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
      // expected-error @+1 {{tiles from a counter need roles that the compiler has made}}
      %s = tile.share_tile %counter from %f : memref<1xi32>
    }
  }
  return
}

// -----

func.func @threads(%counter: memref<1xi32>, %tiles: i32, %workers: i32) {
  tile.kernel "k" grid(%workers) threads(128) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4>] {
      %f = tile.fetch_tile %counter after %bx of %tiles by %workers : memref<1xi32>
      // expected-error @+1 {{tiles are fetched by a producer of one thread}}
      %s = tile.share_tile %counter from %f : memref<1xi32>
    }
  }
  return
}

// -----

func.func @nothing(%counter: memref<1xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{needs the number that was fetched, or the slot of the one to take over}}
    %s = tile.share_tile %counter : memref<1xi32>
  }
  return
}

// -----

func.func @buffer(%counter: memref<1xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %b = tile.alloc "b" : !tile.buffer<2xf32, shared>
    // expected-error @+1 {{passes numbers through a buffer of i32}}
    %s = tile.share_tile %counter through %b : !tile.buffer<2xf32, shared> slot %n : memref<1xi32>
  }
  return
}
