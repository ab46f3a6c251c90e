"""Matrix product in half precision: the smallest complete tilemlir program.

Compiles for the machine it runs on, or for any architecture named with
``--target`` (no GPU is needed for that), writes every compiler stage to a
directory, and checks the result against NumPy where the target can run here.

    python examples/gemm.py                       # GPU if there is one, else the CPU
    python examples/gemm.py --target sm_90a       # cross-compile
    python examples/gemm.py --m 1000 --n 777 --k 555
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import tilemlir as tile
import tilemlir.language as T


def gemm(m, n, k, block_m=128, block_n=128, block_k=32, num_stages=3, threads=128):
    """C = A @ B for float16 matrices with a float32 accumulator."""

    @T.prim_func
    def gemm_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (column, row):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, column * block_n], b_tile)
                T.gemm(a_tile, b_tile, accumulator)
            T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_kernel


def relative_error(result: np.ndarray, reference: np.ndarray) -> float:
    """Frobenius norm of the difference over that of the reference."""
    return float(np.linalg.norm(result - reference) / max(np.linalg.norm(reference), 1e-30))


def run(kernel: tile.CompiledKernel, m: int, n: int, k: int) -> tuple[float, float]:
    """Runs on random inputs; returns (maximum absolute error, relative error)."""
    generator = np.random.default_rng()
    a = generator.standard_normal((m, k), dtype=np.float32).astype(np.float16)
    b = generator.standard_normal((k, n), dtype=np.float32).astype(np.float16)
    if kernel.target.device == "cpu":
        c = np.asarray(kernel(a, b))
    else:
        import torch

        c = kernel(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).cpu().numpy()
    reference = a.astype(np.float32) @ b.astype(np.float32)
    result = c.astype(np.float32)
    return float(np.abs(result - reference).max(initial=0.0)), relative_error(result, reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--m", type=int, default=1024)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    parser.add_argument("--stages-dir", type=Path, default=Path("stages"), help="where to write the compiler's stages")
    arguments = parser.parse_args()
    m, n, k = arguments.m, arguments.n, arguments.k

    kernel = tile.compile(gemm(m, n, k), out_idx=[2], target=arguments.target)
    print(f"C[{m}, {n}] = A[{m}, {k}] @ B[{k}, {n}], float16 with float32 accumulation")
    print(f"target: {kernel.target}")
    arguments.stages_dir.mkdir(parents=True, exist_ok=True)
    for stage, text in kernel.asm.items():
        path = arguments.stages_dir / f"gemm.{stage}"
        path.write_text(text)
        print(f"stage {stage:9} {len(text.splitlines()):6} lines  {path}")
    if kernel.can_run:
        maximum, relative = run(kernel, m, n, k)
        print(f"maximum error against NumPy: {maximum:.3e} (relative {relative:.3e})")
        if not relative < 1e-3:
            raise SystemExit("the result is wrong")
    else:
        print(f"compiled only: {kernel.target} does not run on this machine")


if __name__ == "__main__":
    main()
