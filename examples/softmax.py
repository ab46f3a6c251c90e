"""Softmax of rows that are read once.

python examples/softmax.py
python examples/softmax.py --rows 33 --columns 777
python examples/softmax.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def softmax(columns, block=1, threads=128):
    """y = exp(x - max) / sum(exp(x - max)) for each row of x, float16 with float32 arithmetic."""
    rows = T.dynamic("rows")

    @T.prim_func
    def softmax_kernel(x: T.Tensor((rows, columns), "float16"), y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as row:
            held = T.alloc_fragment((block, columns), "float32")
            top = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(x[row * block, 0], held)
            T.reduce_max(held, top, dim=1)
            for i, j in T.Parallel(block, columns):
                held[i, j] = T.exp2((held[i, j] - top[i]) * 1.44269504)
            T.reduce_sum(held, total, dim=1)
            for i in T.Parallel(block):
                total[i] = 1 / total[i]  # one division per row instead of one per element
            for i, j in T.Parallel(block, columns):
                held[i, j] *= total[i]
            T.copy(held, y[row * block, 0])

    return softmax_kernel


def check(kernel: tile.CompiledKernel, rows: int, columns: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    x = torch.randn(rows, columns, dtype=torch.float16, device=device) * 3
    y = torch.full_like(x, torch.nan)
    kernel(x, y)
    reference = x.double().softmax(1)
    return float((y.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    rows, columns = arguments.rows, arguments.columns

    kernel = tile.compile(softmax(columns), target=arguments.target)
    print(f"softmax of {rows} rows of {columns} elements")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, rows, columns)
    print(f"relative error {error:.2e}")
    if not error < 1e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
