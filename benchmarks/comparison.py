"""Runs of several problems against one baseline: the measured records, their means, and what was left out."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import measure
import torch

#: Callables by name, and the configuration each one ended up with.
Contenders = tuple[dict[str, Callable[[], Any]], dict[str, str]]


def add_arguments(parser: argparse.ArgumentParser, baseline: str, rounds: int) -> None:
    """The options that all comparisons have."""
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--regime", choices=("cool", "hot", "both"), default="both")
    parser.add_argument("--no-peers", action="store_true", help=f"only {baseline}, tilemlir and further contenders")
    parser.add_argument("--contender", action="append", default=[], help="a Python file")
    parser.add_argument("--json", help="where to write all figures")


def load_contender(path: str) -> Callable[..., Any]:
    """The function ``contender`` of a Python file."""
    namespace: dict[str, Any] = {"__file__": path, "__name__": "contender"}
    exec(compile(Path(path).read_text(), path, "exec"), namespace)
    return namespace["contender"]


def run(
    problems: Iterable[Any],
    contenders: Callable[[Any], Contenders],
    baseline: str,
    regimes: tuple[str, ...],
    rounds: int,
) -> list[dict[str, Any]]:
    """One record for each problem and regime; prints ratios to ``baseline`` as they come."""
    records = []
    for problem in problems:
        chosen, settings = contenders(problem)
        for regime in regimes:
            times = measure.interleave(chosen, rounds, cool=regime == "cool")
            records.append(
                {**asdict(problem), "regime": regime, "milliseconds": times, "settings": settings, "text": str(problem)}
            )
            ratios = ", ".join(f"{name} {times[baseline] / time:.3f}" for name, time in times.items())
            print(f"{problem} {regime}: {ratios}", flush=True)
        del chosen
        torch.cuda.empty_cache()
    return records


def names_of(records: list[dict[str, Any]]) -> list[str]:
    """All contenders, the baseline first."""
    return list(dict.fromkeys(name for record in records for name in record["milliseconds"]))


def ratios(record: dict[str, Any], baseline: str, names: Iterable[str]) -> list[str]:
    """Speed of ``names`` in a record as fractions of the baseline; empty where one did not run."""
    times = record["milliseconds"]
    return [f"{times[baseline] / times[name]:.3f}" if name in times else "" for name in names]


def means(records: list[dict[str, Any]], baseline: str, names: Iterable[str], regime: str) -> list[str]:
    """Geometric means of the ratios over the records of a regime."""
    result = []
    for name in names:
        logs = [
            math.log(record["milliseconds"][baseline] / record["milliseconds"][name])
            for record in records
            if record["regime"] == regime and name in record["milliseconds"]
        ]
        result.append(f"{math.exp(math.fsum(logs) / len(logs)):.3f}" if logs else "")
    return result


def finish(records: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """Writes the figures where the user asked for them, and names the peers that are missing."""
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(records, indent=1))
    for name in ("Triton", "TileLang"):
        if name not in names_of(records) and not arguments.no_peers:
            print(f"{name} is not installed here and was left out")
