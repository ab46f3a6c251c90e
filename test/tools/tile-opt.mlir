// The driver reads a pipe, knows upstream passes, and reports errors through its exit code.
// RUN: cat %s | tile-opt --canonicalize | filecheck %s
// RUN: not tile-opt --no-such-pass %s 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK-LABEL: func.func @folds
// CHECK-NEXT: %[[C:.*]] = arith.constant 5 : i32
// CHECK-NEXT: return %[[C]] : i32
func.func @folds() -> i32 {
  %a = arith.constant 2 : i32
  %b = arith.constant 3 : i32
  %sum = arith.addi %a, %b : i32
  return %sum : i32
}

// UNKNOWN: Unknown command line argument '--no-such-pass'
