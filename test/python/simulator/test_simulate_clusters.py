"""Blocks of clusters that share loads, in the simulator: exact, and free of races and deadlocks in any order."""

import cluster_programs
import numpy as np
import pytest
import tilemlir as tile
from tilemlir.simulator import Settings, simulate

TARGET = {"kind": "cuda", "arch": "sm_90a"}
GEMM, PERSISTENT = cluster_programs.gemm, cluster_programs.persistent_gemm
SMALL = {"block": (64, 64, 64), "stages": 3}
#: m, n, k, and the program.
PROGRAMS = {
    "rows": (256, 128, 256, lambda *shape: GEMM(*shape, (1, 2))),
    "columns": (128, 256, 192, lambda *shape: GEMM(*shape, (2, 1))),
    "square": (128, 256, 256, lambda *shape: GEMM(*shape, (2, 2), block=(64, 128, 64))),
    "ragged": (328, 136, 72, lambda *shape: GEMM(*shape, (1, 2))),
    "fewer_blocks_than_a_cluster": (8, 8, 8, lambda *shape: GEMM(*shape, (1, 2), **SMALL)),
    "one_slot": (128, 64, 448, lambda *shape: GEMM(*shape, (1, 2), block=(64, 64, 64), stages=1)),
    "eight_blocks": (256, 128, 128, lambda *shape: GEMM(*shape, (2, 4), **SMALL)),
    "two_consumer_groups": (256, 256, 256, lambda *shape: GEMM(*shape, (1, 2), (128, 256, 64), 256, stages=3)),
    "raster": (384, 320, 64, lambda *shape: GEMM(*shape, (1, 2), panel=2, **SMALL)),
    "persistent": (256, 256, 192, lambda *shape: PERSISTENT(*shape, workers=4, **SMALL)),
    "persistent_ragged": (320, 136, 72, lambda *shape: PERSISTENT(*shape, workers=3, **SMALL)),
    "persistent_columns": (256, 256, 128, lambda *shape: PERSISTENT(*shape, cluster_tile=(1, 2), workers=4, **SMALL)),
}


def operands(m, n, k):
    """Small integers, whose products and sums are exact."""
    generator = np.random.default_rng()
    return (generator.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_gemm_is_exact(name):
    m, n, k, program = PROGRAMS[name]
    kernel = tile.compile(program(m, n, k), target=TARGET, out_idx=-1)
    assert "multicast::cluster" in kernel.get_kernel_source()
    for seed in range(2):
        a, b = operands(m, n, k)
        result = simulate(kernel, a, b, settings=Settings(seed=seed))
        assert result.report.ok, str(result.report)
        np.testing.assert_array_equal(result.outputs, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_number_of_steps(steps):
    kernel = tile.compile(cluster_programs.first_steps(128, 64, 256), target=TARGET, out_idx=-1)
    a, b = operands(128, 64, 256)
    result = simulate(kernel, a, b, steps, settings=Settings(seed=3))
    assert result.report.ok, str(result.report)
    expected = a[:, : steps * 64].astype(np.float32) @ b[: steps * 64].astype(np.float32)
    np.testing.assert_array_equal(result.outputs, expected.astype(np.float16))


@pytest.mark.parametrize(("blocks", "cluster"), [(3, 2), (5, 4), (4, 4)])
def test_surplus_blocks_do_not_wait(blocks, cluster):
    """Blocks that complete a cluster see none of what the others wait for; they would wait for ever."""
    kernel = tile.compile(cluster_programs.meet(blocks, cluster), target=TARGET)
    arrived, out = np.zeros(2, np.int32), np.zeros(blocks, np.int32)
    result = simulate(kernel, arrived, out, settings=Settings(seed=1))
    assert result.report.ok, str(result.report)
    np.testing.assert_array_equal(arrived, blocks)
    np.testing.assert_array_equal(out, blocks)


@pytest.mark.parametrize(("blocks", "cluster"), [(3, 2), (5, 4), (4, 4)])
def test_surplus_blocks_stay_inside_of_buffers(blocks, cluster):
    kernel = tile.compile(cluster_programs.own_places(blocks, cluster), target=TARGET, out_idx=-1)
    result = simulate(kernel, settings=Settings(seed=1))
    assert result.report.ok, str(result.report)
    np.testing.assert_array_equal(result.outputs, np.arange(blocks) * 3 + 1)


def test_barrier_of_the_cluster():
    kernel = tile.compile(cluster_programs.exchange(8, 4), target=TARGET, out_idx=-1)
    result = simulate(kernel, settings=Settings(seed=1))
    assert result.report.ok, str(result.report)
    index = np.arange(8)
    np.testing.assert_array_equal(result.outputs, (index // 4 * 4 + (index + 1) % 4) * 7 + 1)
