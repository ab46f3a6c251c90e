// Operations of the `tile_gpu` dialect.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUOPS

include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.td"

def TileGPU_BarrierOp : Op<TileGPU_Dialect, "barrier"> {
  let summary = "waits for all threads of the block";
  let assemblyFormat = "attr-dict";
}

#endif
