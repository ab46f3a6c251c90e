// Elementary functions of f32 become arithmetic; f64 and the other functions stay.
// RUN: tile-opt --tile-expand-math %s | FileCheck %s

// CHECK-LABEL: func.func @functions
// CHECK-NOT: math.{{exp|log|tanh}}{{.*}} f32
// CHECK-COUNT-7: llvm.intr.fmuladd
// CHECK: arith.divf
// CHECK: math.sin %{{.*}} : f32
// CHECK: math.exp %{{.*}} : f64
func.func @functions(%x: f32, %v: vector<8xf32>, %d: f64) -> (f32, vector<8xf32>, f32, f64) {
  %a = math.exp2 %x : f32
  %b = math.tanh %v : vector<8xf32>
  %c = math.sin %a : f32
  %e = math.exp %d : f64
  return %a, %b, %c, %e : f32, vector<8xf32>, f32, f64
}
