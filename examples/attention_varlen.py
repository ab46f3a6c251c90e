"""Attention over sequences of different lengths that lie one behind the other in one tensor.

python examples/attention_varlen.py
python examples/attention_varlen.py --lengths 1 0 130 77 --dim 80
python examples/attention_varlen.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

LOG2_E = 1.44269504


def attention_varlen(heads, dim, block_m=128, block_n=64, num_stages=2, threads=256):
    """Causal attention per sequence, float16; tensors are (tokens, heads, dim), sequence s begins at starts[s].

    ``longest`` is a bound of the lengths, which decides how many blocks are launched.
    """
    scale = dim**-0.5 * LOG2_E
    tokens, ends = T.dynamic("tokens, ends")
    shape = (tokens, heads, dim)

    @T.prim_func
    def attention_varlen_kernel(
        q: T.Tensor(shape, "float16"),
        k: T.Tensor(shape, "float16"),
        v: T.Tensor(shape, "float16"),
        starts: T.Tensor((ends,), "int32"),
        longest: T.int32,
        out: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(longest, block_m), heads, ends - 1, threads=threads) as (row, head, sequence):
            q_tile = T.alloc_shared((block_m, dim), "float16")
            k_tile = T.alloc_shared((block_n, dim), "float16")
            v_tile = T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), "float16")
            result = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")

            begin = starts[sequence]
            length = starts[sequence + 1] - begin
            first = begin + row * block_m
            T.copy(q[first : first + block_m, head, 0:dim], q_tile)
            T.clear(result)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            keys = T.if_then_else(row * block_m < length, T.min((row + 1) * block_m, length), 0)
            for step in T.Pipelined(T.ceildiv(keys, block_n), num_stages=num_stages):
                at = begin + step * block_n
                T.copy(k[at : at + block_n, head, 0:dim], k_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_m, block_n):
                    seen = row * block_m + i >= step * block_n + j
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
                T.copy(v[at : at + block_n, head, 0:dim], v_tile)
                T.gemm(weights, v_tile, result)
            for i, j in T.Parallel(block_m, dim):
                if row * block_m + i < length:  # behind it the next sequence begins
                    out[first + i, head, j] = result[i, j] / total[i]

    return attention_varlen_kernel


def check(kernel: tile.CompiledKernel, lengths: list[int], heads: int, dim: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    q, k, v = (torch.randn(sum(lengths), heads, dim, dtype=torch.float16, device=device) for _ in range(3))
    starts = torch.tensor([sum(lengths[:s]) for s in range(len(lengths) + 1)], dtype=torch.int32, device=device)
    out = torch.full_like(q, torch.nan)
    kernel(q, k, v, starts, max(lengths), out)
    reference = torch.zeros(q.shape, dtype=torch.float64, device=device)
    for begin, length in zip(starts.tolist(), lengths, strict=False):
        one = slice(begin, begin + length)
        scores = torch.einsum("ihd,jhd->hij", q[one].double(), k[one].double()) * dim**-0.5
        scores = scores.masked_fill(torch.ones(length, length, device=device).triu(1).bool(), -torch.inf)
        reference[one] = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v[one].double())
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[200, 64, 333])
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes = arguments.lengths, arguments.heads, arguments.dim

    kernel = tile.compile(attention_varlen(*sizes[1:]), target=arguments.target)
    print(f"attention, sequences of {sizes[0]} tokens, {sizes[1]} heads of {sizes[2]}")
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
