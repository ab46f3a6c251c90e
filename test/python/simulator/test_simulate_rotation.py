"""Loops whose last product runs beside the next step: every trip count and number of slots, without a race."""

import functools

import numpy as np
import pytest
import tilemlir as tile
from rotation_programs import BLOCK_N, DIM, PROGRAMS, causal_tiles, expected, expected_causal, inputs


@functools.cache
def build(program, stages, threads=128, block_m=64, ping_pong=False):
    target = {"kind": "simulator", "arch": "sm_90a"}
    return tile.compile(PROGRAMS[program](stages, threads, block_m, ping_pong), target=target)


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


@pytest.mark.parametrize("rises", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
def test_rescaling(groups, rises):
    """A maximum that runs away in every step, and one that stays; two groups take turns."""
    kernel = build("lagging", 2, threads=128 * groups, block_m=64 * groups, ping_pong=groups > 1)
    assert "are skipped where all factors of a warp are 1" in str(kernel.explain())
    q, k, v = inputs(64 * groups)
    q[:, 0] = 8
    k[:, 0] = np.repeat(np.arange(6) if rises else -np.arange(6), BLOCK_N)
    out = np.full(q.shape, np.nan, np.float32)
    kernel.simulate(q, k, v, out, 5 * BLOCK_N)
    reference = expected(q, k, v, 5 * BLOCK_N)
    assert np.linalg.norm(out - reference) / np.linalg.norm(reference) < 2e-3


@pytest.mark.parametrize("stages", [2, 3])
def test_tiles(stages):
    """The ring goes on from tile to tile, whatever the number of steps of each."""
    length, heads, workers = 200, 2, 2
    kernel = tile.compile(causal_tiles(length, heads, workers, stages), target={"kind": "simulator", "arch": "sm_90a"})
    assert "runs beside the first one" in str(kernel.explain())
    random = np.random.default_rng()
    q, k, v = (random.standard_normal((length, heads, DIM)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, np.nan)
    kernel.simulate(q, k, v, out, seed=stages)
    reference = expected_causal(q, k, v)
    assert np.linalg.norm(out - reference) / np.linalg.norm(reference) < 2e-3


@pytest.mark.parametrize("trips", range(5))
@pytest.mark.parametrize("groups", [2, 3])
def test_turns(groups, trips):
    """Warp groups that take turns: nobody waits for ever, whatever the number of steps."""
    kernel = build("exact", 2, threads=128 * groups, block_m=64 * groups, ping_pong=True)
    assert "bar.sync" in kernel.get_kernel_source()
    for seed in range(2):
        assert error_of(kernel, trips * BLOCK_N, block_m=64 * groups, seed=seed) < 2e-3


def test_turns_report():
    """Turns are for several warp groups."""
    kernel = build("exact", 2, threads=256, block_m=128, ping_pong=True)
    assert "the warp groups take turns at starting products" in str(kernel.explain())
    assert "one warp group takes no turns" in str(build("exact", 2, ping_pong=True).explain())


@pytest.mark.parametrize("program", PROGRAMS)
def test_report(program):
    """The loops of these programs are rotated where there are slots for it."""
    text = str(build(program, 2).explain())
    assert "runs beside the first one, and the computation, of the next" in text
    assert "products run one after the other: with one slot" in str(build(program, 1).explain())
