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


def gemm_dequantized(m, n, k, block_m=16, block_n=64, block_k=128, splits=2, num_stages=3, threads=128):
    """C = A @ (scale * (B - 8))^T for A of M x K and unsigned 4-bit B of N x K; the even column is in the low half.

    A few rows of A leave too few tiles for a GPU: ``splits`` blocks share the steps of one, a second kernel adds up.
    """
    steps = -(-k // (block_k * splits))

    @T.prim_func
    def gemm_dequantized_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((n, k // 2), "uint8"),
        scale: T.Tensor((n, k // GROUP), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        parts = T.alloc_global((splits, m, n), "float32")
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), splits, threads=threads) as (column, row, split):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            packed = T.alloc_shared((block_n, block_k // 2), "uint8")
            b_tile = T.alloc_shared((block_n, block_k), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for local_step in T.Pipelined(steps, num_stages=num_stages):
                step = split * steps + local_step  # steps behind K multiply zeros
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[column * block_n, step * (block_k // 2)], packed)
                for i, j in T.Parallel(block_n, block_k):
                    number = packed[i, j // 2] >> (j % 2 * 4) & 15
                    # 0x6400 is 1024 in float16, whose last bits count ones: cheaper than a conversion.
                    weight = T.reinterpret(T.cast(number | 0x6400, "uint16"), "float16") - 1032.0
                    b_tile[i, j] = weight * scale[column * block_n + i, (step * block_k + j) // GROUP]
                T.gemm(a_tile, b_tile, accumulator, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            T.copy(accumulator, parts[split, row * block_m, column * block_n])

        with T.Kernel(T.ceildiv(m * n, 1024), threads=256) as block:
            total = T.alloc_fragment((1024,), "float32")
            T.clear(total)
            for split in T.serial(splits):
                for i in T.Parallel(1024):
                    total[i] += T.reshape(parts, (splits, m * n))[split, block * 1024 + i]
            T.copy(total, T.reshape(c, (m * n,))[block * 1024 : (block + 1) * 1024])

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
    # The kernel rounds the product with the scale to float16.
    weights = (numbers * scale.double().repeat_interleave(GROUP, 1)).half().double()
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
