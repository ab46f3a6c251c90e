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


@pytest.mark.parametrize("columns", [4, 20, 36, 52])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_product_of_zeros(dtype, columns):
    kernel = tile.compile(programs.product_of_zeros(str(dtype).removeprefix("torch."), columns), target="cuda")
    a, b = (torch.randint(-4, 5, shape, dtype=torch.float32) for shape in ((32, columns), (64, 96)))
    c = torch.full((32, 96), float("nan"), device="cuda")
    kernel(a.to(dtype).cuda(), b.to(dtype).cuda(), c)
    np.testing.assert_array_equal(c.cpu().numpy(), (a @ b[:columns]).numpy())


@pytest.mark.parametrize("rows", [40, 100, 128, 1000])
def test_tiles_from_the_end(rows):
    kernel = tile.compile(programs.tiles_from_the_end(rows), target="cuda")
    a = torch.randn(rows, 64, dtype=torch.float16, device="cuda")
    c = torch.full_like(a, float("nan"))
    kernel(a, c)
    assert torch.equal(c, a + a)
