"""tile-verify-sync against an explicit-state search, on rings of clusters with random faults."""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
from pathlib import Path

import pytest
from cluster_ring_model import TILE_BYTES, ClusterRing, kernel_text, search

#: Other values of each field, most of them wrong.
FAULTS = {
    "second_steps": (0, 2, 4),
    "reaches": (False,),
    "full_arrivals": (2,),
    "empty_arrivals": (1, 3),
    "expected": (TILE_BYTES // 2, 2 * TILE_BYTES),
    "producer_waits": (False,),
    "consumer_waits": (False,),
    "release": ("before",),
    "skipped": (0, 1, 2),
}
CORRECT = [ClusterRing(slots=1, steps=3), ClusterRing(slots=2, steps=3), ClusterRing(slots=2, steps=0)]
#: These may happen, which is a fault for the verifier, without harm in the protocol at hand.
STRICTER = ("over-arrival", "phase overrun")


def _compare(tile_opt: Path, rings: list[ClusterRing]) -> list[str]:
    """The first message of tile-verify-sync on each protocol, "" for none; checked against the search."""
    module = "\n".join(kernel_text(ring, f"ring{index}") for index, ring in enumerate(rings))
    result = subprocess.run(
        [tile_opt, "-tile-verify-sync", "-o", "/dev/null"], input=module, capture_output=True, text=True, check=False
    )
    assert "not verified" not in result.stderr, result.stderr
    verdicts = [""] * len(rings)
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", result.stderr, re.MULTILINE):
        before = "\n".join(module.split("\n")[: int(line)])
        verdicts[before.count("func.func") - 1] = message
    assert any(verdicts) == (result.returncode != 0), result.stderr
    for ring, verdict in zip(rings, verdicts, strict=True):
        found = search(ring)
        assert verdict or not found, f"{found} is missed: {ring}"
        assert found or not verdict or verdict.startswith(STRICTER), f"false alarm: {verdict}: {ring}"
    return verdicts


def test_correct_rings(tile_opt: Path) -> None:
    assert _compare(tile_opt, CORRECT) == [""] * len(CORRECT)


@pytest.mark.parametrize("slots", [1, 2])
def test_single_faults(tile_opt: Path, slots: int) -> None:
    rings = [
        dataclasses.replace(ClusterRing(slots=slots), **{field: value})
        for field, values in FAULTS.items()
        for value in values
    ]
    verdicts = _compare(tile_opt, rings)
    assert sum(bool(verdict) for verdict in verdicts) > len(rings) // 2


@pytest.mark.parametrize("seed", range(3))
def test_random_faults(tile_opt: Path, seed: int) -> None:
    choose = random.Random(seed)
    rings = []
    for _ in range(8):
        fields = choose.sample(sorted(FAULTS), 2)
        changes = {field: choose.choice(FAULTS[field]) for field in fields}
        rings.append(dataclasses.replace(ClusterRing(slots=choose.choice((1, 2))), **changes))
    _compare(tile_opt, rings)
