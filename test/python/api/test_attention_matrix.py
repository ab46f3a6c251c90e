"""Attention over its configurations: right on the CPU; for GPUs compiled, or refused because nothing can hold it."""

import os
import warnings

import pytest
import tilemlir as tile
from attention_matrix import (
    PAIRWISE,
    Configuration,
    attention,
    error_of,
    random_configurations,
    refused_for_memory,
    tolerance,
    uncovered_pairs,
)
from tilemlir.compiler import toolchain
from tilemlir.errors import TileError

pytest.importorskip("torch")

#: How many of the 200 random configurations are run here; all of them are in test/gpu.
RANDOM = int(os.environ.get("TILEMLIR_RANDOM_ATTENTION", "10"))
LIMITS = {"sm_80": 166912, "sm_90a": 232448}


def test_every_pair_of_values_is_covered():
    assert uncovered_pairs() == set()


@pytest.mark.parametrize("one", [*PAIRWISE, *random_configurations()[:RANDOM]], ids=str)
def test_on_the_cpu(one):
    kernel = tile.compile(attention(one), target="cpu")
    assert error_of(kernel, one) < tolerance(one)


@pytest.mark.parametrize("one", PAIRWISE, ids=str)
@pytest.mark.parametrize("arch", ["sm_90a"])
def test_assembles(arch, one):
    try:
        toolchain.find_assembler()
    except TileError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel = tile.compile(attention(one), target=arch)
        except TileError as error:
            assert refused_for_memory(one, str(error), LIMITS[arch]), error
            return
    spills = kernel.explain().to_dict()["kernels"][0]["spill_bytes"]
    assert bool(spills) == any("between registers and local memory" in str(one.message) for one in caught)


def test_without_a_producer_where_its_slots_would_not_fit():
    """One tile takes the place of another that only a producer would keep alive."""
    one = Configuration(64, 208, 256, 63, 128, 1, True)
    kernel = tile.compile(attention(one), target="sm_90a")
    assert any("no producer warps" in note and "bytes of shared memory" in note for note in kernel.explain().notes)


@pytest.mark.filterwarnings("ignore:.*between registers and local memory")
def test_registers_are_not_saved_for_blocks_that_do_not_fit():
    """ptxas took 32 for threads that may have 168, and moved 32 KB per thread: room for more blocks than memory has."""
    if toolchain.find_assembler().kind != "ptxas":
        pytest.skip("needs ptxas")
    report = tile.compile(attention(Configuration(64, 192, 256, 63, 384, 1, True)), target="sm_80").explain().to_dict()
    assert report["kernels"][0]["registers"] > 160, report
