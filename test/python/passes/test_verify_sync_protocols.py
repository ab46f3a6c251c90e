"""tile-verify-sync against an explicit-state search, on random protocols of roles and random changes of them."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from protocol_model import Protocol, correct, kernel_text, mutate, search

#: These may happen, which is a fault for the verifier, without harm in the protocol at hand.
STRICTER = ("over-arrival", "phase overrun", "barrier clash")

#: What random changes seldom do, and the verdicts.
FIXED = {
    "two threads are elected for one arrival": (
        Protocol(((("write", 0), ("elect", 0), ("elect", 0)), (("wait", 0, 0), ("read", 0))), (1,)),
        "over-arrival",
    ),
    "a cell is written under its store": (Protocol(((("store", 0, 0), ("write", 0)),)), "early overwrite"),
    "only the reads of a store are waited for": (
        Protocol(((("write", 0), ("store", 0, 0), ("flush", 0, False), ("load", 0)),)),
        "early read",
    ),
    "nobody tells that a store is complete": (
        Protocol(((("store", 0, 0), ("flush", 0, True)), (("load", 0),))),
        "early",
    ),
    "a store is told of before it is complete": (
        Protocol(((("store", 0, 0), ("flush", 0, False), ("notify", 1, 2), ("flush", 0, True)),
                  (("sync", 1, 2), ("load", 0)))),
        "early read",
    ),
    "a store is left": (Protocol(((("write", 0), ("store", 0, 0)),)), "asynchronous work is left"),
    "nobody begins": (
        Protocol(((("sync", 1, 2), ("notify", 2, 2)), (("sync", 2, 2), ("notify", 1, 2)))),
        "deadlock",
    ),
    "both have the turn": (
        Protocol(((("write", 0), ("notify", 2, 2), ("sync", 1, 2)), (("notify", 1, 2), ("sync", 2, 2), ("read", 0),
                  ("write", 0)), (("read", 0),))),
        "early",
    ),
}  # fmt: skip


def _verdicts(tile_opt: Path, protocols: Sequence[Protocol]) -> list[str]:
    """The first message of tile-verify-sync on each protocol, "" for none."""
    module = "\n".join(kernel_text(one, f"protocol{index}") for index, one in enumerate(protocols))
    result = subprocess.run(
        [tile_opt, "-tile-verify-sync", "-o", "/dev/null"], input=module, capture_output=True, text=True, check=False
    )
    assert "not verified" not in result.stderr, result.stderr
    verdicts = [""] * len(protocols)
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", result.stderr, re.MULTILINE):
        before = "\n".join(module.split("\n")[: int(line)])
        verdicts[before.count("func.func") - 1] = message
    assert any(verdicts) == (result.returncode != 0), result.stderr
    return verdicts


@pytest.mark.parametrize("name", FIXED)
def test_fixed_faults(tile_opt: Path, name: str) -> None:
    protocol, expected = FIXED[name]
    assert search(protocol) or expected in STRICTER
    (verdict,) = _verdicts(tile_opt, [protocol])
    assert verdict.startswith(expected)


@pytest.mark.parametrize("seed", range(4))
def test_correct_protocols(tile_opt: Path, seed: int) -> None:
    choose = random.Random(seed)
    protocols = [correct(choose) for _ in range(16)]
    assert [search(one) for one in protocols] == [""] * len(protocols)
    assert _verdicts(tile_opt, protocols) == [""] * len(protocols)


@pytest.mark.parametrize("seed", range(8))
def test_random_changes(tile_opt: Path, seed: int) -> None:
    """One change, and on half of the protocols a second one."""
    choose = random.Random(1000 + seed)
    protocols = [mutate(correct(choose), choose) for _ in range(40)]
    protocols += [mutate(one, choose) for one in protocols[::2]]
    faults = 0
    for protocol, verdict in zip(protocols, _verdicts(tile_opt, protocols), strict=True):
        found = search(protocol)
        faults += bool(found)
        assert verdict or not found, f"{found} is missed: {protocol}"
        assert found or not verdict or verdict.startswith(STRICTER), f"false alarm: {verdict}: {protocol}"
    assert faults > len(protocols) // 4
