// Passes that bring a traced kernel to normal form, prove facts about it, choose instructions and assign layouts.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES

include "mlir/Pass/PassBase.td"

def TileSelectInstructions : Pass<"tile-select-instructions"> {
  let summary = "choose the instruction of every copy, gemm, reduction and loop";
  let description = [{
    Sets `choice`, with the reason why a path was taken or why a faster one was
    not. The arguments of a `mma_sync` gemm are `instruction = [m, n, k]` and
    `warps = [along M, along N, replicas]`; of a `cp_async` copy `bytes`; of
    other copies `bytes`, the width of one access.

    ```mlir
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 -> f32 on sm_80",
        {instruction = [16, 8, 16], warps = [2, 2, 1]}>} : ...
    ```
  }];
}

def TileAssignLayouts : Pass<"tile-assign-layouts"> {
  let summary = "give every buffer and every parallel loop its layout";
  let description = [{
    In this order: layouts that the user pinned, layouts that instructions
    dictate, layouts propagated through copies, loops and reductions, and free
    choices. What does not agree afterwards is converted. After this pass

    * the type of every shared and fragment allocation has a layout; fragment
      layouts have as many threads as the kernel;
    * every `tile.parallel` has a layout, and finds each fragment element that
      it reads or writes in the registers of the thread that runs the iteration
      (`layout::projectedAccess` holds);
    * operands in registers of a `mma_sync` gemm have the layout of the
      instruction, the accumulator that of `layout::mmaAccumulator`; operands
      of an `fma` gemm are in shared memory, its accumulator in a fragment;
    * the destination of a `tile.reduce` is a fragment with the layout of
      its source without the reduced dimension;
    * a `tile.copy` between two fragments copies whole fragments whose
      layouts are the same map; between a fragment and memory it runs over the
      registers of the fragment, predicated where the region is smaller;
    * `tile.convert` moves data between fragments that differ in layout only.

    ```mlir
    %c = tile.alloc "C_local" : !tile.buffer<16x8xf32, fragment>
    // becomes
    %c = tile.alloc "C_local" : !tile.buffer<16x8xf32, fragment, #tile.fragment_layout<[16, 8],
        threads = [(4, 1, 2), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8)]>>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES
