"""The GEMM programs of the benchmarks on sm_90a, also in the configurations that the benchmarks take."""

import pytest
import torch
from gemm_program_cases import *  # noqa: F403
from gemm_program_cases import check, programs

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def hopper():
    """Only on a device that runs sm_90a code."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("sm_90a code runs on compute capability 9.0 only")


@pytest.fixture(scope="module")
def target():
    return {"kind": "cuda", "arch": "sm_90a"}


@pytest.fixture(scope="module")
def device():
    return "cuda"


SHAPES = [
    (m, n, k)
    for m in (1, 13, 16, 64, 128, 512)
    for n, k in ((4096, 4096), (11008, 4096), (4096, 11008), (32000, 4096))
] + [(1024, 1024, 8192), (512, 512, 16384), (1000, 1000, 1000), (4000, 4000, 4000), (1096, 2056, 1048),
     (1024, 1024, 1024), (2048, 2048, 2048)]  # fmt: skip


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("shape", SHAPES)
def test_configurations(shape, layout, target, device):
    name, config = programs.configuration(*shape, layout)
    check(name, *shape, layout, "float16", config, target, device)


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("splits", [2, 4, 8])
def test_split(splits, layout, target, device):
    """Slices of K that do not divide evenly, tails of tiles, one call behind another."""
    config = {"block_m": 128, "block_n": 64 if splits > 2 else 128, "num_stages": 6, "splits": splits}
    for shape in ((256, 264, 4096), (136, 200, 1000), (128, 128, 64)):
        check("split_matmul", *shape, layout, "float16", config, target, device, calls=20)


def test_split_in_graph(target, device):
    """Replays of a captured graph find the counters as the call before left them."""
    import tilemlir as tile

    config = {"block_m": 128, "block_n": 64, "num_stages": 6, "splits": 4}
    kernel = tile.compile(programs.split_matmul(256, 256, 2048, **config), target=target)
    a, b = torch.randn(256, 2048, device=device).half(), torch.randn(2048, 256, device=device).half()
    c = torch.empty(256, 256, device=device, dtype=torch.float16)
    kernel(a, b, c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
    expected = a.double() @ b.double()
    for _ in range(5):
        c.fill_(float("nan"))
        graph.replay()
        assert (c.double() - expected).norm() / expected.norm() < 1e-3


def test_split_needs_all_blocks_at_once(target, device):
    """More blocks than multiprocessors would wait for each other forever: an error instead."""
    import tilemlir as tile

    config = {"block_m": 128, "block_n": 64, "num_stages": 4, "splits": 8}
    kernel = tile.compile(programs.split_matmul(4096, 4096, 2048, **config), target=target)
    a, b = torch.zeros(4096, 2048, device=device).half(), torch.zeros(2048, 4096, device=device).half()
    with pytest.raises(tile.errors.TileValueError, match="an assumption of the kernel does not hold"):
        kernel(a, b, torch.empty(4096, 4096, device=device, dtype=torch.float16))
