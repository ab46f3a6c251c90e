"""Operations on fragments over ranks, sizes, element types and threads: right on the CPU; for GPUs without spills."""

import itertools
import os
import warnings

import pytest
import tilemlir as tile
from fragment_matrix import OPERATIONS, PARAMETERS, cases, check, program
from tilemlir.compiler import toolchain
from tilemlir.errors import TileError

pytest.importorskip("torch")

CASES = cases()
#: Every so-manyth case is assembled here; all of them are in test/gpu.
STEP = int(os.environ.get("TILEMLIR_FRAGMENT_STEP", "3"))


def test_values_are_covered():
    """Every operation meets every rank, element type, number of threads, source and flag that it can have."""
    seen = {(case.operation, len(case.shape)) for case in CASES}
    assert all((operation, rank) in seen for operation in OPERATIONS for rank in (2, 3, 4))
    for name in ("dtype", "threads", "source", "flag"):
        values = {(case.operation, getattr(case, name)) for case in CASES}
        missing = set(itertools.product(OPERATIONS, PARAMETERS[name])) - values
        # Bits are those of integers.
        assert all("bit" in operation and "float" in str(value) for operation, value in missing), missing


@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_the_cpu(case):
    check(tile.compile(program(case), target="cpu"), case)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", CASES[::STEP], ids=str)
def test_assembles(case, arch):
    try:
        toolchain.find_assembler()
    except TileError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tile.compile(program(case), target=arch)
    assert kernel.explain().to_dict()["kernels"][0]["spill_bytes"] == 0
