"""Persistent tiles from a counter, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch
from dynamic_tiles_programs import expected_product, product, sum_of_product, visits

generator = np.random.default_rng()


@pytest.mark.parametrize("workers", [1, 3, 16, 200])
@pytest.mark.parametrize("order", [None, (2, ~0, 1)])
@pytest.mark.parametrize("extents", [(3, 5, 4), (1, 1, 1), (16, 1, 1)])
def test_every_tile_once(target, extents, order, workers):
    kernel = programs.compile_for(visits(extents, workers, order), target)
    i, j, _ = np.mgrid[: extents[0], : extents[1], : extents[2]]
    expected = (i + j) % 3 != 1
    # Again and again: the counter is back at zero each time.
    for _ in range(3):
        counts = torch.zeros(extents, dtype=torch.int32, device=kernel.target.device)
        blocks = torch.full(extents, -1, dtype=torch.int32, device=kernel.target.device)
        kernel(counts, blocks)
        np.testing.assert_array_equal(counts.cpu().numpy(), expected.astype(np.int32))
        taken = blocks.cpu().numpy()
        assert ((taken >= 0) == expected).all()
        assert taken.max() < workers


def test_order(target):
    """With one worker the tiles come in the order that was asked for."""
    extents = (2, 3, 4)

    @T.prim_func
    def kernel(times: T.Tensor(extents, "int32")):
        with T.Kernel(1, threads=32) as block:
            time = T.alloc_var("int32")
            time = 0
            for i, j, k in T.Persistent(list(extents), 1, block, order=(1, ~2, 0), dynamic=True):
                times[i, j, k] = time
                time += 1

    compiled = programs.compile_for(kernel, target)
    (times,) = programs.run(compiled, [], [(extents, torch.int32)])
    i, j, k = np.mgrid[:2, :3, :4]
    np.testing.assert_array_equal(times.numpy(), (j * 4 + 3 - k) * 2 + i)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("workers", [1, 4, 40])
@pytest.mark.parametrize("num_stages", [0, 2, 3])
@pytest.mark.parametrize(("block", "threads"), [((64, 64, 32), 128), ((128, 96, 64), 256)])
def test_product(target, block, threads, num_stages, workers, lengths):
    m, n, k = 330, 200, 136
    kernel = programs.compile_for(product(m, n, k, block, workers, num_stages, threads, lengths), target)
    a = generator.integers(-4, 5, (m, k)).astype(np.float16)
    b = generator.integers(-4, 5, (k, n)).astype(np.float16)
    for _ in range(2):
        (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
        np.testing.assert_array_equal(c.numpy(), expected_product(a, b, block, lengths))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("workers", [3, 40])
@pytest.mark.parametrize("tile_stages", [0, 1, 2, 3])
def test_loads_of_tiles(target, tile_stages, workers, dynamic):
    m, n, k = 330, 200, 136
    kernel = programs.compile_for(sum_of_product(m, n, k, (64, 64, 32), workers, tile_stages, dynamic), target)
    a, b, d = (generator.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n), (m, n)))
    for _ in range(2):
        (c,) = programs.run(kernel, [a, b, d], [((m, n), torch.float32)])
        np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ b + d)
