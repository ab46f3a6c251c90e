// Declarations of the passes from `tile` to `tile`, in the order of the pipeline.
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"
include "tilemlir/Dialect/Tile/Transforms/LayoutPasses.td"

//===----------------------------------------------------------------------===//
// Pipelining and synchronisation
//===----------------------------------------------------------------------===//

def TilePlanPipeline : Pass<"tile-plan-pipeline"> {
  let summary = "decide which loads of pipelined loops run ahead";
  let description = [{
    A load of a `tile.pipelined` with `num_stages = S >= 2` runs `S - 1`
    iterations ahead when that cannot change a result: its tensor is not
    written by the kernel, its offsets and conditions can be computed for a
    later iteration (pure operations, loads of unchanging tensors, variables
    with such writers), and its destination is filled anew in every iteration
    before it is read. Such loads get `tile.ahead`; `stage` and `order` list
    the schedule of the operations with an effect, in program order: loads that
    run ahead have stage 0 and come first, all others have stage `S - 1`.
    An operation with regions has the stage of what stays in it.
    `choice` of the loop says what was decided, and the reason for every load
    that stays.

    On sm_90a, when TMA can load tiles of a loop with `num_stages = S >= 1` and
    a producer role can compute everything that this takes, the kernel gets a
    producer role instead (`tile-specialize-warps`): its loads are marked
    `tile.produce`, and a ring of exactly S slots lies between the roles. Uses
    of such a buffer outside of its loop, several loops that fill one buffer,
    places that depend on the thread or on what the kernel writes, roles named
    by the program, and the option `disable_warp_specialized` prevent it; the
    reason is in the choice of the loop.

    A schedule of the user is kept: operations with a lower `stage` run ahead by
    the difference, `order` is the order in a step, -1 leaves an entry to the
    compiler. Lists of a wrong length, positions used twice, stages that need
    more slots than `num_stages`, and orders that break a dependence are errors.
    A schedule that runs computation ahead, too, makes a loop in whose step k an
    operation of stage s does the work of iteration k - s, if there is one; the
    loads of shared memory go with their first use, and run ahead of it as in
    any loop. Where the order would overwrite what another operation still
    needs, the compiler's schedule is used, with a warning and the reason in the
    choice of the loop.

    ```mlir
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c32 : i32
      tile.copy %A[%y, %o] [128, 32] to %a[%c0, %c0] [128, 32] : ...
      tile.gemm %a, %b, %acc : ...
    }
    ```
    becomes
    ```mlir
    tile.pipelined %c0 to %n stages(3) attributes {choice = #tile.choice<cp_async, "loads of A_shared run 2 iterations ahead in 3 slots", {ahead = 2, slots = 3}>, order = array<i64: 0, 1>, stage = array<i64: 0, 2>} {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c32 : i32
      tile.copy %A[%y, %o] [128, 32] to %a[%c0, %c0] [128, 32] {tile.ahead = 2 : i64} : ...
      tile.gemm %a, %b, %acc : ...
    }
    ```
  }];
}

def TileMultibuffer : Pass<"tile-multibuffer"> {
  let summary = "give buffers filled ahead one slot per iteration in flight";
  let description = [{
    Replaces every `tile.pipelined` by an `scf.for`. Buffers that are filled by
    loads marked `tile.ahead` get a leading dimension of `num_stages` slots. A
    prologue starts the loads of the first iterations; the loop starts those of
    iteration `k + ahead` and uses the slot of iteration `k`. All issue parts
    are guarded by the trip count, so that any number of iterations is right,
    and slot numbers are carried through the loop without a division. Uses of a
    buffer behind the loop see the slot of the last iteration.
    Copies chosen as `cp_async` become `tile.copy_async`, except non-early ones
    in a loop with loads in flight, which become plain copies, with a reason.

    A loop with loads of a producer role (`tile.produce`) becomes a ring loop:
    no prologue, an iteration uses the slot that its ring variable names, and
    advances it. The variable holds slot and phase, and outlives the loop. Its
    program is still a serial one.

    ```mlir
    scf.if %first { tile.copy_async %A[...] to %slot0[...] } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
    scf.for %k = %lb to %ub step %c1 iter_args(%slot = %c0, %next = %c1) -> (i32, i32) : i32 {
      scf.if %more { tile.copy_async %A[...] to %issued[...] } {tile.pipeline = #tile.pipeline<issue, slots = 2, ahead = 1>}
      %a = tile.subview %A_shared[%slot, %c0, %c0] [1, 128, 32] : ...
      tile.gemm %a, %b, %acc : ...
      ...
    } {tile.pipeline = #tile.pipeline<steady, slots = 2, ahead = 1>}
    ```
  }];
}

