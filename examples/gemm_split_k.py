"""Split-K matrix product: few output tiles and a long K, divided over blocks along K.

The partial products meet in float32, either by atomic additions to one matrix
(less memory, but an order of additions that changes from call to call) or as
one matrix per slice, which a second launch adds in a fixed order.

    python examples/gemm_split_k.py
    python examples/gemm_split_k.py --method atomic --splits 5 --k 1111
    python examples/gemm_split_k.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def gemm_split_k(m, n, k, splits, method="workspace", block_m=64, block_n=64, block_k=32, num_stages=3, threads=128):
    """C = A @ B with K in ``splits`` slices of whole steps; the last slices may be shorter, or empty."""
    steps = T.ceildiv(k, block_k)
    steps_per_slice = T.ceildiv(steps, splits)
    tiles_m, tiles_n = T.ceildiv(m, block_m), T.ceildiv(n, block_n)
    matrices = 1 if method == "atomic" else splits

    @T.prim_func
    def gemm_split_k_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        partial = T.alloc_global((matrices, m, n), "float32", zero=method == "atomic")
        with T.Kernel(tiles_n, tiles_m, splits, threads=threads) as (column, row, part):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            first = part * steps_per_slice
            for step in T.Pipelined(first, T.min(first + steps_per_slice, steps), num_stages=num_stages):
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, column * block_n], b_tile)
                T.gemm(a_tile, b_tile, accumulator)
            if method == "atomic":
                # A slice: the constant 0 could begin a dimension of the tile, too.
                rows, columns = row * block_m, column * block_n
                T.atomic_add(partial[0, rows : rows + block_m, columns : columns + block_n], accumulator)
            else:
                T.copy(accumulator, partial[part, row * block_m, column * block_n])
        with T.Kernel(tiles_n, tiles_m, threads=threads) as (column, row):
            total = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(total)
            for matrix in T.serial(matrices):
                # Beyond the edges, `partial` reads as zero.
                for i, j in T.Parallel(block_m, block_n):
                    total[i, j] += partial[matrix, row * block_m + i, column * block_n + j]
            T.copy(total, c[row * block_m, column * block_n])

    return gemm_split_k_kernel


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64."""
    device = kernel.target.device
    a = torch.randn(m, k, dtype=torch.float16, device=device)
    b = torch.randn(k, n, dtype=torch.float16, device=device)
    c = torch.full((m, n), torch.nan, dtype=torch.float16, device=device)
    kernel(a, b, c)
    reference = a.double() @ b.double()
    return float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=200)
    parser.add_argument("--n", type=int, default=136)
    parser.add_argument("--k", type=int, default=4104)
    parser.add_argument("--splits", type=int, default=7, help="slices of K")
    parser.add_argument("--method", choices=["workspace", "atomic", "both"], default="both")
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k

    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{k}, {n}], float16 with float32 accumulation, K in {arguments.splits} slices")
    for method in ("workspace", "atomic") if arguments.method == "both" else (arguments.method,):
        kernel = tile.compile(gemm_split_k(m, n, k, arguments.splits, method), target=arguments.target)
        print(f"target: {kernel.target}, {method}")
        if not kernel.can_run:
            print("compiled only: this machine does not run that target")
            continue
        error = check(kernel, m, n, k)
        print(f"relative error {error:.2e}")
        if not error < 1e-3:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
