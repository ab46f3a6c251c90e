"""Matrix product of 8-bit floats (e4m3) with scales per block: 1 x 128 of A, 128 x 128 of B.

Accumulation has two levels: the product over 128 elements of K in one
accumulator, and the sum of these products times their scales in another. That
also bounds the error where tensor cores add 8-bit products in fewer bits than
float32 has.

    python examples/gemm_fp8_block_scaled.py
    python examples/gemm_fp8_block_scaled.py --m 100 --n 77 --k 155
    python examples/gemm_fp8_block_scaled.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

BLOCK = 128
E4M3_MAX = 448.0


def gemm_fp8_block_scaled(m, n, k, block_m=128, block_n=64, num_stages=3, threads=128):
    """C = (scale_a * A) @ (scale_b * B)^T for A of M x K and B of N x K; ``block_n`` must divide 128."""
    blocks_n, blocks_k = T.ceildiv(n, BLOCK), T.ceildiv(k, BLOCK)

    @T.prim_func
    def gemm_fp8_block_scaled_kernel(
        a: T.Tensor((m, k), "float8_e4m3fn"),
        b: T.Tensor((n, k), "float8_e4m3fn"),
        scale_a: T.Tensor((m, blocks_k), "float32"),
        scale_b: T.Tensor((blocks_n, blocks_k), "float32"),
        c: T.Tensor((m, n), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (column, row):
            a_tile = T.alloc_shared((block_m, BLOCK), "float8_e4m3fn")
            b_tile = T.alloc_shared((block_n, BLOCK), "float8_e4m3fn")
            scales = T.alloc_shared((block_m,), "float32")
            product = T.alloc_fragment((block_m, block_n), "float32")
            total = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(total)
            for step in T.Pipelined(blocks_k, num_stages=num_stages):
                T.copy(a[row * block_m, step * BLOCK], a_tile)
                T.copy(b[column * block_n, step * BLOCK], b_tile)
                # One column: `step` is a bare index, so the dimension of the tile is that of the rows.
                T.copy(scale_a[row * block_m, step], scales)
                scale = scale_b[column * block_n // BLOCK, step]
                T.gemm(a_tile, b_tile, product, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_m, block_n):
                    total[i, j] += product[i, j] * (scales[i] * scale)
            T.copy(total, c[row * block_m, column * block_n])

    return gemm_fp8_block_scaled_kernel


def quantize(x: torch.Tensor, rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``x`` in e4m3, a float32 scale per block of ``rows`` x 128, and in float64 what both stand for."""
    m, k = x.shape
    edges = (0, -k % BLOCK, 0, -m % rows)
    blocks = torch.nn.functional.pad(x, edges).unflatten(0, (-1, rows)).unflatten(2, (-1, BLOCK))
    scales = (blocks.abs().amax(dim=(1, 3)) / E4M3_MAX).clamp_min(1e-12)
    spread = scales.repeat_interleave(rows, 0).repeat_interleave(BLOCK, 1)[:m, :k]
    quantized = (x / spread).to(torch.float8_e4m3fn)
    return quantized, scales, quantized.double() * spread.double()


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64 on the same 8-bit numbers and scales."""
    device = kernel.target.device
    # Columns of different magnitude: each block needs its own scale.
    magnitudes = torch.logspace(-2, 2, k, device=device)
    a, scale_a, exact_a = quantize(torch.randn(m, k, device=device) * magnitudes, rows=1)
    b, scale_b, exact_b = quantize(torch.randn(n, k, device=device) / magnitudes, rows=BLOCK)
    c = torch.full((m, n), torch.nan, dtype=torch.bfloat16, device=device)
    kernel(a, b, scale_a, scale_b, c)
    reference = exact_a @ exact_b.T
    return float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=300)
    parser.add_argument("--n", type=int, default=264)
    parser.add_argument("--k", type=int, default=592)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k

    kernel = tile.compile(gemm_fp8_block_scaled(m, n, k), target=arguments.target)
    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{n}, {k}]^T, e4m3 with scales per block, two-level float32 accumulation")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, m, n, k)
    print(f"relative error {error:.2e}")
    # Rounding the exact result to bfloat16 alone gives 1.7e-3.
    if not error < 2.5e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
