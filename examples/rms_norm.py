"""RMS norm: every row divided by the root of its mean square, times a weight per column.

python examples/rms_norm.py
python examples/rms_norm.py --rows 33 --columns 777
python examples/rms_norm.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def rms_norm(columns, epsilon=1e-6, block=1, threads=128):
    """y = x / sqrt(mean(x^2) + epsilon) * weight for each row of x, bfloat16 with float32 arithmetic."""
    rows = T.dynamic("rows")

    @T.prim_func
    def rms_norm_kernel(
        x: T.Tensor((rows, columns), "bfloat16"),
        weight: T.Tensor((columns,), "bfloat16"),
        y: T.Tensor((rows, columns), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as row:
            held = T.alloc_fragment((block, columns), "float32")
            squares = T.alloc_fragment((block, columns), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(x[row * block, 0], held)
            for i, j in T.Parallel(block, columns):
                squares[i, j] = held[i, j] * held[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i in T.Parallel(block):
                total[i] = T.rsqrt(total[i] / columns + epsilon)
            for i, j in T.Parallel(block, columns):
                held[i, j] *= total[i] * weight[j]
            T.copy(held, y[row * block, 0])

    return rms_norm_kernel


def check(kernel: tile.CompiledKernel, rows: int, columns: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    x = torch.randn(rows, columns, device=device).to(torch.bfloat16)
    weight = torch.randn(columns, device=device).to(torch.bfloat16)
    y = torch.full_like(x, torch.nan)
    kernel(x, weight, y)
    wide = x.double()
    reference = wide / (wide.square().mean(1, keepdim=True) + 1e-6).sqrt() * weight.double()
    return float((y.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    rows, columns = arguments.rows, arguments.columns

    kernel = tile.compile(rms_norm(columns), target=arguments.target)
    print(f"RMS norm of {rows} rows of {columns} elements")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, rows, columns)
    print(f"relative error {error:.2e}")
    # A few elements may all be rounded by almost half a unit of bfloat16, which is up to 2^-8 of them.
    if not error < (2.5e-3 if rows * columns >= 100 else 1.05 * 2**-8):
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
