"""Programs of the simulator's tests: the chapter's matrix product, and what changes in its PTX make of it."""

import functools

import numpy as np
import tilemlir as tile
import tilemlir.language as T

SM_80 = {"kind": "cuda", "arch": "sm_80"}
SM_90A = {"kind": "cuda", "arch": "sm_90a"}


def gemm(m, n, k, block=(128, 128, 64), stages=3, threads=128, dtype="float16"):
    block_m, block_n, block_k = block

    @T.prim_func
    def gemm_kernel(a: T.Tensor((m, k), dtype), b: T.Tensor((k, n), dtype), c: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (column, row):
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_k, block_n), dtype)
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, column * block_n], b_tile)
                T.gemm(a_tile, b_tile, accumulator)
            T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_kernel


@functools.cache
def compiled_gemm(arch, m=128, n=128, k=256, **arguments):
    """The product compiled for an architecture, with its output made by the call."""
    return tile.compile(gemm(m, n, k, **arguments), out_idx=[2], target={"kind": "cuda", "arch": arch})


def operands(m, n, k):
    """Small whole numbers: every sum is exact."""
    generator = np.random.default_rng()
    a = generator.integers(-4, 5, (m, k)).astype(np.float16)
    b = generator.integers(-4, 5, (k, n)).astype(np.float16)
    return a, b
