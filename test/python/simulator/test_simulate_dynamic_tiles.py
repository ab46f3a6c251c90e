"""Persistent tiles from a counter, in the simulator: blocks at different speeds, with roles and without."""

import numpy as np
import pytest
import tilemlir as tile
from dynamic_tiles_programs import around_groups, expected_product, product, sum_of_product, visits
from tilemlir.simulator import Settings, simulate

generator = np.random.default_rng()


# Rows of 200 bytes are nothing for TMA, so that no role is made.
@pytest.mark.parametrize(("arch", "k", "roles"), [("sm_90a", 104, True), ("sm_90a", 100, False), ("sm_80", 104, False)])
@pytest.mark.parametrize("seed", range(3))
def test_product(arch, k, roles, seed):
    m, n, block = 200, 96, (64, 64, 32)
    kernel = tile.compile(product(m, n, k, block, 3, 2, lengths=True), target={"kind": "simulator", "arch": arch})
    assert ("full_tile: 2 barriers of 1 arrival, producer -> consumer" in str(kernel.explain())) == roles
    a = generator.integers(-4, 5, (m, k)).astype(np.float16)
    b = generator.integers(-4, 5, (k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    result = simulate(kernel, a, b, c, settings=Settings(seed=seed))
    assert result.report.ok, str(result.report)
    np.testing.assert_array_equal(c, expected_product(a, b, block, True))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("workers", [2, 7])
def test_every_tile_once(arch, workers):
    extents = (3, 2, 1)
    kernel = tile.compile(visits(extents, workers), target={"kind": "simulator", "arch": arch})
    i, j, _ = np.mgrid[:3, :2, :1]
    # Again: the counter is back at zero.
    for _ in range(2):
        counts, blocks = np.zeros(extents, np.int32), np.full(extents, -1, np.int32)
        kernel(counts, blocks)
        np.testing.assert_array_equal(counts, ((i + j) % 3 != 1).astype(np.int32))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("stages", [1, 2])
def test_loads_of_tiles(stages, dynamic):
    """The producer loads what a tile needs once, while the consumers work on the tile before."""
    m, n, k = 200, 96, 72
    program = sum_of_product(m, n, k, (64, 64, 32), 3, stages, dynamic)
    kernel = tile.compile(program, target={"kind": "simulator", "arch": "sm_90a"})
    report = str(kernel.explain())
    assert "one elected thread: copy d -> d_tile (tma)" in report
    assert f"full_d_tile: {stages} barrier" in report
    size = f"{8 * stages} KiB in flight (d_tile)"
    assert sum(size in line for line in report.splitlines()) == 1, report
    a, b, d = (generator.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n), (m, n)))
    for seed in range(2):
        c = np.full((m, n), np.nan, np.float32)
        result = simulate(kernel, a, b, d, c, settings=Settings(seed=seed))
        assert result.report.ok, str(result.report)
        np.testing.assert_array_equal(c, a.astype(np.float64) @ b + d)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_around_groups(arch):
    """With roles of the program's own, all threads take a tile over together."""
    kernel = tile.compile(around_groups(10, 3), target={"kind": "simulator", "arch": arch})
    for seed in range(3):
        counts, ends = np.zeros(10, np.int32), np.zeros(2, np.int32)
        result = simulate(kernel, counts, ends, settings=Settings(seed=seed))
        assert result.report.ok, str(result.report)
        np.testing.assert_array_equal(counts, 1)
        np.testing.assert_array_equal(ends, [1, 2])
