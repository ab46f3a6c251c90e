"""What the fuzzer found wrong on a device only."""

import found_programs as programs
import numpy as np
import pytest
import tilemlir as tile
import torch

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("threads", [128, 256, 384])
@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loads_in_flight(dtype, stages, threads):
    kernel = tile.compile(programs.loads_in_flight(stages, threads, dtype), target="cuda")
    for _ in range(4):
        a, b = (np.random.default_rng().integers(-4, 5, (rows, 96)).astype(dtype) for rows in (32, 64))
        c = torch.full((32, 64), float("nan"), dtype=getattr(torch, dtype), device="cuda")
        kernel(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda(), c)
        np.testing.assert_array_equal(c.cpu().numpy(), a @ b.T)
