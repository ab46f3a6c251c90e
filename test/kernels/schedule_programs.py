"""Kernels with schedules of their own: what runs ahead of what in a pipelined loop."""

import tilemlir.language as T

#: Scores of the next tile before the weights of this one are used, in the form of older programs.
SCORES_AHEAD = {
    "order": [-1, 0, 3, 1, -1, 2],
    "stage": [-1, 0, 0, 1, -1, 1],
    "group": [[0], [1, 2], [3, 4, 5, 6, 8, 9], [7], [10], [11]],
}


def scheduled_attention(heads, queries, keys, dim, block_m=64, block_n=64, stages=2, schedule=None):
    """Attention without a mask; ``schedule``: options of T.Pipelined."""
    scale = dim**-0.5 * 1.44269504
    schedule = schedule or {}

    @T.prim_func
    def kernel(
        q: T.Tensor((heads, queries, dim), "float16"),
        k: T.Tensor((heads, keys, dim), "float16"),
        v: T.Tensor((heads, keys, dim), "float16"),
        out: T.Tensor((heads, queries, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(queries, block_m), heads, threads=128) as (bx, by):
            q_tile = T.alloc_shared((block_m, dim), "float16")
            k_tile = T.alloc_shared((block_n, dim), "float16")
            v_tile = T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), "float16")
            acc = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(q[by, bx * block_m, 0], q_tile)
            T.clear(acc)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(keys, block_n), num_stages=stages, **schedule):
                T.copy(k[by, step * block_n, 0], k_tile)
                T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.if_then_else(
                        step * block_n + j < keys, scores[i, j] * scale, -T.infinity("float32")
                    )
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_m, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, dim):
                    acc[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[by, step * block_n, 0], v_tile)
                T.gemm(weights, v_tile, acc)
            for i, j in T.Parallel(block_m, dim):
                acc[i, j] /= total[i]
            T.copy(acc, out[by, bx * block_m, 0])

    return kernel
