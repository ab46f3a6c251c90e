"""Barriers of the whole grid in the simulator: values, races, and launches one after the other."""

import grid_programs
import numpy as np
import pytest
import tilemlir as tile


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("blocks", "grid"), [(1, None), (4, None), (6, (3, 2))])
def test_pass_on(arch, blocks, grid):
    kernel = tile.compile(grid_programs.pass_on(blocks, 128, 3, grid), target={"kind": "cuda", "arch": arch})
    assert kernel.launch_plan["launches"][0]["cooperative"]
    rows = np.random.default_rng().integers(-8, 8, (blocks, 128)).astype(np.float32)
    out = np.full_like(rows, np.nan)
    kernel.simulate(rows.copy(), out, seed=blocks)
    np.testing.assert_array_equal(out, np.roll(rows, 3, axis=0) + 3)


def test_sum_of_all_blocks():
    kernel = tile.compile(grid_programs.normalise(20, 32, 8), target={"kind": "cuda", "arch": "sm_90a"})
    a = np.random.default_rng().random((20, 32), np.float32) + 0.5
    b = np.full_like(a, np.nan)
    kernel.simulate(a, b)
    np.testing.assert_allclose(b, a / a.sum(dtype=np.float64), rtol=1e-5)
