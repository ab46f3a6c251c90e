//===- TileGPUMbarrierOps.td - mbarriers, roles, clusters --*- tablegen -*-===//
//
// Barriers in shared memory, synchronisation of parts of a block and of a cluster,
// fences between proxies, and inline PTX. Included by TileGPUOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUMBARRIEROPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUMBARRIEROPS

/// Reads and writes memory in ways that nothing may be moved across.
class TileGPU_OrderedOp<string mnemonic, list<Trait> traits = []>
    : TileGPU_Op<mnemonic, traits # [MemoryEffects<[MemRead, MemWrite]>]>;

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

def TileGPU_MbarrierInitOp : TileGPU_OrderedOp<"mbarrier_init"> {
  let summary = "make 8 bytes of shared memory an mbarrier";
  let description = [{
    `count` arrivals complete a phase. One thread executes it, then
    `mbarrier_init_fence`; a barrier of the block (or cluster) makes it known.
    ```mlir
    tile_gpu.mbarrier_init %b {count = 1 : i64}
    ```
  }];
  let arguments = (ins I32:$barrier, ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<1048575>]>:$count);
  let assemblyFormat = "$barrier attr-dict";
}

def TileGPU_MbarrierInitFenceOp : TileGPU_OrderedOp<"mbarrier_init_fence"> {
  let summary = "make initialised mbarriers visible to the cluster and the async proxy";
  let description = "`tile_gpu.mbarrier_init_fence`";
  let assemblyFormat = "attr-dict";
}

def TileGPU_MbarrierExpectTxOp : TileGPU_OrderedOp<"mbarrier_expect_tx"> {
  let summary = "announce bytes of asynchronous copies, and arrive";
  let description = [{
    The current phase also waits for `bytes` bytes (always those of whole boxes),
    and the thread arrives once. `no_arrive` only announces.
    ```mlir
    tile_gpu.mbarrier_expect_tx %b, %bytes
    ```
  }];
  let arguments = (ins I32:$barrier, I32:$bytes, Optional<I1>:$predicate, UnitAttr:$no_arrive);
  let assemblyFormat = "$barrier `,` $bytes (`if` $predicate^)? attr-dict";
}

def TileGPU_MbarrierArriveOp : TileGPU_OrderedOp<"mbarrier_arrive"> {
  let summary = "arrive at an mbarrier of the own block";
  let description = [{
    ```mlir
    tile_gpu.mbarrier_arrive %b if %leader
    tile_gpu.mbarrier_arrive %b {count = 2 : i64}
    ```
  }];
  let arguments = (ins I32:$barrier, Optional<I1>:$predicate,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$count);
  let assemblyFormat = "$barrier (`if` $predicate^)? attr-dict";
}

def TileGPU_MbarrierArriveClusterOp : TileGPU_OrderedOp<"mbarrier_arrive_cluster"> {
  let summary = "arrive at an mbarrier of a block of the cluster";
  let description = [{
    The mbarrier at byte `barrier` in the arena of the block with rank `rank`.
    Orders nothing but what the async proxy read before: generic writes are not
    published to the other block. The mapped base address is loop-invariant when the
    rank is.
    ```mlir
    tile_gpu.mbarrier_arrive_cluster %b, %rank if %p
    ```
  }];
  let arguments = (ins I32:$barrier, I32:$rank, Optional<I1>:$predicate);
  let assemblyFormat = "$barrier `,` $rank (`if` $predicate^)? attr-dict";
}

