"""Programs that load for other blocks of their cluster, and arrive at their barriers, in the simulator."""

import explicit_programs
import numpy as np
import pytest
import tilemlir as tile


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(("blocks", "stages", "k"), [(2, 1, 136), (2, 3, 320), (4, 2, 200)])
def test_cluster_gemm(blocks, stages, k, everywhere):
    n = 64 * blocks
    program = explicit_programs.cluster_gemm(n, k, blocks, stages, everywhere)
    kernel = tile.compile(program, target={"kind": "cuda", "arch": "sm_90a"})
    generator = np.random.default_rng()
    a = generator.integers(-3, 4, (64, k)).astype(np.float16)
    b = generator.integers(-3, 4, (k, n)).astype(np.float16)
    c = np.full((64, n), np.nan, np.float16)
    kernel.simulate(a, b, c, seed=int(generator.integers(1 << 30)))
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))
