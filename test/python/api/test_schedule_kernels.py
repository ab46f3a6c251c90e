"""Schedules of the user, on the CPU, which runs loops in order, and through the passes that plan them."""

import pytest
import schedule_programs
import tilemlir as tile
from schedule_cases import *  # noqa: F403
from tilemlir.errors import TileCompileError


@pytest.fixture(scope="module")
def target():
    return "cpu"


def test_schedule_of_a_gpu_kernel():
    """Compiled without a GPU: the plan keeps to the schedule, and says so."""
    program = schedule_programs.scheduled_attention(2, 128, 256, 64, schedule=schedule_programs.SCORES_AHEAD)
    report = str(tile.compile(program, target="sm_80").explain())
    assert "as stage and order say, " in report
    assert "loads of k_tile, v_tile run 1 iteration ahead in 2 slots" in report


def test_groups_name_every_statement_once():
    schedule = {"order": [0, 1], "stage": [0, 1], "group": [[0, 1], [1, 2]]}
    with pytest.raises(TileCompileError, match="holds every statement number once") as caught:
        tile.compile(schedule_programs.scheduled_attention(1, 64, 64, 64, schedule=schedule), target="cpu")
    assert "T.Pipelined" in str(caught.value)
    assert "^" in str(caught.value)
