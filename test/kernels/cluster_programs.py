"""Kernels of thread block clusters, whose blocks share loads: for test/python and test/gpu."""

import tilemlir.language as T


def gemm(m, n, k, cluster, block=(128, 128, 64), threads=128, stages=4, transpose_b=False, panel=0):
    """C = A @ B (or A @ B.T): columns of blocks along x, rows along y, so that a cluster along y shares B.

    Args:
        m, n, k: extents; ``T.dynamic`` symbols or integers.
        cluster: blocks of a cluster along x, y and z.
        block: rows, columns and depth of a tile.
        threads: of a block.
        stages: slots of the pipeline.
        transpose_b: whether B is (n, k).
        panel: of T.use_swizzle; 0 for none.
    """
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((n, k) if transpose_b else (k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads, cluster_dims=cluster) as (bx, by):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_n, block_k) if transpose_b else (block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.use_swizzle(panel_size=panel, enable=panel > 0)
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(a[by * block_m, step * block_k], a_tile)
                if transpose_b:
                    T.copy(b[bx * block_n, step * block_k], b_tile)
                else:
                    T.copy(b[step * block_k, bx * block_n], b_tile)
                T.gemm(a_tile, b_tile, acc, transpose_B=transpose_b)
            T.copy(acc, c[by * block_m, bx * block_n])

    return kernel


def persistent_gemm(m, n, k, cluster=2, cluster_tile=None, block=(128, 128, 64), threads=128, stages=4, workers=None):
    """C = A @ B by blocks that walk over tiles, neighbours of a cluster at the same time.

    Args:
        m, n, k: extents; ``T.dynamic`` symbols or integers.
        cluster: blocks of a cluster.
        cluster_tile: argument of T.Persistent.
        block: rows, columns and depth of a tile.
        threads: of a block.
        stages: slots of the pipeline.
        workers: blocks; None for one per multiprocessor.
    """
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        count = T.num_sms() if workers is None else workers
        with T.Kernel(count, threads=threads, cluster_dims=cluster) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, count, worker, cluster_tile=cluster_tile):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel


def chosen_steps(m, n, k, same, cluster=(1, 2), block=(64, 64, 64), stages=2):
    """C = A @ B over the steps that ``flags`` keeps, loaded under a condition.

    Args:
        m, n, k: extents.
        same: whether the flags are those of the step, or those of the block along y too.
        cluster: blocks of a cluster.
        block: rows, columns and depth of a tile.
        stages: slots of the pipeline.
    """
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        flags: T.Tensor((m // block_m, k // block_k), "int32"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // block_n, m // block_m, threads=128, cluster_dims=cluster) as (bx, by):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(acc)
            for step in T.Pipelined(k // block_k, num_stages=stages):
                if flags[0 if same else by, step] != 0:
                    T.copy(a[by * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, bx * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[by * block_m, bx * block_n])

    return kernel


def lower_triangle(m, n, cluster=(1, 2), block=(64, 64, 64), stages=3):
    """C = tril(A) @ B by blocks: blocks along y have loops of different lengths, so that they cannot share B."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(a: T.Tensor((m, m), "float16"), b: T.Tensor((m, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(n // block_n, m // block_m, threads=128, cluster_dims=cluster) as (bx, by):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(acc)
            for step in T.Pipelined(by + 1, num_stages=stages):
                T.copy(a[by * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, bx * block_n], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[by * block_m, bx * block_n])

    return kernel


def places(blocks, cluster):
    """What each block sees of its cluster, and how many blocks there are: surplus ones of a cluster have no effect."""

    @T.prim_func
    def kernel(out: T.Tensor((blocks, 3), "int32"), count: T.Tensor((1,), "int32")):
        with T.Kernel(blocks, threads=32, cluster_dims=cluster) as block:
            if T.get_thread_binding() == 0:
                out[block, 0] = T.block_rank_in_cluster()
                out[block, 1] = T.get_cluster_id()
                out[block, 2] = T.get_cluster_size()
                T.atomic_add(count[0], 1)

    return kernel


def own_places(blocks, cluster):
    """Each block has a place in an array in shared memory, which has one for each block of the grid."""

    @T.prim_func
    def kernel(out: T.Tensor((blocks,), "int32")):
        with T.Kernel(blocks, threads=32, cluster_dims=cluster) as block:
            numbers = T.alloc_shared((blocks,), "int32")
            if T.get_thread_binding() == 0:
                numbers[block] = block * 3 + 1
            T.sync_threads()
            if T.get_thread_binding() == 1:
                out[block] = numbers[block]

    return kernel


def meet(blocks, cluster):
    """All blocks of the grid wait for each other, in one loop for its condition and in another one for its body."""

    @T.prim_func
    def kernel(arrived: T.Tensor((2,), "int32"), out: T.Tensor((blocks,), "int32")):
        with T.Kernel(blocks, threads=32, cluster_dims=cluster) as block:
            if T.get_thread_binding() == 0:
                T.atomic_add(arrived[0], 1, memory_order="release")
                while T.atomic_load(arrived[0], memory_order="acquire") < blocks:
                    pass
                T.atomic_add(arrived[1], 1, memory_order="release")
                seen = T.alloc_var("int32")
                seen = 0
                while seen < blocks:
                    seen = T.atomic_load(arrived[1], memory_order="acquire")
                out[block] = seen

    return kernel


def exchange(blocks, cluster):
    """Each block leaves a number in a workspace and reads that of its neighbour behind the barrier of the cluster."""

    @T.prim_func
    def kernel(out: T.Tensor((blocks,), "int32")):
        with T.Kernel(blocks, threads=64, cluster_dims=cluster) as block:
            numbers = T.alloc_global((blocks,), "int32")
            rank = T.block_rank_in_cluster()
            neighbour = block - rank + (rank + 1) % T.get_cluster_size()
            if T.get_thread_binding() == 0:
                numbers[block] = block * 7 + 1
            T.cluster_sync()
            if T.get_thread_binding() == 0:
                out[block] = numbers[neighbour]

    return kernel


def first_steps(m, n, k, cluster=(1, 2), block=(64, 64, 64), stages=3):
    """C = A[:, :steps * block_k] @ B[:steps * block_k]: the loop may not run at all."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        steps: T.int32,
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // block_n, m // block_m, threads=128, cluster_dims=cluster) as (bx, by):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(acc)
            for step in T.Pipelined(steps, num_stages=stages):
                T.copy(a[by * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, bx * block_n], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[by * block_m, bx * block_n])

    return kernel
