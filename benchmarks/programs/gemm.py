"""The GEMM program that the benchmarks compile with tilemlir and with TileLang.

Only the import line below differs between the two (see ``peers.load_program``).
"""

import tilemlir.language as T


def matmul(
    m, n, k, block_m=128, block_n=128, block_k=32, num_stages=3, threads=128, panel=0, layout="kn", dtype="float16"
):
    """C[m, n] = A[m, k] @ B with float32 accumulation; B is [k, n] ("kn") or [n, k] ("nk")."""
    kn = layout == "kn"
    result = "bfloat16" if dtype == "bfloat16" else "float16"

    @T.prim_func
    def kernel(
        a: T.Tensor((m, k), dtype),
        b: T.Tensor((k, n) if kn else (n, k), dtype),
        c: T.Tensor((m, n), result),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            a_shared = T.alloc_shared((block_m, block_k), dtype)
            b_shared = T.alloc_shared((block_k, block_n) if kn else (block_n, block_k), dtype)
            c_local = T.alloc_fragment((block_m, block_n), "float")
            T.use_swizzle(panel_size=panel, enable=panel > 0)
            T.clear(c_local)
            for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                T.copy(a[by * block_m, ko * block_k], a_shared)
                if kn:
                    T.copy(b[ko * block_k, bx * block_n], b_shared)
                else:
                    T.copy(b[bx * block_n, ko * block_k], b_shared)
                T.gemm(a_shared, b_shared, c_local, transpose_B=not kn)
            T.copy(c_local, c[by * block_m, bx * block_n])

    return kernel
