"""Clusters with multicast loads on sm_90a: shapes, ragged grids, conditions, persistent kernels, barriers."""

import cluster_programs
import kernel_programs as programs
import pytest
import torch
from cluster_cases import *  # noqa: F403

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def hopper():
    """Only on a device that runs sm_90a code."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("sm_90a code runs on compute capability 9.0 only")


@pytest.fixture(scope="module")
def target():
    return {"kind": "cuda", "arch": "sm_90a"}


@pytest.mark.parametrize("cluster", [2, 4, 8])
def test_exchange(target, cluster):
    kernel = programs.compile_for(cluster_programs.exchange(8 * cluster, cluster), target)
    (out,) = programs.run(kernel, [], [((8 * cluster,), torch.int32)])
    index = torch.arange(8 * cluster)
    neighbour = index // cluster * cluster + (index + 1) % cluster
    assert torch.equal(out.cpu(), (neighbour * 7 + 1).int())


def test_many_launches(target):
    """Clusters that follow each other on the same multiprocessors, without a pause."""
    kernel = programs.compile_for(
        cluster_programs.persistent_gemm(2048, 2048, 512, block=(128, 256, 64), threads=256), target
    )
    a, b = torch.randn(2048, 512, device="cuda").half(), torch.randn(512, 2048, device="cuda").half()
    reference = a.double() @ b.double()
    outputs = [torch.full((2048, 2048), float("nan"), device="cuda", dtype=torch.float16) for _ in range(20)]
    for output in outputs:
        kernel(a, b, output)
    for output in outputs:
        assert float((output.double() - reference).norm() / reference.norm()) < 1e-3
