"""Masked tiles and skipped multiplications, on the CPU."""

import pytest
from mask_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
