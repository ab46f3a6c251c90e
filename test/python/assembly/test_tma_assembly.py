"""Copies by TMA are assembled for sm_90a: instructions, descriptors in the launch plan, no spills."""

import pytest
import tilemlir.language as T
import tma_programs
from tilemlir import compile as compile_kernel

TARGET = {"kind": "cuda", "arch": "sm_90a"}
PROGRAMS = {
    "rows": lambda: tma_programs.copy_rows(100, 256, (32, 128), "float16"),
    "offsets": lambda: tma_programs.copy_rows(100, 256, (32, 128), "float16", (3, 8), (5, 3)),
    "narrow": lambda: tma_programs.copy_rows(64, 16, (64, 16), "float16"),
    "wide": lambda: tma_programs.copy_rows(64, 1024, (16, 512), "float32"),
    "many_rows": lambda: tma_programs.copy_rows(600, 32, (384, 32), "float16"),
    "dynamic": lambda: tma_programs.copy_rows(T.dynamic("m"), T.dynamic("n"), (32, 64), "float16"),
    "hinted": lambda: tma_programs.copy_rows(64, 64, (64, 64), "float16", eviction_policy="evict_first"),
    "float8": lambda: tma_programs.copy_rows(64, 256, (64, 128), "float8_e4m3fn"),
    "int8": lambda: tma_programs.copy_rows(64, 256, (64, 128), "int8"),
    "bool": lambda: tma_programs.copy_rows(64, 256, (64, 128), "bool"),
    "vector": lambda: tma_programs.copy_vector(4099, 1024, "float32", 4, 3),
    "rank_3": lambda: tma_programs.copy_boxes((5, 20, 136), (4, 16, 64), "float16"),
    "rank_4": lambda: tma_programs.copy_boxes((3, 5, 9, 64), (2, 2, 4, 64), "float16"),
    "rank_5": lambda: tma_programs.copy_boxes((2, 3, 5, 9, 64), (1, 2, 2, 4, 64), "float16"),
    "slices": lambda: tma_programs.copy_head(2, 100, 3, 64, 64, "bfloat16"),
    "serial_loop": lambda: tma_programs.sum_tiles(5, 100, 64, "float16", 0),
    "pipelined": lambda: tma_programs.sum_tiles(5, 100, 64, "float16", 3),
    "in_place": lambda: tma_programs.scale_in_place(5, 64, "float32"),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_assembles(name):
    kernel = compile_kernel(PROGRAMS[name](), target=TARGET)
    source = kernel.get_kernel_source()
    assert "cp.async.bulk.tensor" in source
    assert "mbarrier.try_wait" in source
    assert "fence.mbarrier_init" in source
    plan = kernel.launch_plan
    assert plan["tensor_maps"]
    for map_ in plan["tensor_maps"]:
        assert all(1 <= extent <= 256 for extent in map_["box"])
        assert map_["swizzle"] in (0, 32, 64, 128)
    for resources in kernel.explain().resources.values():
        assert resources["spill_bytes"] == 0, resources


def test_tails_need_no_predicates():
    kernel = compile_kernel(PROGRAMS["rows"](), target=TARGET)
    assert "ld.global" not in kernel.get_kernel_source()
    assert "st.global" not in kernel.get_kernel_source()
