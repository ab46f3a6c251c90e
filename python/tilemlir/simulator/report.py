"""What a simulation found: faults, counts, and how both are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilemlir.simulator.ptx_parser import Location

__all__ = ["Fault", "Finding", "InstructionCount", "SimulationReport"]


@dataclass(frozen=True)
class Finding:
    """One fault of a kernel.

    Attributes:
        kind: `race`, `missing-proxy-fence`, `uninitialised-read`, `out-of-bounds`, `misaligned`, `deadlock`,
            `livelock`, `over-arrival`, `missed-phase`, `register-in-flight`, `register-pool`, `work-left-at-exit`,
            `read-only`, `assertion`, `invalid`.
        message: what happened, in words.
        location: line of the user's program.
        ptx_line: line of the PTX text.
        thread: who did it, such as `block (0, 1, 0), warp 3, lane 0`.
        instruction: the mnemonic.
        others: further places that belong to it, each with its PTX line and the reason.
        count: how often it was seen at this place.
    """

    kind: str
    message: str
    location: Location
    ptx_line: int
    thread: str = ""
    instruction: str = ""
    others: tuple[tuple[Location, int, str], ...] = ()
    count: int = 1

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        place = f"at {self.location} (PTX line {self.ptx_line}"
        place += f", {self.instruction})" if self.instruction else ")"
        lines.append(f"  {place}{', by ' + self.thread if self.thread else ''}")
        lines += [f"  {reason} {location} (PTX line {line})" for location, line, reason in self.others]
        if self.count > 1:
            lines.append(f"  seen {self.count} times")
        return "\n".join(lines)


class Fault(Exception):
    """A fault after which a simulation cannot go on; holds its `finding`."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


@dataclass(frozen=True)
class InstructionCount:
    """Shared-memory accesses of one instruction.

    Attributes:
        location: line of the user's program.
        ptx_line: line of the PTX text.
        instruction: the mnemonic.
        executions: how often a warp ran it.
        wavefronts: passes over the banks that these took.
        ideal: passes without conflicts.
    """

    location: Location
    ptx_line: int
    instruction: str
    executions: int
    wavefronts: int
    ideal: int


@dataclass
class SimulationReport:
    """Everything that a simulation found and counted.

    Attributes:
        kernel: name of the kernel function.
        arch: `sm_90a` and its like.
        seed: of the scheduler; the same seed gives the same run.
        findings: faults, in the order of their first appearance.
        instructions: warp instructions executed.
        seconds: time the simulation took.
        bank_conflicts: shared-memory accesses that took more passes than needed.
        counts: totals by name: launches, blocks, bytes of copies, products.
        printed: lines that the kernel printed.
    """

    kernel: str
    arch: str
    seed: int
    findings: list[Finding] = field(default_factory=list)
    instructions: int = 0
    seconds: float = 0.0
    bank_conflicts: list[InstructionCount] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def summary(self) -> Sequence[str]:
        """One line per fact, findings last."""
        lines = [
            f"{self.kernel} for {self.arch}, seed {self.seed}: {self.instructions} warp instructions "
            f"in {self.seconds:.2f} s"
        ]
        lines += [f"{name}: {value}" for name, value in self.counts.items()]
        for one in self.bank_conflicts:
            lines.append(
                f"bank conflicts: {one.location} (PTX line {one.ptx_line}, {one.instruction}): "
                f"{one.wavefronts} passes, {one.ideal} without conflicts"
            )
        lines += [str(one) for one in self.findings] or ["no fault found"]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.summary())

    def to_dict(self) -> Mapping[str, Any]:
        """The report as plain data, for JSON."""
        return dataclasses.asdict(self)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        facts = Table(title=f"{self.kernel} for {self.arch}, seed {self.seed}", show_header=False)
        facts.add_row("warp instructions", str(self.instructions))
        facts.add_row("seconds", f"{self.seconds:.2f}")
        for name, value in self.counts.items():
            facts.add_row(name, str(value))
        parts: list[Any] = [facts]
        if self.bank_conflicts:
            conflicts = Table("line", "PTX line", "instruction", "passes", "without conflicts", title="bank conflicts")
            for one in self.bank_conflicts:
                conflicts.add_row(
                    str(one.location), str(one.ptx_line), one.instruction, str(one.wavefronts), str(one.ideal)
                )
            parts.append(conflicts)
        findings = Table("kind", "what", "line", "PTX line", "times", title="findings")
        for found in self.findings:
            findings.add_row(found.kind, found.message, str(found.location), str(found.ptx_line), str(found.count))
        parts.append(findings if self.findings else "no fault found")
        return Group(*parts)
