"""The GEMM program that the benchmarks compile with tilemlir and with TileLang.

Only the import line below differs between the two (see ``peers.load_program``).
"""

import tilemlir.language as T


def matmul(m, n, k, block_m=128, block_n=128, block_k=32, num_stages=3, threads=128, panel=0):
    """C[m, n] = A[m, k] @ B[k, n] in float16 with float32 accumulation."""

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            a_shared = T.alloc_shared((block_m, block_k), "float16")
            b_shared = T.alloc_shared((block_k, block_n), "float16")
            c_local = T.alloc_fragment((block_m, block_n), "float")
            T.use_swizzle(panel_size=panel, enable=panel > 0)
            T.clear(c_local)
            for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                T.copy(a[by * block_m, ko * block_k], a_shared)
                T.copy(b[ko * block_k, bx * block_n], b_shared)
                T.gemm(a_shared, b_shared, c_local)
            T.copy(c_local, c[by * block_m, bx * block_n])

    return kernel


def persistent_matmul(m, n, k, block_m=128, block_n=256, block_k=64, num_stages=4, threads=256, panel=8):
    """The same product with one block per multiprocessor, each of which walks over tiles of C."""

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.num_sms(), threads=threads) as worker:
            a_shared = T.alloc_shared((block_m, block_k), "float16")
            b_shared = T.alloc_shared((block_k, block_n), "float16")
            c_local = T.alloc_fragment((block_m, block_n), "float")
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, T.num_sms(), worker, group_size=panel):
                T.clear(c_local)
                for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                    T.copy(a[row * block_m, ko * block_k], a_shared)
                    T.copy(b[ko * block_k, column * block_n], b_shared)
                    T.gemm(a_shared, b_shared, c_local)
                T.copy(c_local, c[row * block_m, column * block_n])

    return kernel
