"""Kernels whose loads run ahead: few steps, skipped steps, persistent blocks, loops in loops, vectors beside tiles."""

import tilemlir.language as T


def weighted_rows(rows, sequence, stages, block=64):
    """One tile, one float32 row vector and a gemm per step, over a sequence that no tile divides."""

    @T.prim_func
    def kernel(q: T.Tensor((rows, 64), "bfloat16"), k: T.Tensor((sequence, 64), "bfloat16"),
               weight: T.Tensor((sequence,), "float32"), out: T.Tensor((rows, 64), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(rows, 64), threads=128) as by:
            q_tile = T.alloc_shared((64, 64), "bfloat16")
            k_tile = T.alloc_shared((block, 64), "bfloat16")
            w_tile = T.alloc_shared((block,), "float32")
            scores = T.alloc_fragment((64, block), "float32")
            weights = T.alloc_fragment((64, block), "bfloat16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(q[by * 64, 0], q_tile)
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(sequence, block), num_stages=stages):
                T.copy(k[step * block, 0], k_tile)
                T.copy(weight[step * block], w_tile)
                T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True)
                for i, j in T.Parallel(64, block):
                    weights[i, j] = scores[i, j] * w_tile[j]
                T.gemm(weights, k_tile, acc)
            T.copy(acc, out[by * 64, 0])

    return kernel


def gemv(n, k, stages, block_k=64, block_n=32, slices=1):
    """y = A x; ``slices`` blocks share the columns and add their parts."""
    part = k // slices

    @T.prim_func
    def kernel(a: T.Tensor((n, k), "bfloat16"), x: T.Tensor((k,), "bfloat16"), y: T.Tensor((slices, n), "float32")):
        with T.Kernel(T.ceildiv(n, block_n), slices, threads=128) as (bx, by):
            a_tile = T.alloc_shared((block_n, block_k), "bfloat16")
            x_tile = T.alloc_shared((block_k,), "bfloat16")
            product = T.alloc_fragment((block_n, block_k), "float32")
            total = T.alloc_fragment((block_n,), "float32")
            T.clear(total)
            for step in T.Pipelined(T.ceildiv(part, block_k), num_stages=stages):
                T.copy(a[bx * block_n, by * part + step * block_k], a_tile)
                T.copy(x[by * part + step * block_k], x_tile)
                for i, j in T.Parallel(block_n, block_k):
                    product[i, j] = T.cast(a_tile[i, j], "float32") * T.cast(x_tile[j], "float32")
                T.reduce_sum(product, total, dim=1, clear=False)
            T.copy(total, y[by, bx * block_n])

    return kernel


def launch_time_trips(stages):
    """Adds the first ``trips`` tiles; the number of steps is an argument of the launch."""

    @T.prim_func
    def kernel(x: T.Tensor((8 * 32, 32), "float16"), trips: T.int32, y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((32, 32), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            T.clear(acc)
            for step in T.Pipelined(trips, num_stages=stages):
                T.copy(x[step * 32, 0], tile)
                for i, j in T.Parallel(32, 32):
                    acc[i, j] += tile[i, j]
            T.copy(acc, y)

    return kernel


def unrolled(start, stop, step):
    """Counts the iterations of an unrolled loop that may be empty."""

    @T.prim_func
    def kernel(y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32) as _:
            count = T.alloc_var("int32", 0)
            for i in T.unroll(start, stop, step):
                count += 1 + 0 * i
            for i in T.Parallel(4):
                y[i] = count

    return kernel


def persistent_gemm(m, n, k, workers, block=64, block_k=64, stages=2):
    """A loop over tiles around a pipelined loop: barriers and slots go on from tile to tile."""
    tiles = (m // block, n // block)

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(workers, threads=128) as worker:
            a_tile = T.alloc_shared((block, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            for by, bx in T.Persistent(tiles, workers, worker):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[by * block, step * block_k], a_tile)
                    T.copy(b[step * block_k, bx * block], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                T.copy(acc, c[by * block, bx * block])

    return kernel


def persistent_visits(rows, columns, workers, group):
    """How often each tile of a persistent loop is visited."""

    @T.prim_func
    def kernel(visits: T.Tensor((rows, columns), "int32")):
        with T.Kernel(workers, threads=32) as worker:
            for y, x in T.Persistent((rows, columns), workers, worker, group_size=group):
                for _ in T.Parallel(1):
                    T.atomic_add(visits[y, x], 1)

    return kernel


def triangular(blocks, stages, block=32):
    """The number of steps depends on the block: row tiles of L L^T for a lower-triangular matrix of tiles."""
    size = blocks * block

    @T.prim_func
    def kernel(a: T.Tensor((size, size), "float16"), c: T.Tensor((size, block), "float32")):
        with T.Kernel(blocks, threads=64) as row:
            a_tile = T.alloc_shared((block, block), "float16")
            b_tile = T.alloc_shared((block, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for step in T.Pipelined(row, num_stages=stages):
                T.copy(a[row * block, step * block], a_tile)
                T.copy(a[step * block, 0], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[row * block, 0])

    return kernel


def gated_gemm(blocks, stages):
    """A gemm only where a flag read from memory is set; the loads are inside of the condition."""

    @T.prim_func
    def kernel(x: T.Tensor((blocks * 32, 32), "bfloat16"), w: T.Tensor((32, 32), "bfloat16"),
               flag: T.Tensor((blocks,), "int32"), y: T.Tensor((32, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            x_tile = T.alloc_shared((32, 32), "bfloat16")
            w_tile = T.alloc_shared((32, 32), "bfloat16")
            acc = T.alloc_fragment((32, 32), "float32")
            T.copy(w, w_tile)
            T.clear(acc)
            for block in T.Pipelined(blocks, num_stages=stages):
                if flag[block] != 0:
                    T.copy(x[block * 32, 0], x_tile)
                    T.gemm(x_tile, w_tile, acc)
            T.copy(acc, y)

    return kernel


def two_conditions(stages):
    """Two conditions of one form on different tensors, and one on the loop variable, in one loop."""

    @T.prim_func
    def kernel(x: T.Tensor((8 * 32, 32), "float16"), first: T.Tensor((8,), "int32"), second: T.Tensor((8,), "int32"),
               y: T.Tensor((3, 32, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((32, 32), "float16")
            a = T.alloc_fragment((32, 32), "float32")
            b = T.alloc_fragment((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(a)
            T.clear(b)
            T.clear(c)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(x[k * 32, 0], tile)
                if first[k] > 0:
                    for i, j in T.Parallel(32, 32):
                        a[i, j] += tile[i, j]
                if second[k] > 0:
                    for i, j in T.Parallel(32, 32):
                        b[i, j] += tile[i, j]
                if k > 1:
                    for i, j in T.Parallel(32, 32):
                        c[i, j] += tile[i, j]
            T.copy(a, y[0, 0:32, 0:32])
            T.copy(b, y[1, 0:32, 0:32])
            T.copy(c, y[2, 0:32, 0:32])

    return kernel


def loop_in_while(stages):
    """A pipelined loop inside of a while loop whose end is read from memory."""

    @T.prim_func
    def kernel(x: T.Tensor((4 * 32, 32), "float16"), rounds: T.Tensor((1,), "int32"), y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((32, 32), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            T.clear(acc)
            done = T.alloc_var("int32", 0)
            while done < rounds[0]:
                for k in T.Pipelined(4, num_stages=stages):
                    T.copy(x[k * 32, 0], tile)
                    for i, j in T.Parallel(32, 32):
                        acc[i, j] += tile[i, j]
                done += 1
            T.copy(acc, y)

    return kernel
