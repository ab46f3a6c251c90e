"""Grouped matrix product: groups of rows of A, each with its own matrix B, as in a mixture of experts.

``offsets[g] .. offsets[g + 1]`` are the rows of group g; a group may be empty,
and neither offsets nor sizes of groups need be multiples of a tile. The launch
has one row of blocks per tile that could be needed at most, because the sizes
of the groups are known on the device only; a block finds its group by itself.

    python examples/gemm_grouped.py
    python examples/gemm_grouped.py --sizes 0 1 130 0 64 --n 77 --k 55
    python examples/gemm_grouped.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def gemm_grouped(groups, n, k, block_m=64, block_n=128, block_k=32, num_stages=3, threads=128):
    """C[rows of g] = A[rows of g] @ B[g], float16 with float32 accumulation."""
    rows = T.dynamic("rows")

    @T.prim_func
    def gemm_grouped_kernel(
        a: T.Tensor((rows, k), "float16"),
        b: T.Tensor((groups, k, n), "float16"),
        offsets: T.Tensor((groups + 1,), "int32"),
        c: T.Tensor((rows, n), "float16"),
    ):
        # Each group has at most one tile that is not full.
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(rows, block_m) + groups, threads=threads) as (column, slot):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            group = -1
            begin = 0
            end = 0
            tiles = 0
            for candidate in T.serial(groups):
                first, last = offsets[candidate], offsets[candidate + 1]
                tiles_before = tiles
                tiles += T.ceildiv(last - first, block_m)
                if tiles_before <= slot and slot < tiles:
                    group = candidate
                    begin = first + (slot - tiles_before) * block_m
                    end = last
            if group >= 0:
                T.clear(accumulator)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                    # Rows of the next group come along where this one ends; they are not stored.
                    T.copy(a[begin : begin + block_m, step * block_k : (step + 1) * block_k], a_tile)
                    T.copy(b[group, step * block_k, column * block_n], b_tile)
                    T.gemm(a_tile, b_tile, accumulator)
                for i, j in T.Parallel(block_m, block_n):
                    if begin + i < end:
                        c[begin + i, column * block_n + j] = accumulator[i, j]

    return gemm_grouped_kernel


def check(kernel: tile.CompiledKernel, sizes: list[int], n: int, k: int) -> float:
    """Largest relative error (Frobenius norm) of a group on random matrices, against float64."""
    device = kernel.target.device
    rows, groups = sum(sizes), len(sizes)
    a = torch.randn(rows, k, dtype=torch.float16, device=device)
    b = torch.randn(groups, k, n, dtype=torch.float16, device=device)
    c = torch.full((rows, n), torch.nan, dtype=torch.float16, device=device)
    offsets = torch.tensor([0, *sizes]).cumsum(0).to(device, torch.int32)
    kernel(a, b, offsets, c)
    errors = []
    for rows_of_a, matrix, rows_of_c in zip(a.split(sizes), b, c.split(sizes), strict=True):
        reference = rows_of_a.double() @ matrix.double()
        errors.append((rows_of_c.double() - reference).norm() / reference.norm().clamp_min(1e-30))
    return float(torch.stack(errors).max())  # NaN, if there is one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[130, 0, 1, 64, 0, 333], help="rows of each group")
    parser.add_argument("--n", type=int, default=264)
    parser.add_argument("--k", type=int, default=200)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    sizes, n, k = arguments.sizes, arguments.n, arguments.k

    kernel = tile.compile(gemm_grouped(len(sizes), n, k), target=arguments.target)
    print(f"C[m, {n}] = A[m, {k}] @ B[{k}, {n}] for m in {sizes}, float16 with float32 accumulation")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    # The same kernel serves other groups; these begin with the empty ones.
    for these in (sizes, sorted(sizes)):
        error = check(kernel, these, n, k)
        print(f"groups {these}: relative error {error:.2e}")
        if not error < 1e-3:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
