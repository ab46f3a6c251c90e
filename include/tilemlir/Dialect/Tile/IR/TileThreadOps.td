//===- TileThreadOps.td - operations of single threads ------*- tablegen -*-===//
//
// What a program that schedules its warps itself needs besides roles and
// barriers: elections, meetings of some threads and of clusters, dependent
// launches, inline PTX; and work that only seems to be done. Definitions and
// C++ classes of their own (TileThreadOps.h): few files use them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tilemlir/Dialect/Tile/IR/TileTypes.td"

def Tile_ElectOp : Tile_Op<"elect", [MemoryEffects<[MemWrite]>]> {
  let summary = "whether this thread is the one that is elected";
  let description = [{
    One lane of the first warp of every `threads` consecutive threads of the
    block gets true; with `threads = 0`, one lane of the block. All lanes of a
    warp have to reach it together. `elect.sync`.
    ```mlir
    %leader = tile.elect {threads = 128 : i64} : i1
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$threads);
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_WarpSyncOp : Tile_Op<"warp_sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "barrier of the threads of a warp";
  let description = "All threads of the warp reach it. `bar.warp.sync`.\n```mlir\ntile.warp_sync\n```";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Where values are computed
//===----------------------------------------------------------------------===//

def Tile_PinOp : Tile_Op<"pin", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemWrite]>]> {
  let summary = "compute a value here, and not later";
  let description = [{
    The result is the operand. The backend moves computations to where their
    results are used; a division that is to be done while matrix products are
    under way has to be held back from that.
    ```mlir
    %held = tile.pin %row : i32
    ```
  }];
  let arguments = (ins AnySignlessInteger:$value);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Tile_PinFragmentOp : Tile_Op<"pin_fragment"> {
  let summary = "compute the contents of a fragment here, and not later";
  let description = [{
    As `tile.pin`, for what was written to a fragment before: a conversion to a
    narrower type is done here, and the wide registers are free behind it.
    ```mlir
    tile.pin_fragment %result : !tile.buffer<128x256xf16, fragment>
    ```
  }];
  let arguments = (ins Arg<Tile_FragmentBuffer, "", [MemRead, MemWrite]>:$fragment);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment)";
}

def Tile_NamedArriveOp : Tile_Op<"named_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrive on a named barrier without waiting";
  let description = [{
    The threads that reach it count among the `count` threads of barrier `id`
    (1 to 15); others wait there with `tile.sync_threads {id, count}`. Whole
    warps arrive. `barrier.cta.arrive`.
    ```mlir
    tile.named_arrive {id = 2 : i64, count = 256 : i64}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<15>]>:$id,
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<1024>]>:$count);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_ThreadExpectTxOp : Tile_Op<"thread_expect_tx"> {
  let summary = "expect bytes on a barrier, by every thread that is here";
  let description = [{
    For code that only chosen threads reach; `tile.barrier_expect_tx` and
    `tile.barrier_arrive` with `expect` choose one thread themselves. With
    `arrive`, the thread arrives too.
    ```mlir
    scf.if %leader {
      tile.thread_expect_tx %full[%slot] {arrive, bytes = 8192 : i64} : !tile.buffer<4x!tile.barrier, shared>
    }
    ```
  }];
  let arguments = (ins Arg<Tile_BarrierBuffer, "", [MemRead, MemWrite]>:$barriers, I32:$index,
    ConfinedAttr<I64Attr, [IntPositive]>:$bytes, UnitAttr:$arrive);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` type($barriers)";
}

def Tile_ClusterArriveOp : Tile_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrive at the barrier of the cluster";
  let description = [{
    All threads of all blocks of the cluster reach it, then
    `tile.cluster_wait`. With `relaxed` it orders nothing of what the thread
    wrote before: enough to say that barriers are initialised (`barrier_init`
    publishes them itself), or that the block no longer uses the shared memory
    of others. `barrier.cluster.arrive`.
    ```mlir
    tile.cluster_arrive {relaxed}
    ```
  }];
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "attr-dict";
}

def Tile_ClusterWaitOp : Tile_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until all threads of the cluster have arrived";
  let description = "As often as `tile.cluster_arrive`, in turn. `barrier.cluster.wait`.\n```mlir\ntile.cluster_wait\n```";
  let assemblyFormat = "attr-dict";
}

def Tile_MaskEffectsOp : Tile_Op<"mask_effects", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what follows in this block has no effect outside unless a condition holds";
  let description = [{
    For work that does not exist, but that blocks of a cluster do all the same
    so that they stay together: the operations behind it in its region write no
    tensors, print nothing and assert nothing where `condition` is false; reads
    beyond tensors give 0 as always. `tile-map-blocks` puts such operations
    under the condition and removes this one.
    ```mlir
    %exists = arith.cmpi slt, %row, %rows : i32
    tile.mask_effects %exists
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_DependencyWaitOp : Tile_Op<"dependency_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the kernels before this one are complete";
  let description = [{
    The launch may begin before its predecessor has ended; what that writes may
    be read afterwards only. `griddepcontrol.wait`; nothing on a CPU, where
    kernels run one after the other.
    ```mlir
    tile.dependency_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_LaunchDependentsOp : Tile_Op<"launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "allow the next kernel to begin";
  let description = "`griddepcontrol.launch_dependents`; nothing on a CPU.\n```mlir\ntile.launch_dependents\n```";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Tiles from a counter
//===----------------------------------------------------------------------===//

def Tile_FetchTileOp : Tile_Op<"fetch_tile"> {
  let summary = "take the next tile from a counter that all blocks share";
  let description = [{
    For persistent kernels of `workers` blocks. The first `workers` tiles are
    those of the blocks with these numbers. For each tile below `tiles` that a
    block works on it fetches one: one thread adds 1 to `counter[0]` and gets
    `workers` plus the old value, which is beyond the last tile when there is
    none left. Other threads get it from `tile.share_tile`. The fetch that finds
    `tiles - 1` is the last one of the launch, and sets the counter back to 0.

    `tile` is the tile that the block works on. A CPU takes `tile + workers`
    instead, without a counter.

    ```mlir
    %f = tile.fetch_tile %counter after %tile of %tiles by %workers : memref<1xi32>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[I32], [1]>, "", [MemRead, MemWrite]>:$counter,
    I32:$tile, I32:$tiles, I32:$workers);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    $counter `after` $tile `of` $tiles `by` $workers attr-dict `:` type($counter)
  }];
}

