"""The chapter's matrix product in the simulator: right and free of faults for both generations, whatever the seed."""

import kernel_programs
import numpy as np
import pytest
import simulated_products as kernels
import tilemlir as tile
from tilemlir.simulator import Settings, simulate


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("seed", range(4))
def test_gemm_is_exact(arch, seed):
    m, n, k = 128, 128, 256
    kernel = kernels.compiled_gemm(arch, m, n, k)
    a, b = kernels.operands(m, n, k)
    result = simulate(kernel, a, b, settings=Settings(seed=seed))
    assert result.report.ok, str(result.report)
    np.testing.assert_array_equal(result.outputs, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_tails(arch):
    m, n, k = 136, 152, 72
    kernel = kernels.compiled_gemm(arch, m, n, k)
    a, b = kernels.operands(m, n, k)
    result = kernel.simulate(a, b)
    np.testing.assert_array_equal(result, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


def test_one_seed_is_one_run():
    kernel = kernels.compiled_gemm("sm_90a")
    a, b = kernels.operands(128, 128, 256)
    first, second = (simulate(kernel, a, b, settings=Settings(seed=7)).report for _ in range(2))
    assert first.instructions == second.instructions
    assert first.counts == second.counts


def test_float32_is_rounded_by_tma():
    """Operands with more than 10 bits of mantissa: nearest tf32, ties to even."""
    m, n, k = 64, 64, 72
    program = kernel_programs.gemm(m, n, k, block=(64, 64, 32), transpose_b=True, dtype="float32", out="float32")
    kernel = tile.compile(program, target=kernels.SM_90A)
    assert "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32" in kernel.get_kernel_source()
    a = np.full((m, k), np.float32(1 + 2**-11), np.float32)  # a tie: down to 1
    a[:, 1::2] = 1 + 3 * 2**-11  # a tie: up to 1 + 2**-9
    b = np.zeros((n, k), np.float32)
    b[:, :4] = [1, 2, 4, 8]
    c = np.full((m, n), np.nan, np.float32)
    kernel.simulate(a, b, c, seed=int(np.random.default_rng().integers(1 << 30)))
    np.testing.assert_array_equal(c, np.full((m, n), 5 + 10 * (1 + 2**-9), np.float32))


@pytest.mark.filterwarnings("ignore:.*between registers and local memory")
def test_staging_takes_the_memory_of_the_ring():
    """Without a producer role, too: the tile of float32 fits only where the operands have been."""
    m, n, k = 128, 256, 160
    program = kernel_programs.gemm(
        m, n, k, block=(128, 256, 32), stages=3, threads=128, transpose_b=True, dtype="float32", out="float32"
    )
    kernel = tile.compile(program, target=kernels.SM_90A)
    report = kernel.explain().to_dict()["kernels"][0]
    assert any(buffer["name"] == "acc.staging" for buffer in report["buffers"]), str(kernel.explain())
    assert report["shared_bytes"] < 150 * 1024, str(kernel.explain())
    a, b = (x.astype(np.float32) for x in kernels.operands(m, n, k))
    c = np.full((m, n), np.nan, np.float32)
    kernel.simulate(a, b.T.copy(), c, seed=int(np.random.default_rng().integers(1 << 30)))
    np.testing.assert_array_equal(c, a @ b)
