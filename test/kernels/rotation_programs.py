"""Programs in which one product feeds another from registers, over as many steps as the call says."""

from __future__ import annotations

import numpy as np
import tilemlir.language as T

BLOCK_M = BLOCK_N = DIM = 64


def rounded_weights(stages: int, threads: int = 128, block_m: int = BLOCK_M, ping_pong: bool = False):
    """Attention of one head whose weights are rounded first and summed then; keys from ``count`` on do not exist."""

    @T.prim_func
    def rounded_weights_kernel(
        q: T.Tensor((block_m, DIM), "float16"),
        k: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        v: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        out: T.Tensor((block_m, DIM), "float32"),
        count: T.int32,
    ):
        with T.Kernel(1, threads=threads) as _:
            q_tile = T.alloc_shared((block_m, DIM), "float16")
            k_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            v_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            scores = T.alloc_fragment((block_m, BLOCK_N), "float32")
            weights = T.alloc_fragment((block_m, BLOCK_N), "float16")
            result = T.alloc_fragment((block_m, DIM), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(q, q_tile)
            T.clear(result)
            T.clear(total)
            T.fill(top, -1e30)
            for step in T.Pipelined(T.ceildiv(count, BLOCK_N), num_stages=stages, ping_pong=ping_pong):
                T.copy(k[step * BLOCK_N, 0], k_tile)
                T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True)
                for i, j in T.Parallel(block_m, BLOCK_N):
                    scores[i, j] = T.if_then_else(step * BLOCK_N + j < count, scores[i, j], -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_m, BLOCK_N):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, DIM):
                    result[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[step * BLOCK_N, 0], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(block_m, DIM):
                result[i, j] = T.if_then_else(total[i] > 0, result[i, j] / total[i], -1.0)
            T.copy(result, out)

    return rounded_weights_kernel


def exact_weights(stages: int, threads: int = 128, block_m: int = BLOCK_M, ping_pong: bool = False):
    """The same with weights that are summed as they are, and rounded last."""

    @T.prim_func
    def exact_weights_kernel(
        q: T.Tensor((block_m, DIM), "float16"),
        k: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        v: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        out: T.Tensor((block_m, DIM), "float32"),
        count: T.int32,
    ):
        with T.Kernel(1, threads=threads) as _:
            q_tile = T.alloc_shared((block_m, DIM), "float16")
            k_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            v_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            scores = T.alloc_fragment((block_m, BLOCK_N), "float32")
            weights = T.alloc_fragment((block_m, BLOCK_N), "float16")
            result = T.alloc_fragment((block_m, DIM), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(q, q_tile)
            T.clear(result)
            T.clear(total)
            T.fill(top, -1e30)
            for step in T.Pipelined(T.ceildiv(count, BLOCK_N), num_stages=stages, ping_pong=ping_pong):
                T.copy(k[step * BLOCK_N, 0], k_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                if (step + 1) * BLOCK_N > count:
                    for i, j in T.Parallel(block_m, BLOCK_N):
                        scores[i, j] = T.if_then_else(step * BLOCK_N + j < count, scores[i, j], -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_m, BLOCK_N):
                    scores[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, DIM):
                    result[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(scores, total, dim=1, clear=False)
                T.copy(scores, weights)
                T.copy(v[step * BLOCK_N, 0], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(block_m, DIM):
                result[i, j] = T.if_then_else(total[i] > 0, result[i, j] / total[i], -1.0)
            T.copy(result, out)

    return exact_weights_kernel


def lagging_maximum(stages: int, threads: int = 128, block_m: int = BLOCK_M, ping_pong: bool = False):
    """Exact weights with a maximum that follows only when it is 4 behind: in some steps a warp multiplies by 1."""

    @T.prim_func
    def lagging_maximum_kernel(
        q: T.Tensor((block_m, DIM), "float16"),
        k: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        v: T.Tensor((6 * BLOCK_N, DIM), "float16"),
        out: T.Tensor((block_m, DIM), "float32"),
        count: T.int32,
    ):
        with T.Kernel(1, threads=threads) as _:
            q_tile = T.alloc_shared((block_m, DIM), "float16")
            k_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            v_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            scores = T.alloc_fragment((block_m, BLOCK_N), "float32")
            weights = T.alloc_fragment((block_m, BLOCK_N), "float16")
            result = T.alloc_fragment((block_m, DIM), "float32")
            top, peak = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            rescale, total = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            T.copy(q, q_tile)
            T.clear(result)
            T.clear(total)
            T.fill(top, -1e30)
            for step in T.Pipelined(T.ceildiv(count, BLOCK_N), num_stages=stages, ping_pong=ping_pong):
                T.copy(k[step * BLOCK_N, 0], k_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                if (step + 1) * BLOCK_N > count:
                    for i, j in T.Parallel(block_m, BLOCK_N):
                        scores[i, j] = T.if_then_else(step * BLOCK_N + j < count, scores[i, j], -T.infinity("float32"))
                T.reduce_max(scores, peak, dim=1)
                for i in T.Parallel(block_m):
                    rescale[i] = T.if_then_else(peak[i] - top[i] > 4, T.exp2(top[i] - peak[i]), 1.0)
                    top[i] = T.if_then_else(peak[i] - top[i] > 4, peak[i], top[i])
                for i, j in T.Parallel(block_m, BLOCK_N):
                    scores[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, DIM):
                    result[i, j] *= rescale[i]
                for i in T.Parallel(block_m):
                    total[i] *= rescale[i]
                T.reduce_sum(scores, total, dim=1, clear=False)
                T.copy(scores, weights)
                T.copy(v[step * BLOCK_N, 0], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(block_m, DIM):
                result[i, j] = T.if_then_else(total[i] > 0, result[i, j] / total[i], -1.0)
            T.copy(result, out)

    return lagging_maximum_kernel


PROGRAMS = {"rounded": rounded_weights, "exact": exact_weights, "lagging": lagging_maximum}


def inputs(block_m: int = BLOCK_M, seed: int | None = None) -> list[np.ndarray]:
    """Random queries, keys and values; scores reach a few units, so that maxima move from step to step."""
    random = np.random.default_rng(seed)
    shapes = ((block_m, DIM), (6 * BLOCK_N, DIM), (6 * BLOCK_N, DIM))
    return [random.standard_normal(shape).astype(np.float16) for shape in shapes]


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, count: int) -> np.ndarray:
    """The result in float64; -1 where there are no keys."""
    if count == 0:
        return np.full((q.shape[0], DIM), -1.0)
    scores = q.astype(np.float64) @ k[:count].astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v[:count].astype(np.float64)


def causal_tiles(length: int, heads: int, workers: int, stages: int):
    """Causal attention whose tiles are handed to ``workers`` blocks: the number of steps differs from tile to tile."""
    shape = (length, heads, DIM)
    tiles = -(-length // BLOCK_M)

    @T.prim_func
    def causal_tiles_kernel(
        q: T.Tensor(shape, "float16"),
        k: T.Tensor(shape, "float16"),
        v: T.Tensor(shape, "float16"),
        out: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(workers, threads=128) as worker:
            q_tile = T.alloc_shared((BLOCK_M, DIM), "float16")
            k_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            v_tile = T.alloc_shared((BLOCK_N, DIM), "float16")
            scores = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            weights = T.alloc_fragment((BLOCK_M, BLOCK_N), "float16")
            result = T.alloc_fragment((BLOCK_M, DIM), "float32")
            top = T.alloc_fragment((BLOCK_M,), "float32")
            before = T.alloc_fragment((BLOCK_M,), "float32")
            total = T.alloc_fragment((BLOCK_M,), "float32")
            for row, head in T.Persistent([tiles, heads], workers, worker):
                T.copy(q[row * BLOCK_M : (row + 1) * BLOCK_M, head, 0:DIM], q_tile)
                T.clear(result)
                T.clear(total)
                T.fill(top, -1e30)
                for step in T.Pipelined(row + 1, num_stages=stages):
                    T.copy(k[step * BLOCK_N : (step + 1) * BLOCK_N, head, 0:DIM], k_tile)
                    T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                    for i, j in T.Parallel(BLOCK_M, BLOCK_N):
                        seen = row * BLOCK_M + i >= step * BLOCK_N + j
                        scores[i, j] = T.if_then_else(seen, scores[i, j], -T.infinity("float32"))
                    T.copy(top, before)
                    T.reduce_max(scores, top, dim=1, clear=False)
                    for i, j in T.Parallel(BLOCK_M, BLOCK_N):
                        scores[i, j] = T.exp2(scores[i, j] - top[i])
                    for i, j in T.Parallel(BLOCK_M, DIM):
                        result[i, j] *= T.exp2(before[i] - top[i])
                    for i in T.Parallel(BLOCK_M):
                        total[i] *= T.exp2(before[i] - top[i])
                    T.reduce_sum(scores, total, dim=1, clear=False)
                    T.copy(scores, weights)
                    T.copy(v[step * BLOCK_N : (step + 1) * BLOCK_N, head, 0:DIM], v_tile)
                    T.gemm(weights, v_tile, result)
                for i, j in T.Parallel(BLOCK_M, DIM):
                    result[i, j] /= total[i]
                T.copy(result, out[row * BLOCK_M : (row + 1) * BLOCK_M, head, 0:DIM])

    return causal_tiles_kernel


def expected_causal(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What `causal_tiles` computes of (length, heads, dim), in float64."""
    scores = np.einsum("ihd,jhd->hij", q.astype(np.float64), k.astype(np.float64))
    scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -np.inf)
    weights = np.exp2(scores - scores.max(axis=2, keepdims=True))
    return np.einsum("hij,jhd->ihd", weights / weights.sum(axis=2, keepdims=True), v.astype(np.float64))
