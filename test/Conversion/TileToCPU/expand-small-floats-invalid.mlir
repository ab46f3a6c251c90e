// The pass rejects nothing: conversions between types that the host has stay as they are.
// RUN: tile-opt %s -tile-expand-small-floats | filecheck %s

// CHECK-LABEL: func.func @host_types
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @host_types(%x: f32) -> f32 {
  %0 = arith.extf %x : f32 to f64
  %1 = arith.truncf %0 : f64 to f32
  return %1 : f32
}
