"""Persistent products with deferred stores are assembled for sm_90a: no spills, no barrier among the consumers."""

import re

import defer_programs
import pytest
import tilemlir.language as T
from tilemlir import compile as compile_kernel

TARGET = {"kind": "cuda", "arch": "sm_90a"}
PROGRAMS = {
    "wide": lambda: defer_programs.gemm(4096, 4096, 4096, 132, block=(128, 256, 64), stages=4),
    "square": lambda: defer_programs.gemm(1024, 1024, 1024, 132, stages=4),
    "bfloat16": lambda: defer_programs.gemm(1024, 1024, 1024, 132, dtype="bfloat16", out="bfloat16", transpose_b=True),
    "float8": lambda: defer_programs.gemm(
        1024, 1024, 1024, 132, block=(128, 128, 128), dtype="float8_e4m3fn", transpose_b=True
    ),
    "dynamic": lambda: defer_programs.gemm(T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), 132),
    "epilogue": lambda: defer_programs.gemm_with_epilogue(1024, 1024, 1024, 132),
}


def reasons(kernel):
    return [one["reason"] for one in kernel.explain().operations if one["op"].startswith("copy")]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_deferred(name):
    kernel = compile_kernel(PROGRAMS[name](), target=TARGET)
    assert any("each warp stores what it has written; deferred: behind the first" in one for one in reasons(kernel))
    for resources in kernel.explain().resources.values():
        assert resources["spill_bytes"] == 0, resources
    # The one barrier of all threads stands behind the initialisation of mbarriers.
    source = kernel.get_kernel_source()
    assert len(re.findall(r"\bbar(?:rier)?(?:\.cta)?\.sync\b", source)) == 1


def test_chunks_stand_between_products():
    """Four chunks behind the first four products, four behind the loop over tiles."""
    source = compile_kernel(PROGRAMS["wide"](), target=TARGET).get_kernel_source()
    assert source.count("wgmma.commit_group") == 5
    assert source.count("cp.async.bulk.tensor.2d.global.shared::cta") == 8
    order = re.findall(r"wgmma\.commit_group|cp\.async\.bulk\.tensor\.2d\.global\.shared::cta", source)
    names = ["product" if one.startswith("wgmma") else "store" for one in order]
    assert names[:8] == ["product", "store"] * 4


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (lambda: defer_programs.gemm(512, 512, 64, 132), "a tile has fewer products than the 2 chunks of the result"),
        (lambda: defer_programs.two_results(512, 512, 512, 132), "several tensors are stored"),
    ],
)
def test_reasons(program, why):
    kernel = compile_kernel(program(), target=TARGET)
    assert any("not deferred: " + why in one for one in reasons(kernel)), reasons(kernel)


def test_option():
    kernel = compile_kernel(PROGRAMS["square"](), target=TARGET, pass_configs={"disable_defer_stores": True})
    assert not any("deferred" in one for one in reasons(kernel))
