"""What threads do for themselves, on the CPU."""

import pytest
from thread_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
