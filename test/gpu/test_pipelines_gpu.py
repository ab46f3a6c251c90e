"""Loops whose loads run ahead, on the GPU."""

import pytest
from pipeline_cases import *  # noqa: F403


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param
