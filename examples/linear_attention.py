"""Causal linear attention in chunks: products inside of a chunk, and a state that carries what came before.

python examples/linear_attention.py
python examples/linear_attention.py --length 333 --dim 48
python examples/linear_attention.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def linear_attention(batch, heads, length, dim, value_dim, chunk=64, block_v=64, num_stages=2, threads=128):
    """out[i] = sum over j <= i of (q[i] . k[j]) v[j], bfloat16 with float32 state; (batch, length, heads, dim)."""
    qk_shape, v_shape = (batch, length, heads, dim), (batch, length, heads, value_dim)
    scale = dim**-0.5

    @T.prim_func
    def linear_attention_kernel(
        q: T.Tensor(qk_shape, "bfloat16"),
        k: T.Tensor(qk_shape, "bfloat16"),
        v: T.Tensor(v_shape, "bfloat16"),
        out: T.Tensor(v_shape, "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(value_dim, block_v), heads, batch, threads=threads) as (column, head, sequence):
            q_tile = T.alloc_shared((chunk, dim), "bfloat16")
            k_tile = T.alloc_shared((chunk, dim), "bfloat16")
            v_tile = T.alloc_shared((chunk, block_v), "bfloat16")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            weights = T.alloc_fragment((chunk, chunk), "bfloat16")
            result = T.alloc_fragment((chunk, block_v), "float32")
            state = T.alloc_fragment((dim, block_v), "float32")  # the sum of k[j]^T v[j] of earlier chunks
            rounded = T.alloc_shared((dim, block_v), "bfloat16")

            T.clear(state)
            for step in T.Pipelined(T.ceildiv(length, chunk), num_stages=num_stages):
                T.copy(q[sequence, step * chunk, head, 0], q_tile)
                T.copy(k[sequence, step * chunk, head, 0], k_tile)
                T.copy(v[sequence, step * chunk, head, column * block_v], v_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.copy(state, rounded)
                T.gemm(q_tile, rounded, result, clear_accum=True)
                T.gemm(weights, v_tile, result)
                for i, j in T.Parallel(chunk, block_v):
                    result[i, j] *= scale
                T.copy(result, out[sequence, step * chunk, head, column * block_v])
                T.gemm(k_tile, v_tile, state, transpose_A=True)

    return linear_attention_kernel


def check(kernel: tile.CompiledKernel, batch: int, heads: int, length: int, dim: int, value_dim: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    q, k = (torch.randn(batch, length, heads, dim, device=device).to(torch.bfloat16) for _ in range(2))
    v = torch.randn(batch, length, heads, value_dim, device=device).to(torch.bfloat16)
    out = torch.full_like(v, torch.nan)
    kernel(q, k, v, out)
    scores = torch.einsum("bihd,bjhd->bhij", q.double(), k.double()).tril() * dim**-0.5
    reference = torch.einsum("bhij,bjhd->bihd", scores, v.double())
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--length", type=int, default=320)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--value-dim", type=int, default=128)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes = arguments.batch, arguments.heads, arguments.length, arguments.dim, arguments.value_dim

    kernel = tile.compile(linear_attention(*sizes), target=arguments.target)
    print(f"linear attention, batch {sizes[0]}, {sizes[1]} heads of {sizes[3]} and {sizes[4]}, length {sizes[2]}")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, *sizes)
    print(f"relative error {error:.2e}")
    # Weights and state are rounded to bfloat16 once per chunk.
    if not error < 6e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
