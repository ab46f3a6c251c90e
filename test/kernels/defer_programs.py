"""Persistent products whose results leave during the products of the next tile."""

import tilemlir.language as T


def gemm(m, n, k, workers, block=(128, 128, 64), stages=3, threads=256, dtype="float16", out="float16",
         transpose_b=False, group=8):  # fmt: skip
    """C = A B (or A B^T) by ``workers`` blocks that walk over the tiles of C."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), dtype),
        b: T.Tensor((n, k) if transpose_b else (k, n), dtype),
        c: T.Tensor((m, n), out),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_n, block_k) if transpose_b else (block_k, block_n), dtype)
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker, group_size=group):
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


def gemm_with_epilogue(m, n, k, workers, block=(128, 128, 64), stages=3, threads=256, out="float16"):
    """C = max(scale * A B + bias, 0): work between the products and the store."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        bias: T.Tensor((n,), "float32"),
        scale: T.float32,
        c: T.Tensor((m, n), out),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                for i, j in T.Parallel(block_m, block_n):
                    acc[i, j] = T.max(acc[i, j] * scale + bias[column * block_n + j], 0)
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel


def gemm_in_place(m, n, k, workers, block=(128, 128, 64), stages=3, threads=256):
    """C = A B + beta C: the tensor that is stored is read, too."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        beta: T.float32,
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                for i, j in T.Parallel(block_m, block_n):
                    acc[i, j] += beta * c[row * block_m + i, column * block_n + j]
                T.copy(acc, c[row * block_m, column * block_n])

    return kernel


def two_results(m, n, k, workers, block=(128, 64, 64), stages=3, threads=256):
    """Two tensors are stored for each tile: C, and max(C, 0)."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
        d: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, workers, worker):
                T.clear(acc)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                T.copy(acc, c[row * block_m, column * block_n])
                for i, j in T.Parallel(block_m, block_n):
                    acc[i, j] = T.max(acc[i, j], 0)
                T.copy(acc, d[row * block_m, column * block_n])

    return kernel
