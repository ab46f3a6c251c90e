"""Persistent tiles from a counter, on the GPU's general path and on its own architecture, beside much other work."""

import pytest
from dynamic_tiles_cases import *  # noqa: F403

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param
