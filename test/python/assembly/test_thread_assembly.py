"""Kernels about single threads, assembled for GPUs without one: barriers, local memory, exact arithmetic."""

import re

import pytest
import schedule_programs
import thread_programs
import tilemlir as tile
import tilemlir.language as T
from tilemlir.compiler import toolchain
from tilemlir.errors import TileRuntimeError


@pytest.fixture(scope="module", autouse=True)
def assembler():
    """Kernels are assembled when they are compiled."""
    try:
        toolchain.find_assembler()
    except TileRuntimeError as error:
        pytest.skip(str(error))


ARCHS = ["sm_80", "sm_90a"]


def source(program, arch):
    """PTX of a program that ptxas has accepted."""
    return tile.compile(program, target=arch).get_kernel_source()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("program", "barriers", "local"),
    [
        (thread_programs.private_copies(128, 3), 0, False),
        (thread_programs.exchanged_copies(160, "float16"), 1, False),
        (thread_programs.fragment_to_threads(128, 24), 3, False),
        (thread_programs.fragment_from_threads(128), 0, True),
        (thread_programs.narrow_view(16, 32, 64), 2, False),
        (thread_programs.iteration_views(20, 128), 1, False),
        (thread_programs.local_views(64), 0, False),
    ],
    ids=["private", "exchange", "to_threads", "from_threads", "narrow", "iteration", "local"],
)
def test_barriers_and_local_memory(program, barriers, local, arch):
    ptx = source(program, arch)
    assert len(re.findall(r"\bbar(?:rier)?\.sync", ptx)) == barriers
    assert (".local" in ptx) == local


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf"])
def test_double_functions_are_not_contracted(name, arch):
    ptx = source(thread_programs.double_function(1000, getattr(T, name)), arch)
    assert "add.rn.f64" in ptx
    assert not re.search(r"\b(?:add|sub|mul)\.f64", ptx)


@pytest.mark.parametrize(
    ("arch", "product", "load"), [("sm_80", "mma.sync", "cp.async.cg"), ("sm_90a", "wgmma.mma_async", "cp.async.bulk")]
)
def test_scores_ahead(arch, product, load):
    ptx = source(schedule_programs.scheduled_attention(2, 128, 256, 64, schedule=schedule_programs.SCORES_AHEAD), arch)
    assert product in ptx
    assert load in ptx
    assert ".local" not in ptx
