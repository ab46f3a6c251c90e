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

// -----

module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  llvm.func @no_mbarrier(%b: i32) {
    // expected-error @+1 {{needs sm_90, the target is sm_80}}
    tile_gpu.mbarrier_arrive %b
    llvm.return
  }
}
}

// -----

module attributes {tile.target = #tile.target<"sm_90">} {
gpu.module @kernels {
  llvm.func @no_registers() {
    // expected-error @+1 {{needs sm_90a or later, the target is sm_90}}
    tile_gpu.set_max_registers increase 240
    llvm.return
  }
}
}

// -----

module attributes {tile.target = #tile.target<"sm_100a">} {
gpu.module @kernels {
  llvm.func @no_wgmma() {
    // expected-error @+1 {{exists on sm_90a only, the target is sm_100a}}
    tile_gpu.wgmma_commit
    llvm.return
  }
}
}
