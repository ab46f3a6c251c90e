"""Complete kernels through tilemlir.compile on the CPU."""

import pytest
from kernel_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
