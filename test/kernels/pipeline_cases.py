"""Test cases over pipeline_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pipeline_programs as pipelines
import pytest
import torch

generator = np.random.default_rng()


def numbers(shape, dtype="float32", limit=4):
    """Small whole numbers, whose products and sums are exact."""
    return torch.from_numpy(generator.integers(-limit, limit + 1, shape)).to(getattr(torch, dtype))


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("sequence", [248, 250, 252, 255, 256, 1, 65])
def test_tile_and_vector_per_step(target, sequence, stages):
    kernel = programs.compile_for(pipelines.weighted_rows(100, sequence, stages), target)
    q, k = torch.randn(100, 64).bfloat16(), torch.randn(sequence, 64).bfloat16()
    weight = torch.randn(sequence)
    (out,) = programs.run(kernel, [q, k, weight], [((100, 64), torch.float32)])
    weights = ((q.double() @ k.double().T) * weight.double()).bfloat16().double()
    reference = weights @ k.double()
    # A score next to the middle of two bfloat16 may round either way.
    assert float((out.double() - reference).norm() / reference.norm()) < 2e-3


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("trips", [0, 1, 2])
def test_gemv_of_few_steps(target, trips, stages):
    n, k = 100, trips * 64
    kernel = programs.compile_for(pipelines.gemv(n, k, stages), target)
    a, x = numbers((n, k), "bfloat16"), numbers((k,), "bfloat16")
    (y,) = programs.run(kernel, [a, x], [((1, n), torch.float32)])
    torch.testing.assert_close(y[0], a.float() @ x.float(), rtol=0, atol=0)


@pytest.mark.parametrize("stages", [1, 3])
def test_split_gemv_of_one_step_per_slice(target, stages):
    n, k, slices = 128, 256, 4
    kernel = programs.compile_for(pipelines.gemv(n, k, stages, slices=slices), target)
    a, x = numbers((n, k), "bfloat16"), numbers((k,), "bfloat16")
    (y,) = programs.run(kernel, [a, x], [((slices, n), torch.float32)])
    torch.testing.assert_close(y.sum(0), a.float() @ x.float(), rtol=0, atol=0)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("trips", [0, 1, 2])
def test_gemm_of_few_steps(target, trips, stages):
    m, n, k = 128, 128, trips * 64
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(128, 128, 64), stages=stages, dtype="bfloat16", out="float32"), target
    )
    a, b = numbers((m, k), "bfloat16"), numbers((k, n), "bfloat16")
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=0, atol=0)


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4, 5])
def test_launch_time_steps(target, stages):
    kernel = programs.compile_for(pipelines.launch_time_trips(stages), target)
    x = numbers((8 * 32, 32), "float16")
    for trips in (0, 1, 2, 3, 4, 5, 8, -3):
        (y,) = programs.run(kernel, [x, trips], [((32, 32), torch.float32)])
        torch.testing.assert_close(y, x.float().view(8, 32, 32)[: max(trips, 0)].sum(0), rtol=0, atol=0)


@pytest.mark.parametrize("bounds", [(4, 4, 2), (5, 3, 2), (0, 5, 2), (0, 0, 1), (3, 4, 7)])
def test_unrolled_loop_may_be_empty(target, bounds):
    kernel = programs.compile_for(pipelines.unrolled(*bounds), target)
    (y,) = programs.run(kernel, [], [((4,), torch.int32)])
    assert y.tolist() == [len(range(*bounds))] * 4


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("trips", [1, 2, 3, 5])
def test_persistent_gemm(target, trips, stages):
    """Steps that are no multiple of the slots, fewer steps than slots, and workers with different numbers of tiles."""
    m, n, k = 256, 192, trips * 64
    kernel = programs.compile_for(pipelines.persistent_gemm(m, n, k, workers=5, stages=stages), target)
    a, b = numbers((m, k), "float16"), numbers((k, n), "float16")
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=0, atol=0)


@pytest.mark.parametrize("domain", [(8, 8), (7, 5), (13, 3), (1, 9), (9, 1), (16, 11)])
@pytest.mark.parametrize(("workers", "group"), [(1, 8), (6, 8), (132, 8), (5, 3)])
def test_persistent_order_keeps_every_tile(target, domain, workers, group):
    kernel = programs.compile_for(pipelines.persistent_visits(*domain, workers, group), target)
    visits = torch.zeros(domain, dtype=torch.int32, device=programs.device_of(kernel))
    kernel(visits)
    assert bool((visits == 1).all())


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_steps_that_depend_on_the_block(target, stages):
    blocks, block = 5, 32
    kernel = programs.compile_for(pipelines.triangular(blocks, stages), target)
    a = numbers((blocks * block, blocks * block), "float16", limit=2)
    (c,) = programs.run(kernel, [a], [((blocks * block, block), torch.float32)])
    tiles = a.float().view(blocks, block, blocks, block).permute(0, 2, 1, 3)
    reference = torch.stack(
        [sum((tiles[r, s] @ tiles[s, 0] for s in range(r)), torch.zeros(block, block)) for r in range(blocks)]
    )
    torch.testing.assert_close(c.view(blocks, block, block), reference, rtol=0, atol=0)


@pytest.mark.parametrize("flags", ["00000000", "11111111", "10101010", "10000000", "00000001"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_conditional_gemm(target, flags, stages):
    flag = torch.tensor([int(one) for one in flags], dtype=torch.int32)
    kernel = programs.compile_for(pipelines.gated_gemm(8, stages), target)
    x, w = numbers((8 * 32, 32), "bfloat16"), numbers((32, 32), "bfloat16")
    (y,) = programs.run(kernel, [x, w, flag], [((32, 32), torch.float32)])
    chosen = (x.float().view(8, 32, 32) * flag[:, None, None]).sum(0)
    torch.testing.assert_close(y, chosen @ w.float(), rtol=0, atol=0)


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
def test_conditions_are_kept_apart(target, stages):
    kernel = programs.compile_for(pipelines.two_conditions(stages), target)
    x = numbers((8 * 32, 32), "float16")
    first, second = torch.from_numpy(generator.integers(-1, 2, (2, 8)).astype(np.int32))
    (y,) = programs.run(kernel, [x, first, second], [((3, 32, 32), torch.float32)])
    tiles = x.float().view(8, 32, 32)
    masks = [first > 0, second > 0, torch.arange(8) > 1]
    for result, mask in zip(y, masks, strict=True):
        torch.testing.assert_close(result, (tiles * mask[:, None, None]).sum(0), rtol=0, atol=0)


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_pipelined_loop_in_a_while_loop(target, stages):
    kernel = programs.compile_for(pipelines.loop_in_while(stages), target)
    x = numbers((4 * 32, 32), "float16")
    for rounds in (0, 1, 3):
        (y,) = programs.run(kernel, [x, torch.tensor([rounds], dtype=torch.int32)], [((32, 32), torch.float32)])
        torch.testing.assert_close(y, x.float().view(4, 32, 32).sum(0) * rounds, rtol=0, atol=0)
