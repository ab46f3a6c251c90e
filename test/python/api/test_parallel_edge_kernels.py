"""Parallel loops at the edges of tensors, on the CPU."""

import pytest
from parallel_edge_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
