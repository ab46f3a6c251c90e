"""Recorded results: what hardware wrote for each conformance case, in one compressed file per group of cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conformance import Case

RECORDED = Path(__file__).parent / "recorded"

#: Elements of an array of which only a hash is kept otherwise.
SAMPLES = 64


@dataclass(frozen=True)
class Result:
    """What hardware wrote into one array.

    Attributes:
        values: all elements, or some at equal distances.
        step: distance of these.
        digest: SHA-256 of the whole array.
    """

    values: np.ndarray
    step: int
    digest: str


def digest_of(array: np.ndarray) -> str:
    """SHA-256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def write(path: Path, cases: Iterable[Case], results: Mapping[str, list[np.ndarray]], about: Mapping[str, str]) -> None:
    """Writes the results of cases.

    Args:
        path: of the file.
        cases: which to write.
        results: written arrays by name of the case.
        about: where they come from.
    """
    index: dict[str, object] = {"about": dict(about)}
    arrays: dict[str, np.ndarray] = {}
    for case in cases:
        if case.name not in results:
            continue
        entry: dict[str, object] = {"fingerprint": case.fingerprint, "arrays": []}
        for i, array in enumerate(results[case.name]):
            step = 1 if case.keep == "all" else max(len(array) // SAMPLES, 1)
            key = f"{len(arrays):04d}"
            arrays[key] = array[::step]
            entry["arrays"].append({"key": key, "step": step, "digest": digest_of(array)})  # type: ignore[attr-defined]
            del i
        index[case.name] = entry
    text = json.dumps(index, sort_keys=True).encode()
    np.savez_compressed(path, index=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]


def read(group: str) -> tuple[dict[str, str], dict[str, tuple[str, list[Result]]]]:
    """Recorded results of a group of cases.

    Returns:
        Where they come from, and by name of the case its fingerprint and what its arrays held.
    """
    with np.load(RECORDED / f"{group}.npz") as data:
        index = json.loads(data["index"].tobytes())
        about = index.pop("about")
        found = {}
        for name, entry in index.items():
            results = [Result(data[one["key"]], one["step"], one["digest"]) for one in entry["arrays"]]
            found[name] = (entry["fingerprint"], results)
    return about, found
