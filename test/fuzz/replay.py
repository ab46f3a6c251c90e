"""Runs one program again, as failure files do."""

from __future__ import annotations

import sys

from fuzz.campaign import failure_text
from fuzz.child import Child
from fuzz.execution import Outcome, run
from fuzz.program import Program
from fuzz.reduction import reduced


def replay(program: Program, target: str) -> Outcome:
    """Runs a program in this process and prints what became of it; the command line may name other targets.

    With ``--reduce`` on the command line, makes it smaller as long as it fails in the same way, and prints it.

    Args:
        program: what to run.
        target: where it failed.
    """
    if "--reduce" in sys.argv:
        return _reduce(program, target)
    outcome = Outcome(target, "ok")
    for name in sys.argv[1:] or [target]:
        outcome = run(program, name)
        print(f"{name}: {outcome.status} {outcome.reason}\n{outcome.message}")
        for note in outcome.notes:
            print("  note:", note)
    return outcome


def _reduce(program: Program, target: str) -> Outcome:
    child = Child()
    first = child.run(program, target)
    assert first is not None and (first.failed or first.status == "refused"), first

    def fails(other: Program) -> bool:
        outcome = child.run(other, target)
        return outcome is not None and outcome.signature == first.signature

    smaller = reduced(program, fails, 600)
    last = child.run(smaller, target) or first
    print(failure_text(smaller, last))
    return last
