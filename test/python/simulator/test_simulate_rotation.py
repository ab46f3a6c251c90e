"""Loops whose last product runs beside the next step: every trip count and number of slots, without a race."""

import functools

import numpy as np
import pytest
import tilemlir as tile
from rotation_programs import BLOCK_N, PROGRAMS, expected, inputs


@functools.cache
def build(program, stages, threads=128, block_m=64):
    return tile.compile(PROGRAMS[program](stages, threads, block_m), target={"kind": "simulator", "arch": "sm_90a"})


def error_of(kernel, count, block_m=64, seed=0):
    q, k, v = inputs(block_m)
    out = np.full((block_m, v.shape[1]), np.nan, np.float32)
    kernel.simulate(q, k, v, out, count, seed=seed)
    reference = expected(q, k, v, count)
    return np.linalg.norm(out - reference) / np.linalg.norm(reference)


@pytest.mark.parametrize("trips", range(6))
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_trip_counts(program, stages, trips):
    count = trips * BLOCK_N - (7 if trips else 0)
    assert error_of(build(program, stages), count, seed=trips) < 2e-3


@pytest.mark.parametrize("program", PROGRAMS)
def test_warp_groups(program):
    assert error_of(build(program, 2, threads=256, block_m=128), 200, block_m=128, seed=3) < 2e-3


@pytest.mark.parametrize("program", PROGRAMS)
def test_report(program):
    """The loops of these programs are rotated where there are slots for it."""
    text = str(build(program, 2).explain())
    assert "runs beside the first one, and the computation, of the next" in text
    assert "products run one after the other: with one slot" in str(build(program, 1).explain())
