"""Persistent matrix product: one block per multiprocessor walks over tiles; one compilation serves every shape.

python examples/gemm_persistent.py
python examples/gemm_persistent.py --m 100 --n 77 --k 55 --workers 3
python examples/gemm_persistent.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def gemm_persistent(workers=None, group_size=8, block_m=128, block_n=128, block_k=32, num_stages=3, threads=256):
    """C = A @ B with M, N and K read from the tensors at each launch, by ``workers`` blocks (None: multiprocessors)."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")

    @T.prim_func
    def gemm_persistent_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        count = T.num_sms() if workers is None else workers
        with T.Kernel(count, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            # Workers that run together stay in groups of rows, so that they share operands in the L2 cache.
            tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
            for row, column in T.Persistent(tiles, count, worker, group_size=group_size):
                T.clear(accumulator)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, accumulator)
                T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_persistent_kernel


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64; NaN if an element was not written."""
    device = kernel.target.device
    a = torch.randn(m, k, dtype=torch.float16, device=device)
    b = torch.randn(k, n, dtype=torch.float16, device=device)
    c = torch.full((m, n), torch.nan, dtype=torch.float16, device=device)
    kernel(a, b, c)
    reference = a.double() @ b.double()
    return float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=1000)
    parser.add_argument("--n", type=int, default=776)
    parser.add_argument("--k", type=int, default=552)
    parser.add_argument("--workers", type=int, default=None, help="blocks; default: multiprocessors (1 on a CPU)")
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()

    kernel = tile.compile(gemm_persistent(arguments.workers), target=arguments.target)
    print("C[m, n] = A[m, k] @ B[k, n], float16 with float32 accumulation")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    shapes = [(arguments.m, arguments.n, arguments.k), (129, 1, 33), (1, 257, 8), (40, 30, 0), (0, 16, 16)]
    for m, n, k in shapes:
        error = check(kernel, m, n, k)
        print(f"m = {m}, n = {n}, k = {k}: relative error {error:.2e}")
        if not error < 1e-3:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
