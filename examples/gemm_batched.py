"""Batched matrix product: one grid dimension per batch, with the number of matrices known only at launch.

python examples/gemm_batched.py
python examples/gemm_batched.py --batch 5 --m 100 --n 77 --k 55
python examples/gemm_batched.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def gemm_batched(m, n, k, block_m=128, block_n=128, block_k=32, num_stages=3, threads=128):
    """C[i] = A[i] @ B[i] for every i, float16 with float32 accumulation."""
    batch = T.dynamic("batch")

    @T.prim_func
    def gemm_batched_kernel(
        a: T.Tensor((batch, m, k), "float16"),
        b: T.Tensor((batch, k, n), "float16"),
        c: T.Tensor((batch, m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), batch, threads=threads) as (column, row, matrix):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                # The tile has two dimensions: those whose index is a multiple of its extents. `matrix` is a bare index.
                T.copy(a[matrix, row * block_m, step * block_k], a_tile)
                T.copy(b[matrix, step * block_k, column * block_n], b_tile)
                T.gemm(a_tile, b_tile, accumulator)
            T.copy(accumulator, c[matrix, row * block_m, column * block_n])

    return gemm_batched_kernel


def check(kernel: tile.CompiledKernel, batch: int, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64."""
    device = kernel.target.device
    a = torch.randn(batch, m, k, dtype=torch.float16, device=device)
    b = torch.randn(batch, k, n, dtype=torch.float16, device=device)
    c = torch.full((batch, m, n), torch.nan, dtype=torch.float16, device=device)
    kernel(a, b, c)
    reference = torch.bmm(a.double(), b.double())
    return float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--m", type=int, default=300)
    parser.add_argument("--n", type=int, default=264)
    parser.add_argument("--k", type=int, default=200)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    batch, m, n, k = arguments.batch, arguments.m, arguments.n, arguments.k

    kernel = tile.compile(gemm_batched(m, n, k), target=arguments.target)
    print(f"C[{batch}, {m}, {n}] = A[{batch}, {m}, {k}] @ B[{batch}, {k}, {n}], float16 with float32 accumulation")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    for size in (batch, 1):
        error = check(kernel, size, m, n, k)
        print(f"{size} matrices: relative error {error:.2e}")
        if not error < 1e-3:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
