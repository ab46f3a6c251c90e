"""Programs whose blocks take tiles from a counter."""

import numpy as np
import tilemlir.language as T

__all__ = ["around_groups", "expected_product", "product", "sum_of_product", "visits"]


def visits(extents, workers, order=None):
    """Counts how often each tile is worked on, and by which block."""
    rows, columns, depth = extents

    @T.prim_func
    def kernel(counts: T.Tensor(extents, "int32"), blocks: T.Tensor(extents, "int32")):
        with T.Kernel(workers, threads=64) as block:
            for i, j, k in T.Persistent([rows, columns, depth], workers, block, order=order, dynamic=True):
                if (i + j) % 3 == 1:
                    continue
                for lane in T.Parallel(1):
                    T.atomic_add(counts[i, j, k + lane], 1)
                    blocks[i, j, k + lane] = block

    return kernel


def around_groups(tiles, workers):
    """A loop around code of a warp group, between code of others."""

    @T.prim_func
    def kernel(counts: T.Tensor((tiles,), "int32"), ends: T.Tensor((2,), "int32")):
        with T.Kernel(workers, threads=256) as block:
            with T.ws(0):
                ends[0] = 1
            for (i,) in T.Persistent([tiles], workers, block, dynamic=True):
                with T.ws(1):
                    for lane in T.Parallel(1):
                        T.atomic_add(counts[i + lane], 1)
            with T.ws(1):
                ends[1] = 2

    return kernel


@T.macro
def multiply(a, b, tiles, sums, row, column, steps, num_stages):
    """``sums`` of the tile of C at ``row`` and ``column``, in ``steps`` along K through the ``tiles`` of A and B."""
    a_tile, b_tile = tiles
    depth = a_tile.shape[1]
    T.clear(sums)
    for step in T.Pipelined(steps, num_stages=num_stages):
        T.copy(a[row, step * depth], a_tile)
        T.copy(b[step * depth, column], b_tile)
        T.gemm(a_tile, b_tile, sums)


def product(m, n, k, block, workers, num_stages, threads=128, lengths=False):
    """A product whose tiles of rows have inner loops of different lengths: rows see the first columns of ``a`` only."""
    block_m, block_n, block_k = block
    tiles = (-(-m // block_m), -(-n // block_n))

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            sums = T.alloc_fragment((block_m, block_n), "float32")
            for by, bx in T.Persistent(list(tiles), workers, worker, order=(~0, 1), dynamic=True):
                steps = T.min(by + 1, T.ceildiv(k, block_k)) if lengths else T.ceildiv(k, block_k)
                multiply(a, b, (a_tile, b_tile), sums, by * block_m, bx * block_n, steps, num_stages)
                T.copy(sums, c[by * block_m, bx * block_n])

    return kernel


def expected_product(a, b, block, lengths):
    a = a.astype(np.float64)
    if lengths:
        row, column = np.mgrid[: a.shape[0], : a.shape[1]]
        a = np.where(column // block[2] <= row // block[0], a, 0)
    return a @ b.astype(np.float64)


def sum_of_product(m, n, k, block, workers, tile_stages, dynamic=True, num_stages=2, threads=128):
    """C = A @ B + D, where a tile of D is loaded once for each tile, and used behind the loop."""
    block_m, block_n, block_k = block

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        d: T.Tensor((m, n), "float16"),
        c: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(workers, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            d_tile = T.alloc_shared((block_m, block_n), "float16")
            sums = T.alloc_fragment((block_m, block_n), "float32")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for by, bx in T.Persistent(tiles, workers, worker, num_stages=tile_stages, dynamic=dynamic):
                T.copy(d[by * block_m, bx * block_n], d_tile)
                steps = T.ceildiv(k, block_k)
                multiply(a, b, (a_tile, b_tile), sums, by * block_m, bx * block_n, steps, num_stages)
                for i, j in T.Parallel(block_m, block_n):
                    sums[i, j] += d_tile[i, j]
                T.copy(sums, c[by * block_m, bx * block_n])

    return kernel
