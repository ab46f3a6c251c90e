"""Programs of the TMA tests through tilemlir.compile on the CPU: what they mean, whoever copies."""

import pytest
from tma_cases import (  # noqa: F401
    test_dynamic_shapes,
    test_loads_in_loops,
    test_panels,
    test_panels_of_assumed_columns,
    test_ranks,
    test_slices,
    test_threads_between_load_and_store,
    test_unaligned_base,
    test_unaligned_pitch,
    test_vectors,
)


@pytest.fixture(scope="module")
def target():
    return "cpu"
