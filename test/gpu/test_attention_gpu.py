"""Attention over its configurations on the GPU: right, or refused because shared memory cannot hold it."""

import pytest
import tilemlir as tile
from attention_matrix import PAIRWISE, attention, error_of, random_configurations, refused_for_memory, tolerance
from tilemlir.errors import TileError

pytest.importorskip("torch")

LIMITS = {"sm_80": 166912, "sm_90a": 232448}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("one", [*PAIRWISE, *random_configurations()], ids=str)
def test_configuration(one, arch):
    try:
        kernel = tile.compile(attention(one), target=arch)
    except TileError as error:
        assert refused_for_memory(one, str(error), LIMITS[arch]), error
        return
    if not kernel.can_run:
        pytest.skip("this machine does not run the target")
    assert error_of(kernel, one) < tolerance(one)
