// Warp groups that take turns: a correct order of taking and passing is
// accepted, whatever surrounds it.
// RUN: tile-opt %s -tile-verify-sync 2>&1 | filecheck %s

// CHECK-NOT: {{error|warning}}:

#consumer = #tile.role<consumer, first = 0, warps = 8>

// CHECK-LABEL: func.func @turns
// CHECK: tile.pass_turn {begins, groups = 2 : i64, id = 8 : i64}
// CHECK: tile.take_turn {groups = 2 : i64, id = 8 : i64}
// CHECK: tile.pass_turn {groups = 2 : i64, id = 8 : i64}
// CHECK: tile.take_turn {ends, groups = 2 : i64, id = 8 : i64}
func.func @turns(%n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    tile.warp_specialize [#consumer] {
      tile.pass_turn {begins, groups = 2, id = 8}
      scf.for %i = %c0 to %n step %c1 : i32 {
        tile.take_turn {groups = 2, id = 8}
        tile.pass_turn {groups = 2, id = 8}
      }
      scf.if %p {
        tile.take_turn {groups = 2, id = 8}
        tile.pass_turn {groups = 2, id = 8}
      }
      tile.take_turn {ends, groups = 2, id = 8}
    }
  }
  return
}
