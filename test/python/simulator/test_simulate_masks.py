"""Masked tiles and skipped multiplications, in the simulator: both sides of every branch, and warps that disagree."""

import numpy as np
import pytest
import tilemlir as tile
from mask_cases import expected_mask, masked, scaled

generator = np.random.default_rng()

TARGETS = ["sm_90a", "sm_80"]


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("mask", ["causal", "window", "loaded", "guard"])
def test_masks(mask, arch):
    m, n, block_m, block_n = 50, 77, 32, 16
    kernel = tile.compile(masked(m, n, block_m, block_n, mask), target={"kind": "simulator", "arch": arch})
    assert "no mask: runs for tiles in which the mask hides nothing" in str(kernel.explain())
    a = generator.standard_normal((m, n)).astype(np.float32)
    lengths = generator.integers(0, n, m).astype(np.int32)
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, lengths, c, 20)
    seen = expected_mask(mask, m, n, block_m, 20, lengths)
    np.testing.assert_array_equal(c, np.where(seen, a * np.float32(2) + np.float32(1), np.float32(-7)))


@pytest.mark.parametrize("arch", TARGETS)
def test_factors_of_one(arch):
    m, n, k, steps = 64, 128, 16, 3
    kernel = tile.compile(scaled(m, n, k, steps, 128), target={"kind": "simulator", "arch": arch})
    a = generator.integers(-3, 4, (steps, m, k)).astype(np.float16)
    b = generator.integers(-3, 4, (steps, k, n)).astype(np.float16)
    power = np.full((steps, m), 3, np.float32)
    power[1, 5] = 4
    power[2, 40:] = 4
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, power, c)
    expected = np.zeros((m, n))
    for step in range(steps):
        expected = (expected + a[step].astype(float) @ b[step].astype(float)) * np.exp2(power[step] - 3.0)[:, None]
    np.testing.assert_array_equal(c, expected.astype(np.float32))