def TileGPU_MbarrierArriveCpAsyncOp : TileGPU_OrderedOp<"mbarrier_arrive_cp_async"> {
  let summary = "arrive when the thread's earlier `async_copy` operations are done";
  let description = [{
    One of the arrivals that the barrier counts (`noinc`), made when all
    `async_copy` operations that the thread has issued so far are complete.
    ```mlir
    tile_gpu.mbarrier_arrive_cp_async %b
    ```
  }];
  let arguments = (ins I32:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def TileGPU_MbarrierWaitOp : TileGPU_OrderedOp<"mbarrier_wait"> {
  let summary = "wait until the phase with the given parity is complete";
  let description = [{
    Returns when the current phase does not have parity `parity` (0 or 1): the
    phase of that parity is complete. On a fresh barrier a wait for parity 1 returns
    at once. A loop around `try_wait`, which suspends the thread; the assembler moves
    nothing across it.
    ```mlir
    tile_gpu.mbarrier_wait %b, %parity
    ```
  }];
  let arguments = (ins I32:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}

def TileGPU_MbarrierTryWaitOp : TileGPU_OrderedOp<"mbarrier_try_wait"> {
  let summary = "whether the phase with the given parity is complete";
  let description = [{
    May suspend the thread for a while before it gives false.
    ```mlir
    %done = tile_gpu.mbarrier_try_wait %b, %parity : i1
    ```
  }];
  let arguments = (ins I32:$barrier, I32:$parity);
  let results = (outs I1:$result);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Parts of a block
//===----------------------------------------------------------------------===//

def TileGPU_ElectOp : TileGPU_Op<"elect", [MemoryEffects<[MemWrite]>]> {
  let summary = "true in one thread of the warp";
  let description = [{
    All 32 threads execute it. `scf.if` on the result is how single-thread code is
    entered: the assembler knows that one thread goes on.
    ```mlir
    %e = tile_gpu.elect : i1
    ```
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TileGPU_NamedBarrierSyncOp : TileGPU_OrderedOp<"named_barrier_sync"> {
  let summary = "wait at a hardware barrier until `threads` threads have come";
  let description = [{
    `barrier` with an id that is a value (0 to 15); `named_barrier_arrive` also
    counts.
    ```mlir
    tile_gpu.named_barrier_sync %id, 256
    ```
  }];
  let arguments = (ins I32:$id, I64Attr:$threads);
  let assemblyFormat = "$id `,` $threads attr-dict";
  let hasVerifier = 1;
}

def TileGPU_NamedBarrierArriveOp : TileGPU_OrderedOp<"named_barrier_arrive"> {
  let summary = "count as one that has come, without waiting";
  let description = "`tile_gpu.named_barrier_arrive %id, 256`";
  let arguments = (ins I32:$id, I64Attr:$threads);
  let assemblyFormat = "$id `,` $threads attr-dict";
  let hasVerifier = 1;
}

def TileGPU_SetMaxRegistersOp : TileGPU_OrderedOp<"set_max_registers"> {
  let summary = "change the number of registers of the warps of a warpgroup";
  let description = [{
    All warps of a warpgroup execute it, first thing in their role. `count` is a
    multiple of 8 from 24 to 256. `increase` waits until the registers are free.
    Kernels with it get `nvvm.minctasm`, without which it would be ignored.
    ```mlir
    tile_gpu.set_max_registers increase 240
    ```
  }];
  let arguments = (ins TileGPU_RegisterActionAttr:$action, I64Attr:$count);
  let assemblyFormat = "$action $count attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

def TileGPU_FenceProxyOp : TileGPU_OrderedOp<"fence_proxy"> {
  let summary = "order the thread's generic accesses and asynchronous ones";
  let description = [{
    `async_shared_cta` and `async_shared_cluster` for shared memory, `async_global`
    for global memory, `async` for both. `tensor_map_release` publishes a descriptor
    that was written to global memory to the device.
    ```mlir
    tile_gpu.fence_proxy async_shared_cta
    ```
  }];
  let arguments = (ins TileGPU_ProxyKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

def TileGPU_ClusterRankOp : TileGPU_Op<"cluster_rank", [Pure]> {
  let summary = "rank of the block in its cluster";
  let description = "x fastest; 0 without clusters. `%r = tile_gpu.cluster_rank : i32`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TileGPU_ClusterIdOp : TileGPU_Op<"cluster_id", [Pure]> {
  let summary = "index of the cluster in the grid";
  let description = "`axis` 0 is the fastest (x). `%c = tile_gpu.cluster_id 0 : i32`";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TileGPU_ClusterArriveOp : TileGPU_OrderedOp<"cluster_arrive"> {
  let summary = "arrive at the barrier of the cluster";
  let description = [{
    All threads of all blocks arrive, then wait. Without `relaxed` it publishes
    what the thread wrote, which costs a fence of device scope.
    ```mlir
    tile_gpu.cluster_arrive {relaxed}
    ```
  }];
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "attr-dict";
}

def TileGPU_ClusterWaitOp : TileGPU_OrderedOp<"cluster_wait"> {
  let summary = "wait until all threads of the cluster have arrived";
  let description = "`tile_gpu.cluster_wait`";
  let assemblyFormat = "attr-dict";
}

def TileGPU_SharedAddressOp : TileGPU_Op<"shared_address", [Pure]> {
  let summary = "address of a byte of the arena, as PTX takes it";
  let description = "In the shared window of the own block: an operand for `ptx`. `%a = tile_gpu.shared_address %o : i32`";
  let arguments = (ins I32:$offset);
  let results = (outs I32:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
}

def TileGPU_MapSharedOp : TileGPU_Op<"map_shared", [Pure]> {
  let summary = "address of a byte of the arena of another block of the cluster";
  let description = "In the shared window of the cluster: an operand for `ptx`. `%a = tile_gpu.map_shared %o, %rank : i32`";
  let arguments = (ins I32:$offset, I32:$rank);
  let results = (outs I32:$result);
  let assemblyFormat = "$offset `,` $rank attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Dependent launches
//===----------------------------------------------------------------------===//

def TileGPU_GriddepcontrolWaitOp : TileGPU_OrderedOp<"griddepcontrol_wait"> {
  let summary = "wait until the kernels before this one are complete";
  let description = [{
    Memory written by them may be read afterwards only. The launch plan marks a
    kernel that has it as one that may begin before its predecessor ends.
    ```mlir
    tile_gpu.griddepcontrol_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def TileGPU_GriddepcontrolLaunchDependentsOp : TileGPU_OrderedOp<"griddepcontrol_launch_dependents"> {
  let summary = "allow the next kernel to begin";
  let description = "`tile_gpu.griddepcontrol_launch_dependents`";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Inline PTX
//===----------------------------------------------------------------------===//

def TileGPU_PtxOp : TileGPU_OrderedOp<"ptx"> {
  let summary = "the user's own instructions";
  let description = [{
    `$0`, `$1`, ... are the results, then the operands; `$$` is a dollar sign.
    Integers and floats of 16, 32 and 64 bits are registers of that width; a tensor
    is its 64-bit address. Nothing is moved across it.
    ```mlir
    %r = tile_gpu.ptx "add.sat.s32 $0, $1, $2;" (%a, %b) : (i32, i32) -> i32
    ```
  }];
  let arguments = (ins StrAttr:$text,
    Arg<Variadic<AnyTypeOf<[TileGPU_Scalar, AnyMemRef]>>, "", [MemRead, MemWrite]>:$operands);
  let results = (outs Variadic<TileGPU_Scalar>:$outputs);
  let assemblyFormat = "$text `(` $operands `)` attr-dict `:` functional-type($operands, $outputs)";
  let hasVerifier = 1;
}

#endif
