"""Reductions in loops: lanes that are combined behind the loop, and those that must not wait for it."""

import pytest
from reduction_loop_cases import KINDS, check_rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows(kind):
    kernel = check_rows({"kind": "simulator", "arch": "sm_80"}, 16, 48, 64, kind)
    reductions = [one for one in kernel.explain().operations if one["op"] == "reduce"]
    assert len(reductions) == 1
    assert (reductions[0]["reason"] == "lanes are combined behind the loop") == (kind != "kept")
