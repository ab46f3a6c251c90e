"""Barriers of the whole grid on a device: cooperative launches, one after the other, and what does not fit."""

import grid_programs
import kernel_programs as programs
import numpy as np
import pytest
import torch
from tilemlir.errors import TileValueError

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("blocks", "grid"), [(1, None), (5, None), (100, None), (24, (6, 4))])
def test_pass_on(blocks, grid):
    kernel = programs.compile_for(grid_programs.pass_on(blocks, 128, 7, grid), "cuda")
    rows = np.random.default_rng().integers(-8, 8, (blocks, 128)).astype(np.float32)
    expected = np.roll(rows, 7, axis=0) + 7
    device = torch.from_numpy(rows).cuda()
    out = torch.full_like(device, float("nan"))
    # The counter goes on where the launch before stopped.
    for _ in range(3):
        kernel(device.clone(), out)
        torch.cuda.synchronize()
        np.testing.assert_array_equal(out.cpu().numpy(), expected)


def test_sum_of_all_blocks():
    kernel = programs.compile_for(grid_programs.normalise(1000, 64, 16), "cuda")
    a = torch.rand(1000, 64) + 0.5
    (b,) = programs.run(kernel, [a], [((1000, 64), torch.float32)])
    torch.testing.assert_close(b, (a.double() / a.double().sum()).float(), rtol=1e-5, atol=0)


def test_grid_that_does_not_fit():
    kernel = programs.compile_for(grid_programs.pass_on(100_000, 128, 1), "cuda")
    rows = torch.zeros(100_000, 128, device="cuda")
    with pytest.raises(TileValueError, match="fit the device at once"):
        kernel(rows, torch.empty_like(rows))
