"""Inline PTX that reads and writes tensors by their address, in the simulator."""

import explicit_programs
import numpy as np
import pytest
import tilemlir as tile

TARGET = {"kind": "cuda", "arch": "sm_90a"}


def test_store():
    """Reads in front of it see what was there, and those behind it what it has stored."""
    kernel = tile.compile(explicit_programs.replaced(64), target=TARGET)
    assert "ld.global.nc" not in kernel.get_kernel_source()
    a, before, after = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    kernel.simulate(a, before, after)
    np.testing.assert_array_equal(before, np.arange(64))
    np.testing.assert_array_equal(after, 77)
    assert a[0] == 77


def test_arithmetic_keeps_what_is_known_of_tensors():
    """What inline PTX is not given it does not write."""
    kernel = tile.compile(explicit_programs.saturating_sum(64), target=TARGET)
    assert kernel.get_kernel_source().count("ld.global.nc") == 2


@pytest.mark.parametrize(("blocks", "cluster"), [(4, None), (4, 2), (3, 2)])
def test_blocks_of_the_grid(blocks, cluster):
    """Blocks that complete a cluster do not execute what may write a tensor."""
    kernel = tile.compile(explicit_programs.counted_blocks(blocks, cluster), target=TARGET)
    count = np.zeros(1, np.int32)
    kernel.simulate(count)
    assert count[0] == blocks
