"""Warp groups that take turns on the tiles of a block, on sm_90a: trip counts, sizes, clusters, refusals."""

import pytest
import torch
from ping_pong_cases import *  # noqa: F403

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def hopper():
    """Only on a device that runs sm_90a code."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("sm_90a code runs on compute capability 9.0 only")


@pytest.fixture(scope="module")
def target():
    return {"kind": "cuda", "arch": "sm_90a"}
