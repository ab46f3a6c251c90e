"""The same kernel after every pass gives the same numbers: by the interpreter, and compiled for the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corpus import ALL_PASSES, CASES, PASSES, run_each_pass, source_text
from tile_interpreter import Interpreter


@pytest.mark.parametrize("passes", [PASSES, ALL_PASSES], ids=["pipelining", "all"])
@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_values_after_each_pass(tile_opt: Path, name: str, stages: int, passes: tuple[str, ...]) -> None:
    case = CASES[name]
    modules = run_each_pass(tile_opt, source_text(case, stages, choices=passes is PASSES), passes)
    for trips in (0, 1, 2, 5):
        seed = np.random.default_rng().integers(2**32)
        results = []
        complete = False
        for before, module in modules:
            arguments = case.make(trips, np.random.default_rng(seed))
            expected = case.reference(arguments)
            # From there on copies have waits, and may arrive late.
            complete |= before == "tile-allocate-memory"
            Interpreter(module, check=False, asynchronous=complete).run(*arguments)
            for position, values in expected.items():
                np.testing.assert_allclose(
                    arguments[position],
                    values,
                    rtol=case.tolerance,
                    atol=case.tolerance,
                    err_msg=f"{name}, {trips} trips, before {before}",
                )
            results.append([arguments[position] for position in expected])
        for result in results[1:]:
            for first, other in zip(results[0], result, strict=True):
                np.testing.assert_array_equal(first, other)
