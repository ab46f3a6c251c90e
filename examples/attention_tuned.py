"""Attention, tuned: no mask on full tiles, the longest rows first from a counter, and a maximum that may lag.

python examples/attention_tuned.py --length 777 --dim 80 --full --dtype bfloat16
python examples/attention_tuned.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse
import math

import tilemlir as tile
import tilemlir.language as T
import torch

#: Weights grow up to 2 to this power before the maximum follows: far from what float16 and float32 hold.
SLACK = 8.0


def attention_tuned(
    batch, heads, length, dim, causal=True, block_m=128, block_n=128, num_stages=2, threads=256, dtype="float16"
):
    """Out = softmax(Q K^T / sqrt(dim)) V per head; tensors are (batch, length, heads, dim) of float16 or bfloat16.

    A row follows its maximum only when that has run away, so that most steps multiply by 1.
    """
    scale, shape = dim**-0.5 * math.log2(math.e), (batch, length, heads, dim)
    # Heads that blocks work on at the same time, so that the L2 cache keeps their keys and values.
    section = math.gcd(heads, 16 if length * dim <= 2**19 else 8) if causal else 1
    # The last rows, which see most keys, come first: blocks take one tile after the other from a counter.
    tiles, order = [batch, heads // section, -(-length // block_m), section], (0, 1, ~2, 3)

    @T.prim_func
    def attention_tuned_kernel(
        q: T.Tensor(shape, dtype),
        k: T.Tensor(shape, dtype),
        v: T.Tensor(shape, dtype),
        out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.num_sms(), threads=threads) as block:
            q_tile = T.alloc_shared((block_m, dim), dtype)
            k_tile, v_tile = T.alloc_shared((block_n, dim), dtype), T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), dtype)
            result = T.alloc_fragment((block_m, dim), "float32")
            top, peak = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            rescale, total = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            for item, group, row, x in T.Persistent(tiles, T.num_sms(), block, order=order, dynamic=True, num_stages=2):
                head = group * section + x
                T.copy(q[item, row * block_m, head, 0], q_tile)
                T.clear(result)
                T.clear(total)
                T.fill(top, -1e30)
                keys = T.min((row + 1) * block_m, length) if causal else length
                for step in T.Pipelined(T.ceildiv(keys, block_n), num_stages=num_stages):
                    T.copy(k[item, step * block_n, head, 0], k_tile)
                    T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                    if (step + 1) * block_n > (row * block_m if causal else length):  # the mask cuts this tile
                        for i, j in T.Parallel(block_m, block_n):
                            seen = row * block_m + i >= step * block_n + j if causal else step * block_n + j < length
                            scores[i, j] = T.if_then_else(seen, scores[i, j], -T.infinity("float32"))
                    T.reduce_max(scores, peak, dim=1)
                    for i in T.Parallel(block_m):
                        ahead = peak[i] * scale - top[i] > SLACK
                        rescale[i] = T.if_then_else(ahead, T.exp2(top[i] - peak[i] * scale), 1.0)
                        top[i] = T.if_then_else(ahead, peak[i] * scale, top[i])
                    for i, j in T.Parallel(block_m, block_n):
                        scores[i, j] = T.exp2(scores[i, j] * scale - top[i])
                    for i, j in T.Parallel(block_m, dim):
                        result[i, j] *= rescale[i]
                    for i in T.Parallel(block_m):
                        total[i] *= rescale[i]
                    T.reduce_sum(scores, total, dim=1, clear=False)
                    T.copy(scores, weights)
                    T.copy(v[item, step * block_n, head, 0], v_tile)
                    T.gemm(weights, v_tile, result)
                for i in T.Parallel(block_m):
                    total[i] = 1.0 / total[i]
                for i, j in T.Parallel(block_m, dim):
                    result[i, j] *= total[i]
                T.copy(result, out[item, row * block_m, head, 0])

    return attention_tuned_kernel


def check(kernel: tile.CompiledKernel, batch, heads, length, dim, causal, dtype="float16") -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    q, k, v = torch.randn(3, batch, length, heads, dim, device=kernel.target.device).to(getattr(torch, dtype))
    out = torch.full_like(q, torch.nan)
    kernel(q, k, v, out)
    scores = torch.einsum("bihd,bjhd->bhij", q.double(), k.double()) * dim**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(length, length, device=q.device).triu(1).bool(), -torch.inf)
    reference = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v.double())
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"batch": 2, "heads": 3, "length": 320, "dim": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--full", action="store_true", help="no causal mask")
    parser.add_argument("--dtype", default="float16", choices=("float16", "bfloat16"))
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes = arguments.batch, arguments.heads, arguments.length, arguments.dim, not arguments.full
    kernel = tile.compile(attention_tuned(*sizes, dtype=arguments.dtype), target=arguments.target)
    print(f"attention, batch {sizes[0]}, {sizes[1]} heads of {sizes[3]}, length {sizes[2]}, causal: {sizes[4]}")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, *sizes, dtype=arguments.dtype)
    print(f"relative error {error:.2e}")
    if not error < (1e-3 if arguments.dtype == "float16" else 8e-3):
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
