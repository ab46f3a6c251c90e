"""Test cases over cluster_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import cluster_programs
import kernel_programs as programs
import pytest
import tilemlir.language as T
import torch


def multicasts(kernel):
    """Whether a load of the kernel is shared by blocks of a cluster; None on targets without TMA."""
    if kernel.target.is_cpu:
        return None
    return "multicast::cluster" in kernel.get_kernel_source()


def check_product(kernel, m, n, k, transpose_b=False, runs=2):
    """Fresh random inputs and a NaN-filled output in every run."""
    for _ in range(runs):
        a, b = torch.randn(m, k).half(), torch.randn((n, k) if transpose_b else (k, n)).half()
        (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
        reference = a.double() @ (b.double().T if transpose_b else b.double())
        assert bool(torch.isfinite(c).all())
        assert float((c.double() - reference).norm() / reference.norm().clamp_min(1e-30)) < 1e-3


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("cluster", [(1, 2), (2, 1), (2, 2), (1, 4), (4, 2), (1, 1, 1), (1, 3)])
def test_gemm(target, cluster, transpose_b):
    """512x768 in blocks of 128 is a grid of 6 by 4; three blocks along y end inside of a cluster."""
    program = cluster_programs.gemm(512, 768, 256, cluster, transpose_b=transpose_b)
    kernel = programs.compile_for(program, target)
    # 128 rows, and two panels of columns, do not fall into 3 parts.
    shares = max(cluster) > 1 and 3 not in cluster
    assert multicasts(kernel) in (None, shares)
    check_product(kernel, 512, 768, 256, transpose_b)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(128, 128, 64), (640, 384, 192), (200, 136, 72), (1, 8, 8), (129, 8, 200), (96, 520, 0)]
)
@pytest.mark.parametrize("cluster", [(1, 2), (2, 1)])
def test_ragged(target, cluster, m, n, k):
    """Sizes that no tile divides, fewer blocks than a cluster has, and no step at all."""
    kernel = programs.compile_for(cluster_programs.gemm(m, n, k, cluster), target)
    check_product(kernel, m, n, k)


def test_dynamic(target):
    """One kernel for all shapes: also of no rows, and of grids that end inside of a cluster."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    kernel = programs.compile_for(cluster_programs.gemm(m, n, k, (1, 2), block=(64, 128, 64), threads=128), target)
    assert multicasts(kernel) in (None, True)
    for shape in [(256, 256, 256), (320, 128, 64), (1, 8, 8), (65, 136, 1000), (64, 128, 0), (0, 16, 16)]:
        check_product(kernel, *shape, runs=1)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_depth(target, stages, steps):
    """Rings longer and shorter than the loop."""
    program = cluster_programs.gemm(256, 128, 64 * steps, (1, 2), block=(64, 64, 64), stages=stages)
    check_product(programs.compile_for(program, target), 256, 128, 64 * steps)


def test_number_of_steps(target):
    """Also none, and fewer than slots."""
    kernel = programs.compile_for(cluster_programs.first_steps(256, 128, 512), target)
    assert multicasts(kernel) in (None, True)
    for steps in (0, 1, 2, 3, 4, 8, 0):
        a, b = torch.randn(256, 512).half(), torch.randn(512, 128).half()
        (c,) = programs.run(kernel, [a, b, steps], [((256, 128), torch.float16)])
        reference = a[:, : steps * 64].double() @ b[: steps * 64].double()
        assert bool(torch.isfinite(c).all())
        assert float((c.double() - reference).norm()) <= 1e-3 * float(reference.norm())


@pytest.mark.parametrize("panel", [1, 3, 8])
def test_raster(target, panel):
    """Clusters stay together when blocks are renumbered."""
    kernel = programs.compile_for(cluster_programs.gemm(1408, 640, 128, (1, 2), panel=panel), target)
    assert multicasts(kernel) in (None, True)
    check_product(kernel, 1408, 640, 128)


def test_two_consumer_groups(target):
    """128x256 tiles: what large products use."""
    program = cluster_programs.gemm(768, 1024, 512, (1, 2), block=(128, 256, 64), threads=256)
    kernel = programs.compile_for(program, target)
    assert multicasts(kernel) in (None, True)
    check_product(kernel, 768, 1024, 512, runs=3)


@pytest.mark.parametrize("same", [True, False])
def test_conditional_loads(target, same):
    """Iterations without loads would let blocks run apart: what stands under a condition is not shared."""
    m, n, k = 256, 128, 512
    kernel = programs.compile_for(cluster_programs.chosen_steps(m, n, k, same), target)
    assert multicasts(kernel) in (None, False)
    for density in (0.0, 0.5, 1.0):
        a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
        flags = (torch.rand(m // 64, k // 64) < density).int()
        (c,) = programs.run(kernel, [a, b, flags], [((m, n), torch.float16)])
        kept = (flags[:1].expand(m // 64, -1) if same else flags).repeat_interleave(64, 0).repeat_interleave(64, 1)
        reference = (a.double() * kept) @ b.double()
        assert bool(torch.isfinite(c).all())
        assert float((c.double() - reference).norm()) <= 1e-3 * float(reference.norm())


def test_loops_of_different_lengths(target):
    """Nothing is shared by blocks that run different numbers of steps."""
    kernel = programs.compile_for(cluster_programs.lower_triangle(256, 128), target)
    assert multicasts(kernel) in (None, False)
    a, b = torch.randn(256, 256).half(), torch.randn(256, 128).half()
    (c,) = programs.run(kernel, [a, b], [((256, 128), torch.float16)])
    blocks = torch.arange(256) // 64
    reference = (a.double() * (blocks[None] <= blocks[:, None])) @ b.double()
    assert float((c.double() - reference).norm() / reference.norm()) < 1e-3


@pytest.mark.parametrize(
    ("cluster", "cluster_tile", "workers"),
    [(2, None, None), (2, (1, 2), None), (4, (2, 2), 8), (2, None, 3), (2, None, 2), (1, None, 5)],
)
@pytest.mark.parametrize(("m", "n", "k"), [(1024, 640, 256), (640, 384, 128), (100, 72, 40)])
def test_persistent(target, cluster, cluster_tile, workers, m, n, k):
    """Clusters on neighbouring tiles; workers that are no whole clusters, and tiles that are none."""
    program = cluster_programs.persistent_gemm(m, n, k, cluster, cluster_tile, workers=workers)
    kernel = programs.compile_for(program, target)
    # Pairs of four blocks along one axis are no axis of the cluster.
    assert multicasts(kernel) in (None, cluster == 2)
    check_product(kernel, m, n, k)


def test_persistent_dynamic(target):
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    program = cluster_programs.persistent_gemm(m, n, k, block=(128, 256, 64), threads=256)
    kernel = programs.compile_for(program, target)
    assert multicasts(kernel) in (None, True)
    for shape in [(1024, 1024, 512), (3000, 776, 72), (129, 8, 1000), (128, 256, 0), (0, 8, 8)]:
        check_product(kernel, *shape, runs=1)


@pytest.mark.parametrize(("blocks", "cluster"), [(8, 2), (5, 2), (3, 4), (1, 8)])
def test_places(target, blocks, cluster):
    kernel = programs.compile_for(cluster_programs.places(blocks, cluster), target)
    out, count = programs.run(kernel, [], [((blocks, 3), torch.int32), ((1,), torch.int32)])
    index = torch.arange(blocks)
    expected = torch.stack([index % cluster, index // cluster, torch.full((blocks,), cluster)], 1)
    assert torch.equal(out.cpu(), expected.int())
    # Filled with ones before: -1.
    assert int(count[0]) == blocks - 1
