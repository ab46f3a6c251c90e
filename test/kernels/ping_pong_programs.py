"""Persistent products of which two warp groups take turns."""

import tilemlir.language as T


def gemm(m, n, k, workers, block=(128, 128, 64), stages=3, threads=128, dtype="float16", out="float16",
         transpose_b=False, cluster=None):  # fmt: skip
    """C = A B (or A B^T) by ``workers`` blocks that walk over the tiles of C."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), dtype),
        b: T.Tensor((n, k) if transpose_b else (k, n), dtype),
        c: T.Tensor((m, n), out),
    ):
        with T.Kernel(workers, threads=threads, cluster_dims=cluster) as worker:
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_n, block_k) if transpose_b else (block_k, block_n), dtype)
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker, group_size=4, ping_pong=True):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    if transpose_b:
                        T.copy(b[column * block_n, step * block_k], b_tile)
                    else:
                        T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc, transpose_B=transpose_b)
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel


def triangular_gemm(m, n, workers, block=(64, 64, 64), stages=2):
    """C = tril(A) B + bias, A of blocks: tiles have different numbers of products."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, m), "float16"),
        b: T.Tensor((m, n), "float16"),
        bias: T.Tensor((n,), "float32"),
        c: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(workers, threads=128) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker, ping_pong=True):
                T.clear(acc)
                for step in T.Pipelined(row, num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                for i, j in T.Parallel(block_m, block_n):
                    acc[i, j] += bias[column * block_n + j]
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel


def running_sum(m, n, k, workers, block=(128, 128, 64)):
    """C = what the tiles of a block add up to: tiles depend on each other."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(workers, threads=128) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(acc)
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker, ping_pong=True):
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=3):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel
