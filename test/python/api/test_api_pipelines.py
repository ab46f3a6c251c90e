"""Loops whose loads run ahead, through tilemlir.compile on the CPU."""

import pytest
from pipeline_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
