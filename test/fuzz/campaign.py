"""Draws programs with hypothesis, runs them, and gathers statistics; failures are shrunk and written to files."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.child import Child
from fuzz.execution import Outcome
from fuzz.program import Program, features
from fuzz.reduction import reduced
from fuzz.source import source
from fuzz.strategies import programs

#: Failures of one signature that are shrunk; values that differ have many causes and one signature.
SHRUNK_PER_SIGNATURE = {"mismatch": 4, "guard": 2}
#: Files of one signature that are kept.
KEPT_PER_SIGNATURE = 8


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes:
        targets: see ``execution``; ``simulator`` alone takes turns between the architectures.
        seed: of the whole run.
        chunk: programs drawn from one seed of hypothesis.
        folder: where failures are written.
        shrink_seconds: time for making a failure smaller; 0: not at all.
        timeout: seconds for one program on one target.
        until: time (of the system) at which the run ends; 0: never.
    """

    targets: tuple[str, ...]
    seed: int
    chunk: int
    folder: Path
    shrink_seconds: float = 90.0
    timeout: float = 60.0
    until: float = 0.0


@dataclass
class Statistics:
    """Counts of a run; sums of runs are runs."""

    programs: int = 0
    invalid: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, other: Statistics) -> None:
        """Adds the counts of another part of the run."""
        self.programs += other.programs
        self.invalid += other.invalid
        for name in ("runs", "passed", "seconds", "features", "refusals", "notes", "failures"):
            getattr(self, name).update(getattr(other, name))
        self.files += other.files
        self.examples = {**other.examples, **self.examples}

    def text(self) -> str:
        """The summary."""
        lines = [f"{self.programs} programs drawn, {self.invalid} of them without meaning"]
        for target in sorted(self.runs):
            refused = sum(count for (name, _), count in self.refusals.items() if name == target)
            failed = sum(count for (name, _, _), count in self.failures.items() if name == target)
            lines.append(
                f"  {target}: {self.runs[target]} run, {self.passed[target]} right, {refused} refused, "
                f"{failed} failed; "
                f"{self.seconds[target] / max(self.runs[target], 1):.2f} s each"
            )
        lines.append("features, programs with each:")
        lines += [f"  {count:6d} {name}" for name, count in sorted(self.features.items())]
        for title, counts in (("refusals", self.refusals), ("notes", self.notes)):
            lines.append(f"{title}: {'none' if not counts else ''}")
            lines += [f"  {count:6d} {target}: {reason}" for (target, reason), count in counts.most_common()]
        lines.append(f"failures: {'none' if not self.failures else ''}")
        for (target, status, reason), count in self.failures.most_common():
            lines.append(f"  {count:6d} {target}: {status} {reason}")
        lines += [f"  {one}" for one in self.files]
        return "\n".join(lines)


def _draw_independently() -> None:
    """Keeps hypothesis from following every drawn program by five that repeat parts of it."""
    from hypothesis.internal.conjecture.engine import ConjectureRunner

    if hasattr(ConjectureRunner, "generate_mutations_from"):  # not part of the interface, and not needed for results
        ConjectureRunner.generate_mutations_from = lambda self, data: None


class _Stop(BaseException):
    """Ends hypothesis at once."""


class _Failed(AssertionError):
    """The failure that is being shrunk."""


def targets_of(program: Program, names: Sequence[str]) -> list[str]:
    """Targets by their full names."""
    turn = "sm_80" if program.seed % 2 else "sm_90a"
    return [f"{name}:{turn}" if name in ("simulator", "passes", "assemble", "compile") else name for name in names]


