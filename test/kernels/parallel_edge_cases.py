"""Parallel loops at the edges of tensors, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch

generator = np.random.default_rng()


def stencil(m, n, block_m, block_n, dtype="float32"):
    """Accesses to the left, to the right, to another row, and mirrored: each leaves the tensor elsewhere."""

    @T.prim_func
    def kernel(a: T.Tensor((m, n), dtype), b: T.Tensor((m, n), dtype), c: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=64) as (bx, by):
            for i, j in T.Parallel(block_m, block_n):
                y = by * block_m + i
                x = bx * block_n + j
                c[y, x] = a[y, x - 1] + a[y, x + 2] * 2 + b[y - 3, x] * 4 + b[y, n - 1 - x] * 8

    return kernel


def guarded(block):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), first: T.int32, last: T.int32):
        with T.Kernel(T.ceildiv(n, block), threads=64) as bx:
            for j in T.Parallel(block):
                x = bx * block + j
                if x < n:
                    b[x] = a[x] * 2
                if first <= x and last > x:
                    b[x] = a[x] + 1

    return kernel


def triangle(n, block):
    """A guard that cuts every row at another place, and one on rows."""

    @T.prim_func
    def kernel(a: T.Tensor((n, n), "float32"), b: T.Tensor((n, n), "float32")):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(n, block), threads=64) as (bx, by):
            for i, j in T.Parallel(block, block):
                if by * block + i >= bx * block + j and by * block + i < n - 2:
                    b[by * block + i, bx * block + j] = a[by * block + i, bx * block + j] * 2
                else:
                    b[by * block + i, bx * block + j] = 0
                if bx * block + j >= n - 2:
                    b[by * block + i, bx * block + j] = -1

    return kernel


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (64, 64), (65, 130), (100, 33)])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_stencil(target, shape, dtype):
    m, n = shape
    a, b = (generator.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    kernel = programs.compile_for(stencil(m, n, 16, 32, dtype), target)
    (c,) = programs.run(kernel, [a, b], [(shape, getattr(torch, dtype))])
    padded = np.zeros((m + 3, n + 3), dtype)
    padded[3:, 1 : n + 1] = a
    above = np.zeros((m + 3, n), dtype)
    above[3:] = b
    expected = padded[3:, :n] + padded[3:, 3 : n + 3] * 2 + above[:m] * 4 + b[:, ::-1] * 8
    np.testing.assert_array_equal(c.numpy(), expected.astype(dtype))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_guarded(target, n):
    kernel = programs.compile_for(guarded(64), target)
    a = generator.standard_normal(n).astype(np.float32)
    for first, last in ((0, 0), (0, n), (n // 3, n - n // 4), (-5, 2), (3, 1)):
        b = torch.full((n,), float("nan"), device=kernel.target.device)
        kernel(torch.from_numpy(a).to(b.device), b, first, min(last, n))
        x = np.arange(n)
        expected = np.where((first <= x) & (x < last), a + np.float32(1), a * 2)
        np.testing.assert_array_equal(b.cpu().numpy(), expected)


@pytest.mark.parametrize("n", [1, 3, 32, 50])
def test_triangle(target, n):
    a = generator.standard_normal((n, n)).astype(np.float32)
    kernel = programs.compile_for(triangle(n, 32), target)
    (b,) = programs.run(kernel, [a], [((n, n), torch.float32)])
    i, j = np.mgrid[:n, :n]
    expected = np.where((i >= j) & (i < n - 2), a * 2, 0)
    np.testing.assert_array_equal(b.numpy(), np.where(j >= n - 2, -1, expected))
