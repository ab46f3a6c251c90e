"""Attention with online softmax, as both dialects read it: only the import line is changed for TileLang."""

import tilemlir.language as T

LOG2_E = 1.44269504


def attention(batch, heads, length, dim, causal, dtype="float16", block_m=128, block_n=128, num_stages=2, threads=256):
    """Out = softmax(Q K^T / sqrt(dim)) V of (batch, length, heads, dim); block sizes divide the length."""
    scale = dim**-0.5 * LOG2_E
    shape = (batch, length, heads, dim)

    @T.prim_func
    def kernel(
        q: T.Tensor(shape, dtype),
        k: T.Tensor(shape, dtype),
        v: T.Tensor(shape, dtype),
        out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_m), heads, batch, threads=threads) as (row, head, sequence):
            q_tile = T.alloc_shared((block_m, dim), dtype)
            k_tile = T.alloc_shared((block_n, dim), dtype)
            v_tile = T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), dtype)
            result = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            rescale = T.alloc_fragment((block_m,), "float32")
            part = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")

            T.copy(q[sequence, row * block_m : (row + 1) * block_m, head, :], q_tile)
            T.fill(result, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            steps = T.ceildiv((row + 1) * block_m, block_n) if causal else T.ceildiv(length, block_n)
            for step in T.Pipelined(steps, num_stages=num_stages):
                T.copy(k[sequence, step * block_n : (step + 1) * block_n, head, :], k_tile)
                if causal:
                    for i, j in T.Parallel(block_m, block_n):
                        scores[i, j] = T.if_then_else(
                            row * block_m + i >= step * block_n + j, 0, -T.infinity("float32")
                        )
                else:
                    T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(v[sequence, step * block_n : (step + 1) * block_n, head, :], v_tile)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    rescale[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * rescale[i] + part[i]
                for i, j in T.Parallel(block_m, dim):
                    result[i, j] *= rescale[i]
                T.copy(scores, weights)
                T.gemm(weights, v_tile, result, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_m, dim):
                result[i, j] /= total[i]
            T.copy(result, out[sequence, row * block_m : (row + 1) * block_m, head, :])

    return kernel