class Campaign:
    """Runs chunks of a plan in this process.

    Args:
        plan: what to do.
        child: runs the programs; started when omitted.
    """

    def __init__(self, plan: Plan, child: Child | None = None) -> None:
        self.plan = plan
        self.child = child or Child(plan.timeout)
        self.statistics = Statistics()
        _draw_independently()

    def chunk(self, number: int) -> Statistics:
        """Draws and runs one chunk; returns its statistics."""
        self.statistics = Statistics()
        pursued: list[Outcome] = []
        smallest: list[tuple[int, Program, Outcome]] = []
        deadline = [0.0]
        plan = self.plan

        def test(program: Program) -> None:
            now = time.time()
            if pursued:
                if now > deadline[0]:
                    raise _Stop
                outcome = self.child.run(program, pursued[0].target)
                if outcome is not None and outcome.failed and outcome.signature == pursued[0].signature:
                    smallest.append((len(source(program)), program, outcome))
                    raise _Failed
                return
            if plan.until and now > plan.until:
                raise _Stop
            failed = self._run_all(program)
            for outcome in failed:
                if self._worth_shrinking(outcome):
                    pursued.append(outcome)
                    smallest.append((len(source(program)), program, outcome))
                    deadline[0] = time.time() + plan.shrink_seconds
                    raise _Failed
                self.write(program, outcome, shrunk=False)

        phases = [Phase.generate] + ([Phase.shrink] if plan.shrink_seconds else [])
        wrapped: Callable[[], None] = seed(plan.seed * 1_000_003 + number)(
            settings(
                max_examples=plan.chunk,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=phases,
                report_multiple_bugs=False,
                print_blob=False,
            )(given(programs())(test))
        )
        try:
            wrapped()
        except (_Stop, _Failed):
            pass
        except BaseException as error:
            # Hypothesis wraps a failure that does not happen again: a timeout, or a race.
            if not pursued:
                raise
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
        if smallest:
            _, program, outcome = min(smallest, key=lambda one: one[0])
            if self.plan.shrink_seconds:
                program = reduced(program, lambda other: self._fails(other, outcome), self.plan.shrink_seconds)
                outcome = self.child.run(program, outcome.target) or outcome
            self.write(program, outcome, shrunk=True)
        return self.statistics

    def _fails(self, program: Program, as_before: Outcome) -> bool:
        """Whether a program fails as another one did."""
        outcome = self.child.run(program, as_before.target)
        return outcome is not None and outcome.failed and outcome.signature == as_before.signature

    def _run_all(self, program: Program) -> list[Outcome]:
        """Runs a program on all targets; returns the failures."""
        statistics = self.statistics
        failed = []
        statistics.programs += 1
        for target in targets_of(program, self.plan.targets):
            outcome = self.child.run(program, target)
            if outcome is None:
                statistics.invalid += 1
                return failed
            self._log(f"{statistics.programs} {target} {outcome.status} {outcome.reason} {outcome.seconds:.1f} s")
            statistics.runs[target] += 1
            statistics.seconds[target] += outcome.seconds
            for note in outcome.notes:
                statistics.notes[target, note] += 1
            if outcome.status == "ok":
                statistics.passed[target] += 1
            elif outcome.status == "refused":
                statistics.refusals[target, outcome.reason] += 1
                statistics.examples.setdefault((target, outcome.reason), f"{outcome.message}\n\n{source(program)}")
            else:
                statistics.failures[outcome.signature] += 1
                failed.append(outcome)
        statistics.features.update(features(program))
        return failed

    def _log(self, line: str) -> None:
        """Notes progress in a file of this process."""
        self.plan.folder.mkdir(parents=True, exist_ok=True)
        with (self.plan.folder / f"log-{os.getpid()}.txt").open("a") as file:
            file.write(line + "\n")

    def _files(self, outcome: Outcome) -> tuple[str, list[Path]]:
        key = hashlib.sha256(repr(outcome.signature).encode()).hexdigest()[:8]
        stem = f"{outcome.status}-{outcome.target.replace(':', '-')}-{key}"
        return stem, sorted(self.plan.folder.glob(f"{stem}-*.py"))

    def _worth_shrinking(self, outcome: Outcome) -> bool:
        if not self.plan.shrink_seconds:
            return False
        return len(self._files(outcome)[1]) < SHRUNK_PER_SIGNATURE.get(outcome.status, 1)

    def write(self, program: Program, outcome: Outcome, shrunk: bool) -> None:
        """Writes a failure as a program that runs itself."""
        stem, files = self._files(outcome)
        if len(files) >= KEPT_PER_SIGNATURE and not shrunk:
            return
        self.plan.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(repr(program).encode()).hexdigest()[:6]
        path = self.plan.folder / f"{stem}-{digest}.py"
        path.write_text(failure_text(program, outcome))
        self.statistics.files.append(str(path))


def failure_text(program: Program, outcome: Outcome) -> str:
    """A Python file with the kernel, what went wrong, and the description to run it again."""
    message = outcome.message.replace("\\", "\\\\").replace('"""', "'''").strip()
    return (
        f'"""{outcome.status} on {outcome.target}: {outcome.reason}\n\n{message[:8000]}\n"""\n'
        f"# ruff: noqa\n\n{source(program)}\n\n"
        f"if __name__ == '__main__':\n"
        f"    from fuzz.program import *\n    from fuzz.replay import replay\n\n"
        f"    replay({program!r}, {outcome.target!r})\n"
    )


_campaign: Campaign | None = None


def run_chunk(plan: Plan, number: int) -> Statistics:
    """One chunk in a worker process, whose child stays for the next one."""
    global _campaign
    if plan.until and time.time() > plan.until:
        return Statistics()
    if _campaign is None:
        _campaign = Campaign(plan)
    return _campaign.chunk(number)
