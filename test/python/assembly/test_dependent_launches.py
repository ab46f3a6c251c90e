"""Kernels that begin before those in front of them have ended: nothing is loaded, or counted, before the wait."""

import re

import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir.simulator import Settings, simulate

SIZE, TILE, WORKERS = 128, 64, 3


def product(place, dynamic):
    """C = A @ B, with ``T.pdl_sync`` at ``place``."""

    @T.prim_func
    def kernel(
        a: T.Tensor((SIZE, SIZE), "float16"),
        b: T.Tensor((SIZE, SIZE), "float16"),
        c: T.Tensor((SIZE, SIZE), "float32"),
    ):
        with T.Kernel(WORKERS, threads=128) as worker:
            a_tile = T.alloc_shared((TILE, TILE), "float16")
            b_tile = T.alloc_shared((TILE, TILE), "float16")
            sums = T.alloc_fragment((TILE, TILE), "float32")
            if place == "kernel":
                T.pdl_sync()
            for i, j in T.Persistent([SIZE // TILE, SIZE // TILE], WORKERS, worker, dynamic=dynamic):
                if place == "tile":
                    T.pdl_sync()
                T.clear(sums)
                for k in T.Pipelined(SIZE // TILE, num_stages=2):
                    if place == "step":
                        T.pdl_sync()
                    T.copy(a[i * TILE, k * TILE], a_tile)
                    T.copy(b[k * TILE, j * TILE], b_tile)
                    T.gemm(a_tile, b_tile, sums)
                T.copy(sums, c[i * TILE, j * TILE])
            if place == "end":
                T.pdl_sync()

    return kernel


def first(source, pattern):
    found = re.search(pattern, source)
    assert found, pattern
    return found.start()


@pytest.mark.parametrize("arch", ["sm_90a", "sm_90"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("place", ["kernel", "tile", "step"])
def test_loads_stand_behind_the_wait(place, dynamic, arch):
    kernel = tile.compile(product(place, dynamic), target={"kind": "simulator", "arch": arch})
    source = kernel.get_kernel_source()
    # The code of the producer comes first.
    assert first(source, "griddepcontrol.wait") < first(source, r"cp\.async\.bulk\.tensor\S*shared::cluster\.global")
    roles = "one elected thread: copy a -> a_tile" in str(kernel.explain())
    assert roles == (arch == "sm_90a")
    if roles:
        loads = source.rindex("shared::cluster.global")
        assert "griddepcontrol.wait" in source[loads:], "the consumers wait, too: they store"
    a, b = (np.random.default_rng().integers(-4, 5, (SIZE, SIZE)).astype(np.float16) for _ in range(2))
    c = np.full((SIZE, SIZE), np.nan, np.float32)
    result = simulate(kernel, a, b, c, settings=Settings(seed=1))
    assert result.report.ok, str(result.report)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b)


@pytest.mark.parametrize("place", ["kernel", "tile", "step", "end"])
@pytest.mark.parametrize("arch", ["sm_90a", "sm_90"])
def test_tiles_are_counted_behind_the_wait(place, arch):
    source = tile.compile(product(place, True), target={"kind": "cuda", "arch": arch}).get_kernel_source()
    assert first(source, "griddepcontrol.wait") < first(source, "atom.global.add")


def test_loads_of_threads_stay_behind_the_wait():
    """What a loop does not change is loaded in it all the same, and not from a cache that nobody keeps coherent."""

    @T.prim_func
    def kernel(a: T.Tensor((64,), "float32"), lengths: T.Tensor((1,), "int32"), c: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            T.pdl_sync()
            for _ in T.serial(lengths[0]):
                T.pdl_sync()
                for i in T.Parallel(64):
                    c[i] = a[i] + c[i]

    source = tile.compile(kernel, target={"kind": "cuda", "arch": "sm_90a"}).get_kernel_source()
    assert ".nc" not in source
    waits = [found.start() for found in re.finditer("griddepcontrol.wait", source)]
    loads = [found.start() for found in re.finditer(r"ld\.global", source)]
    assert len(waits) == 2 and len(loads) == 3
    assert waits[0] < loads[0] < waits[1] < loads[1]