def TileSpecializeWarps : Pass<"tile-specialize-warps"> {
  let summary = "give producers and consumers code of their own";
  let description = [{
    In kernels with copies marked `tile.produce`: everything but constants,
    allocations and pure values moves into a `tile.warp_specialize` with two
    roles. The producer's region is a copy of the program reduced to these
    copies, the loops and conditions around them, and what those need; the
    consumer's region is the program without the copies. Values that only one
    role needs are computed by it alone. The consumers are the threads that
    the program sees; the producer comes first in the block. When all copies
    are TMA, one thread of the producer is enough (`single`).

    ```mlir
    scf.for %k = ... {
      %slot = tile.load %ring[%c0] : ...
      %a = tile.subview %A_shared[%slot, %c0, %c0] [1, 128, 64] : ...
      tile.copy %A[%y, %o] [128, 64] to %a[%c0, %c0] [128, 64] {tile.produce, ...} : ...
      tile.gemm %a, ...
      ...
    } {tile.pipeline = #tile.pipeline<ring, slots = 3, ahead = 0>}
    ```
    becomes
    ```mlir
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>,
                          #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      scf.for ... { ... tile.copy %A ... {tile.produce} ... }
    }, {
      scf.for ... { ... tile.gemm ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TilePingPong : Pass<"tile-ping-pong"> {
  let summary = "let two warp groups take turns on the tiles of a block";
  let description = [{
    For the loop over tiles that carries `tile.ping_pong` (from
    `T.Persistent(..., ping_pong=True)`): the consumer role is doubled. Both
    warp groups run the loop over all tiles, the first one works on tiles 0, 2,
    ..., the second one on tiles 1, 3, ...; in the other iterations only what
    moves the position in the rings is left. While one group stores its tile,
    the other one multiplies.

    Barriers hand the turn over behind the last loop that loads from a ring, so
    that no group waits for a slot before its phase is the next one. Buffers
    that only consumers use exist twice. The pass applies to kernels of one
    warp group whose tiles do not depend on each other: what an iteration reads
    from a buffer it has written before, and no tensor is both read and
    written. Otherwise the loop keeps one role of consumers, and the reason of
    its inner loops says why.

    ```mlir
    tile.warp_specialize [#tile.role<producer, ...>, #tile.role<consumer, first = 4, warps = 4>] {
      ...
    }, {
      scf.for %tile = ... {
        scf.for %k = ... { tile.gemm ... } {tile.pipeline = #tile.pipeline<ring, ...>}
        tile.copy %accumulator ...
      } {tile.ping_pong}
    }
    ```
    becomes
    ```mlir
    tile.warp_specialize [#tile.role<producer, ...>, #tile.role<consumer, first = 4, warps = 4, registers = 240>,
                          #tile.role<consumer, first = 8, warps = 4, registers = 240>] {
      ...
    }, {
      scf.for %tile = ... {
        %whose = tile.load %turn[%c0] : ...
        %mine = arith.cmpi eq, %whose, %c0 : i32
        scf.if %mine {
          tile.barrier_wait %turns[%c0], %parity : ...
          scf.for %k = ... { tile.gemm ... } {tile.pipeline = #tile.pipeline<ring, ...>}
          tile.barrier_arrive %turns[%c1] warp {tile.hand_over} : ...
          tile.copy %accumulator ...
        } else {
          scf.for %k = ... { /* the position in the ring */ }
        }
      } {tile.ping_pong}
    }, { /* the same for the second group */ }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileMulticastCopies : Pass<"tile-multicast-copies"> {
  let summary = "let the blocks of a cluster load what they share once";
  let description = [{
    A load by TMA of a producer role whose place does not depend on the number
    of the block along an axis of the cluster is the same for all blocks of
    that axis, if none of the loops and conditions around it depends on it
    either. Each of the blocks then loads an equal part of the tile and sends
    it to all of them: the choice of the copy gets the argument `multicast`,
    the axes along which the blocks are the same (0 is x). Values depend on an
    axis when they are computed from the block index of that axis in another
    way than by dividing by a multiple of the cluster's extent, or loaded from
    a tensor that the kernel writes.

    Whatever cannot be shared stays a plain load; the reason of the choice says
    why. Parts begin at multiples of 128 bytes and are whole panels, or whole
    rows of one. On targets without clusters kernels lose the attribute.

    ```mlir
    // cluster = (2, 1, 1), %bx and %by are the block indices, %x = %by * 256
    tile.copy %B[%k, %x] [64, 256] to %slot[%c0, %c0] [64, 256]
      {choice = #tile.choice<tma, "...">, tile.produce} : ...
    ```
    becomes
    ```mlir
    tile.copy %B[%k, %x] [64, 256] to %slot[%c0, %c0] [64, 256]
      {choice = #tile.choice<tma, "...; the 2 blocks of the cluster along x load it together", {multicast = array<i64: 0>}>, tile.produce} : ...
    ```
  }];
}

def TileInsertMbarriers : Pass<"tile-insert-mbarriers"> {
  let summary = "complete asynchronous copies before their data is used";
  let description = [{
    For `cp.async`: each step of a pipeline commits one group, also when it
    starts nothing, and the loop waits until at most `ahead - 1` groups are in
    flight before it uses a slot. Other asynchronous copies are committed
    together where they follow each other, and waited for before the first
    operation that touches their destinations.

    Rings between roles: each set of buffers that the consumers use by the same
    operations gets two barriers per slot, full and empty, initialised in front
    of the roles. The producer waits until a slot is empty, expects the bytes
    of its copies by TMA and starts them; consumers wait until it is full, and
    each of their warps gives it back behind the last use. Arrivals happen in
    every iteration, also where copies or uses stand under a condition.

    Loads that several blocks of a cluster share (`tile-multicast-copies`) fill
    the slots of all of them: each block expects the bytes of the whole tile on
    its own full barrier, and fills a slot when it is empty in every block that
    its loads reach. Consumers therefore arrive at the empty barriers of all
    those blocks: `tile.reach` of the arrival lists, for each kind of shared
    load, the axes of the cluster along which it reaches. Barriers of the
    cluster (`tile.cluster_arrive`, `tile.cluster_wait`) stand behind the
    initialisation and at the end of the kernel: no block may use the barriers
    of one that has not initialised them or has left.

    Copies by TMA outside of rings: loads that follow each other share a phase
    of one barrier, which all threads wait for before the first use. In a loop
    the phase is a local variable. A pipeline has a barrier for each slot, and
    one variable with the parity of every slot as a bit. Stores become
    `tile.copy_async`; `tile-insert-sync` commits them and waits for them.

    ```mlir
    tile.copy %A[...] to %a[...] {choice = #tile.choice<tma, "...">} : ...
    tile.gemm %a, %b, %c : ...
    ```
    becomes
    ```mlir
    tile.barrier_arrive %loaded[%c0] single {expect = 16384 : i64} : ...
    tile.copy_async %A[...] to %a[...] barrier %loaded[%c0] : ...
    tile.barrier_wait %loaded[%c0], %phase : ...
    tile.gemm %a, %b, %c : ...
    ```

    ```mlir
    // producer
    tile.barrier_wait %empty[%slot], %other_phase : ...
    tile.barrier_arrive %full[%slot] single {expect = 32768 : i64} : ...
    tile.copy_async %A[...] to %a[...] barrier %full[%slot] : ...
    // consumers
    tile.barrier_wait %full[%slot], %phase : ...
    tile.gemm %a, %b, %c : ...
    tile.barrier_arrive %empty[%slot] warp : ...
    ```

    ```mlir
    scf.for ... {
      tile.async_wait {pending = 1 : i64}
      scf.if %more { tile.copy_async ... } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
      tile.async_commit
      tile.gemm ...
    } {tile.pipeline = #tile.pipeline<steady, slots = 3, ahead = 2>}
    ```
  }];
}

def TileScheduleMma : Pass<"tile-schedule-mma"> {
  let summary = "start matrix products of warp groups, and wait for them";
  let description = [{
    Every `tile.gemm` chosen as `wgmma_ss` or `wgmma_rs` becomes
    `tile.gemm_async` and a `tile.mma_wait` for its fragments; neighbouring
    ones share a wait. A `tile.fill` with zero in front of one becomes its
    `clear_accum`. In loops that load ahead, the loads of a later iteration
    start between product and wait.

    In a ring loop of two or more slots in which accumulators are touched by
    unconditional products from shared memory only, the products of one
    iteration stay in flight until those of the next have started. The slot that
    they read is given back then: `barrier_arrive` on the slot of the iteration
    before, and once more behind the loop. With fewer than four slots, outside of
    loops over tiles, they are waited for at once (`mma_wait {pending = 0}`
    without fragments), so that no load waits for a slot. A `tile.fill` with zero in front of
    the loop becomes one with an undefined value where the loop provably runs,
    because the first product then starts the sum (`accumulate`).

    A ring loop of a consumer role in which threads compute the register operand
    of its last product from the result of the first ones is rotated: the last
    product of a step starts behind the first ones of the next step, and runs
    while the threads compute. What touches its registers, or depends on that,
    comes behind the wait for it, and what only changes the accumulator in front
    of the last product, one step later. The slot that it reads is given back one
    step later, and a producer of one thread loads into it one step later. The
    operand gets registers of its own unless one copy at the end is all that writes it.
    If the registers of a thread, one slot, or the order of the operations do
    not allow it, the reason of the loop says so. With `tile.take_turns` on the
    loop (`ping_pong` of `T.Pipelined`), the warp groups take turns at starting
    both products.

    ```mlir
    scf.for %n = %lower to %upper step %c1 : i32 {
      tile.barrier_wait %full_k[%slot], %phase : ...
      tile.gemm %q, %k_slot, %s {choice = #tile.choice<wgmma_ss, ...>, clear_accum} : ...
      tile.barrier_arrive %empty_k[%slot] warp : ...
      tile.parallel ... // %s
      tile.parallel ... // %o
      tile.copy %s to %p
      tile.barrier_wait %full_v[%slot], %phase : ...
      tile.gemm %p, %v_slot, %o {choice = #tile.choice<wgmma_rs, ...>} : ...
      tile.barrier_arrive %empty_v[%slot] warp : ...
    } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    ```
    becomes, with a first step without and a last product behind it,
    ```mlir
    scf.for %n = %second to %upper step %c1 : i32 {
      tile.barrier_wait %full_k[%slot], %phase : ...
      tile.gemm_async %q, %k_slot, %s {choice = #tile.choice<wgmma_ss, ...>, clear_accum} : ...
      tile.parallel ... // %o
      tile.gemm_async %p, %v_before, %o {choice = #tile.choice<wgmma_rs, ...>} : ...
      tile.mma_wait %s {pending = 1 : i64} : ...
      tile.barrier_arrive %empty_k[%slot] warp : ...
      tile.parallel ... // %s
      tile.barrier_wait %full_v[%slot], %phase : ...
      tile.mma_wait %o, %p, %s {pending = 0 : i64} : ...
      tile.barrier_arrive %empty_v[%before] warp : ...
      tile.copy %s to %p
    } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
    ```

    Products that stay in flight:
    ```mlir
    tile.fill %c, %zero : ...
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      %slot = tile.load %ring[%c0] : ...
      tile.barrier_wait %full[%slot], %phase : ...
      tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, ...>} : ...
      tile.barrier_arrive %empty[%slot] warp : ...
      ...
    } {tile.pipeline = #tile.pipeline<ring, slots = 4, ahead = 0>}
    ```
    becomes
    ```mlir
    tile.fill %c, %poison : ...
    scf.for %k = %c0 to %c16 step %c1 : i32 {
      %slot = tile.load %ring[%c0] : ...
      tile.barrier_wait %full[%slot], %phase : ...
      %more = arith.cmpi sgt, %k, %c0 : i32
      tile.gemm_async %a, %b, %c accumulate %more {choice = #tile.choice<wgmma_ss, ...>} : ...
      tile.mma_wait {pending = 1 : i64}
      scf.if %more { tile.barrier_arrive %empty[%previous] warp : ... }
      ...
    } {tile.pipeline = #tile.pipeline<ring, slots = 4, ahead = 0>}
    tile.mma_wait %c {pending = 0 : i64} : ...
    tile.barrier_arrive %empty[%last] warp : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect"];
}

def TileDeferStores : Pass<"tile-defer-stores"> {
  let summary = "store a tile during the products of the next one";
  let description = [{
    In a persistent kernel, a loop over tiles holds a ring loop of products and,
    behind it, the stores of the result through staging buffers by TMA. While
    these run, the tensor cores idle. This pass keeps the result, converted to
    the type of the tensor, in registers, and goes on to the next tile: behind
    each of the first products of that one stands one chunk of the stores. They
    are cut off the ring loop for it. Behind the loop over tiles the last tile is
    stored. What is computed between the products and the stores (scaling, bias,
    activation) stays where it is.

    The places in the tensor are carried in variables; until there is a tile
    they lie outside of the tensor, where TMA writes nothing. What is used
    behind the products and does not depend on them is computed behind the first
    product and held by `tile.pin`.

    Legal if each warp stores by itself (`tile.warp_layout` of
    `tile-insert-mbarriers`), the stores are the last accesses to memory in the
    loop over tiles, the registers of the result fit beside the accumulators,
    and there are at least as many products as chunks. If the number of products
    is known at run time only, and does not change from tile to tile, it selects
    between this form and the original one. The choice of the stores says what
    was done, or why not. The option `disable_defer_stores` switches the pass off.

    ```mlir
    scf.for %tile = %worker to %tiles step %workers : i32 {
      %row = arith.divui ... : i32
      tile.fill %acc, %poison : ...
      scf.for %k = %c0 to %c16 step %c1 : i32 { ... tile.gemm_async %a, %b, %acc ... } {tile.pipeline = #tile.pipeline<ring, ...>}
      tile.mma_wait %acc {pending = 0 : i64} : ...
      tile.copy %acc[%c0, %c0] [128, 64] to %staging[%c0, %c0] [128, 64] : ...
      tile.copy_async %staging[%c0, %c0] [128, 64] to %C[%row, %column] [128, 64] {tile.warp_layout = ...} : ...
    }
    ```
    becomes
    ```mlir
    tile.fill %result, %zero : ...
    tile.store %outside, %places[%c0] : ...
    scf.for %tile = %worker to %tiles step %workers : i32 {
      tile.fill %acc, %poison : ...
      ... tile.gemm_async %a, %b, %acc ...
      %row = arith.divui ... : i32
      %held = tile.pin %row : i32
      %last = tile.load %places[%c0] : ...
      tile.copy %result[%c0, %c0] [128, 64] to %staging[%c0, %c0] [128, 64] : ...
      tile.copy_async %staging[%c0, %c0] [128, 64] to %C[%last, ...] [128, 64] {tile.warp_layout = ...} : ...
      scf.for %k = %c1 to %c16 step %c1 : i32 { ... } {tile.pipeline = #tile.pipeline<ring, ...>}
      tile.mma_wait %acc {pending = 0 : i64} : ...
      tile.copy %acc[%c0, %c0] [128, 64] to %result[%c0, %c0] [128, 64] : ...
      tile.pin_fragment %result : ...
      tile.store %held, %places[%c0] : ...
    }
    tile.copy %result ... to %staging ...
    tile.copy_async %staging ... to %C[...] ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def TileAllocateMemory : Pass<"tile-allocate-memory"> {
  let summary = "assign shared memory offsets";
  let description = [{
    Each shared allocation gets `tile.shared_offset`, the kernel
    `tile.shared_bytes`. Buffers whose lifetimes do not overlap share memory,
    unless the option `disable_shared_reuse` is set; `tile-insert-sync`, which
    runs after this pass, orders such uses. Buffers used in the same innermost
    loop share memory only if the kernel does not fit otherwise, because that
    costs barriers in the loop. Needing more than the target has is an error
    that lists every buffer with its size.

    Where two blocks fit a multiprocessor but for their registers at launch, a
    kernel with a producer and one group of consumers gets
    `min_blocks_per_sm = 2`, and registers for its roles: the producer gives to
    the consumers what it does not need. Not in clusters, in grids of one block
    per multiprocessor, and where the program says something else.

    ```mlir
    %a = tile.alloc "A_shared" : !tile.buffer<3x128x32xf16, shared>
    %c = tile.alloc "C_shared" : !tile.buffer<128x128xf16, shared>
    ```
    becomes
    ```mlir
    %a = tile.alloc "A_shared" {tile.shared_offset = 0 : i64} : !tile.buffer<3x128x32xf16, shared>
    %c = tile.alloc "C_shared" {tile.shared_offset = 0 : i64} : !tile.buffer<128x128xf16, shared>
    ```
  }];
}

def TileInsertSync : Pass<"tile-insert-sync"> {
  let summary = "insert barriers between dependent accesses of threads";
  let description = [{
    A forward data-flow over the accesses to shared memory, and to tensors that
    the kernel writes, since the last barrier, through loops and branches. A barrier goes before the first operation that reads what
    other threads may have written, or writes what they may have accessed.
    Slots of pipelines, constant parts of buffers, atomics among each other and
    accesses of threads to their own elements are known not to conflict. Data
    of asynchronous copies is visible to all threads after a wait and a barrier.
    Different allocations conflict when their memory overlaps.
    Operations with a scratch buffer write it, pass a barrier of their own, and
    read it: they need a barrier before them if the scratch memory was used
    since the last one.
    With the option `disable_thread_sync` the user orders the accesses to each
    buffer; only slots of pipelines and reuse of memory are looked after.

    Stores by TMA are committed where they end a group, and waited for before
    their source is overwritten, before a store that may write the same elements,
    and at the end of the kernel or role. Behind writes of threads to memory that
    TMA or `wgmma` accesses stands a fence between the proxies.

    ```mlir
    tile.copy %acc[...] to %staging[...] : ...
    tile.fence_proxy
    tile.sync_threads
    tile.copy_async %staging[...] to %C[...] {choice = #tile.choice<tma, "...">} : ...
    tile.bulk_commit
    tile.bulk_wait {pending = 0 : i64, read}
    ```

    ```mlir
    tile.store %v, %s[%i] : f32, !tile.buffer<128xf32, shared>
    tile.sync_threads
    %w = tile.load %s[%j] : !tile.buffer<128xf32, shared> -> f32
    ```
  }];
}

def TileVerifySync : Pass<"tile-verify-sync"> {
  let summary = "execute the protocol of barriers and roles, and report faults";
  let description = [{
    Changes nothing. For kernels with roles (`tile.warp_specialize`, also several
    of them and inside of loops), barriers, asynchronous copies or products in
    flight, the warps that run the same steps are executed as a program of
    waits, arrivals, copies and products, and accesses to shared memory, with a
    vector clock each: the first warp of a role, its other warps; each warp by
    itself where conditions depend on `tile.elect` or `tile.thread_id`. Errors:

    * deadlock: who waits for what, since which line;
    * early read: a slot is read while a copy may still fill it;
    * early overwrite: a slot is written while somebody may still read it, e.g.
      a product that no `tile.mma_wait` covers yet;
    * early use of a fragment that a product in flight reads or writes;
    * over-arrival: more arrivals than a phase takes;
    * barrier clash: one named barrier with different numbers of threads;
    * phase overrun: a phase may complete before a wait for the one before it
      returns, which then waits for the wrong phase;
    * wrong number of bytes: a phase expects others than are copied;
    * a barrier that is not initialised, or not for all threads;
    * asynchronous work that is left at the end of the kernel.

    An error comes with the last steps of each role, with the iterations of the
    loops that they are in, and with the choices that lead there.

    The order in which roles run does not matter, because the clocks say what
    may happen at the same time, and because over-arrivals and overruns are
    faults of their own. For the same reason who arrives at a named barrier has
    to know that the phase before is complete. Variables and loop counters are followed. What is not
    known (block indices, sizes, loaded elements) is a symbol that all roles
    share: trip counts of inner loops from 0 to 2S + 3 for S slots, of outer
    loops from 0 to 3, and both values of conditions are tried, all
    combinations of up to three conditions and fixed patterns of more. Of long
    constant loops the middle is left out. `max-steps` bounds the number of
    executed steps; combinations beyond it are not tried.

    A bulk store reads its shared memory until `tile.bulk_wait`, and is visible
    to reads of its tensor behind one without `read` only. Accesses to tensors
    are compared where one is asynchronous, and where both certainly meet.

    When a slot or a parity cannot be calculated, or a condition around a
    barrier depends on what single threads have loaded, or inline PTX may
    synchronise, the pass says in a warning that the kernel is not verified, and
    why. Not looked at: accesses of the threads of one role, and of the lanes of
    a warp, among each other (`tile-insert-sync` orders them), other blocks'
    accesses to tensors, and proxy fences.

    Where blocks of a cluster fill each other's slots or arrive at each other's
    barriers, all blocks of a cluster are executed together. Their block indices
    differ by the place in the cluster, so that conditions may come out
    differently; the same faults are looked for across blocks, and a block must
    not leave while another may still use its shared memory.

    ```mlir
    // The producer passes its first wait only with parity 1 (a fresh barrier
    // counts as having completed that phase):
    %phase = tile.load %ring[%c1] : !tile.buffer<2xi32, local> -> i32
    tile.barrier_wait %empty[%slot], %phase : !tile.buffer<2x!tile.barrier, shared>
    // error: deadlock: producer waits for parity 0 of empty[0] (0 of 4 arrivals) since line 12; consumer waits ...

    // Correct, and left as it is:
    %free = arith.xori %phase, %c1 : i32
    tile.barrier_wait %empty[%slot], %free : !tile.buffer<2x!tile.barrier, shared>
    ```
  }];
  let options = [
    Option<"maxSteps", "max-steps", "int64_t", /*default=*/"1000000",
           "executed steps of a kernel after which no more inputs are tried">
  ];
}

def TileCollectReport : Pass<"tile-collect-report", "::mlir::ModuleOp"> {
  let summary = "gather what was decided about every operation";
  let description = [{
    Sets the module attribute `tile.report`, an array with one dictionary for
    each kernel, followed by one for each operation with a choice:

    * kernel: `kernel` (symbol of the entry), `op = "kernel"`, `threads` of a
      block at launch, `program_threads`, `grid` (`#tile.expr`), `cluster`,
      `shared_bytes`, `target`, `shared_limit`, `buffers` (those in shared
      memory, each with `name`, `shape`, `dtype`, `bytes`, `offset` and, of
      pipelines, `slots`), `fragments` (`name`, `shape`, `dtype`,
      `elements_per_thread`), `roles` (`role`, `first_warp`, `warps`, `threads`,
      `registers`, `single_thread`, `operations`), `channels` (barriers: `name`,
      `barriers`, `arrivals`, `bytes`, and the roles that `arrive` and `wait`),
      `work`, and the position;
    * operation: `kernel`, `op` as the user wrote it (`gemm` also of a
      `tile.gemm_async`), `path`, `reason`, `arguments`, `operands` (names of
      tensors and buffers), and the position; of a pipeline also `buffers` and
      `bytes_in_flight`.

    `work` says what one execution of an operation does, and how often it runs
    in a launch. Entries have a `kind`: `product` (`flops`, `shape`, `types`,
    `path`), `arithmetic` (`flops`, `special` functions), `shared` or `tensor`
    (`name`, `bytes`, unit attributes `reads` and `writes`; of a tensor also
    `extents`, `element_bits` and the loops that its place `depends` on). All
    have `loops` (`[name, lower, upper, step]`, outermost first) and
    `conditions` as `#tile.expr` over sizes, block indices (`block.x`) and loop
    variables (`i0`, ...), and `exact = false` when there is no expression for
    one of them. Loads of a pipeline are listed once, for all iterations.

    The position is `location` (`file:line`), `file`, `line` and `column`;
    absent when the IR has none. Copies of one operation are listed once.

    ```mlir
    // before
    module {
      func.func @f(%A: memref<64xf32>) {
        tile.kernel "k" grid(%c1) threads(32) {
          tile.copy %A[%c0] [64] to %a[%c0] [64] {choice = #tile.choice<simt, "the target has no cp.async">} : ... loc("user.py":13:7)
        }
        return
      }
    }
    // after
    module attributes {tile.report = [
      {op = "kernel", kernel = "k", threads = 32 : i64, shared_bytes = 256 : i64, buffers = [...], fragments = [], ...},
      {op = "copy", kernel = "k", path = "simt", reason = "the target has no cp.async", operands = ["A", "a"],
       location = "user.py:13", file = "user.py", line = 13 : i64, column = 7 : i64} ]} { ... }
    ```
  }];
}

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PASSES
