// Elementary functions of f64 become arithmetic whose rounding counts; f32 and native functions stay.
// RUN: tile-opt %s --tile-gpu-expand-double-math | filecheck %s
// RUN: tile-opt %s --tile-gpu-expand-double-math --canonicalize --cse | filecheck %s --check-prefix=LEFT

// LEFT-NOT: math.exp %{{.*}} : f64
// LEFT-NOT: math.log
// LEFT-NOT: math.sin %{{.*}} : f64
// LEFT-NOT: math.powf
// LEFT: math.atan %{{.*}} : f64

// CHECK-LABEL: func.func @exp
// CHECK: %[[N:.*]] = math.roundeven
// CHECK: math.fma %[[N]], %{{.*}}, %{{.*}} {tile_gpu.exact} : f64
// CHECK-COUNT-11: math.fma
// CHECK: arith.mulf %{{.*}}, %{{.*}} {tile_gpu.exact} : f64
// CHECK: return
func.func @exp(%x: f64) -> f64 {
  %y = math.exp %x : f64
  return %y : f64
}

// Large angles take a branch of their own.
// CHECK-LABEL: func.func @sin
// CHECK: scf.if %{{.*}} -> (f64, f64, i64)
// CHECK: arith.mului_extended
// CHECK: } else {
// CHECK: return
func.func @sin(%x: f64) -> f64 {
  %y = math.sin %x : f64
  return %y : f64
}

// CHECK-LABEL: func.func @others
// CHECK: math.sin %{{.*}} : f32
// CHECK: math.sqrt %{{.*}} : f64
// CHECK: math.atan %{{.*}} : f64
func.func @others(%x: f64, %n: i32, %s: f32) -> (f64, f64, f32) {
  %a = math.log2 %x : f64
  %b = math.powf %a, %x : f64
  %c = math.fpowi %b, %n : f64, i32
  %d = math.sin %s : f32
  %e = math.sqrt %c : f64
  %f = math.atan %e : f64
  return %f, %c, %d : f64, f64, f32
}
