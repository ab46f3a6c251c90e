"""The chapter's matrix product in the simulator: right and free of faults for both generations, whatever the seed."""

import numpy as np
import pytest
import simulated_products as kernels
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
