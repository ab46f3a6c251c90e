// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file -verify-diagnostics

#rows = #tile.fragment_layout<[16], threads = [(4, -1, 0), (8, 0, 1)], registers = [(2, 0, 8)]>

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @beyond_the_warp(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %l = tile.alloc "l" : !tile.buffer<16xf32, fragment, #rows>
    // expected-error @+1 {{combines lanes at a distance of 32}}
    tile.convert %l, %l {choice = #tile.choice<shuffle, "", {distances = array<i64: 32>, kind = #tile<reduce_kind sum>}>} : !tile.buffer<16xf32, fragment, #rows>, !tile.buffer<16xf32, fragment, #rows>
  }
  return
}
}

// -----

#tile = #tile.fragment_layout<[16, 128], threads = [(64, 1, 2)], registers = [(2, 1, 1), (16, 0, 1)]>
#rows = #tile.fragment_layout<[16], threads = [(64, -1, 0)], registers = [(16, 0, 1)]>

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @across_warps(%n: i32) {
  tile.kernel "k" grid(%n) threads(64) {
  ^bb0(%bx: i32):
    %p = tile.alloc "p" : !tile.buffer<16x128xf32, fragment, #tile>
    %l = tile.alloc "l" : !tile.buffer<16xf32, fragment, #rows>
    // expected-error @+1 {{leaves lanes apart, but crosses warps}}
    tile.reduce sum %p, %l {choice = #tile.choice<registers, "", {partial}>, dim = 1 : i64} : !tile.buffer<16x128xf32, fragment, #tile>, !tile.buffer<16xf32, fragment, #rows>
  }
  return
}
}

// -----

#rows = #tile.fragment_layout<[16], threads = [(4, -1, 0), (8, 0, 1)], registers = [(2, 0, 8)]>
#other = #tile.fragment_layout<[16], threads = [(4, -1, 0), (8, 0, 2)], registers = [(2, 0, 1)]>

module attributes {tile.target = #tile.target<"sm_90a">} {
func.func @another_layout(%n: i32) {
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: i32):
    %l = tile.alloc "l" : !tile.buffer<16xf32, fragment, #rows>
    %m = tile.alloc "m" : !tile.buffer<16xf32, fragment, #other>
    // expected-error @+1 {{combines lanes of a fragment into one with another layout}}
    tile.convert %l, %m {choice = #tile.choice<shuffle, "", {distances = array<i64: 1>, kind = #tile<reduce_kind sum>}>} : !tile.buffer<16xf32, fragment, #rows>, !tile.buffer<16xf32, fragment, #other>
  }
  return
}
}
