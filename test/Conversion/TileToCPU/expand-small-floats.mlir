// Small floats are widened by integer code, computed in f32 and rounded once; none of their types is left.
// RUN: tile-opt --tile-expand-small-floats --split-input-file %s | FileCheck %s
// RUN: tile-opt --tile-expand-small-floats="native-f16=false" --split-input-file %s | FileCheck %s --check-prefix=SOFT

// CHECK-LABEL: func.func @add_bf16(
// CHECK-SAME: %[[A:.*]]: i16, %[[B:.*]]: i16) -> i16
// CHECK: %[[WIDE:.*]] = arith.extui %[[A]] : i16 to i32
// CHECK: arith.shli %[[WIDE]], %c16_i32
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.shrui
// CHECK: arith.trunci %{{.*}} : i32 to i16
// CHECK-NOT: bf16
func.func @add_bf16(%a: bf16, %b: bf16) -> bf16 {
  %c = arith.addf %a, %b : bf16
  return %c : bf16
}

// -----

// The host converts f16 itself, or it does not; a double is rounded once in both cases.
// CHECK-LABEL: func.func @halves
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: math.exp2 %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK-NOT: arith.truncf %{{.*}} : f64
// CHECK: arith.bitcast %{{.*}} : f64 to i64
// SOFT-LABEL: func.func @halves(%{{.*}}: i16, %{{.*}}: f64) -> (i16, i16)
// SOFT-NOT: f16
func.func @halves(%a: f16, %d: f64) -> (f16, f16) {
  %e = math.exp2 %a : f16
  %t = arith.truncf %d : f64 to f16
  return %e, %t : f16, f16
}

// -----

// The 8-bit formats saturate: 448 is pattern 0x7e, NaN is 0x7f.
// CHECK-LABEL: func.func @saturate
// CHECK: arith.minui %{{.*}}, %c126_i32
// CHECK: arith.select %{{.*}}, %c127_i32
// CHECK: return %{{.*}}, %{{.*}} : i8, vector<4xi8>
func.func @saturate(%a: f32, %b: vector<4xf32>) -> (f8E4M3FN, vector<4xf8E4M3FN>) {
  %t = arith.truncf %a : f32 to f8E4M3FN
  %u = arith.truncf %b : vector<4xf32> to vector<4xf8E4M3FN>
  return %t, %u : f8E4M3FN, vector<4xf8E4M3FN>
}

// -----

// Constants and selections become integers; conversions to integers saturate.
// CHECK-LABEL: func.func @select
// CHECK: arith.constant 16320 : i16
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i16
// CHECK: llvm.call_intrinsic "llvm.fptosi.sat"
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @select(%p: i1, %a: bf16, %f: f32) -> (bf16, i8) {
  %c = arith.constant 1.5 : bf16
  %s = arith.select %p, %a, %c : bf16
  %i = arith.fptosi %f : f32 to i8
  return %s, %i : bf16, i8
}
