"""Casts rows to 8-bit floats, with a scale per group of 128 columns of each row.

python examples/cast_fp8.py
python examples/cast_fp8.py --rows 33 --columns 777
python examples/cast_fp8.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch

E4M3_MAX = 448.0
GROUP = 128


def cast_fp8(columns, block=8, threads=128):
    """y = x / scale in e4m3; scale maps the largest magnitude of each group of columns to the largest e4m3."""
    rows = T.dynamic("rows")
    groups = -(-columns // GROUP)

    @T.prim_func
    def cast_fp8_kernel(
        x: T.Tensor((rows, columns), "bfloat16"),
        y: T.Tensor((rows, columns), "float8_e4m3fn"),
        scale: T.Tensor((rows, groups), "float32"),
    ):
        with T.Kernel(groups, T.ceildiv(rows, block), threads=threads) as (group, row):
            held = T.alloc_fragment((block, GROUP), "float32")
            largest = T.alloc_fragment((block,), "float32")
            factor = T.alloc_fragment((block,), "float32")
            T.copy(x[row * block, group * GROUP], held)
            T.reduce_absmax(held, largest, dim=1)
            for i in T.Parallel(block):
                largest[i] = T.max(largest[i], 1e-4) / E4M3_MAX
                factor[i] = 1 / largest[i]  # one division per group instead of one per element
            for i, j in T.Parallel(block, GROUP):
                held[i, j] *= factor[i]
            T.copy(held, y[row * block, group * GROUP])  # rounds to nearest even, and saturates
            for i in T.Parallel(block):
                scale[row * block + i, group] = largest[i]

    return cast_fp8_kernel


def check(kernel: tile.CompiledKernel, rows: int, columns: int) -> float:
    """Relative error of the scales; raises when a quotient is rounded wrongly."""
    device = kernel.target.device
    groups = -(-columns // GROUP)
    x = (torch.randn(rows, columns, device=device) * 7).to(torch.bfloat16)
    y = torch.full((rows, columns), torch.nan, device=device).to(torch.float8_e4m3fn)
    scale = torch.full((rows, groups), torch.nan, device=device)
    kernel(x, y, scale)
    padded = torch.nn.functional.pad(x.double(), (0, groups * GROUP - columns)).view(rows, groups, GROUP)
    reference = padded.abs().amax(2).clamp_min(1e-4) / E4M3_MAX
    wanted = (padded / scale.double()[..., None]).view(rows, -1)[:, :columns]
    # The quotient in float32 may lie on the other side of a tie: half a step of e4m3, which is 2^-4, and a little.
    if not bool(((y.double() - wanted).abs() <= wanted.abs() * 0.0626 + 2**-9).all()):
        return float("inf")
    return float((scale.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    arguments = parser.parse_args()
    rows, columns = arguments.rows, arguments.columns

    kernel = tile.compile(cast_fp8(columns), target=arguments.target)
    print(f"e4m3 of {rows} rows of {columns} elements")
    print(f"target: {kernel.target}")
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    error = check(kernel, rows, columns)
    print(f"relative error {error:.2e}")
    if not error < 1e-6:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
