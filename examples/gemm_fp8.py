"""Matrix product of 8-bit floats (e4m3) with one scale per tensor, accumulated in float32, stored as bfloat16.

Both operands are K-major (rows of K elements), which is the order that tensor
cores take 8-bit operands in.

Tensor cores may add products of 8-bit floats in fewer bits than float32 has.
Where K is long and that matters, add partial sums yourself, as
gemm_fp8_block_scaled.py does.

    python examples/gemm_fp8.py
    python examples/gemm_fp8.py --m 100 --n 77 --k 55
    python examples/gemm_fp8.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

E4M3_MAX = 448.0


def gemm_fp8(m, n, k, block_m=128, block_n=128, block_k=64, num_stages=3, threads=256):
    """C = scale_a * scale_b * (A @ B^T) for A of M x K and B of N x K."""

    @T.prim_func
    def gemm_fp8_kernel(
        a: T.Tensor((m, k), "float8_e4m3fn"),
        b: T.Tensor((n, k), "float8_e4m3fn"),
        scale_a: T.Tensor((1,), "float32"),
        scale_b: T.Tensor((1,), "float32"),
        c: T.Tensor((m, n), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (column, row):
            a_tile = T.alloc_shared((block_m, block_k), "float8_e4m3fn")
            b_tile = T.alloc_shared((block_n, block_k), "float8_e4m3fn")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[column * block_n, step * block_k], b_tile)
                T.gemm(a_tile, b_tile, accumulator, transpose_B=True)
            scale = scale_a[0] * scale_b[0]
            for i, j in T.Parallel(block_m, block_n):
                accumulator[i, j] *= scale
            T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_fp8_kernel


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``x`` in e4m3 with the scale, a tensor of one float32, that maps its largest magnitude to the largest e4m3."""
    scale = (x.abs().amax() / E4M3_MAX).clamp_min(1e-12).reshape(1)
    return (x / scale).to(torch.float8_e4m3fn), scale


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64 on the same 8-bit numbers."""
    device = kernel.target.device
    a, scale_a = quantize(torch.randn(m, k, device=device) * 3)
    b, scale_b = quantize(torch.randn(n, k, device=device) / 7)
    c = torch.full((m, n), torch.nan, dtype=torch.bfloat16, device=device)
    kernel(a, b, scale_a, scale_b, c)
    reference = (a.double() * scale_a.double()) @ (b.double() * scale_b.double()).T
    return float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=300)
    parser.add_argument("--n", type=int, default=264)
    parser.add_argument("--k", type=int, default=592)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k

    kernel = tile.compile(gemm_fp8(m, n, k), target=arguments.target)
    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{n}, {k}]^T, e4m3 with float32 accumulation, bfloat16 result")
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
