"""tile-verify-sync against an explicit-state search, on rings with random faults."""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
from pathlib import Path

import pytest
from ring_model import TILE_BYTES, Ring, kernel_text, search

#: Other values of each field, most of them wrong.
FAULTS = {
    "pending": (0, 1, 2),
    "release": ("before", "wait"),
    "shift": (1,),
    "producer_parity": (0,),
    "producer_flips": (False,),
    "consumer_flips": (False,),
    "full_arrivals": (2,),
    "empty_arrivals": (1, 3),
    "expected": (TILE_BYTES // 2, 2 * TILE_BYTES),
    "producer_waits": (False,),
    "consumer_waits": (False,),
}
CORRECT = [Ring(slots=slots, steps=2 * slots + 3) for slots in (1, 2, 3)]
CORRECT += [Ring(slots=slots, steps=2 * slots + 3, lag=1, pending=1) for slots in (2, 3)]
#: Nested loops: a ring goes on where the iteration of the outer loop before has left it.
NESTED = [Ring(slots=slots, steps=steps, outer=3) for slots, steps in ((1, 2), (2, 3), (3, 2), (2, 0))]
NESTED += [Ring(slots=2, steps=3, outer=2, lag=1, pending=1)]
SINGLE = [
    dataclasses.replace(ring, **{field: value})
    for ring in (CORRECT[0], CORRECT[1], CORRECT[3], NESTED[1])
    for field, values in FAULTS.items()
    for value in values
]
#: These may happen, which is a fault for the verifier, without harm in the protocol at hand.
STRICTER = ("over-arrival", "phase overrun")


def _verdicts(tile_opt: Path, rings: list[Ring], symbolic: bool = False) -> list[str]:
    """The first message of tile-verify-sync on each protocol, "" for none."""
    texts = [kernel_text(ring, f"ring{index}", symbolic) for index, ring in enumerate(rings)]
    module = "\n".join(texts)
    result = subprocess.run(
        [tile_opt, "-tile-verify-sync", "-o", "/dev/null"], input=module, capture_output=True, text=True, check=False
    )
    assert "not verified" not in result.stderr
    verdicts = [""] * len(rings)
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", result.stderr, re.MULTILINE):
        before = "\n".join(module.split("\n")[: int(line)])
        verdicts[before.count("func.func") - 1] = message
    assert any(verdicts) == (result.returncode != 0), result.stderr
    return verdicts


def _compare(tile_opt: Path, rings: list[Ring]) -> list[str]:
    verdicts = _verdicts(tile_opt, rings)
    for ring, verdict in zip(rings, verdicts, strict=True):
        found = search(ring)
        assert verdict or not found, f"{found} is missed: {ring}"
        assert found or not verdict or verdict.startswith(STRICTER), f"false alarm: {verdict}: {ring}"
    return verdicts


def test_correct_rings(tile_opt: Path) -> None:
    rings = CORRECT + NESTED
    assert _compare(tile_opt, rings) == [""] * len(rings)


def test_single_faults(tile_opt: Path) -> None:
    verdicts = _compare(tile_opt, SINGLE)
    assert sum(bool(verdict) for verdict in verdicts) > len(SINGLE) // 2


def _search_all(ring: Ring) -> str:
    """What goes wrong for some trip counts: inner ones up to 2 S + 3, outer ones up to 3."""
    for outer in range(4):
        for steps in range(2 * ring.slots + 4):
            found = search(dataclasses.replace(ring, outer=outer, steps=steps))
            if found:
                return f"{found} with {outer} x {steps} trips"
    return ""


@pytest.mark.parametrize("ring", [Ring(slots=1), Ring(slots=2), Ring(slots=2, lag=1, pending=1)], ids=str)
def test_unknown_trip_counts(tile_opt: Path, ring: Ring) -> None:
    """The pass tries what the search tries: some faults need more trips than there are slots, or a second tile."""
    rings = [ring]
    rings += [dataclasses.replace(ring, **{field: value}) for field, values in FAULTS.items() for value in values]
    verdicts = _verdicts(tile_opt, rings, symbolic=True)
    assert verdicts[0] == ""
    for one, verdict in zip(rings, verdicts, strict=True):
        found = _search_all(one)
        assert verdict or not found, f"{found} is missed: {one}"
        assert found or not verdict or verdict.startswith(STRICTER), f"false alarm: {verdict}: {one}"


def test_one_slot_is_too_few_for_products_in_flight(tile_opt: Path) -> None:
    (verdict,) = _compare(tile_opt, [Ring(slots=1, steps=4, lag=1, pending=1)])
    assert verdict.startswith("deadlock")


@pytest.mark.parametrize("seed", range(4))
def test_random_faults(tile_opt: Path, seed: int) -> None:
    choose = random.Random(seed)
    rings = []
    for _ in range(12):
        ring = choose.choice(CORRECT[:4] + NESTED)
        fields = choose.sample(sorted(FAULTS), 2)
        rings.append(dataclasses.replace(ring, **{field: choose.choice(FAULTS[field]) for field in fields}))
    _compare(tile_opt, rings)
