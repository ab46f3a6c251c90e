"""Kernels of clusters are assembled for sm_90a: multicast loads, barriers of the cluster, no spills."""

import re

import cluster_programs
import pytest
import tilemlir.language as T
from tilemlir import compile as compile_kernel

TARGET = {"kind": "cuda", "arch": "sm_90a"}
PROGRAMS = {
    "rows": lambda: cluster_programs.gemm(1024, 1024, 1024, (1, 2)),
    "columns": lambda: cluster_programs.gemm(1024, 1024, 1024, (2, 1)),
    "square": lambda: cluster_programs.gemm(1024, 1024, 1024, (2, 2)),
    "transposed": lambda: cluster_programs.gemm(1024, 1024, 1024, (1, 2), transpose_b=True),
    "raster": lambda: cluster_programs.gemm(4096, 4096, 4096, (1, 2), (128, 256, 64), 256, panel=8),
    "dynamic": lambda: cluster_programs.gemm(T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), (1, 2)),
    "persistent": lambda: cluster_programs.persistent_gemm(4096, 4096, 4096, block=(128, 256, 64), threads=256),
    "persistent_dynamic": lambda: cluster_programs.persistent_gemm(
        T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), block=(128, 256, 64), threads=256
    ),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_assembles(name):
    kernel = compile_kernel(PROGRAMS[name](), target=TARGET)
    source = kernel.get_kernel_source()
    assert "multicast::cluster" in source
    assert re.search(r"\.reqnctapercluster", source)
    # Releases reach other blocks without a fence of the device.
    assert "mapa.shared::cluster" in source and "mbarrier.arrive.shared::cluster" in source
    assert "release.cluster.shared" not in source
    # One meeting behind the initialisation of the barriers, one at the end.
    assert source.count("barrier.cluster.arrive.relaxed.aligned") == 2
    assert source.count("barrier.cluster.wait.acquire.aligned") == 2
    assert "barrier.cluster.arrive.release" not in source
    assert kernel.launch_plan["launches"][0]["cluster"] != [1, 1, 1]
    for resources in kernel.explain().resources.values():
        assert resources["spill_bytes"] == 0, resources


def test_parts():
    """A block loads its own rows of A, and one of the two panels of B; B arrives in both blocks."""
    kernel = compile_kernel(PROGRAMS["rows"](), target=TARGET)
    assert {(64, 64), (64, 128)} <= {tuple(one["box"]) for one in kernel.launch_plan["tensor_maps"]}
    loads = [line for line in kernel.get_kernel_source().splitlines() if "cp.async.bulk.tensor.2d.shared" in line]
    assert sum("multicast" in line for line in loads) == 1 and len(loads) == 2


def test_reasons():
    report = compile_kernel(PROGRAMS["rows"](), target=TARGET).explain().operations
    reasons = [one["reason"] for one in report if one["op"] == "copy_async" or one["op"] == "copy"]
    assert any("the 2 blocks of the cluster along y load it together" in reason for reason in reasons), reasons
    assert any("not shared in the cluster: its place depends on the block along y" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (lambda: cluster_programs.lower_triangle(256, 128), "depends on the block along y"),
        (lambda: cluster_programs.chosen_steps(256, 128, 512, same=True), "it stands under a condition"),
        (lambda: cluster_programs.gemm(384, 384, 384, (1, 3)), "cannot be cut into 3 equal parts"),
        (lambda: cluster_programs.gemm(512, 512, 512, (1, 2), stages=0), "only loads of a producer role are"),
    ],
)
def test_what_is_not_shared(program, why):
    kernel = compile_kernel(program(), target=TARGET)
    source = kernel.get_kernel_source()
    assert "multicast" not in source and "mapa" not in source
    reasons = [one.get("reason", "") for one in kernel.explain().operations]
    assert any(why in reason for reason in reasons), reasons


def test_no_clusters_before_sm_90():
    kernel = compile_kernel(cluster_programs.gemm(256, 256, 256, (1, 2)), target="sm_80")
    assert "reqnctapercluster" not in kernel.get_kernel_source()
    assert kernel.launch_plan["launches"][0]["cluster"] == [1, 1, 1]
