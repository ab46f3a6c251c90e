// The target of a module: the one asked for, its own, or the default.
// RUN: tile-opt %s -tile-set-target=target=sm_90a -split-input-file | filecheck %s --check-prefix=GIVEN
// RUN: tile-opt %s -tile-set-target="target=sm_100a ptx=88" -split-input-file | filecheck %s --check-prefix=PTX
// RUN: tile-opt %s -tile-set-target -split-input-file | filecheck %s --check-prefix=KEPT

// GIVEN: module attributes {tile.target = #tile.target<"sm_90a">}
// PTX: module attributes {tile.target = #tile.target<"sm_100a", ptx = 88>}
// KEPT: module attributes {tile.target = #tile.target<"sm_80">}
module {
  func.func @without() {
    return
  }
}

// -----

// GIVEN: module attributes {tile.target = #tile.target<"sm_90a">}
// PTX: module attributes {tile.target = #tile.target<"sm_100a", ptx = 88>}
// KEPT: module attributes {tile.target = #tile.target<"sm_89">}
module attributes {tile.target = #tile.target<"sm_89">} {
  func.func @with() {
    return
  }
}
