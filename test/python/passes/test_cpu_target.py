"""The corpus compiled for the CPU, as it is and after the passes up to tile-multibuffer, against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from corpus import ALL_PASSES, CASES, source_text

pytest.importorskip("tilemlir._mlir", reason="the Python package is not built")
sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))
from harness import Kernel, check_guards, guarded

_MULTIBUFFER = ALL_PASSES.index("tile-multibuffer") + 1
_PREFIXES = {
    "none": (),
    "conversions": ALL_PASSES[: _MULTIBUFFER - 2],
    "plan": ALL_PASSES[: _MULTIBUFFER - 1],
    "multibuffer": ALL_PASSES[:_MULTIBUFFER],
    "multibuffer-only": ALL_PASSES[_MULTIBUFFER - 2 : _MULTIBUFFER],
}


@pytest.mark.parametrize("prefix", _PREFIXES)
@pytest.mark.parametrize("name", CASES)
def test_values_on_cpu(name: str, prefix: str) -> None:
    case = CASES[name]
    program = Kernel(source_text(case, 3, choices=prefix == "multibuffer-only"), passes=_PREFIXES[prefix])
    for trips in (0, 1, 2, 5, 8):
        arguments = list(case.make(trips, np.random.default_rng()))
        expected = case.reference(tuple(arguments))
        for position in expected:
            output = arguments[position]
            assert isinstance(output, np.ndarray)
            arguments[position] = guarded(output.shape, output.dtype, 0xFF)
        program(*arguments)
        for position, values in expected.items():
            output = arguments[position]
            assert isinstance(output, np.ndarray)
            check_guards(output)
            np.testing.assert_allclose(
                output, values, rtol=case.tolerance, atol=case.tolerance, err_msg=f"{name}, {trips} trips"
            )
