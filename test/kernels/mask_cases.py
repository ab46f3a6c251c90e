"""Masked tiles and skipped multiplications, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch

generator = np.random.default_rng()

MASKS = ["causal", "hidden", "window", "ragged", "loaded", "nested", "grouped", "either", "corner", "guard", "distance"]


def masked(m, n, block_m, block_n, mask, num_stages=2, threads=64):
    """2 a + 1 where ``mask`` lets an element be seen, -7 elsewhere; the tiles of a row come one after the other."""

    @T.prim_func
    def kernel(
        a: T.Tensor((m, n), "float32"),
        lengths: T.Tensor((m,), "int32"),
        c: T.Tensor((m, n), "float32"),
        limit: T.int32,
    ):
        with T.Kernel(T.ceildiv(m, block_m), threads=threads) as by:
            tile = T.alloc_fragment((block_m, block_n), "float32")
            first = by * block_m
            for step in T.Pipelined(T.ceildiv(n, block_n), num_stages=num_stages):
                T.copy(a[first, step * block_n], tile)
                for i, j in T.Parallel(block_m, block_n):
                    row = first + i
                    column = step * block_n + j
                    if mask == "causal":
                        tile[i, j] = T.if_then_else(row >= column, tile[i, j] * 2 + 1, -7)
                    elif mask == "hidden":
                        tile[i, j] = T.if_then_else(column > row, -7, tile[i, j] * 2 + 1)
                    elif mask == "window":
                        seen = T.And(column <= row, column > row - limit)
                        tile[i, j] = T.if_then_else(seen, tile[i, j] * 2 + 1, -7)
                    elif mask == "ragged":
                        tile[i, j] = T.if_then_else(column < limit, tile[i, j] * 2 + 1, -7)
                    elif mask == "loaded":
                        tile[i, j] = T.if_then_else(column < lengths[by], tile[i, j] * 2 + 1, -7)
                    elif mask == "nested":
                        inner = T.if_then_else(column < limit, tile[i, j] * 2 + 1, -7)
                        tile[i, j] = T.if_then_else(row >= column, inner, -7)
                    elif mask == "grouped":
                        tile[i, j] = T.if_then_else(first + i // 4 >= column, tile[i, j] * 2 + 1, -7)
                    elif mask == "either":
                        seen = T.Or(column < limit, row >= column)
                        tile[i, j] = T.if_then_else(T.Not(seen), -7, tile[i, j] * 2 + 1)
                    elif mask == "corner":
                        tile[i, j] = T.if_then_else(row + column != limit, tile[i, j] * 2 + 1, -7)
                    elif mask == "guard":
                        if row >= column:
                            tile[i, j] = tile[i, j] * 2 + 1
                        if row < column:
                            tile[i, j] = -7
                    else:
                        tile[i, j] = T.if_then_else(2 * row - 3 * column < limit, tile[i, j] * 2 + 1, -7)
                T.copy(tile, c[first, step * block_n])

    return kernel


def expected_mask(mask, m, n, block_m, limit, lengths):
    row, column = np.mgrid[:m, :n]
    first = row // block_m * block_m
    return {
        "causal": row >= column,
        "hidden": row >= column,
        "window": (column <= row) & (column > row - limit),
        "ragged": column < limit,
        "loaded": column < lengths[row // block_m],
        "nested": (row >= column) & (column < limit),
        "grouped": first + (row - first) // 4 >= column,
        "either": (column < limit) | (row >= column),
        "corner": row + column != limit,
        "guard": row >= column,
        "distance": 2 * row - 3 * column < limit,
    }[mask]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", [(64, 96, 16, 32), (50, 77, 32, 16)])
def test_masks(target, mask, shape):
    m, n, block_m, _ = shape
    kernel = programs.compile_for(masked(*shape, mask), target)
    device = kernel.target.device
    a = generator.standard_normal((m, n)).astype(np.float32)
    lengths = generator.integers(-3, n + 20, m).astype(np.int32)
    for limit in (-(2**31), -1, 0, 1, n // 2, n - 1, n, 2**31 - 1):
        c = torch.full((m, n), float("nan"), device=device)
        kernel(torch.from_numpy(a).to(device), torch.from_numpy(lengths).to(device), c, limit)
        # As the program: i32 that wraps around is not part of what masks promise.
        if mask in ("window", "distance") and abs(limit) > 2**30:
            continue
        seen = expected_mask(mask, m, n, block_m, limit, lengths)
        np.testing.assert_array_equal(
            c.cpu().numpy(), np.where(seen, a * np.float32(2) + np.float32(1), np.float32(-7))
        )


def chunked(dtype="float32"):
    """A loop over a dynamic extent: all chunks but the last one run without the guard."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n,), dtype), b: T.Tensor((n,), dtype), count: T.int32):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(count):
                b[i] = a[i] * 3

    return kernel


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000, 1024])
def test_chunks(target, n):
    kernel = programs.compile_for(chunked(), target)
    a = torch.randn(n)
    for count in (0, 1, n // 2, n):
        b = torch.full((n,), float("nan"), device=kernel.target.device)
        kernel(a.to(b.device), b, count)
        result = b.cpu()
        torch.testing.assert_close(result[:count], a[:count] * 3, rtol=0, atol=0)
        assert bool(result[count:].isnan().all())


def scaled(m, n, k, steps, threads, inline=False):
    """c = (c + a[s] b[s]) * factor[s], row by row, for all steps s; most factors are 1."""

    @T.prim_func
    def kernel(
        a: T.Tensor((steps, m, k), "float16"),
        b: T.Tensor((steps, k, n), "float16"),
        power: T.Tensor((steps, m), "float32"),
        c: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            a_tile = T.alloc_shared((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            sums = T.alloc_fragment((m, n), "float32")
            factor = T.alloc_fragment((m,), "float32")
            T.clear(sums)
            for step in T.Pipelined(steps, num_stages=2):
                T.copy(a[step, 0, 0], a_tile)
                T.copy(b[step, 0, 0], b_tile)
                T.gemm(a_tile, b_tile, sums)
                for i in T.Parallel(m):
                    factor[i] = power[step, i]
                if not inline:
                    for i in T.Parallel(m):
                        factor[i] = T.if_then_else(factor[i] == 3.0, 1.0, T.exp2(factor[i] - 3.0))
                    for i, j in T.Parallel(m, n):
                        sums[i, j] *= factor[i]
                else:
                    for i, j in T.Parallel(m, n):
                        sums[i, j] = T.if_then_else(factor[i] > 3.0, 2.0, 1.0) * sums[i, j]
            T.copy(sums, c)

    return kernel


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("shape", [(64, 128, 128), (128, 64, 128), (128, 128, 256), (48, 96, 32)])
def test_factors_of_one(target, shape, inline):
    m, n, threads = shape
    k, steps = 16, 5
    kernel = programs.compile_for(scaled(m, n, k, steps, threads, inline), target)
    a = generator.integers(-3, 4, (steps, m, k)).astype(np.float16)
    b = generator.integers(-3, 4, (steps, k, n)).astype(np.float16)
    a[0, 1, 0], a[0, 2, 0], a[0, 3, 0] = np.inf, np.nan, 0.0
    power = np.full((steps, m), 3, np.float32)
    power[1, generator.integers(0, m, 3)] = 4
    power[2, 5] = 4
    power[3] = 4
    if not inline:
        power[4, 7], power[4, 8], power[4, 9] = np.inf, -np.inf, np.nan
    (c,) = programs.run(kernel, [a, b, power], [((m, n), torch.float32)])
    expected = np.zeros((m, n))
    with np.errstate(all="ignore"):
        for step in range(steps):
            factor = np.exp2(power[step].astype(np.float64) - 3) if not inline else np.where(power[step] > 3, 2.0, 1.0)
            expected = (expected + a[step].astype(np.float64) @ b[step].astype(np.float64)) * factor[:, None]
    np.testing.assert_array_equal(c.numpy(), expected.astype(np.float32))
