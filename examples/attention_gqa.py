"""Grouped-query attention: the query heads that share a key head are rows of one tile, so keys are read once for all.

python examples/attention_gqa.py
python examples/attention_gqa.py --length 333 --heads 16 --groups 4
python examples/attention_gqa.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

LOG2_E = 1.44269504


def attention_gqa(batch, heads, groups, length, dim, block_m=128, block_n=64, num_stages=2, threads=256):
    """Causal attention of ``heads`` query heads over ``groups`` key heads, float16; (batch, length, heads, dim)."""
    share = heads // groups  # query heads per key head
    positions = block_m // share
    rows = positions * share
    scale = dim**-0.5 * LOG2_E
    q_shape, k_shape = (batch, length, heads, dim), (batch, length, groups, dim)

    @T.prim_func
    def attention_gqa_kernel(
        q: T.Tensor(q_shape, "float16"),
        k: T.Tensor(k_shape, "float16"),
        v: T.Tensor(k_shape, "float16"),
        out: T.Tensor(q_shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(length, positions), groups, batch, threads=threads) as (block, group, sequence):
            q_tile = T.alloc_shared((positions, share, dim), "float16")
            k_tile = T.alloc_shared((block_n, dim), "float16")
            v_tile = T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((rows, block_n), "float32")
            weights = T.alloc_fragment((rows, block_n), "float16")
            result = T.alloc_fragment((rows, dim), "float32")
            top = T.alloc_fragment((rows,), "float32")
            before = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")

            first = block * positions
            T.copy(q[sequence, first : first + positions, group * share : (group + 1) * share, 0:dim], q_tile)
            T.clear(result)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(T.min(first + positions, length), block_n), num_stages=num_stages):
                T.copy(k[sequence, step * block_n, group, 0], k_tile)
                T.gemm(T.reshape(q_tile, (rows, dim)), k_tile, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(rows, block_n):
                    seen = first + i // share >= step * block_n + j
                    scores[i, j] = T.if_then_else(seen, scores[i, j] * scale, -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(rows, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(rows, dim):
                    result[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(rows):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[sequence, step * block_n, group, 0], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(rows, dim):
                result[i, j] /= total[i]
            for i, j in T.Parallel(rows, dim):
                out[sequence, first + i // share, group * share + i % share, j] = result[i, j]

    return attention_gqa_kernel


def check(kernel: tile.CompiledKernel, batch: int, heads: int, groups: int, length: int, dim: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    q = torch.randn(batch, length, heads, dim, dtype=torch.float16, device=device)
    k, v = (torch.randn(batch, length, groups, dim, dtype=torch.float16, device=device) for _ in range(2))
    out = torch.full_like(q, torch.nan)
    kernel(q, k, v, out)
    k, v = (x.double().repeat_interleave(heads // groups, 2) for x in (k, v))
    scores = torch.einsum("bihd,bjhd->bhij", q.double(), k) * dim**-0.5
    scores = scores.masked_fill(torch.ones(length, length, device=device).triu(1).bool(), -torch.inf)
    reference = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v)
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--length", type=int, default=160)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes = arguments.batch, arguments.heads, arguments.groups, arguments.length, arguments.dim

    kernel = tile.compile(attention_gqa(*sizes), target=arguments.target)
    print(f"attention, batch {sizes[0]}, {sizes[1]} heads over {sizes[2]} of {sizes[4]}, length {sizes[3]}")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, *sizes)
    print(f"relative error {error:.2e}")
    if not error < 1e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
