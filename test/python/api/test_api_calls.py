"""Calls of compiled kernels, through tilemlir.compile on the CPU."""

import pytest
from call_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
