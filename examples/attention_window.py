"""Attention to the last keys only, with a learned sink: each head may attend to nothing, with a weight of its own.

python examples/attention_window.py
python examples/attention_window.py --length 333 --window 50 --dim 80
python examples/attention_window.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

LOG2_E = 1.44269504


def attention_window(batch, heads, length, dim, window, block_m=128, block_n=64, num_stages=2, threads=256):
    """Query i attends to keys i - window + 1 to i and to a sink of logit sinks[head]; (batch, length, heads, dim)."""
    scale = dim**-0.5 * LOG2_E
    shape = (batch, length, heads, dim)

    @T.prim_func
    def attention_window_kernel(
        q: T.Tensor(shape, "float16"),
        k: T.Tensor(shape, "float16"),
        v: T.Tensor(shape, "float16"),
        sinks: T.Tensor((heads,), "float32"),
        out: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(length, block_m), heads, batch, threads=threads) as (row, head, sequence):
            q_tile = T.alloc_shared((block_m, dim), "float16")
            k_tile = T.alloc_shared((block_n, dim), "float16")
            v_tile = T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), "float16")
            result = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")

            T.copy(q[sequence, row * block_m, head, 0], q_tile)
            T.clear(result)
            # The sink is one more key, whose value is zero.
            T.fill(top, sinks[head] * LOG2_E)
            T.fill(total, 1)
            first = T.max(row * block_m - window + 1, 0) // block_n
            last = T.ceildiv(T.min((row + 1) * block_m, length), block_n)
            for step in T.Pipelined(first, last, num_stages=num_stages):
                T.copy(k[sequence, step * block_n, head, 0], k_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_m, block_n):
                    distance = row * block_m + i - (step * block_n + j)
                    seen = T.And(distance >= 0, distance < window)
                    scores[i, j] = T.if_then_else(seen, scores[i, j] * scale, -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_m, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, dim):
                    result[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[sequence, step * block_n, head, 0], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(block_m, dim):
                result[i, j] /= total[i]
            T.copy(result, out[sequence, row * block_m, head, 0])

    return attention_window_kernel


def check(kernel: tile.CompiledKernel, batch: int, heads: int, length: int, dim: int, window: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    q, k, v = (torch.randn(batch, length, heads, dim, dtype=torch.float16, device=device) for _ in range(3))
    sinks = torch.randn(heads, device=device)
    out = torch.full_like(q, torch.nan)
    kernel(q, k, v, sinks, out)
    scores = torch.einsum("bihd,bjhd->bhij", q.double(), k.double()) * dim**-0.5
    everything = torch.ones(length, length, device=device).bool()
    scores = scores.masked_fill(everything.triu(1) | everything.tril(-window), -torch.inf)
    sink = sinks.double().reshape(1, -1, 1, 1).expand(batch, heads, length, 1)
    weights = torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
    reference = torch.einsum("bhij,bjhd->bihd", weights, v.double())
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--length", type=int, default=320)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes = arguments.batch, arguments.heads, arguments.length, arguments.dim, arguments.window

    kernel = tile.compile(attention_window(*sizes), target=arguments.target)
    print(f"attention, batch {sizes[0]}, {sizes[1]} heads of {sizes[3]}, length {sizes[2]}, {sizes[4]} keys and a sink")
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
