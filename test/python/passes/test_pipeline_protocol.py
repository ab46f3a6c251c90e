"""Execution of pass output with late-arriving copies and barrier checks: no early read, no overwrite, right values.

Every trip count from 0 to 2 S + 3 with S = 1 to 4 slots, for every kernel of the corpus.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from corpus import ALL_PASSES, CASES, PASSES, run_passes, source_text
from generic_ir import Operation, parse
from tile_interpreter import Interpreter, SynchronisationError


def _check(module: Operation, name: str, trips: int, rng: np.random.Generator) -> Interpreter:
    case = CASES[name]
    arguments = case.make(trips, rng)
    expected = case.reference(arguments)
    interpreter = Interpreter(module, check=True, asynchronous=True)
    interpreter.run(*arguments)
    for position, values in expected.items():
        np.testing.assert_allclose(
            arguments[position], values, rtol=case.tolerance, atol=case.tolerance, err_msg=f"{name}, {trips} trips"
        )
    return interpreter


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("name", CASES)
def test_synchronisation(tile_opt: Path, name: str, stages: int) -> None:
    rng = np.random.default_rng()
    module = run_passes(tile_opt, source_text(CASES[name], stages), PASSES)
    for trips in range(2 * stages + 4):
        _check(module, name, trips, rng)


@pytest.mark.parametrize("name", CASES)
def test_synchronisation_of_compiled_kernels(tile_opt: Path, name: str) -> None:
    """The same with the instructions, layouts and scratch memory that the compiler chooses."""
    module = run_passes(tile_opt, source_text(CASES[name], 3, choices=False), ALL_PASSES)
    for trips in (0, 1, 2, 3, 4, 9):
        _check(module, name, trips, np.random.default_rng())


@pytest.mark.parametrize("name", CASES)
def test_without_reuse(tile_opt: Path, name: str) -> None:
    """The same with memory that is not shared between buffers."""
    text = source_text(CASES[name], 3).replace(
        "module attributes {", "module attributes {tile.options = #tile.options<{disable_shared_reuse = true}>, "
    )
    module = run_passes(tile_opt, text, PASSES)
    for trips in (0, 1, 5):
        _check(module, name, trips, np.random.default_rng())


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_gemm_has_one_barrier_per_iteration(tile_opt: Path, stages: int) -> None:
    module = run_passes(tile_opt, source_text(CASES["gemm"], stages), PASSES)
    counts = {trips: _check(module, "gemm", trips, np.random.default_rng()).barriers for trips in (3, 4, 9)}
    assert counts[4] - counts[3] == 1
    assert counts[9] - counts[3] == 6


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_copies_are_in_flight_together(tile_opt: Path, stages: int) -> None:
    module = run_passes(tile_opt, source_text(CASES["gemm"], stages), PASSES)
    interpreter = _check(module, "gemm", 3 * stages, np.random.default_rng())
    assert interpreter.most_groups_in_flight == stages - 1


def _without(module_text: str, line: str, occurrence: int) -> str:
    """The text without one line that contains ``line``."""
    lines = module_text.split("\n")
    found = [index for index, text in enumerate(lines) if line in text]
    del lines[found[occurrence]]
    return "\n".join(lines)


@pytest.mark.parametrize("line", ['"tile.sync_threads"', '"tile.async_wait"'])
@pytest.mark.parametrize("name", ["gemm", "attention", "persistent", "reductions", "last_tile", "while_loop"])
def test_every_barrier_and_wait_is_needed(tile_opt: Path, name: str, line: str) -> None:
    """The checker finds each single missing barrier or wait of what the passes emit: it can fail, and none is waste."""

    command = [str(tile_opt), "-mlir-print-op-generic", *(f"-{one}" for one in PASSES), "-"]
    text = subprocess.run(command, input=source_text(CASES[name], 3), capture_output=True, text=True, check=True).stdout
    count = text.count(line)
    assert count > 0
    for occurrence in range(count):
        broken = parse(_without(text, line, occurrence))
        with pytest.raises((SynchronisationError, AssertionError)):
            for trips in range(10):
                _check(broken, name, trips, np.random.default_rng(trips))
