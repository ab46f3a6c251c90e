"""Reductions in loops whose lanes are combined behind them, for the fixture ``target`` of the importing folder."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch

generator = np.random.default_rng()

KINDS = ["scaled", "added", "maximum", "integers", "kept"]


def rows(m, n, steps, threads, kind):
    """out[i] = what the tiles a[0], a[1], .. give for row i; sums are scaled by factor[step, i] before each step."""
    dtype = "int32" if kind == "integers" else "float32"
    count = T.dynamic("count")

    @T.prim_func
    def kernel(
        a: T.Tensor((steps, m, n), dtype),
        factor: T.Tensor((steps, m), "float32"),
        out: T.Tensor((m,), dtype),
        seen: T.Tensor((count, m), dtype),
    ):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((m, n), dtype)
            total = T.alloc_fragment((m,), dtype)
            part = T.alloc_fragment((m,), dtype)
            scale = T.alloc_fragment((m,), "float32")
            T.fill(total, -5 if kind == "maximum" else 0)
            for step in T.serial(count):
                T.copy(a[step, 0, 0], tile)
                T.copy(factor[step, 0], scale)
                if kind == "maximum":
                    T.reduce_max(tile, total, dim=1, clear=False)
                elif kind == "integers":
                    T.reduce_sum(tile, total, dim=1, clear=False)
                elif kind == "scaled":
                    for i in T.Parallel(m):
                        total[i] *= scale[i]
                    T.reduce_sum(tile, total, dim=1, clear=False)
                else:
                    T.reduce_sum(tile, part, dim=1)
                    for i in T.Parallel(m):
                        total[i] = total[i] * scale[i] + part[i]
                    if kind == "kept":
                        T.copy(part, seen[step, 0])
            T.copy(total, out)

    return kernel


def expected_rows(a, factor, count, kind):
    """The result, and the sum of every step."""
    total = np.full(a.shape[1], -5.0 if kind == "maximum" else 0.0)
    sums = a.astype(np.float64).sum(2)
    for step in range(count):
        if kind == "maximum":
            total = np.maximum(total, a[step].max(1))
        else:
            total = total * (1.0 if kind == "integers" else factor[step]) + sums[step]
    return total, sums


def check_rows(target, m, n, threads, kind):
    """One compilation, all numbers of steps from none on; small integers: every order of a sum gives the same."""
    steps = 4
    kernel = programs.compile_for(rows(m, n, steps, threads, kind), target)
    device = kernel.target.device
    a = generator.integers(-9, 10, (steps, m, n))
    factor = 2.0 ** generator.integers(-1, 3, (steps, m))
    dtype = torch.int32 if kind == "integers" else torch.float32
    for count in range(steps + 1):
        out = torch.full((m,), 77, dtype=dtype, device=device)
        seen = torch.full((count, m), 77, dtype=dtype, device=device)
        kernel(torch.from_numpy(a).to(device, dtype), torch.from_numpy(factor).to(device, torch.float32), out, seen)
        total, sums = expected_rows(a, factor, count, kind)
        np.testing.assert_array_equal(out.cpu().numpy(), total)
        if kind == "kept":
            np.testing.assert_array_equal(seen.cpu().numpy(), sums[:count])
    return kernel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n", "threads"), [(64, 32, 128), (16, 96, 64), (48, 40, 32)])
def test_rows(target, m, n, threads, kind):
    check_rows(target, m, n, threads, kind)
