"""Operations in unusual forms, through tilemlir.compile on the CPU."""

import pytest
from operation_cases import *  # noqa: F403


@pytest.fixture(scope="module")
def target():
    return "cpu"
