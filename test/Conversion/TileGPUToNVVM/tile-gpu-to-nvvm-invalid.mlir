// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  llvm.func @double(%x: f64, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf64>
    // expected-error @+1 {{has no implementation for 'f64' on this target; use f32}}
    %y = math.exp %x : f64
    tile_gpu.global_store %y, %tb[%o] : f64, memref<?xf64>
    llvm.return
  }
}
}
