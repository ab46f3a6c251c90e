//===- TileAsyncOps.td - asynchronous operations ------------*- tablegen -*-===//
//
// Operations whose effect is complete only after a matching wait. Passes
// create them from pipelined loops; included by TileOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD

def Tile_CopyAsyncOp : Tile_CopyLikeOp<"copy_async"> {
  let summary = "start a copy that completes later";
  let description = [{
    Same operands and meaning as `tile.copy`, but not complete when the next
    operation starts. How it completes depends on its form:

    * from a tensor to shared memory without `barrier` (`cp.async`): a
      `tile.async_wait` that covers the group it was committed to, followed by
      a barrier of the threads;
    * with `barrier` (TMA, or `cp.async` that arrives on a barrier): when the
      barrier's phase completes. A copy by TMA adds its bytes to the barrier's
      transaction count (in each block of `tile.cluster_mask`); somebody has to
      expect them (`tile.barrier_arrive` with `expect`, `tile.barrier_expect_tx`),
      always the whole box, also where it is partly outside of the tensor;
    * from shared memory to a tensor (TMA): a `tile.bulk_wait` that covers its
      group. The writes to the shared memory have to be followed by
      `tile.fence_proxy` and a barrier before it.
    ```mlir
    tile.copy_async %A[%y, %k] [128, 32] to %slot[%c0, %c0] [128, 32] : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
    tile.async_commit
    tile.async_wait {pending = 1 : i64}

    tile.copy_async %A[%y, %k] [128, 64] to %view[%c0, %c0] [128, 64] barrier %full[%s] : !tile.buffer<4x!tile.barrier, shared>
      {choice = #tile.choice<tma, "...">} : memref<?x?xf16> to !tile.buffer<128x64xf16, shared>
    ```
  }];
  let arguments = !con(Tile_copyArguments, (ins Optional<Tile_BarrierBuffer>:$barrier, Optional<I32>:$barrier_index));
  let assemblyFormat = [{
    $source `[` $source_offsets `]` $source_sizes `to` $dest `[` $dest_offsets `]` $dest_sizes
    (`barrier` $barrier^ `[` $barrier_index `]` `:` type($barrier))?
    attr-dict `:` type($source) `to` type($dest)
  }];
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "close the group of asynchronous copies started so far";
  let description = "Groups complete in order. An empty group is legal. `cp.async.commit_group`.";
  let assemblyFormat = "attr-dict";
}

def Tile_AsyncWaitOp : Tile_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups are in flight";
  let description = "Makes the executing thread's own copies visible to itself; other threads need a barrier. `cp.async.wait_group`.";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Asynchronous matrix products
//===----------------------------------------------------------------------===//

def Tile_GemmAsyncOp : Tile_GemmLikeOp<"gemm_async"> {
  let summary = "start C += A * B by the tensor cores of warp groups";
  let description = [{
    A `tile.gemm` that is not complete when the next operation starts: `wgmma`
    of all k-steps, closed as one group. Until a `tile.mma_wait` covers the
    group, `c` may only be the accumulator of a further `gemm_async`, operands
    in shared memory and registers must not be overwritten. With `accumulate`,
    the old contents of `c` take part only if it is true.
    ```mlir
    tile.gemm_async %a, %b, %c accumulate %more {choice = #tile.choice<wgmma_ss, "...">} : ...
    tile.mma_wait %c {pending = 0 : i64} : ...
    ```
  }];
  let arguments = !con(Tile_gemmArguments, (ins Optional<I1>:$accumulate));
  let assemblyFormat = "$a `,` $b `,` $c (`accumulate` $accumulate^)? attr-dict `:` type($a) `,` type($b) `,` type($c)";
}

