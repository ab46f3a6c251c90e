"""Two warp groups that take turns on the tiles of a block, in the simulator."""

import numpy as np
import ping_pong_programs
import pytest
import tilemlir as tile

TARGET = {"kind": "cuda", "arch": "sm_90a"}


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_trip_counts(stages, trips):
    m, n, k = 320, 128, 64 * trips
    kernel = tile.compile(ping_pong_programs.gemm(m, n, k, 2, block=(64, 64, 64), stages=stages), target=TARGET)
    generator = np.random.default_rng()
    a = generator.integers(-3, 4, (m, k)).astype(np.float16)
    b = generator.integers(-3, 4, (k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    kernel.simulate(a, b, c, seed=int(generator.integers(1 << 30)))
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_of_different_length(workers):
    m, n = 320, 128
    kernel = tile.compile(ping_pong_programs.triangular_gemm(m, n, workers), target=TARGET)
    generator = np.random.default_rng()
    a = generator.integers(-3, 4, (m, m)).astype(np.float16)
    b = generator.integers(-3, 4, (m, n)).astype(np.float16)
    bias = generator.integers(-3, 4, n).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    kernel.simulate(a, b, bias, c, seed=int(generator.integers(1 << 30)))
    used = np.arange(m)[None, :] < np.arange(m)[:, None] // 64 * 64
    np.testing.assert_array_equal(c, (a * used).astype(np.float32) @ b.astype(np.float32) + bias)


def test_cluster():
    m, n, k = 256, 256, 136
    kernel = tile.compile(ping_pong_programs.gemm(m, n, k, 2, block=(64, 64, 64), cluster=2), target=TARGET)
    generator = np.random.default_rng()
    a = generator.integers(-3, 4, (m, k)).astype(np.float16)
    b = generator.integers(-3, 4, (k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    kernel.simulate(a, b, c, seed=int(generator.integers(1 << 30)))
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))
