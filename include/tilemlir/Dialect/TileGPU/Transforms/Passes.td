//===- Passes.td - passes from `tile_gpu` to `tile_gpu` -----*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileGPUPromoteFragments : Pass<"tile-gpu-promote-fragments", "::mlir::ModuleOp"> {
  let summary = "fragments become SSA vectors";
  let description = [{
    Replaces `read_fragment` by the vector that was written last. A fragment
    that is written inside of `scf.for`, `scf.if` or `scf.while` becomes an
    additional iteration argument or result; not so a fragment that only the
    region of an `scf.if` outside of loops accesses, such as the accumulators of
    one role. Registers read before they were
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

def TileGPUPrefetchFragments : Pass<"tile-gpu-prefetch-fragments", "::mlir::ModuleOp"> {
  let summary = "load the first operands of the next iteration before the last products of this one";
  let description = [{
    For loops that wait for asynchronous copies, pass one barrier, and then
    multiply in several k-steps. The wait, the barrier and the loads of the first
    k-step move to the end of the previous iteration, in front of the products
    of its last k-step, which then hide their latency. The loaded registers are
    iteration arguments. The last iteration loads a slot that nobody uses; the
    values are dropped.

    A loop is left alone when it has other barriers, writes shared memory
    except by asynchronous copies, or has a single k-step.

    ```mlir
    // before
    scf.for %i = ... iter_args(%slot = %z, %c = %c0) {
      tile_gpu.async_wait 1
      tile_gpu.barrier
      %a0 = tile_gpu.ldmatrix %p0 : vector<4xi32>
      %s0 = tile_gpu.mma %a0, ...
      %a1 = tile_gpu.ldmatrix %p1 : vector<4xi32>
      %s1 = tile_gpu.mma %a1, ...
      scf.yield %next, %s1
    }
    // after
    tile_gpu.async_wait 1
    tile_gpu.barrier
    %first = tile_gpu.ldmatrix ...
    scf.for %i = ... iter_args(%slot = %z, %c = %c0, %a0 = %first) {
      %s0 = tile_gpu.mma %a0, ...
      %a1 = tile_gpu.ldmatrix %p1 : vector<4xi32>
      tile_gpu.async_wait 1
      tile_gpu.barrier
      %ahead = tile_gpu.ldmatrix ...   // of slot %next
      %s1 = tile_gpu.mma %a1, ...
      scf.yield %next, %s1, %ahead
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileGPUExpandDoubleMath : Pass<"tile-gpu-expand-double-math"> {
  let summary = "elementary functions of f64 as arithmetic";
  let description = [{
    exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, tanh, erf, rsqrt,
    pow and fpowi of `math` on f64, for which GPUs have no instructions. Within
    1.5 units in the last place (tanh, erf and pow 2, tan 3) for all arguments,
    right for infinities, NaN, zeros and subnormals. Other functions stay, and are
    refused by `tile-gpu-to-nvvm`. Operations that must not be contracted are
    marked `tile_gpu.exact`.

    ```mlir
    // before
    %y = math.exp %x : f64
    // after
    %n = math.roundeven %t : f64
    %r = math.fma %n, %ln2, %x {tile_gpu.exact} : f64
    // ... a polynomial in %r
    %y = arith.mulf %p, %power {tile_gpu.exact} : f64
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILEMLIR_DIALECT_TILEGPU_TRANSFORMS_PASSES
