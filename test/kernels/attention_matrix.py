"""The plain attention program over its configurations: a covering array of pairs, and random ones."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

import tilemlir.language as T

VALUES = {
    "block_m": (64, 96, 128, 192),
    "block_n": (64, 96, 128, 192),
    "dim": (64, 80, 96, 128, 256),
    "length": (1, 63, 250, 1024, 4097),
    "threads": (128, 256, 384),
    "stages": (1, 2, 3, 4),
    "causal": (True, False),
}


class Configuration(NamedTuple):
    """Block sizes, head dimension, length of queries and keys, threads, slots, mask, element type."""

    block_m: int
    block_n: int
    dim: int
    length: int
    threads: int
    stages: int
    causal: bool
    dtype: str = "float16"

    def __str__(self) -> str:
        mask = "causal" if self.causal else "full"
        tile = f"{self.block_m}x{self.block_n}x{self.dim}"
        return f"{tile}-{self.length}-{self.threads}-{self.stages}-{mask}-{self.dtype}"


MOST_REGISTERS = 260

#: Every pair of values of two parameters is in one of these.
PAIRWISE = [
    Configuration(*row)
    for row in (
        (192, 64, 80, 1, 128, 1, True),
        (64, 96, 64, 63, 256, 3, True),
        (96, 96, 96, 250, 384, 1, False),
        (128, 64, 256, 1024, 256, 2, False),
        (128, 128, 128, 4097, 384, 4, True),
        (96, 192, 64, 4097, 128, 2, False),
        (64, 192, 80, 250, 256, 4, False),
        (192, 128, 128, 63, 128, 3, False),
        (192, 192, 96, 1024, 384, 2, True),
        (96, 128, 256, 1, 256, 1, True),
        (64, 64, 96, 1, 384, 3, False),
        (192, 96, 256, 250, 128, 4, True),
        (128, 96, 80, 63, 384, 2, True),
        (64, 96, 128, 1024, 128, 1, True),
        (128, 192, 64, 1, 128, 1, True),
        (96, 64, 96, 63, 128, 4, True),
        (64, 128, 64, 250, 384, 2, True),
        (64, 192, 256, 4097, 256, 3, True),
        (96, 128, 80, 1024, 128, 3, True),
        (128, 64, 128, 250, 256, 3, True),
        (192, 64, 64, 1024, 256, 4, True),
        (96, 96, 128, 1, 128, 2, True),
        (128, 64, 96, 4097, 256, 1, True),
        (64, 192, 256, 63, 384, 1, True),
        (192, 96, 80, 4097, 128, 1, True),
        (64, 128, 96, 1, 128, 4, True),
        (64, 192, 128, 1, 128, 1, True),
    )
]


def uncovered_pairs() -> set[tuple[str, object, str, object]]:
    """Pairs of values that no row of ``PAIRWISE`` has."""
    missing = {
        (first, x, second, y)
        for first, second in itertools.combinations(VALUES, 2)
        for x in VALUES[first]
        for y in VALUES[second]
    }
    for row in PAIRWISE:
        for first, second in itertools.combinations(VALUES, 2):
            missing.discard((first, getattr(row, first), second, getattr(row, second)))
    return missing


def random_configurations(count: int = 200, seed: int = 5) -> list[Configuration]:
    """Configurations beyond the values above: block sizes that 16 divides, head dimensions that 8 divides.

    What a thread holds of scores, weights and result is limited: beyond, a kernel mostly moves spilled registers, and
    assembling it takes minutes.
    """
    choose = random.Random(seed)
    result: list[Configuration] = []
    while len(result) < count:
        one = Configuration(
            block_m=16 * choose.randint(1, 12),
            block_n=16 * choose.randint(1, 12),
            dim=choose.choice([8 * choose.randint(2, 32), *VALUES["dim"]]),
            length=choose.choice([choose.randint(1, 700), choose.randint(1, 5000), *VALUES["length"]]),
            threads=choose.choice([32, 64, 96, *VALUES["threads"], *VALUES["threads"]]),
            stages=choose.randint(0, 4),
            causal=choose.random() < 0.5,
            dtype=choose.choice(["float16", "float16", "bfloat16"]),
        )
        if one.block_m * (1.5 * one.block_n + one.dim) <= MOST_REGISTERS * one.threads:
            result.append(one)
    return result


def attention(one: Configuration, batch: int = 1, heads: int = 2):
    """softmax(Q K^T / sqrt(d)) V, with a causal mask or with a mask of the keys that exist."""
    block_m, block_n, dim, length, threads, stages, causal, dtype = one
    scale = dim**-0.5 * 1.44269504
    shape = (batch, length, heads, dim)

    @T.prim_func
    def kernel(q: T.Tensor(shape, dtype), k: T.Tensor(shape, dtype), v: T.Tensor(shape, dtype),
               out: T.Tensor(shape, dtype)):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_m), heads, batch, threads=threads) as (bx, by, bz):
            q_tile = T.alloc_shared((block_m, dim), dtype)
            k_tile = T.alloc_shared((block_n, dim), dtype)
            v_tile = T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), dtype)
            acc = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            rescale = T.alloc_fragment((block_m,), "float32")
            T.copy(q[bz, bx * block_m, by, 0], q_tile)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(scores.dtype))
            keys = T.min((bx + 1) * block_m, length) if causal else length
            for step in T.Pipelined(T.ceildiv(keys, block_n), num_stages=stages):
                T.copy(k[bz, step * block_n, by, 0], k_tile)
                T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True)
                for i, j in T.Parallel(block_m, block_n):
                    seen = bx * block_m + i >= step * block_n + j if causal else step * block_n + j < length
                    scores[i, j] = T.if_then_else(seen, scores[i, j] * scale, -T.infinity(scores.dtype))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    rescale[i] = T.exp2(before[i] - top[i])
                for i, j in T.Parallel(block_m, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, dim):
                    acc[i, j] *= rescale[i]
                for i in T.Parallel(block_m):
                    total[i] *= rescale[i]
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[bz, step * block_n, by, 0], v_tile)
                T.gemm(weights, v_tile, acc)
            for i, j in T.Parallel(block_m, dim):
                acc[i, j] /= total[i]
            T.copy(acc, out[bz, bx * block_m, by, 0])

    return kernel


def refused_for_memory(one: Configuration, text: str, limit: int) -> bool:
    """Whether an error says that shared memory cannot hold the slots that ``one`` asks for, and it cannot."""
    slots = max(1, one.stages)
    needed = 2 * one.dim * (one.block_m + 2 * slots * one.block_n)
    return "bytes of shared memory, but a block on" in text and needed > limit


def tolerance(one: Configuration) -> float:
    """Relative error (Frobenius norm) that results may have."""
    return 2e-3 if one.dtype == "float16" else 6e-3


def error_of(kernel, one: Configuration) -> float:
    """Relative error (Frobenius norm) of one call with random inputs, against float32 or better."""
    import torch
    from kernel_programs import device_of, run

    shape = (1, one.length, 2, one.dim)
    dtype = getattr(torch, one.dtype)
    inputs = [torch.randn(shape).to(dtype) for _ in range(3)]
    (result,) = run(kernel, inputs, [(shape, dtype)])
    q, k, v = (x.to(device_of(kernel)).transpose(1, 2).float() for x in inputs)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        reference = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=one.causal)
    reference = reference.transpose(1, 2).cpu()
    return float((result.float() - reference).norm() / reference.norm())
