// What the pass leaves is refused where GPU code is made.
// RUN: tile-opt %s -pass-pipeline="builtin.module(tile-gpu-expand-double-math,gpu.module(tile-gpu-to-nvvm))" -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  llvm.func @k(%x: f64) -> f64 {
    // expected-error @+1 {{has no implementation for 'f64' on this target; use f32}}
    %y = math.atan %x : f64
    llvm.return %y : f64
  }
}
}
