"""par_compile: several kernels on threads, in order, with or without those that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir.frontend import FrontendError


def scaled(n: int, factor: float = 2.0) -> Any:
    @T.prim_func
    def kernel(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
            for i in T.Parallel(64):
                y[block * 64 + i] = x[block * 64 + i] * factor

    return kernel


def illegal(n: int) -> Any:
    @T.prim_func
    def kernel(x: T.Tensor((n,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, threads=64) as _:
            x[0, 0] = 1.0

    return kernel


def check(kernel: Any, n: int, factor: float) -> None:
    x = np.random.default_rng().standard_normal(n).astype(np.float32)
    np.testing.assert_array_equal(kernel(x), x * np.float32(factor))


def test_results_keep_their_order() -> None:
    sizes = [100, 64, 7, 300, 64]
    kernels = tile.par_compile([scaled(n, n) for n in sizes], out_idx=[1], num_workers=4, target="cpu")
    for n, kernel in zip(sizes, kernels, strict=True):
        check(kernel, n, n)


def test_errors_are_raised_or_left_out() -> None:
    functions = [scaled(10), illegal(10), scaled(20)]
    with pytest.raises(FrontendError, match="x"):
        tile.par_compile(functions, target="cpu")
    first, second, third = tile.par_compile(functions, out_idx=1, ignore_error=True, target="cpu")
    check(first, 10, 2.0)
    assert second is None
    check(third, 20, 2.0)


def test_nothing_to_compile() -> None:
    assert tile.par_compile([], target="cpu") == []


def test_factories_of_jit() -> None:
    factory = tile.jit(out_idx=[1], target="cpu")(scaled)
    kernels = factory.par_compile([(30,), {"n": 40, "factor": 3.0}, [50, 4.0]], num_workers=2)
    for kernel, (n, factor) in zip(kernels, [(30, 2.0), (40, 3.0), (50, 4.0)], strict=True):
        check(kernel, n, factor)
    with pytest.raises(TypeError):
        factory.par_compile([{"m": 1}])
    assert factory.par_compile([{"m": 1}, (60,)], ignore_error=True)[0] is None
