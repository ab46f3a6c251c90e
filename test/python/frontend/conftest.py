"""Fixtures of the front-end tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))


@pytest.fixture(params=["interpreter", "cpu"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test that calls ``interpret`` on the plain interpreter, and again on the CPU target."""
    if request.param == "interpreter":
        return
    from harness import Kernel

    compiled: dict[int, tuple[Any, Any]] = {}

    def run(traced: Any, *arguments: Any) -> None:
        found = compiled.get(id(traced))
        if found is None:
            # The traced function is kept, so that its id stays its own.
            found = compiled[id(traced)] = (Kernel(str(traced.module)), traced)
        found[0](*arguments)

    monkeypatch.setattr(request.module, "interpret", run)