def Tile_MmaWaitOp : Tile_Op<"mma_wait", [MemoryEffects<[MemWrite]>]> {
  let summary = "wait until at most `pending` groups of products are in flight";
  let description = [{
    Groups of `tile.gemm_async` complete in order. `fragments` are those that
    a covered group reads or writes: they may be used behind this operation.
    With `pending` above 0 the accumulators of the groups still in flight must
    not be listed.
    ```mlir
    tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<128x128xf32, fragment>
    ```
  }];
  let arguments = (ins Arg<Variadic<Tile_FragmentBuffer>, "", [MemRead, MemWrite]>:$fragments,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "($fragments^)? attr-dict (`:` type($fragments)^)?";
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

def Tile_BarrierInitOp : Tile_Op<"barrier_init"> {
  let summary = "initialise all barriers of a buffer";
  let description = [{
    Each phase of the barriers takes `arrivals` arrivals. One thread of the
    block executes it, outside of roles; a barrier of all threads has to come
    before the first use. `mbarrier.init`.
    ```mlir
    tile.barrier_init %full {arrivals = 1 : i64} : !tile.buffer<4x!tile.barrier, shared>
    ```
  }];
  let arguments = (ins Arg<Tile_BarrierBuffer, "", [MemWrite]>:$barriers, ConfinedAttr<I64Attr, [IntPositive]>:$arrivals);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def Tile_BarrierWaitOp : Tile_Op<"barrier_wait"> {
  let summary = "wait until a phase of a barrier is complete";
  let description = [{
    Returns when the phase with the given parity (0 or 1) has completed. A
    fresh barrier is in phase 0: waiting with parity 1 returns at once.
    `mbarrier.try_wait.parity` in a loop.
    ```mlir
    tile.barrier_wait %full[%slot], %phase : !tile.buffer<4x!tile.barrier, shared>
    ```
  }];
  let arguments = (ins Arg<Tile_BarrierBuffer, "", [MemRead, MemWrite]>:$barriers, I32:$index, I32:$parity);
  let assemblyFormat = "$barriers `[` $index `]` `,` $parity attr-dict `:` type($barriers)";
}

def Tile_BarrierArriveOp : Tile_Op<"barrier_arrive"> {
  let summary = "arrive on a barrier";
  let description = [{
    `scope` says who arrives. `expect` first adds bytes to the transaction count
    of the phase (one thread only: scope `single`). With `cp_async`, the arrival
    happens when the thread's earlier `cp.async` are complete; with the attribute
    `tile.cluster_index`, at a barrier of any block (index = rank * barriers + i).
    Accesses before it are ordered before the wait that sees the phase complete.
    ```mlir
    tile.barrier_arrive %full[%slot] single {expect = 32768 : i64} : !tile.buffer<4x!tile.barrier, shared>
    tile.barrier_arrive %empty[%slot] warp : !tile.buffer<4x!tile.barrier, shared>
    ```
  }];
  let arguments = (ins Arg<Tile_BarrierBuffer, "", [MemRead, MemWrite]>:$barriers, I32:$index,
    Tile_ArrivalScopeAttr:$scope, OptionalAttr<I64Attr>:$expect, UnitAttr:$cp_async);
  let assemblyFormat = "$barriers `[` $index `]` $scope attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def Tile_BarrierExpectTxOp : Tile_Op<"barrier_expect_tx"> {
  let summary = "expect bytes on a barrier without arriving";
  let description = [{
    For copies under a condition, before the arrival of the same thread.
    ```mlir
    tile.barrier_expect_tx %full[%slot] {bytes = 8192 : i64} : !tile.buffer<4x!tile.barrier, shared>
    ```
  }];
  let arguments = (ins Arg<Tile_BarrierBuffer, "", [MemRead, MemWrite]>:$barriers, I32:$index,
    ConfinedAttr<I64Attr, [IntPositive]>:$bytes);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` type($barriers)";
}

//===----------------------------------------------------------------------===//
// Bulk stores
//===----------------------------------------------------------------------===//

def Tile_FenceProxyOp : Tile_Op<"fence_proxy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order ordinary accesses to shared memory before asynchronous ones";
  let description = [{
    Each thread that wrote executes it, before the barrier that lets the TMA
    store or the `wgmma` start; and each thread that read, before the barrier
    that lets TMA load into the same memory. `fence.proxy.async.shared::cta`.
    ```mlir
    tile.fence_proxy
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_BulkCommitOp : Tile_Op<"bulk_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "close the group of bulk stores started so far";
  let description = "By the thread that starts them. `cp.async.bulk.commit_group`.";
  let assemblyFormat = "attr-dict";
}

def Tile_BulkWaitOp : Tile_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups of bulk stores are in flight";
  let description = [{
    With `read`, until their shared memory may be overwritten; without, until
    their writes are visible. Only the thread that started them waits; others
    need a barrier. `cp.async.bulk.wait_group`.
    ```mlir
    tile.bulk_wait {pending = 0 : i64, read}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, UnitAttr:$read);
  let assemblyFormat = "attr-dict";
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD
