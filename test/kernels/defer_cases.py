"""Test cases over defer_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import defer_programs
import kernel_programs as programs
import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
import torch

HALVES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def small_integers(*shape, dtype=torch.float16):
    """Numbers whose products have exact sums, so that any order of summation gives the same result."""
    return torch.from_numpy(np.random.default_rng().integers(-3, 4, shape).astype(np.float32)).to(dtype)


def is_deferred(kernel):
    """Whether a store of the kernel leaves behind products of the next tile."""
    reasons = [one["reason"] for one in kernel.explain().operations if one["op"].startswith("copy")]
    return any("; deferred: behind the first" in reason for reason in reasons)


def expect_deferral(kernel, expected=True):
    if kernel.target.arch == "sm_90a":
        assert is_deferred(kernel) == expected, kernel.explain().operations


def check_gemm(kernel, m, n, k, dtype=torch.float16, out=torch.float16, transpose_b=False):
    a, b = small_integers(m, k, dtype=dtype), small_integers(*((n, k) if transpose_b else (k, n)), dtype=dtype)
    (c,) = programs.run(kernel, [a, b], [((m, n), out)])
    expected = a.float() @ (b.float().T if transpose_b else b.float())
    torch.testing.assert_close(c, expected.to(out), rtol=0, atol=0)


@pytest.mark.parametrize("workers", [1, 3, 7])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
def test_few_products(target, trips, stages, workers):
    """A tile of 128 columns has two chunks: with fewer products than that, and with more."""
    m, n, k = 384, 256, 64 * trips
    kernel = programs.compile_for(defer_programs.gemm(m, n, k, workers, stages=stages), target)
    expect_deferral(kernel, trips >= 2)
    for _ in range(3):
        check_gemm(kernel, m, n, k)


@pytest.mark.parametrize("trips", [3, 4, 5, 9])
def test_wide_tiles(target, trips):
    """Four chunks."""
    m, n, k = 384, 768, 64 * trips
    kernel = programs.compile_for(defer_programs.gemm(m, n, k, 4, block=(128, 256, 64), stages=4), target)
    expect_deferral(kernel, trips >= 4)
    for _ in range(3):
        check_gemm(kernel, m, n, k)


@pytest.mark.parametrize("workers", [1, 5, 40])
def test_number_of_products_known_at_launch(target, workers):
    """One compilation for every K: both forms of the loop over tiles; more workers than tiles."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    kernel = programs.compile_for(defer_programs.gemm(m, n, k, workers), target)
    expect_deferral(kernel)
    for shape in [(128, 128, 64), (128, 128, 128), (256, 256, 192), (384, 256, 8), (200, 136, 72), (1, 8, 520),
                  (100, 264, 1048), (1000, 776, 552), (129, 8, 40)]:  # fmt: skip
        check_gemm(kernel, *shape)


@pytest.mark.parametrize(("m", "n", "k"), [(100, 136, 264), (1, 8, 256), (333, 200, 512), (640, 392, 320)])
def test_ragged_tiles(target, m, n, k):
    kernel = programs.compile_for(defer_programs.gemm(m, n, k, 3), target)
    expect_deferral(kernel)
    check_gemm(kernel, m, n, k)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("name", sorted(HALVES))
def test_types(target, name, transpose_b):
    program = defer_programs.gemm(256, 384, 320, 4, dtype=name, out=name, transpose_b=transpose_b)
    kernel = programs.compile_for(program, target)
    expect_deferral(kernel)
    check_gemm(kernel, 256, 384, 320, HALVES[name], HALVES[name], transpose_b)


@pytest.mark.parametrize(
    ("block", "threads", "deferred"),
    [
        ((64, 128, 64), 128, True),
        ((128, 64, 64), 128, True),
        ((128, 64, 64), 256, True),
        ((192, 128, 64), 384, True),
        ((256, 64, 64), 256, True),
        ((128, 96, 64), 256, True),
        ((64, 128, 64), 256, True),
    ],
)
def test_tiles_and_warp_groups(target, block, threads, deferred):
    """Rows, blocks of rows, and columns of a warp group."""
    m, n, k = 2 * block[0] + 40, 3 * block[1] - 24, 384
    kernel = programs.compile_for(defer_programs.gemm(m, n, k, 4, block=block, threads=threads), target)
    expect_deferral(kernel, deferred)
    check_gemm(kernel, m, n, k)


def test_single_precision_result(target):
    """Chunks of 32 columns, written by plain stores."""
    kernel = programs.compile_for(defer_programs.gemm(256, 192, 320, 3, block=(128, 64, 64), out="float32"), target)
    expect_deferral(kernel)
    check_gemm(kernel, 256, 192, 320, out=torch.float32)


@pytest.mark.parametrize("k", [64, 320])
def test_work_between_products_and_store(target, k):
    m, n, scale = 300, 264, 0.5
    kernel = programs.compile_for(defer_programs.gemm_with_epilogue(m, n, k, 4), target)
    expect_deferral(kernel, k >= 128)
    a, b, bias = small_integers(m, k), small_integers(k, n), small_integers(n, dtype=torch.float32)
    for _ in range(3):
        (c,) = programs.run(kernel, [a, b, bias, scale], [((m, n), torch.float16)])
        expected = (scale * (a.float() @ b.float()) + bias).clamp_min(0)
        torch.testing.assert_close(c, expected.half(), rtol=0, atol=0)


def test_result_that_is_read(target):
    """C = A B + beta C: the old contents of a tile are read before it is stored, and never later."""
    m, n, k, beta = 256, 264, 320, 2.0
    kernel = programs.compile_for(defer_programs.gemm_in_place(m, n, k, 3), target)
    expect_deferral(kernel, False)
    a, b, c = small_integers(m, k), small_integers(k, n), small_integers(m, n)
    expected = a.float() @ b.float() + beta * c.float()
    device = programs.device_of(kernel)
    result = c.to(device)
    kernel(a.to(device), b.to(device), beta, result)
    torch.testing.assert_close(result.cpu(), expected.half(), rtol=0, atol=0)


def test_two_results(target):
    m, n, k = 256, 200, 320
    kernel = programs.compile_for(defer_programs.two_results(m, n, k, 3), target)
    expect_deferral(kernel, False)
    a, b = small_integers(m, k), small_integers(k, n)
    c, d = programs.run(kernel, [a, b], [((m, n), torch.float16)] * 2)
    expected = a.float() @ b.float()
    torch.testing.assert_close(c, expected.half(), rtol=0, atol=0)
    torch.testing.assert_close(d, expected.clamp_min(0).half(), rtol=0, atol=0)


def test_option(target):
    """The same numbers without deferral."""
    m, n, k = 384, 256, 320
    program = defer_programs.gemm(m, n, k, 4)
    kernel = tile.compile(program, target=target, pass_configs={"disable_defer_stores": True})
    expect_deferral(kernel, False)
    check_gemm(kernel, m, n, k)
