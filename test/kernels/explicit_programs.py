"""Kernels that schedule their warp groups themselves: T.ws, barriers, TMA, wgmma, named barriers, inline PTX."""

import tilemlir.language as T


def gemm(
    m,
    n,
    k,
    stages=3,
    block=(128, 128, 64),
    transpose_b=False,
    in_flight=0,
    arrivals="warps",
    dtype="float16",
    consumers=1,
):
    """A producer group loads by TMA into a ring; consumer groups multiply by wgmma, together.

    Args:
        m, n, k: extents; edges are clipped.
        stages: slots of the ring.
        block: extents of a tile.
        transpose_b: B is given as N x K.
        in_flight: products that stay in flight while the next step is waited for: 0 or 1.
        arrivals: whether one thread of each of the ``"warps"`` or ``"all"`` threads of the producer arrive for a slot.
            One for all of them would be wrong: warps that wait for empty slots and tell nobody may miss a phase.
        dtype: element type.
        consumers: groups that multiply. Several take registers from the producer; one has enough.
    """
    block_m, block_n, block_k = block
    steps = T.ceildiv(k, block_k)
    b_tile = (block_n, block_k) if transpose_b else (block_k, block_n)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((n, k) if transpose_b else (k, n), dtype), C: T.Tensor((m, n), dtype)
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=128 + 128 * consumers) as (bx, by):
            a = T.alloc_shared((stages, block_m, block_k), dtype)
            b = T.alloc_shared((stages, *b_tile), dtype)
            c = T.alloc_fragment((block_m, block_n), "float32")
            full = T.alloc_barrier([4 if arrivals == "warps" else 128] * stages)
            empty = T.alloc_barrier([128 * consumers] * stages)
            with T.ws(consumers):
                if consumers > 1:
                    T.set_max_nreg(24, 0)
                for step in T.serial(steps):
                    slot = step % stages
                    T.mbarrier_wait_parity(empty[slot], ((step // stages) % 2) ^ 1)
                    T.tma_copy(A[by * block_m, step * block_k], a[slot, :, :], barrier=full[slot])
                    if transpose_b:
                        T.tma_copy(B[bx * block_n, step * block_k], b[slot, :, :], barrier=full[slot])
                    else:
                        T.tma_copy(B[step * block_k, bx * block_n], b[slot, :, :], barrier=full[slot])
                    if arrivals == "all":
                        T.mbarrier_arrive(full[slot])
                    elif T.shuffle_elect(32):
                        T.mbarrier_arrive(full[slot])
            with T.ws(*range(consumers)):
                if consumers > 1:
                    T.set_max_nreg(240, 1)
                T.clear(c)
                for step in T.serial(steps):
                    slot = step % stages
                    T.mbarrier_wait_parity(full[slot], (step // stages) % 2)
                    T.wgmma_gemm(a[slot, :, :], b[slot, :, :], c, transpose_B=transpose_b)
                    if in_flight == 0:
                        T.wait_wgmma(0)
                        T.mbarrier_arrive(empty[slot])
                    else:
                        T.wait_wgmma(1)
                        if step > 0:
                            T.mbarrier_arrive(empty[(step - 1) % stages])
                T.wait_wgmma(0)
                T.copy(c, C[by * block_m, bx * block_n])

    return kernel


def exchange(count, rounds):
    """Two groups work in turns on one buffer, over named barriers: each adds its number to all elements."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), "int32"), B: T.Tensor((count,), "int32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((count,), "int32")
            tx = T.get_thread_binding()
            with T.ws(0):
                T.copy(A, s)
                for _ in T.serial(rounds):
                    for j in T.serial(T.ceildiv(count, 128)):
                        if j * 128 + tx < count:
                            s[j * 128 + tx] = s[j * 128 + tx] * 2 + 1
                    T.named_barrier_sync(1, 256)
                    T.named_barrier_sync(2, 256)
            with T.ws(1):
                for _ in T.serial(rounds):
                    T.named_barrier_sync(1, 256)
                    for j in T.serial(T.ceildiv(count, 128)):
                        if j * 128 + tx - 128 < count:
                            s[j * 128 + tx - 128] = s[j * 128 + tx - 128] * 3
                    T.named_barrier_sync(2, 256)
                T.copy(s, B)

    return kernel


def ping_pong(count, rounds):
    """Two groups alternate on one buffer: each waits for its turn at a named barrier, then gives it to the other."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), "int32"), B: T.Tensor((count,), "int32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((count,), "int32")
            own = T.alloc_fragment((count,), "int32")
            other = T.alloc_fragment((count,), "int32")
            with T.ws(0):
                T.copy(A, s)
                for _ in T.serial(rounds):
                    T.copy(s, own)
                    for i in T.Parallel(count):
                        own[i] = own[i] * 2 + 1
                    T.copy(own, s)
                    T.named_barrier_arrive(2, 256)
                    T.named_barrier_sync(1, 256)
                T.copy(s, B)
            with T.ws(1):
                for _ in T.serial(rounds):
                    T.named_barrier_sync(2, 256)
                    T.copy(s, other)
                    for i in T.Parallel(count):
                        other[i] = other[i] * 3
                    T.copy(other, s)
                    T.named_barrier_arrive(1, 256)

    return kernel


def one_way(count, blocks):
    """A group fills a buffer and goes on (named_barrier_arrive); the other waits and writes it out."""

    @T.prim_func
    def kernel(A: T.Tensor((blocks, count), "float32"), B: T.Tensor((blocks, count), "float32")):
        with T.Kernel(blocks, threads=256) as bx:
            s = T.alloc_shared((count,), "float32")
            with T.ws(0):
                T.copy(A[bx, :], s)
                T.named_barrier_arrive(3, 256)
            with T.ws(1):
                T.named_barrier_sync(3, 256)
                f = T.alloc_fragment((count,), "float32")
                T.copy(s, f)
                for i in T.Parallel(count):
                    f[i] = f[i] * 2.0
                T.copy(f, B[bx, :])

    return kernel


def producer_consumer(rows, columns, stages=2):
    """Threads of one group fill slots with ordinary copies; a second one sums the rows; barriers order them."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((columns,), "float32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((stages, columns), "float32")
            total = T.alloc_fragment((columns,), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            with T.ws(0):
                for row in T.serial(rows):
                    T.barrier_wait(empty[row % stages], ((row // stages) & 1) ^ 1)
                    T.copy(A[row, :], s[row % stages, :])
                    T.barrier_arrive(full[row % stages])
            with T.ws(1):
                T.clear(total)
                for row in T.serial(rows):
                    T.barrier_wait(full[row % stages], (row // stages) & 1)
                    for i in T.Parallel(columns):
                        total[i] += s[row % stages, i]
                    T.barrier_arrive(empty[row % stages])
                T.copy(total, B)

    return kernel


def tma_round_trip(rows, columns):
    """Loads by TMA, changes the tile with threads, stores by TMA."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), "float16"), B: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(columns, 64), T.ceildiv(rows, 64), threads=128) as (bx, by):
            s = T.alloc_shared((64, 64), "float16")
            bar = T.alloc_barrier(128)
            T.tma_copy(A[by * 64, bx * 64], s, barrier=bar)
            T.mbarrier_arrive(bar)
            T.mbarrier_wait_parity(bar, 0)
            for i, j in T.Parallel(64, 64):
                s[i, j] = s[i, j] + T.float16(1)
            T.fence_proxy_async()
            T.sync_threads()
            T.tma_copy(s, B[by * 64, bx * 64])
            T.tma_store_wait()

    return kernel


def saturating_sum(count):
    """Inline PTX: additions that saturate."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), "int32"), B: T.Tensor((count,), "int32"), C: T.Tensor((count,), "int32")):
        with T.Kernel(T.ceildiv(count, 128), threads=128) as bx:
            i = bx * 128 + T.get_thread_binding()
            if i < count:
                C[i] = T.ptx("add.sat.s32 $0, $1, $2;", A[i], B[i], outputs="int32")

    return kernel


def replaced(count):
    """Inline PTX replaces the first element of ``A`` between two reads of it."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), "int32"), before: T.Tensor((count,), "int32"), after: T.Tensor((count,), "int32")):
        with T.Kernel(1, threads=count):
            i = T.get_thread_binding()
            before[i] = A[i]
            T.sync_threads()
            if i == 0:
                T.ptx("st.global.b32 [$0], 77;", A)
            T.sync_threads()
            after[i] = A[0]

    return kernel


def counted_blocks(blocks, cluster=None):
    """Inline PTX counts the blocks that have an effect."""

    @T.prim_func
    def kernel(count: T.Tensor((1,), "int32")):
        with T.Kernel(blocks, threads=32, cluster_dims=cluster):
            if T.get_thread_binding() == 0:
                T.ptx("red.global.add.s32 [$0], 1;", count)

    return kernel


def dependent(count):
    """A kernel that may begin before the one ahead of it has ended."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), "float32"), B: T.Tensor((count,), "float32")):
        with T.Kernel(T.ceildiv(count, 128), threads=128) as bx:
            T.pdl_sync()
            i = bx * 128 + T.get_thread_binding()
            if i < count:
                B[i] = A[i] + 1.0
            T.pdl_trigger()

    return kernel


def cluster_gemm(n, k, blocks=2, stages=2, everywhere=True):
    """The blocks of a cluster share the rows of A: each loads its part for all, and tells all when it has used a slot.

    Args:
        n, k: extents; C has 64 rows.
        blocks: of a cluster, which work on neighbouring columns.
        stages: slots of the ring.
        everywhere: whether every block loads a part for all, or the first one everything.
    """
    rows = 64 // blocks if everywhere else 64
    whole = 64 * 64 * 2

    @T.prim_func
    def kernel(A: T.Tensor((64, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((64, n), "float16")):
        with T.Kernel(T.ceildiv(n, 64), threads=128, cluster_dims=blocks) as bx:
            a = T.alloc_shared((stages, 64, 64), "float16")
            b = T.alloc_shared((stages, 64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier([1 if everywhere else 128] * stages)
            empty = T.alloc_barrier([128 * blocks] * stages)
            rank = T.block_rank_in_cluster()
            # Nobody may load into, or arrive at, a block whose barriers are not there yet.
            T.cluster_sync()
            T.clear(c)
            for step in T.serial(T.ceildiv(k, 64)):
                slot = step % stages
                if everywhere or rank == 0:
                    T.mbarrier_wait_parity(empty[slot], ((step // stages) % 2) ^ 1)
                T.tma_copy(B[step * 64, bx * 64], b[slot, :, :], barrier=full[slot])
                if everywhere:
                    T.tma_copy(
                        A[rank * rows : (rank + 1) * rows, step * 64 : step * 64 + 64],
                        a[slot, rank * rows : (rank + 1) * rows, :],
                        barrier=full[slot],
                        cluster_mask=(1 << blocks) - 1,
                    )
                    T.mbarrier_arrive_expect_tx(full[slot], whole - rows * 64 * 2)
                else:
                    if rank == 0:
                        T.tma_copy(A[0, step * 64], a[slot, :, :], barrier=full[slot], cluster_mask=(1 << blocks) - 1)
                    else:
                        T.mbarrier_expect_tx(full[slot], whole)
                    T.mbarrier_arrive(full[slot])
                T.mbarrier_wait_parity(full[slot], (step // stages) % 2)
                T.wgmma_gemm(a[slot, :, :], b[slot, :, :], c)
                T.wait_wgmma(0)
                if everywhere:
                    for peer in list(range(blocks)):
                        T.mbarrier_arrive(empty[slot], cta_id=(rank + peer) % blocks)
                else:
                    # Who loads A has to know of all; the slot of B is the block's own.
                    T.mbarrier_arrive(empty[slot], cta_id=0)
                    T.sync_threads()
            T.cluster_sync()
            T.copy(c, C[0, bx * 64])

    return kernel
