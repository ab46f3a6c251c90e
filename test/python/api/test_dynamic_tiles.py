"""Persistent tiles from a counter, on the CPU, which takes the tiles of a static schedule."""

import pytest
from dynamic_tiles_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
