"""A timeline of a simulated launch: what every warp runs and waits for, copies and products on their way.

Time is counted in warp instructions of the whole machine, in the order that the scheduler chose; it says nothing about
cycles. `Trace.write` makes a file for Perfetto (https://ui.perfetto.dev) or chrome://tracing, `Trace.picture` a PNG.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilemlir.simulator.machine import Block, Machine
    from tilemlir.simulator.warp import Group, Warp

__all__ = ["Trace"]

#: Thread ids of the engine's rows in the trace, behind those of warps.
_COPIES, _BARRIERS = 1000, 1001


class Trace:
    """Records a timeline.

    Args:
        limit: events after which no more are recorded.

    Attributes:
        events: (begin, end, process, row, name, category, details) with times in warp instructions.
        acts: what warps have issued, `loads`, `stores` or `products`, by process and warp.
        title: kernels and architecture, for a picture.
    """

    def __init__(self, limit: int = 500_000) -> None:
        self.limit = limit
        self.events: list[tuple[int, int, str, int, str, str, str]] = []
        self.acts: dict[tuple[str, int], set[str]] = {}
        self.title = ""
        self._waits: dict[int, tuple[int, str, str]] = {}
        self._launches = 0
        self._machine: Machine | None = None

    def start(self, machine: Machine) -> None:
        """A launch begins on a `machine`."""
        self._machine = machine
        self._offset = max((event[1] for event in self.events), default=0)
        self._launches += 1
        name = f"{machine.program.function.name} for {machine.program.module.target}"
        if name not in self.title:
            self.title = f"{self.title}, {name}" if self.title else name

    def _process(self, block: Block) -> str:
        return f"launch {self._launches}, {block.name}"

    def _acted(self, w: Warp, what: str, warps: int = 1) -> None:
        for warp in range(w.index, w.index + warps):
            self.acts.setdefault((self._process(w.block), warp), set()).add(what)

    def _now(self) -> int:
        return self._offset + (self._machine.ticks if self._machine is not None else 0)

    def _add(self, begin: int, end: int, block: Block, row: int, name: str, category: str, details: str = "") -> None:
        if len(self.events) < self.limit:
            self.events.append((begin, end, self._process(block), row, name, category, details))

    def ran(self, w: Warp, pc: int, executed: int) -> None:
        """A warp has executed instructions.

        Args:
            w: the warp.
            pc: the step it began with.
            executed: instructions.
        """
        now = self._now()
        location = w.machine.program.steps[pc].instruction.location
        name = f"{Path(location.file).name}:{location.line}" if location.file else "run"
        self._add(now, now + executed, w.block, w.index, name, "run", str(location))

    def wait_begin(self, w: Warp, group: Group) -> None:
        """Lanes (`group`) of a warp `w` begin to wait."""
        if id(group) in self._waits:
            return
        location = w.machine.program.steps[group.pc].instruction.location
        reason = group.reason() if callable(group.reason) else group.reason
        self._waits[id(group)] = (self._now(), reason, str(location))

    def wait_end(self, w: Warp, group: Group) -> None:
        """Lanes (`group`) of a warp `w` go on."""
        found = self._waits.pop(id(group), None)
        if found is not None:
            begin, reason, location = found
            self._add(begin, self._now(), w.block, w.index, f"wait: {reason}", "wait", location)

    def copy(self, w: Warp, what: str, size: int, begin: int) -> None:
        """An asynchronous copy has been done.

        Args:
            w: who issued it.
            what: the mnemonic.
            size: bytes.
            begin: when it was issued, as `now` gave it.
        """
        self._acted(w, "stores" if ".global.shared" in what else "loads")
        self._add(begin, self._now(), w.block, _COPIES, f"{size} bytes", "copy", what)

    def now(self) -> int:
        """The present time."""
        return self._now()

    def product(self, w: Warp, begin: int) -> None:
        """A wgmma of a warp group has been done; `w` is its first warp, `begin` when the last warp issued it."""
        self._acted(w, "products", 4)
        self._add(begin, self._now(), w.block, 1100 + w.index // 4, "wgmma", "product")

    def phase(self, block: Block, name: str) -> None:
        """A phase of an mbarrier of a `block` is complete; `name` says which."""
        now = self._now()
        self._add(now, now, block, _BARRIERS, name, "barrier")

    # Output ----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _row_name(row: int) -> str:
        if row >= 1100:
            return f"products of warp group {row - 1100}"
        return {_COPIES: "copies", _BARRIERS: "mbarriers"}.get(row, f"warp {row}")

    def write(self, path: str | Path) -> None:
        """Writes the timeline as JSON in the Trace Event format that Perfetto reads.

        Args:
            path: of the file.
        """
        processes = {name: i + 1 for i, name in enumerate(dict.fromkeys(event[2] for event in self.events))}
        listed: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}} for name, pid in processes.items()
        ]
        for process, row in sorted({(event[2], event[3]) for event in self.events}):
            listed.append(
                {
                    "ph": "M",
                    "name": "thread_name",
                    "pid": processes[process],
                    "tid": row,
                    "args": {"name": self._row_name(row)},
                }
            )
        for number, (begin, end, process, row, name, category, details) in enumerate(self.events):
            common = {"pid": processes[process], "tid": row, "name": name, "cat": category, "args": {"at": details}}
            if category in ("copy", "product"):  # may overlap
                listed.append({**common, "ph": "b", "ts": begin, "id": number})
                listed.append({**common, "ph": "e", "ts": max(end, begin + 1), "id": number})
            elif begin == end and category == "barrier":
                listed.append({**common, "ph": "i", "ts": begin, "s": "t"})
            else:
                listed.append({**common, "ph": "X", "ts": begin, "dur": max(end - begin, 1)})
        Path(path).write_text(json.dumps({"traceEvents": listed, "displayTimeUnit": "ns"}))

    def picture(self, path: str | Path) -> None:
        """Draws the timeline into a PNG.

        Args:
            path: of the file.

        Raises:
            TileRuntimeError: without matplotlib.
        """
        from tilemlir.simulator.timeline import draw

        draw(self, path)
