"""Matrix product of float16 with 4-bit integers, eight in a word, with a scale per group of 128 along K.

python examples/gemm_dequantized.py
python examples/gemm_dequantized.py --m 1 --n 200 --k 384
python examples/gemm_dequantized.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

GROUP = 128


def gemm_dequantized(m, n, k, block_m=16, block_n=128, splits=4, groups=2, num_stages=3, threads=128, blocks=2):
    """C = A @ (scale * (B - 8))^T for A of M x K and unsigned 4-bit B of N x K, eight numbers of a row in a word.

    The order in a word is 0 2 4 6 1 3 5 7 (see pack): neighbours lie 16 bits apart, as the halves of a pair do. C^T is
    computed, because tiles of matrix instructions are higher than wide. They are few: ``splits`` blocks share the
    groups of one, and the last adds up. A step loads ``groups`` groups; ``blocks`` blocks share a multiprocessor.
    """
    tiles_n, tiles_m, block_k = T.ceildiv(n, block_n), T.ceildiv(m, block_m), groups * GROUP
    splits = min(splits, T.ceildiv(k, block_k))
    steps = T.ceildiv(k, splits * block_k)

    @T.prim_func
    def gemm_dequantized_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((n, k // 8), "int32"),
        scale: T.Tensor((n, k // GROUP), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        parts = T.alloc_global((tiles_n, tiles_m, splits, block_m, block_n), "float32")
        arrived = T.alloc_global((tiles_n, tiles_m), "int32", zero="once")
        with T.Kernel(tiles_n, tiles_m, splits, threads=threads) as (column, row, split):
            T.annotate_min_blocks_per_sm(blocks)
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            packed = T.alloc_shared((block_n, block_k // 8), "int32")
            scales = T.alloc_shared((block_n, steps * groups), "float16")
            weights = T.alloc_fragment((block_n, GROUP), "float16")
            part = T.alloc_fragment((block_n, block_m), "float32")
            total = T.alloc_fragment((block_n, block_m), "float32")
            result = T.alloc_fragment((block_m, block_n), "float32")
            before = T.alloc_shared((1,), "int32")
            T.copy(scale[column * block_n, split * steps * groups], scales)
            T.clear(total)
            for step in T.Pipelined(steps, num_stages=num_stages):
                at = (split * steps + step) * block_k  # groups behind K multiply zeros
                T.copy(b[column * block_n, at // 8], packed)
                T.copy(a[row * block_m, at], a_tile)
                for group in T.unroll(groups):
                    first = group * GROUP
                    for i, j in T.Parallel(block_n, GROUP):
                        number = packed[i, (first + j) // 8] >> (j % 8 // 2 * 4 + j % 2 * 16) & 15
                        weights[i, j] = T.cast(number, "float16") - 8
                    T.gemm(weights, a_tile[:, first : first + GROUP], part, transpose_B=True, clear_accum=True)
                    for i, j in T.Parallel(block_n, block_m):
                        total[i, j] += part[i, j] * scales[i, step * groups + group]

            for i, j in T.Parallel(block_n, block_m):
                parts[column, row, split, j, i] = total[i, j]
            T.sync_threads()
            if T.get_thread_binding() == 0:
                before[0] = T.atomic_add(arrived[column, row], 1, return_prev=True, memory_order="acq_rel")
            T.sync_threads()
            if before[0] == splits - 1:
                T.clear(result)
                for other in T.unroll(splits):
                    for i, j in T.Parallel(block_m, block_n):
                        result[i, j] += parts[column, row, other, i, j]
                T.copy(result, c[row * block_m, column * block_n])
                arrived[column, row] = 0

    return gemm_dequantized_kernel


def pack(numbers: torch.Tensor) -> torch.Tensor:
    """B in the kernel's words, from numbers 0 to 15 of an N x K tensor."""
    shifts = torch.tensor([0, 16, 4, 20, 8, 24, 12, 28], device=numbers.device)
    return (numbers.int().unflatten(1, (-1, 8)) << shifts).sum(2, dtype=torch.int32)


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64 on the same 4-bit numbers."""
    device = kernel.target.device
    a = torch.randn(m, k, dtype=torch.float16, device=device)
    numbers = torch.randint(0, 16, (n, k), device=device)
    scale = torch.rand(n, k // GROUP, device=device).half() / 8
    c = torch.full((m, n), torch.nan, dtype=torch.float16, device=device)
    kernel(a, pack(numbers), scale, c)
    reference = a.double() @ ((numbers - 8) * scale.double().repeat_interleave(GROUP, 1)).T
    return float((c.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=16)
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, default=512, help=f"a multiple of {GROUP}")
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k
    kernel = tile.compile(gemm_dequantized(m, n, k), target=arguments.target)
    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{n}, {k}]^T, float16 by 4-bit integers with float32 accumulation")
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
