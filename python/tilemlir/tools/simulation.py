"""`tilemlir simulate`: runs a script with its kernels in the simulator, and shows what was found."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilemlir import errors
from tilemlir.compiler.knobs import knobs

__all__ = ["simulate_script"]


def simulate_script(
    script: Path,
    arguments: Sequence[str],
    seeds: Sequence[int],
    target: str | None,
    trace: Path | None,
    picture: Path | None,
    bank_conflicts: bool,
) -> int:
    """Runs a script once per seed.

    Args:
        script: the Python file.
        arguments: for the script.
        seeds: of the scheduler.
        target: for kernels compiled without a target; None: sm_90a.
        trace: where to write the timeline of the last run.
        picture: where to draw it.
        bank_conflicts: count bank conflicts.

    Returns:
        Number of calls of kernels with faults.

    Raises:
        TileError: when there is no such script.
    """
    from rich.console import Console
    from rich.progress import Progress

    from tilemlir.simulator.report import SimulationReport
    from tilemlir.simulator.run import Settings, observed
    from tilemlir.simulator.trace import Trace

    if not script.is_file():
        raise errors.make("no-such-file", {"file": str(script)})
    console = Console()
    faulty = calls = 0
    timeline: Trace | None = None
    for seed in seeds:
        timeline = Trace() if trace is not None or picture is not None else None
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"seed {seed}", total=None)

            def advance(done: int, total: int, bar: Progress = bar, task: Any = task) -> None:
                bar.update(task, completed=done, total=total)

            def show(report: SimulationReport) -> None:
                nonlocal faulty, calls
                calls += 1
                faulty += not report.ok
                console.print(report)

            settings = Settings(seed=seed, bank_conflicts=bank_conflicts, trace=timeline, progress=advance)
            with knobs.scope(simulate=True, **({} if target is None else {"target": target})), observed(settings, show):
                _run(script, arguments)
    if timeline is not None:
        if trace is not None:
            timeline.write(trace)
            console.print(f"wrote {trace}")
        if picture is not None:
            timeline.picture(picture)
            console.print(f"wrote {picture}")
    console.print(f"{calls} simulated calls, {faulty} with faults")
    return faulty


def _run(script: Path, arguments: Sequence[str]) -> None:
    """Runs a script as `python SCRIPT ARGUMENTS` would; faults of kernels have been shown and end it."""
    saved = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except errors.TileError as error:
        if error.code not in ("simulation", "device-assert"):
            raise
    finally:
        sys.argv, sys.path[:] = saved
