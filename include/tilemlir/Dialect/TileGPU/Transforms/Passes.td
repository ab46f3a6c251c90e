//===- Passes.td - passes from `tile_gpu` to `tile_gpu` -----*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileGPUPromoteFragments : Pass<"tile-gpu-promote-fragments", "::mlir::ModuleOp"> {
  let summary = "fragments become SSA vectors";
  let description = [{
    Replaces `read_fragment` by the vector that was written last. A fragment
    that is written inside of `scf.for`, `scf.if` or `scf.while` becomes an
    additional iteration argument or result. Registers read before they were
    written are zero. Control flow other than `scf` is refused: nothing ever
    falls back to memory.

    ```mlir
    // before
    scf.for %i = %a to %b step %c : i32 {
      %v = tile_gpu.read_fragment %acc : !tile.buffer<16x8xf32, fragment, #l> -> vector<4xf32>
      %w = arith.addf %v, %v : vector<4xf32>
      tile_gpu.write_fragment %w, %acc : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #l>
    }
    // after
    %r = scf.for %i = %a to %b step %c iter_args(%v = %zero) -> (vector<4xf32>) : i32 {
      %w = arith.addf %v, %v : vector<4xf32>
      scf.yield %w : vector<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
