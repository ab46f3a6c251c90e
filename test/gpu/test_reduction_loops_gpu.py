"""Reductions in loops, on the GPU's general path and on its own architecture."""

import pytest
from reduction_loop_cases import *  # noqa: F403

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param
