"""Copies by TMA in the simulator: one box for all panels of a tile, slots that are one block, tails."""

import pytest
from tma_cases import (  # noqa: F401
    test_panels,
    test_panels_of_assumed_columns,
    test_panels_of_heads,
)


@pytest.fixture(scope="module")
def target():
    return {"kind": "simulator", "arch": "sm_90a"}
