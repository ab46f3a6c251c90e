"""Programs of the cluster tests through tilemlir.compile on the CPU: what they mean, whoever loads."""

import cluster_programs
import pytest
import tilemlir as tile
from cluster_cases import (  # noqa: F401
    test_conditional_loads,
    test_dynamic,
    test_loops_of_different_lengths,
    test_number_of_steps,
    test_persistent,
    test_persistent_dynamic,
    test_places,
    test_ragged,
    test_raster,
)
from tilemlir import errors


@pytest.fixture(scope="module")
def target():
    return "cpu"


def test_barrier_of_the_cluster_is_refused():
    with pytest.raises(errors.TileError, match=r"T\.cluster_arrive needs threads that run at the same time"):
        tile.compile(cluster_programs.exchange(8, 2), target="cpu")
