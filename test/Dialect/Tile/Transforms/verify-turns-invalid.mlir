// RUN: tile-opt %s -tile-verify-sync -split-input-file -verify-diagnostics

#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @twice(%n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      tile.pass_turn {begins, groups = 2, id = 8}
      tile.take_turn {groups = 2, id = 8}
      // expected-error @below {{cannot be done here: the warp group has the turn}}
      tile.take_turn {groups = 2, id = 8}
    }
  }
  return
}

// -----

#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @unbalanced(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      tile.pass_turn {begins, groups = 2, id = 8}
      // expected-error @below {{turns are not balanced: the warp group does not have the turn in front of it, and behind it the warp group has the turn}}
      scf.for %i = %c0 to %n step %c1 : i32 {
        tile.take_turn {groups = 2, id = 8}
      }
      tile.take_turn {ends, groups = 2, id = 8}
    }
  }
  return
}

// -----

#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @branches(%p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      tile.pass_turn {begins, groups = 2, id = 8}
      tile.take_turn {groups = 2, id = 8}
      // expected-error @below {{turns differ between the branches: the warp group does not have the turn, or the warp group has the turn}}
      scf.if %p {
        tile.pass_turn {groups = 2, id = 8}
      }
    }
  }
  return
}

// -----

// Who has the turn must not wait: the slot may depend on those who wait for it.
#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @waits(%p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      tile.pass_turn {begins, groups = 2, id = 8}
      tile.take_turn {groups = 2, id = 8}
      // expected-error @below {{may wait for a warp group that waits for the turn}}
      tile.sync_threads
      tile.pass_turn {groups = 2, id = 8}
      tile.take_turn {ends, groups = 2, id = 8}
    }
  }
  return
}

// -----

#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @open(%p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      // expected-error @below {{turns begin here, but do not end}}
      tile.pass_turn {begins, groups = 2, id = 8}
    }
  }
  return
}

// -----

#consumer = #tile.role<consumer, first = 0, warps = 8>
func.func @others(%p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      // expected-note @below {{begun here}}
      tile.pass_turn {begins, groups = 2, id = 8}
      // expected-error @below {{uses other barriers than the turns that have begun}}
      tile.take_turn {groups = 3, id = 8}
    }
  }
  return
}

// -----

func.func @outside() {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    // expected-error @below {{only warp groups of a role take turns}}
    tile.take_turn {groups = 2, id = 8}
  }
  return
}

// -----

func.func @barriers() {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    // expected-error @below {{needs the named barriers 12 to 16, there are 1 to 15}}
    tile.take_turn {groups = 5, id = 12}
  }
  return
}
