// RUN: tile-opt %s --tile-emit-ptx -split-input-file -verify-diagnostics

module attributes {tile.target = #tile.target<"cpu">} {
  // expected-error @+1 {{cannot become PTX: the target is the CPU}}
  gpu.module @kernels {
    llvm.func @empty() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}