def Tile_ShareTileOp : Tile_Op<"share_tile", [AttrSizedOperandSegments]> {
  let summary = "give all threads the tile that one of them has fetched";
  let description = [{
    Collective; all threads get the same number. `tile-insert-mbarriers` says
    how it comes to them:

    * `fetched` and `numbers`: through shared memory, with one barrier between
      the store and the loads, as operations with scratch memory do;
    * `fetched`, `numbers` and `slot`: the thread of a producer role has it, and
      leaves it in `numbers[slot]` for the consumers;
    * `numbers` and `slot`: a consumer role finds it there. The mbarriers around
      the operations order them.

    ```mlir
    %t = tile.share_tile %counter from %f : memref<1xi32>
    // becomes in a kernel without roles
    %t = tile.share_tile %counter from %f through %numbers : !tile.buffer<1xi32, shared> : memref<1xi32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[I32], [1]>:$counter, Optional<I32>:$fetched,
    Arg<Optional<Tile_SharedBuffer>, "", [MemRead, MemWrite]>:$numbers, Optional<I32>:$slot);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    $counter (`from` $fetched^)? (`through` $numbers^ `:` type($numbers))? (`slot` $slot^)? attr-dict `:` type($counter)
  }];
  let hasVerifier = 1;
}

def Tile_PtxOp : Tile_Op<"ptx", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "inline PTX, executed by every thread that reaches it";
  let description = [{
    `$0`, `$1`, ... are the results, then the operands; `$$` is a dollar sign.
    A tensor is its 64-bit address; a buffer in shared memory, with its layout
    as it was chosen, is its 32-bit address in the shared window. An error on
    a CPU.
    ```mlir
    %r = tile.ptx "add.sat.s32 $0, $1, $2;" (%a, %b) : (i32, i32) -> i32
    ```
  }];
  let arguments = (ins StrAttr:$text,
    Arg<Variadic<AnyTypeOf<[Tile_Scalar, AnyMemRef, Tile_SharedBuffer]>>, "", [MemRead, MemWrite]>:$operands);
  let results = (outs Variadic<Tile_Scalar>:$outputs);
  let assemblyFormat = "$text `(` $operands `)` attr-dict `:` functional-type($operands, $outputs)";
  let hasVerifier = 1;
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILETHREADOPS_TD
