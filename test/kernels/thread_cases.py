"""Test cases over thread_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import thread_programs
import tilemlir.language as T
import torch

generator = np.random.default_rng()


@pytest.mark.parametrize("threads", [32, 96, 128])
def test_private_copies(target, threads):
    rows = 3
    a = generator.standard_normal((rows, threads * 4)).astype(np.float32)
    kernel = programs.compile_for(thread_programs.private_copies(threads, rows), target)
    (b,) = programs.run(kernel, [a], [(a.shape, torch.float32)])
    parts = a.reshape(rows, threads, 4) * 2
    parts[:, np.arange(threads) % 3 == 1] = 0
    np.testing.assert_array_equal(b.numpy(), parts[:, ::-1].reshape(rows, -1))


@pytest.mark.parametrize("threads", [32, 128, 160])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_exchange_without_barrier(target, threads, dtype):
    a = generator.standard_normal((threads, 4)).astype(np.float32)
    kernel = programs.compile_for(thread_programs.exchanged_copies(threads, dtype), target)
    (b,) = programs.run(kernel, [a], [(a.shape, getattr(torch, dtype))])
    np.testing.assert_array_equal(b.numpy(), np.roll(a, -1, axis=0).astype(dtype))


@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize("columns", [8, 24, 64])
def test_fragment_read_by_threads(target, threads, columns):
    a = generator.standard_normal((16, columns)).astype(np.float32)
    kernel = programs.compile_for(thread_programs.fragment_to_threads(threads, columns), target)
    b, c = programs.run(kernel, [a], [((threads,), torch.float32), ((threads, 8), torch.float32)])
    tile = a + np.float32(1)
    t = np.arange(threads)
    np.testing.assert_array_equal(
        b.numpy(), np.where(t % 2 == 0, tile[t % 16, t % columns], tile[3, 5] + tile[15, columns - 1])
    )
    np.testing.assert_array_equal(c.numpy(), np.where(t[:, None] < threads - 3, tile[t % 16, :8], np.float32(7)))


@pytest.mark.parametrize("threads", [32, 128])
def test_fragment_written_by_all_threads(target, threads):
    a = generator.standard_normal(64).astype(np.float32)
    kernel = programs.compile_for(thread_programs.fragment_from_threads(threads), target)
    (b,) = programs.run(kernel, [a], [((64,), torch.float32)])
    a[3] += a[4]
    np.testing.assert_array_equal(b.numpy(), a * 2)


@pytest.mark.parametrize("shape", [(16, 32), (24, 20), (8, 4)])
def test_narrow_view_of_shared_memory(target, shape):
    rows, columns = shape
    a = generator.standard_normal(shape).astype(np.float32)
    kernel = programs.compile_for(thread_programs.narrow_view(rows, columns, 64), target)
    halves, swapped, total = programs.run(
        kernel, [a], [((rows, columns * 2), torch.uint16), (shape, torch.float32), (shape, torch.int32)]
    )
    words = a.view(np.uint16)
    np.testing.assert_array_equal(halves.numpy(), words)
    exchanged = words.reshape(rows, columns, 2)[:, :, ::-1].reshape(rows, -1)
    np.testing.assert_array_equal(swapped.numpy().view(np.uint16), exchanged)
    sums = np.ascontiguousarray(exchanged).view(np.uint8).reshape(rows, columns, 4).astype(np.int32).sum(-1)
    np.testing.assert_array_equal(total.numpy(), sums)


@pytest.mark.parametrize("threads", [32, 128])
def test_views_of_an_iteration(target, threads):
    rows = 20
    a = generator.standard_normal((rows, 32)).astype(np.float32)
    kernel = programs.compile_for(thread_programs.iteration_views(rows, threads), target)
    b, c = programs.run(kernel, [a], [((rows, 32), torch.float32), ((rows, 16), torch.uint16)])
    j = np.arange(32)
    np.testing.assert_array_equal(b.numpy(), a.reshape(rows, 4, 8)[:, j % 4, j // 4])
    np.testing.assert_array_equal(c.numpy(), np.ascontiguousarray(a[:, 8:16]).view(np.uint16)[:, ::-1])


def test_views_of_a_local_buffer(target):
    threads = 64
    a = generator.standard_normal((threads, 4)).astype(np.float32)
    kernel = programs.compile_for(thread_programs.local_views(threads), target)
    b, c = programs.run(kernel, [a], [((threads, 16), torch.uint8), ((threads, 2), torch.int64)])
    octets = a.view(np.uint8).copy()
    np.testing.assert_array_equal(b.numpy(), octets)
    octets[:, 5] = octets[:, 4]
    np.testing.assert_array_equal(c.numpy(), octets.view(np.int64))


DOUBLE_FUNCTIONS = {
    "exp": (np.exp, -700, 700), "exp2": (np.exp2, -1000, 1000), "log": (np.log, 1e-300, 1e300),
    "log2": (np.log2, 0.3, 5), "log10": (np.log10, 0.3, 5), "log1p": (np.log1p, -0.9, 3), "sin": (np.sin, -100, 100),
    "cos": (np.cos, -100, 100), "tan": (np.tan, -100, 100), "tanh": (np.tanh, -3, 3), "sqrt": (np.sqrt, 0, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 9), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -9, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBLE_FUNCTIONS)
def test_double_function(target, name):
    reference, lower, upper = DOUBLE_FUNCTIONS[name]
    x = generator.uniform(lower, upper, 1000)
    kernel = programs.compile_for(thread_programs.double_function(1000, getattr(T, name)), target)
    (y,) = programs.run(kernel, [x], [((1000,), torch.float64)])
    np.testing.assert_allclose(y.numpy(), reference(x), rtol=2e-15, atol=1e-300)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_double_of_large_angles(target, name):
    x = np.concatenate([10.0 ** generator.uniform(5, 308, 1000), [1e22, 2.0**1023, np.inf, np.nan]])
    kernel = programs.compile_for(thread_programs.double_function(len(x), getattr(T, name)), target)
    (y,) = programs.run(kernel, [x], [(x.shape, torch.float64)])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(y.numpy(), getattr(np, name)(x), rtol=3e-15)


def test_double_power(target):
    x = np.concatenate([generator.uniform(0, 20, 1000), [0.0, -2.0, -2.0, np.inf, 1.0, -0.0]])
    e = np.concatenate([generator.uniform(-90, 90, 1000), [-1.0, 3.0, 0.5, -2.0, np.nan, 3.0]])
    kernel = programs.compile_for(thread_programs.double_power(len(x)), target)
    (y,) = programs.run(kernel, [x, e], [(x.shape, torch.float64)])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(y.numpy(), np.power(x, e), rtol=3e-15)
