"""Kernels that schedule their warp groups themselves, on a device that runs sm_90a code."""

import explicit_programs
import kernel_programs as programs
import numpy as np
import pytest
import torch

pytestmark = pytest.mark.gpu

TARGET = {"kind": "cuda", "arch": "sm_90a"}


@pytest.fixture(autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the explicit layer is tested on compute capability 9.0")


@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize("in_flight", [0, 1])
@pytest.mark.parametrize("shape", [(128, 128, 64), (256, 384, 640), (1000, 776, 552), (128, 128, 0)])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_gemm(shape, stages, in_flight, consumers):
    m, n, k = shape
    kernel = programs.compile_for(
        explicit_programs.gemm(m, n, k, stages, in_flight=in_flight, consumers=consumers), TARGET
    )
    source = kernel.get_kernel_source()
    # Nothing is left to load and multiply when there are no steps.
    assert ("wgmma.mma_async" in source and "cp.async.bulk.tensor" in source) == (k > 0)
    assert ("setmaxnreg" in source) == (consumers > 1)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    reference = a.double() @ b.double()
    assert float((c.double() - reference).norm()) <= 1e-3 * max(float(reference.norm()), 1e-30)


@pytest.mark.parametrize("arrivals", ["warps", "all"])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_gemm_arrivals_and_layouts(arrivals, transpose_b):
    m, n, k = 256, 256, 512
    program = explicit_programs.gemm(m, n, k, transpose_b=transpose_b, arrivals=arrivals, dtype="bfloat16")
    kernel = programs.compile_for(program, TARGET)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(*((n, k) if transpose_b else (k, n))).bfloat16()
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.bfloat16)])
    reference = a.double() @ (b.T if transpose_b else b).double()
    assert float((c.double() - reference).norm() / reference.norm()) < 2.5e-3


@pytest.mark.parametrize("count", [128, 1000])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_two_groups_in_turns(count, rounds):
    kernel = programs.compile_for(explicit_programs.exchange(count, rounds), TARGET)
    a = np.random.default_rng().integers(-1000, 1000, count, dtype=np.int32)
    (b,) = programs.run(kernel, [a], [((count,), torch.int32)])
    reference = a.copy()
    for _ in range(rounds):
        reference = (reference * 2 + 1) * 3
    np.testing.assert_array_equal(b.cpu().numpy(), reference)


@pytest.mark.parametrize("count", [128, 512, 1024])
def test_arrive_without_waiting(count):
    blocks = 300
    kernel = programs.compile_for(explicit_programs.one_way(count, blocks), TARGET)
    a = torch.randn(blocks, count)
    (b,) = programs.run(kernel, [a], [((blocks, count), torch.float32)])
    assert torch.equal(b.cpu(), a * 2)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("columns", [128, 1024])
def test_producer_and_consumer(rows, columns, stages):
    kernel = programs.compile_for(explicit_programs.producer_consumer(rows, columns, stages), TARGET)
    a = torch.randn(rows, columns)
    (b,) = programs.run(kernel, [a], [((columns,), torch.float32)])
    total = torch.zeros(columns)
    for row in a:
        total += row
    assert torch.equal(b.cpu(), total)


@pytest.mark.parametrize("shape", [(64, 64), (192, 256), (100, 200)])
def test_tma_both_ways(shape):
    kernel = programs.compile_for(explicit_programs.tma_round_trip(*shape), TARGET)
    source = kernel.get_kernel_source()
    assert source.count("cp.async.bulk.tensor") >= 2
    a = torch.randn(*shape).half()
    (b,) = programs.run(kernel, [a], [(shape, torch.float16)])
    assert torch.equal(b.cpu(), a + 1)


def test_inline_ptx():
    count = 1000
    kernel = programs.compile_for(explicit_programs.saturating_sum(count), TARGET)
    generator = np.random.default_rng()
    a, b = (generator.integers(-(2**31), 2**31, count, dtype=np.int64).astype(np.int32) for _ in range(2))
    (c,) = programs.run(kernel, [a, b], [((count,), torch.int32)])
    wide = a.astype(np.int64) + b.astype(np.int64)
    np.testing.assert_array_equal(c.cpu().numpy(), np.clip(wide, -(2**31), 2**31 - 1))


def test_inline_ptx_that_stores():
    kernel = programs.compile_for(explicit_programs.replaced(64), TARGET)
    a = torch.arange(64, dtype=torch.int32, device="cuda")
    before, after = (torch.zeros(64, dtype=torch.int32, device="cuda") for _ in range(2))
    kernel(a, before, after)
    assert torch.equal(before.cpu(), torch.arange(64, dtype=torch.int32))
    assert torch.equal(after.cpu(), torch.full((64,), 77, dtype=torch.int32))


def test_dependent_launches():
    count = 100000
    kernel = programs.compile_for(explicit_programs.dependent(count), TARGET)
    assert "griddepcontrol.wait" in kernel.get_kernel_source()
    a = torch.zeros(count, device="cuda")
    b = torch.full((count,), float("nan"), device="cuda")
    for _ in range(50):
        kernel(a, b)
        kernel(b, a)
    torch.cuda.synchronize()
    assert torch.equal(a, torch.full_like(a, 100.0))


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize("k", [64, 200, 1024])
@pytest.mark.parametrize("stages", [1, 3])
def test_cluster_gemm(k, blocks, stages, everywhere):
    n = 64 * blocks * 3
    kernel = programs.compile_for(explicit_programs.cluster_gemm(n, k, blocks, stages, everywhere), TARGET)
    source = kernel.get_kernel_source()
    assert ".multicast::cluster" in source and "mapa" in source
    a, b = torch.randn(64, k).half(), torch.randn(k, n).half()
    (c,) = programs.run(kernel, [a, b], [((64, n), torch.float16)])
    reference = a.double() @ b.double()
    assert float((c.double() - reference).norm()) <= 1e-3 * float(reference.norm())
