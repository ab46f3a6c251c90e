"""The GEMM programs of the benchmarks through tilemlir.compile on the CPU: what they mean. And their configurations."""

import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
from gemm_program_cases import (  # noqa: F401
    programs,
    test_fp8_tiles,
    test_persistent,
    test_plain,
    test_swapped,
)

SHAPES = [
    (m, n, k)
    for m in (1, 16, 64, 128, 512, 4096)
    for n, k in ((4096, 4096), (11008, 4096), (4096, 11008), (32000, 4096))
] + [(1024, 1024, 8192), (512, 512, 16384), (1000, 1000, 1000), (1096, 2056, 1048), (2048, 2048, 2048), (13, 17, 40)]


@pytest.fixture(scope="module")
def target():
    return "cpu"


@pytest.fixture(scope="module")
def device():
    return "cpu"


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("shape", SHAPES)
def test_configuration(shape, layout):
    """Every configuration fits a multiprocessor, has a producer role and matrix stores, and spills nothing."""
    name, config = programs.configuration(*shape, layout)
    kernel = tile.compile(getattr(programs, name)(*shape, layout=layout, **config), target="sm_90a")
    text = str(kernel.explain())
    assert " 0 bytes spilled" in text or "spilled" not in text, text
    if shape[0] % 8 == 0 or shape[0] == 1:
        assert "a producer role loads" in text, text
        assert "stmatrix" in text, text


def test_one_wave():
    """Tiles of one wave run at the same time."""
    name, config = programs.configuration(1096, 2056, 1048, "kn")
    blocks = -(-1096 // config["block_m"]) * -(-2056 // config["block_n"])
    assert name == "tile_matmul" and blocks <= programs.MULTIPROCESSORS


def test_workspace_that_is_zero_once():
    """Counters that outlive the call; other kernels, and compilations of the same one, have their own."""

    @T.prim_func
    def counting(out: T.Tensor((4,), "int32")):
        calls = T.alloc_global((4,), "int32", zero="once")
        with T.Kernel(4) as block:
            if T.get_thread_binding() == 0:
                out[block] = T.atomic_add(calls[block], block + 1, return_prev=True)

    kernel = tile.compile(counting, target="cpu")
    for call in range(5):
        out = np.full(4, -1, np.int32)
        kernel(out)
        assert list(out) == [call * (block + 1) for block in range(4)]
