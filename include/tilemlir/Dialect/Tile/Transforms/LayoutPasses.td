// Passes that bring a traced kernel to normal form, prove facts about it, choose instructions and assign layouts.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES

include "mlir/Pass/PassBase.td"

def TileCanonicalizeKernel : Pass<"tile-canonicalize-kernel"> {
  let summary = "bring traced kernels to normal form";
  let description = [{
    After this pass

    * every allocation stands at the top of its kernel, so that it dominates
      all uses, and buffers that nothing reads are gone together with the
      operations that only fill them;
    * `tile.annotate_layout` is consumed: the layout stands in the type of the
      allocation, and fragment layouts have as many threads as the kernel;
      annotating one buffer with two different layouts is an error;
    * constants are folded, and `tile.parallel` has static extents. A dynamic
      extent becomes a static one with a guard around the body: the extent of
      the fragment that the dimension indexes, or chunks inside of an
      `scf.for`; a loop with an extent of zero disappears;
    * `scf.for` loops whose induction variable selects elements of a fragment
      are unrolled when their trip count is constant;
    * views made inside of a `tile.parallel` are gone: element accesses through
      them are accesses to what is viewed, at explicit indices, and a change of
      the element type stands in front of the loop.

    ```mlir
    tile.annotate_layout %a : !tile.buffer<128x64xf16, shared>, #layout
    tile.parallel [%n] {
    ^bb0(%i: i32):
      ...
    }
    // becomes
    %a = tile.alloc "A" : !tile.buffer<128x64xf16, shared, #layout>
    scf.for %c = %c0 to %n step %c256 : i32 {
      tile.parallel [256] {
      ^bb0(%j: i32):
        %i = arith.addi %c, %j : i32
        %inside = arith.cmpi slt, %i, %n : i32
        scf.if %inside { ... }
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileMapBlocks : Pass<"tile-map-blocks"> {
  let summary = "turn the raster order of blocks into arithmetic on block indices";
  let description = [{
    Consumes the `raster` attribute of `tile.kernel`: uses of the first two
    block indices see the renumbered block. Every block is visited exactly
    once, also when the panel size does not divide the grid.

    A grid is made of whole clusters. Extents that are not known to be a
    multiple of the cluster's are rounded up; the blocks that this adds run the
    program with indices beyond the grid, and have no effect: what prints,
    asserts, or writes tensors at places that may exist is done under a
    condition, and so are iterations of loops that wait for what such an
    operation gives, and accesses to buffers at places that are computed from
    these indices and may be beyond the end. With a raster, whole
    clusters are renumbered, and the blocks of one stay neighbours.

    ```mlir
    tile.kernel "k" grid(%gx, %gy) threads(128) attributes {raster = #tile.raster<8, row>} {
    ^bb0(%bx: i32, %by: i32):
      use(%bx, %by)
    // becomes
    tile.kernel "k" grid(%gx, %gy) threads(128) {
    ^bb0(%bx: i32, %by: i32):
      %linear = %by * %gx + %bx
      ...
      use(%column, %row)
    ```

    ```mlir
    tile.kernel "k" grid(%gx) threads(128) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
      tile.copy %acc[...] to %C[...] : ...
    // becomes
    tile.kernel "k" grid(%rounded) threads(128) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
      %exists = arith.cmpi slt, %bx, %gx : i32
      scf.if %exists {
        tile.copy %acc[...] to %C[...] : ...
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileRaiseLoops : Pass<"tile-raise-loops"> {
  let summary = "recognise element loops that are copies or fills";
  let description = [{
    A `tile.parallel` whose body is one load and one store of a rectangular
    region becomes `tile.copy`; a store of a loop-invariant value to a whole
    buffer becomes `tile.fill`. Copies can then use wide or asynchronous
    instructions.

    ```mlir
    tile.parallel [32, 128] {
    ^bb0(%k: i32, %j: i32):
      %row = arith.addi %k0, %k : i32
      %column = arith.addi %n0, %j : i32
      %v = tile.load %B[%row, %column] : memref<?x?xf16> -> f16
      tile.store %v, %b[%k, %j] : f16, !tile.buffer<32x128xf16, shared>
    }
    // becomes
    tile.copy %B[%k0, %n0] [32, 128] to %b[%c0, %c0] [32, 128] : memref<?x?xf16> to !tile.buffer<32x128xf16, shared>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileAnalyzeBounds : Pass<"tile-analyze-bounds"> {
  let summary = "mark accesses to tensors as proven inside or predicated";
  let description = [{
    Sets `bounds` on every copy, load, store and atomic that touches a global
    tensor: `full` when all its elements are proven to lie inside, else
    `predicated`. The proof uses static shapes, grid extents, loop bounds,
    guards around the access, and `tile.assume`.

    ```mlir
    // grid(8, 8): by < 8, A is memref<1024x1024xf16>
    tile.copy %A[%y, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {bounds = #tile<bounds full>} : ...
    ```
  }];
}

def TileVerifyUniformity : Pass<"tile-verify-uniformity"> {
  let summary = "reject collective operations under divergent control flow";
  let description = [{
    Tile operations act once per block, so all threads have to reach them, with
    the same operands. Operations with a `local` operand are done by each thread
    for itself, and may differ, unless they write a fragment, which exists once
    per block; the same holds for stores of scalar code. An error names the
    operation and the condition, loop bound or offset that may differ between
    threads. Thread ids, results of atomics, indices of parallel loops, and
    `local` buffers that were given divergent values may differ; loads from
    tensors, shared memory and fragments at uniform indices do not. The IR is not
    changed.

    ```mlir
    %t = tile.thread_id 0 : i32
    // note: the condition may differ between threads
    %first = arith.cmpi eq, %t, %c0 : i32
    scf.if %first {
      // error: copy acts once per block and has to be reached by all of its threads
      tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<64xf32> to !tile.buffer<64xf32, shared>
    }
    ```
  }];
}

def TilePeelMasks : Pass<"tile-peel-masks"> {
  let summary = "run tiles without their mask where no element is masked";
  let description = [{
    A `tile.parallel` in a loop that selects by comparisons of indices (causal
    and window masks, ragged last tiles, guards of dynamic extents) is doubled:
    under a condition on the loop variable that is the same for all threads,
    which says that the comparisons have one result for all elements of the
    tile, runs a copy without them. The loop around stays one loop, so that
    pipelines, rings and their phases are the same for both.

    A comparison is understood when its sides are sums of multiples of indices
    of the parallel loop (or of other values in the loop with a known range)
    and of values that are the same for all threads; `and`, `or` and `not` of
    such comparisons, and signed as well as unsigned order. Peeled is what a
    select or an `scf.if` discards: a constant, or nothing. Where ranges, guards
    around the loop or assumptions already decide a comparison, its result
    replaces it, and nothing is doubled.

    Loops that write shared memory, bodies of more than 32 operations, and
    masks that do not change in the loop around stay as they are.

    ```mlir
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.parallel [128, 64] {
      ^bb0(%i: i32, %j: i32):
        %row = arith.addi %first, %i : i32
        %column = arith.addi %k64, %j : i32
        %seen = arith.cmpi sge, %row, %column : i32
        %x = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
        %y = arith.select %seen, %x, %infinity : f32
        tile.store %y, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
      }
    ```
    becomes
    ```mlir
      %last = arith.addi %k64, %c63 : i32
      %all = arith.cmpi sge, %first, %last : i32
      scf.if %all {
        tile.parallel [128, 64] attributes {choice = #tile.choice<simt, "...">} {
        ^bb0(%i: i32, %j: i32):
          %x = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
          tile.store %x, %s[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
        }
      } else {
        tile.parallel [128, 64] attributes {choice = #tile.choice<simt, "...">} { ... as before ... }
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileSelectInstructions : Pass<"tile-select-instructions"> {
  let summary = "choose the instruction of every copy, gemm, reduction and loop";
  let description = [{
    Sets `choice`, with the reason why a path was taken or why a faster one was
    not. The arguments of a `mma_sync` gemm are `instruction = [m, n, k]` and
    `warps = [along M, along N, replicas]`; of a `tma` copy the extents of its
    `box`, fastest first; of a `cp_async` copy `bytes`; of other copies `bytes`,
    the width of one access. `tma` is a request that `tile-assign-layouts` may
    take back.

    ```mlir
    tile.gemm %a, %b, %c {choice = #tile.choice<mma_sync, "mma.sync.m16n8k16 f16 -> f32 on sm_80",
        {instruction = [16, 8, 16], warps = [2, 2, 1]}>} : ...
    ```
  }];
}

def TileStageStores : Pass<"tile-stage-stores"> {
  let summary = "store accumulators through shared memory and TMA";
  let description = [{
    A copy of an accumulator of tensor cores (or of a fragment that will share
    its layout) to a tensor becomes a copy to a compiler-owned shared buffer of
    the tensor's element type, and a copy by TMA from there, where TMA can do
    that and the buffer fits beside the others: whole, in memory of buffers that
    are not used any more if there is no loop around, or in chunks of 128 bytes
    of each row that alternate between two buffers. Otherwise the store stays,
    and its reason says why.

    ```mlir
    tile.copy %acc[%c0, %c0] [128, 128] to %C[%y, %x] [128, 128] : !tile.buffer<128x128xf32, fragment> to memref<?x?xf16>
    ```
    becomes
    ```mlir
    %s = tile.alloc "C_local.staging" : !tile.buffer<128x128xf16, shared>
    tile.copy %acc[%c0, %c0] [128, 128] to %s[%c0, %c0] [128, 128] : !tile.buffer<128x128xf32, fragment> to !tile.buffer<128x128xf16, shared>
    tile.copy %s[%c0, %c0] [128, 128] to %C[%y, %x] [128, 128] {choice = #tile.choice<tma, "...">}
      : !tile.buffer<128x128xf16, shared> to memref<?x?xf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
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

def TileOptimizeConversions : Pass<"tile-optimize-conversions"> {
  let summary = "remove, hoist and merge layout conversions and give them their form";
  let description = [{
    Every `tile.convert` and `tile.reduce` gets its cheapest form in `choice`
    (`registers`, `shuffle`, `scratch`), and the shared buffer that a `scratch`
    form needs as an operand. Conversions of values that do not change in a
    loop move in front of it; conversions that repeat an earlier one and
    conversions nobody reads are removed.

    ```mlir
    tile.convert %p, %q : ...
    // becomes
    %s = tile.alloc "convert_scratch" : !tile.buffer<64x64xf16, shared, #tile.shared_layout<...>>
    tile.convert %p, %q scratch %s : !tile.buffer<64x64xf16, shared, ...> {choice = #tile.choice<scratch, "...">} : ...
    ```
  }];
}

def TileSkipUnitFactors : Pass<"tile-skip-unit-factors"> {
  let summary = "skip multiplications by one where a whole warp agrees";
  let description = [{
    Gives a `tile.parallel` that does nothing but multiply elements of
    fragments by factors the choice `simt` with
    the argument `multiplications`: the threads of a warp vote whether
    one of their factors is not 1, and multiply only then. This is exact, also
    for infinities and NaN: x * 1 = x.

    It pays when a thread has at least 32 multiplications and 8 of them per
    factor, in a loop in which the factor changes and is one for many of its
    iterations. The last cannot be known; taken for such are factors for which the
    program chooses 1 in some case: selections one side of which is 1.

    ```mlir
    tile.parallel [128, 128] attributes {layout = ...} {
    ^bb0(%i: i32, %j: i32):
      %x = tile.load %acc[%i, %j] : !tile.buffer<128x128xf32, fragment, ...> -> f32
      %f = tile.load %rescale[%i] : !tile.buffer<128xf32, fragment, ...> -> f32
      %y = arith.mulf %x, %f : f32
      tile.store %y, %acc[%i, %j] : f32, !tile.buffer<128x128xf32, fragment, ...>
    }
    // becomes
    tile.parallel [128, 128] attributes {choice = #tile.choice<simt, "64 multiplications of a thread by 2 factors are skipped where all factors of a warp are 1", {multiplications = 64, factors = 2}>, layout = ...} {
      ... the same ...
    }
    ```
  }];
}

def TileDeferReductions : Pass<"tile-defer-reductions"> {
  let summary = "combine the lanes of a reduction behind the loop it is in";
  let description = [{
    A `tile.reduce` in a loop leaves its result in several lanes of a warp. Where
    the loop does nothing with that fragment but reduce into it, multiply its
    elements, and add them to those of others of the same kind (sums only), the
    lanes keep results of their own, and a `tile.convert` behind the loop combines
    them: with the choice `shuffle` and the arguments `kind` and `distances`, it
    exchanges lanes as the reduction would have in every iteration. The reduction
    gets the choice `registers` with the argument `partial`.

    Sums and exclusive ors have to begin with a `tile.fill` by zero in front of the
    loop, so that what the fragment held before does not count once for each lane,
    unless the loop does not read that.
    Results of fewer than 32 bits are rounded in every iteration and stay.

    ```mlir
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, ...>, f32
    tile.pipelined ... {
      tile.reduce sum %p, %l {choice = #tile.choice<shuffle, "...">, dim = 1 : i64} : ...
    }
    // becomes
    tile.fill %l, %zero : !tile.buffer<64xf32, fragment, ...>, f32
    tile.pipelined ... {
      tile.reduce sum %p, %l {choice = #tile.choice<registers, "lanes are combined behind the loop", {partial}>, dim = 1 : i64} : ...
    }
    tile.convert %l, %l {choice = #tile.choice<shuffle, "combines the lanes that reductions of the loop left apart",
        {distances = array<i64: 1, 2>, kind = #tile.reduce_kind<sum>}>} : ...
    ```
  }];
}

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_LAYOUTPASSES
