"""Matrix product of float16 with 4-bit integers, two in a byte, with a scale per group of 128 along K.

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


def gemm_dequantized(m, n, k, block_m=16, block_n=128, splits=2, groups=2, num_stages=3, threads=128):
    """C = A @ (scale * (B - 8))^T for A of M x K and unsigned 4-bit B of N x K; the even column is in the low half.

    C^T is computed, because the tiles of matrix instructions are higher than wide, and A has few rows. They are also
    too few tiles for a GPU: ``splits`` blocks share the groups of one, and the last of them adds up. A step of the
    loop loads ``groups`` groups.
    """
    tiles_n, tiles_m, block_k = T.ceildiv(n, block_n), T.ceildiv(m, block_m), groups * GROUP
    steps = T.ceildiv(k, splits * block_k)

    @T.prim_func
    def gemm_dequantized_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((n, k // 2), "uint8"),
        scale: T.Tensor((n, k // GROUP), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        parts = T.alloc_global((tiles_n, tiles_m, splits, block_m, block_n), "float32")
        arrived = T.alloc_global((tiles_n, tiles_m), "int32", zero="once")
        with T.Kernel(tiles_n, tiles_m, splits, threads=threads) as (column, row, split):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            packed = T.alloc_shared((block_n, block_k // 2), "uint8")
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
                T.copy(b[column * block_n, at // 2], packed)
                T.copy(a[row * block_m, at], a_tile)
                for group in T.unroll(groups):
                    first = group * GROUP
                    for i, j in T.Parallel(block_n, GROUP):
                        weights[i, j] = T.cast(packed[i, (first + j) // 2] >> (j % 2 * 4) & 15, "float16") - 8
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


def check(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> float:
    """Relative error (Frobenius norm) on random matrices, against float64 on the same 4-bit numbers."""
    device = kernel.target.device
    a = torch.randn(m, k, dtype=torch.float16, device=device)
    b = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=device)
    scale = torch.rand(n, k // GROUP, device=device).half() / 8
    c = torch.full((m, n), torch.nan, dtype=torch.float16, device=device)
    kernel(a, b, scale, c)
    numbers = torch.stack([b & 15, b >> 4], 2).view(n, k).double() - 8
    weights = numbers * scale.double().repeat_interleave(GROUP, 1)
    reference = a.double() @ weights.T
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
