"""Operations on fragments, and conversions in pieces, in the simulator: right, and free of races."""

import math

import pytest
import tilemlir as tile
from attention_matrix import Configuration, attention, error_of, tolerance
from fragment_matrix import OPERATIONS, cases, check, program
from operation_cases import PIECES, check_pieces

pytest.importorskip("torch")


def smallest(operation):
    """The case of an operation with the fewest elements among those of more than one warp."""
    found = [case for case in cases() if case.operation == operation and case.threads > 32]
    return min(found, key=lambda case: math.prod(case.shape))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(operation):
    """Every other operation on each architecture: what differs between them is not the operation."""
    case, arch = smallest(operation), ("sm_80", "sm_90a")[OPERATIONS.index(operation) % 2]
    check(tile.compile(program(case), target={"kind": "simulator", "arch": arch}), case)


@pytest.mark.parametrize("sizes", PIECES[:2], ids=str)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_conversion_in_pieces(sizes, arch):
    check_pieces({"kind": "simulator", "arch": arch}, *sizes)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_rows_on_some_of_the_warps(arch):
    """112 rows on 8 warps: the weights of the softmax stay where they are."""
    one = Configuration(112, 64, 48, 130, 256, 2, True)
    kernel = tile.compile(attention(one), target={"kind": "simulator", "arch": arch})
    converts = [entry for entry in kernel.explain().operations if entry["op"] == "convert"]
    assert ["distances" in entry["arguments"] for entry in converts] == [True]  # the lanes of the sums, behind the loop
    assert error_of(kernel, one) < tolerance(one)
