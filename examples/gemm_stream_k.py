"""Stream-K matrix product: every worker gets the same number of steps, whatever the number of tiles.

All steps of all tiles form one sequence, which is cut into equal shares. A
worker that has all steps of a tile stores it; a tile that is cut goes to a
workspace in pieces, which a second launch adds in a fixed order. A share meets
at most two cut tiles: one that it continues (slot 0), one that it begins (slot 1).

    python examples/gemm_stream_k.py
    python examples/gemm_stream_k.py --m 300 --n 200 --k 1000 --workers 13
    python examples/gemm_stream_k.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def gemm_stream_k(m, n, k, workers=None, block_m=128, block_n=128, block_k=32, num_stages=3, threads=256):
    """C = A @ B by ``workers`` blocks; None: as many as the device has multiprocessors."""
    tiles_m, tiles_n = T.ceildiv(m, block_m), T.ceildiv(n, block_n)
    steps = max(T.ceildiv(k, block_k), 1)  # K = 0: one step of zeros
    all_steps = tiles_m * tiles_n * steps

    @T.prim_func
    def gemm_stream_k_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        count = T.num_sms() if workers is None else workers
        share = T.ceildiv(all_steps, count)
        pieces = T.alloc_global((count, 2, block_m, block_n), "float32")
        with T.Kernel(count, threads=threads) as worker:
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            begin = worker * share
            end = T.min(begin + share, all_steps)
            # Nothing for a worker whose share begins behind the last step.
            for index in T.serial(begin // steps, T.ceildiv(end, steps)):
                row, column = index // tiles_n, index % tiles_n
                first, last = T.max(begin - index * steps, 0), T.min(end - index * steps, steps)
                T.clear(accumulator)
                for step in T.Pipelined(first, last, num_stages=num_stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    T.copy(b[step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, accumulator)
                if first > 0:
                    T.copy(accumulator, pieces[worker, 0, 0:block_m, 0:block_n])
                elif last < steps:
                    T.copy(accumulator, pieces[worker, 1, 0:block_m, 0:block_n])
                else:
                    T.copy(accumulator, c[row * block_m, column * block_n])
        with T.Kernel(tiles_n, tiles_m, threads=threads) as (column, row):
            total = T.alloc_fragment((block_m, block_n), "float32")
            begin = (row * tiles_n + column) * steps
            first, last = begin // share, (begin + steps - 1) // share
            if first < last:
                T.copy(pieces[first, 1, 0:block_m, 0:block_n], total)
                for worker in T.serial(first + 1, last + 1):
                    for i, j in T.Parallel(block_m, block_n):
                        total[i, j] += pieces[worker, 0, i, j]
                T.copy(total, c[row * block_m, column * block_n])

    return gemm_stream_k_kernel


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
    parser.add_argument("--m", type=int, default=500)
    parser.add_argument("--n", type=int, default=392)
    parser.add_argument("--k", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=None, help="blocks; default: multiprocessors, 5 on a CPU")
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k

    kernel = tile.compile(gemm_stream_k(m, n, k, arguments.workers), target=arguments.target)
    if kernel.target.is_cpu and arguments.workers is None:
        # A CPU counts as one multiprocessor, which would leave nothing to cut.
        kernel = tile.compile(gemm_stream_k(m, n, k, workers=5), target=arguments.target)
    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{k}, {n}], float16 with float32 accumulation")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, m, n, k)
    print(f"relative error {error:.2e}")
    if not error < 1e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
