// The pass rejects nothing: what it has no expansion for stays as it is, and is left to libm.
// RUN: tile-opt %s -tile-expand-math | filecheck %s

// CHECK-LABEL: func.func @other_types
// CHECK: math.exp2 %{{.*}} : f64
// CHECK: math.tanh %{{.*}} : f64
func.func @other_types(%x: f64) -> f64 {
  %0 = math.exp2 %x : f64
  %1 = math.tanh %0 : f64
  return %1 : f64
}

// CHECK-LABEL: func.func @other_functions
// CHECK: math.sin %{{.*}} : f32
// CHECK: math.erf %{{.*}} : f32
func.func @other_functions(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  %1 = math.erf %0 : f32
  return %1 : f32
}
