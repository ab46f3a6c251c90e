"""Operations in unusual forms, on the GPU."""

import pytest
from operation_cases import *  # noqa: F403


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param
