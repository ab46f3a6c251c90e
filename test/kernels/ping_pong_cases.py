"""Test cases over ping_pong_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import ping_pong_programs
import pytest
import tilemlir.language as T
import torch


def small_integers(*shape, dtype=torch.float16):
    """Numbers whose products have exact sums, so that any order of summation gives the same result."""
    return torch.from_numpy(np.random.default_rng().integers(-3, 4, shape).astype(np.float32)).to(dtype)


def check_gemm(kernel, m, n, k, dtype=torch.float16, out=torch.float16, transpose_b=False):
    a, b = small_integers(m, k, dtype=dtype), small_integers(*((n, k) if transpose_b else (k, n)), dtype=dtype)
    (c,) = programs.run(kernel, [a, b], [((m, n), out)])
    expected = a.float() @ (b.float().T if transpose_b else b.float())
    torch.testing.assert_close(c, expected.to(out), rtol=0, atol=0)


@pytest.mark.parametrize("workers", [1, 3, 7])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_trip_counts(target, trips, stages, workers):
    m, n, k = 384, 256, 64 * trips
    kernel = programs.compile_for(ping_pong_programs.gemm(m, n, k, workers, stages=stages), target)
    for _ in range(3):
        check_gemm(kernel, m, n, k)


@pytest.mark.parametrize("workers", [1, 5, 40])
def test_sizes_known_at_launch(target, workers):
    kernel = programs.compile_for(
        ping_pong_programs.gemm(T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), workers), target
    )
    for shape in [(128, 128, 64), (384, 256, 8), (200, 136, 72), (1, 8, 520), (1000, 776, 552), (129, 8, 40)]:
        check_gemm(kernel, *shape)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("dtype", "block"), [("float16", (128, 128, 64)), ("bfloat16", (64, 256, 64))])
def test_types_and_tiles(target, dtype, block, transpose_b):
    program = ping_pong_programs.gemm(
        333, 400, 264, 4, block=block, stages=4, dtype=dtype, out=dtype, transpose_b=transpose_b
    )
    kind = getattr(torch, dtype)
    check_gemm(programs.compile_for(program, target), 333, 400, 264, kind, kind, transpose_b)


@pytest.mark.parametrize("workers", [2, 4])
def test_clusters(target, workers):
    kernel = programs.compile_for(ping_pong_programs.gemm(512, 640, 264, workers, cluster=2), target)
    check_gemm(kernel, 512, 640, 264)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_tiles_of_different_length(target, workers):
    m, n = 320, 192
    kernel = programs.compile_for(ping_pong_programs.triangular_gemm(m, n, workers), target)
    for _ in range(3):
        a, b, bias = small_integers(m, m), small_integers(m, n), small_integers(n).float()
        (c,) = programs.run(kernel, [a, b, bias], [((m, n), torch.float32)])
        used = torch.arange(m)[None, :] < torch.arange(m)[:, None] // 64 * 64
        torch.testing.assert_close(c, (a.float() * used) @ b.float() + bias, rtol=0, atol=0)


def test_tiles_that_depend_on_each_other(target):
    """They stay with one role of consumers."""
    m, n, k = 256, 256, 128
    kernel = programs.compile_for(ping_pong_programs.running_sum(m, n, k, 1), target)
    a, b = small_integers(m, k), small_integers(k, n)
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    product = (a.float() @ b.float()).reshape(2, 128, 2, 128)
    expected = torch.empty_like(product)
    total = torch.zeros(128, 128)
    for column in range(2):
        for row in range(2):  # groups of rows, column by column
            total = total + product[row, :, column]
            expected[row, :, column] = total
    torch.testing.assert_close(c, expected.reshape(m, n).to(torch.float16), rtol=0, atol=0)
