"""Layer norm: every row moved to mean 0 and variance 1, then scaled and moved per column.

python examples/layer_norm.py
python examples/layer_norm.py --rows 33 --columns 777
python examples/layer_norm.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def layer_norm(columns, epsilon=1e-5, block=1, threads=128):
    """y = (x - mean) / sqrt(variance + epsilon) * weight + bias for each row of x, bfloat16 with float32 arithmetic."""
    rows = T.dynamic("rows")

    @T.prim_func
    def layer_norm_kernel(
        x: T.Tensor((rows, columns), "bfloat16"),
        weight: T.Tensor((columns,), "bfloat16"),
        bias: T.Tensor((columns,), "bfloat16"),
        y: T.Tensor((rows, columns), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as row:
            held = T.alloc_fragment((block, columns), "float32")
            squares = T.alloc_fragment((block, columns), "float32")
            mean = T.alloc_fragment((block,), "float32")
            spread = T.alloc_fragment((block,), "float32")
            T.copy(x[row * block, 0], held)
            T.reduce_sum(held, mean, dim=1)
            for i in T.Parallel(block):
                mean[i] /= columns
            # The mean goes first: the difference of two large sums would lose the variance of rows far from zero.
            for i, j in T.Parallel(block, columns):
                held[i, j] -= mean[i]
            for i, j in T.Parallel(block, columns):
                squares[i, j] = held[i, j] * held[i, j]
            T.reduce_sum(squares, spread, dim=1)
            for i in T.Parallel(block):
                spread[i] = T.rsqrt(spread[i] / columns + epsilon)
            for i, j in T.Parallel(block, columns):
                held[i, j] = held[i, j] * spread[i] * weight[j] + bias[j]
            T.copy(held, y[row * block, 0])

    return layer_norm_kernel


def check(kernel: tile.CompiledKernel, rows: int, columns: int) -> float:
    """Relative error (Frobenius norm) on random tensors with means away from zero, against float64."""
    device = kernel.target.device
    x = (torch.randn(rows, columns, device=device) + torch.randn(rows, 1, device=device) * 5).to(torch.bfloat16)
    weight, bias = (torch.randn(columns, device=device).to(torch.bfloat16) for _ in range(2))
    y = torch.full_like(x, torch.nan)
    kernel(x, weight, bias, y)
    reference = torch.nn.functional.layer_norm(x.double(), (columns,), weight.double(), bias.double(), 1e-5)
    return float((y.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    rows, columns = arguments.rows, arguments.columns

    kernel = tile.compile(layer_norm(columns), target=arguments.target)
    print(f"layer norm of {rows} rows of {columns} elements")
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
