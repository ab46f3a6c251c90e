"""What ``kernel.explain()`` returns: how a kernel was compiled, and why.

The compiler records, for every copy, gemm, reduction and loop, the path it took and the reason; the assembler adds
registers and spills. This module presents those facts, as text, as a rich table or as JSON, with the occupancy and the
roofline bound that follow from them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilemlir.compiler import work as works
from tilemlir.compiler.machines import Machine, occupancy, warps_per_multiprocessor
from tilemlir.runtime.plan import Environment

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Report", "occupancy"]

_CPU_REMARK = (
    "compiled for the CPU: blocks are spread over the threads of this machine. Shared memory and fragments are arrays; "
    "registers, occupancy and a roofline bound are reported for GPUs only"
)


def _bytes(count: float) -> str:
    """Sizes of memory: whole KiB where it is some, else bytes."""
    whole = int(count)
    return f"{whole // 1024} KiB" if whole and whole % 1024 == 0 else f"{whole:,} bytes"


def _amount(count: float, unit: str) -> str:
    """Large numbers with three digits and a decimal prefix: ``137 GFLOP``."""
    scale = 0
    while count >= 999.5 and scale < 5:
        count /= 1000.0
        scale += 1
    digits = f"{count:.3g}" if count < 100 else f"{count:.0f}"
    return f"{digits} {('', 'k', 'M', 'G', 'T', 'P')[scale]}{unit}"


def _time(microseconds: float) -> str:
    if microseconds >= 1000:
        return f"{microseconds / 1000:.3g} ms" if microseconds < 100e3 else f"{microseconds / 1000:.0f} ms"
    return f"{microseconds:.3g} us" if microseconds < 100 else f"{microseconds:.0f} us"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True)
class Report:
    """How a kernel was compiled.

    Attributes:
        kernel: name of the function.
        target: such as ``"sm_80"``.
        operations: one mapping per operation: ``location``, ``op``, ``path``, ``reason``, ``operands``, ``arguments``;
            of pipelines also ``buffers`` and ``bytes_in_flight``.
        kernels: one mapping per launch: ``kernel``, ``threads``, ``grid``, ``shared_bytes``, ``buffers``, ``roles``,
            ``channels``, ``work``.
        resources: by kernel: ``registers``, ``spill_bytes`` and the assembler's notes; empty on the CPU.
        notes: compile-wide remarks, such as why a fast path of the target does not apply.
        arguments: of the launch plan, for the names of sizes.
        sizes: values of dynamic sizes and scalars by name, for the roofline.
        machine: whose peak rates the roofline is for; None when they are not known.
    """

    kernel: str
    target: str
    operations: Sequence[Mapping[str, Any]]
    kernels: Sequence[Mapping[str, Any]]
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    arguments: Sequence[Mapping[str, Any]] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    machine: Machine | None = None

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain data; ``docs/explain.md`` lists the keys."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "operations": [dict(one) for one in self.operations],
            "kernels": [
                {
                    **{key: value for key, value in one.items() if key not in ("work", "op")},
                    **self._resources_of(one),
                    "work": self._work_data(one),
                    "roofline": self._roofline_data(one),
                }
                for one in self.kernels
            ],
            "notes": self._remarks(),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The facts as JSON, `indent` spaces per level (None: on one line)."""
        return json.dumps(self.to_dict(), indent=indent)

    # -- facts ---------------------------------------------------------------------------------------------------------

    @property
    def _is_cpu(self) -> bool:
        return not self.target.startswith("sm_")

    @property
    def _capability(self) -> int:
        return int("".join(c for c in self.target if c.isdigit()))

    def _remarks(self) -> list[str]:
        return [*self.notes, *([_CPU_REMARK] if self._is_cpu else [])]

    def _resources_of(self, kernel: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(self.resources.get(str(kernel.get("kernel")), {}))
        if found and not self._is_cpu:
            threads = int(kernel.get("threads", 0))
            fits = occupancy(
                self._capability, threads, int(found.get("registers", 0)), int(kernel.get("shared_bytes", 0))
            )
            if fits:
                found["blocks_per_multiprocessor"], found["limited_by"] = fits
        return found

    def _environment(self) -> Environment:
        numbers = {
            index: self.sizes[one["name"]] for index, one in enumerate(self.arguments) if one["name"] in self.sizes
        }
        count = self.machine.multiprocessors if self.machine else None
        return Environment(symbols=self.sizes, scalars=numbers, sm_count=count)

    def _work_of(self, kernel: Mapping[str, Any]) -> works.Work | str:
        """The work of a launch, or why it has no number."""
        if "work" not in kernel:
            return _CPU_REMARK
        environment = self._environment()
        missing = works.missing_sizes(kernel, environment)
        if missing:
            return (
                f"depends on {', '.join(missing)}: explain({', '.join(f'{name}=...' for name in missing)}) evaluates it"
            )
        try:
            return works.sum_work(kernel, environment)
        except ValueError as error:
            return f"is not known: {error}"
        except KeyError as error:
            leaf = error.args[0]
            name = works.describe_expression(list(leaf), self.arguments)
            return (
                f"depends on {name}: explain({name}=...) evaluates it" if leaf[0] == "scalar" else f"depends on {name}"
            )

    def _work_data(self, kernel: Mapping[str, Any]) -> dict[str, Any] | None:
        if "work" not in kernel:
            return None
        data: dict[str, Any] = {"formulas": works.formulas(kernel, self.arguments)}
        done = self._work_of(kernel)
        if isinstance(done, str):
            return {**data, "unknown": done}
        return {
            **data,
            "exact": done.exact,
            "blocks": done.blocks,
            "flops": done.flops,
            "products": [{"path": path, "type": kind, "flops": flops} for (path, kind), flops in done.products.items()],
            "arithmetic": done.arithmetic,
            "special": done.special,
            "shared_read_bytes": done.shared_read,
            "shared_written_bytes": done.shared_written,
            "dram_bytes": done.dram,
            "tensors": [
                {"name": one.name, "read_bytes": one.read, "written_bytes": one.written, "unique_bytes": one.unique}
                for one in done.tensors.values()
            ],
        }

    def _roofline_of(self, kernel: Mapping[str, Any]) -> works.Roofline | None:
        done = self._work_of(kernel)
        return works.roofline(done, self.machine) if self.machine and not isinstance(done, str) else None

    def _roofline_data(self, kernel: Mapping[str, Any]) -> dict[str, Any] | None:
        bound = self._roofline_of(kernel)
        if bound is None:
            return None
        return {
            "machine": bound.machine.name,
            "source": bound.machine.source,
            "multiprocessors": bound.machine.multiprocessors,
            "megahertz": bound.machine.megahertz,
            "dram_gigabytes_per_second": bound.machine.dram_gigabytes,
            "microseconds": dict(bound.microseconds),
            "bound_microseconds": bound.bound,
            "limiter": bound.limiter,
            "teraflops": bound.teraflops,
        }

    # -- lines of text -------------------------------------------------------------------------------------------------

    def facts(self, kernel: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Everything about one launch but its operations, as (title, text); `kernel` is one of :attr:`kernels`."""
        return list(self._facts(kernel))

    def _facts(self, kernel: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield "launch", self._launch_text(kernel)
        for role in kernel.get("roles", ()):
            yield "role", self._role_text(role)
        for one in self._operations_of(kernel):
            if one.get("buffers"):
                slots, total = one.get("arguments", {}).get("slots", 1), one["bytes_in_flight"]
                stages = f"{_plural(slots, 'stage')} x {_bytes(total / slots)} = {_bytes(total)} in flight"
                yield "pipeline", f"line {one.get('line', '?')}: {stages} ({', '.join(one['buffers'])})"
        for channel in kernel.get("channels", ()):
            yield "channel", self._channel_text(channel)
        if self._is_cpu:
            return
        yield from self._resource_facts(kernel)
        yield from self._work_facts(kernel)

    def _launch_text(self, kernel: Mapping[str, Any]) -> str:
        threads = int(kernel.get("threads", 0))
        extents = [works.describe_expression(one, self.arguments) for one in kernel.get("grid", ())]
        text = f"grid {' x '.join(extents) or '?'}, blocks of {_plural(threads, 'thread')}"
        own = int(kernel.get("program_threads", threads))
        if own != threads:
            text += f" ({own} of the program, {threads - own} of the producer)"
        cluster = kernel.get("cluster")
        return text + (f", clusters of {' x '.join(map(str, cluster))}" if cluster else "")

    @staticmethod
    def _role_text(role: Mapping[str, Any]) -> str:
        first, warps = role["first_warp"], role["warps"]
        span = f"warp {first}" if warps == 1 else f"warps {first}-{first + warps - 1}"
        parts = [span, f"{role['registers']} registers" if "registers" in role else "registers as launched"]
        if role["single_thread"]:
            parts.append("one elected thread")
        # Element loops have no operands to tell them apart; they are among the operations.
        named = [one for one in role["operations"] if one["operands"]]
        deeds = list(dict.fromkeys(f"{_operation_text(one)} ({one['path']})" for one in named))
        return f"{role['role']}: {', '.join(parts)}: {'; '.join(deeds) or 'scalar code'}"

    @staticmethod
    def _channel_text(channel: Mapping[str, Any]) -> str:
        arrivals = " or ".join(map(str, channel["arrivals"])) or "?"
        noun = "arrival" if arrivals == "1" else "arrivals"
        transfer = f" and {_bytes(channel['bytes'])}" if channel["bytes"] else ""
        ends = f"{', '.join(channel['arrive']) or 'nobody'} -> {', '.join(channel['wait']) or 'nobody'}"
        return f"{channel['name']}: {_plural(channel['barriers'], 'barrier')} of {arrivals} {noun}{transfer}, {ends}"

    def _resource_facts(self, kernel: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        resources = self._resources_of(kernel)
        if "registers" in resources:
            spilled = int(resources.get("spill_bytes", 0))
            spills = f"SPILLS {spilled} bytes to local memory" if spilled else "no spills"
            stack = int(resources.get("stack_bytes", 0))
            local = f", {stack} bytes of local memory" if stack and not spilled else ""
            yield "registers", f"{resources['registers']} per thread, {spills}{local}"
        else:
            yield "registers", "not known: nothing was assembled"
        shared, limit = int(kernel.get("shared_bytes", 0)), kernel.get("shared_limit")
        yield "shared memory", _bytes(shared) + (f" of {_bytes(limit)}" if limit and shared else "")
        for buffer in sorted(kernel.get("buffers", ()), key=lambda one: int(one.get("offset", 0))):
            shape = "x".join(map(str, buffer["shape"]))
            place = f" at {buffer['offset']}" if "offset" in buffer else ""
            held = (
                _plural(math.prod(buffer["shape"]), "barrier")
                if buffer["dtype"] == "barrier"
                else f"{shape} {buffer['dtype']}"
            )
            yield "", f"{buffer['name']}: {held}, {_bytes(buffer['bytes'])}{place}"
        for fragment in kernel.get("fragments", ()):
            if "elements_per_thread" in fragment:
                shape = "x".join(map(str, fragment["shape"]))
                each = f"{fragment['elements_per_thread']} elements per thread"
                yield "fragment", f"{fragment['name']}: {shape} {fragment['dtype']}, {each}"
        if "blocks_per_multiprocessor" in resources:
            fits = int(resources["blocks_per_multiprocessor"])
            warps = -(-int(kernel["threads"]) // 32) * fits
            yield (
                "occupancy",
                f"{_plural(fits, 'block')} per multiprocessor ({warps} of "
                f"{warps_per_multiprocessor(self._capability)} warps), limited by {resources['limited_by']}",
            )

    def _work_facts(self, kernel: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if "work" not in kernel:
            return
        done = self._work_of(kernel)
        if isinstance(done, str):
            for title, text in works.formulas(kernel, self.arguments).items():
                yield "work", f"{title} = {text}"
            yield "roofline", done
            return
        about = "" if done.exact else "about "
        counts = [f"{_amount(flops, 'FLOP')} {kind} by {path}" for (path, kind), flops in done.products.items()]
        counts += [_amount(done.arithmetic, "FLOP") + " f32 elementwise"] if done.arithmetic else []
        counts += [_amount(done.special, "").rstrip() + " special functions"] if done.special else []
        yield "work", about + (", ".join(counts) or "no arithmetic")
        shared = f"shared memory {_amount(done.shared_read, 'B')} read, {_amount(done.shared_written, 'B')} written"
        yield "", f"DRAM {_amount(done.dram, 'B')} at least, L2 {_amount(done.traffic, 'B')}, {shared}"
        for tensor in done.tensors.values():
            moved = [f"{_amount(tensor.read, 'B')} read"] * bool(tensor.read)
            moved += [f"{_amount(tensor.written, 'B')} written"] * bool(tensor.written)
            yield "", f"{tensor.name}: {', '.join(moved)}, {_amount(tensor.unique, 'B')} unique"
        if self.machine is None:
            yield "roofline", f"no peak rates are known for {self.target}"
            return
        bound = works.roofline(done, self.machine)
        machine = bound.machine
        resources = self._resources_of(kernel)
        if bound.bound:
            rate = f", {_amount(bound.teraflops * 1e12, 'FLOP/s')}" if done.flops else ""
            yield "roofline", f"at least {_time(bound.bound)}{rate}, limited by {bound.limiter} ({machine.name})"
            units = ", ".join(f"{unit} {_time(value)}" for unit, value in bound.microseconds.items() if value)
            yield "", units
        fits = int(resources.get("blocks_per_multiprocessor", 0))
        if fits:
            wave = fits * machine.multiprocessors
            yield "", f"{done.blocks} blocks in {done.blocks / wave:.2f} waves of {wave}"

    def _operations_of(self, kernel: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        name = kernel.get("kernel")
        return [one for one in self.operations if one.get("kernel", name) == name]

    def summary(self) -> list[str]:
        """Lines about every launch: threads, roles, memory, registers, occupancy, roofline; without operations."""
        lines = []
        for one in self.kernels:
            if len(self.kernels) > 1 or one.get("kernel", self.kernel) != self.kernel:
                lines.append(f"{one.get('kernel', self.kernel)}, {self._place(one)}")
            before = None
            for title, text in self._facts(one):
                lines.append(f"  {'' if title == before else title:<13} {text}")
                before = title or before
        return lines

    @staticmethod
    def _place(entry: Mapping[str, Any]) -> str:
        return f"{Path(entry['file']).name}:{entry['line']}" if "line" in entry else "?"

    def __str__(self) -> str:
        lines = [f"{self.kernel} for {self.target}", *self.summary()]
        if self.operations:
            lines.append("operations")
        for one in self.operations:
            lines.append(f"  {self._place(one)}: {_operation_text(one)}: {one['path']}{_details(one)}")
            lines.append(f"      {one['reason']}")
        return "\n".join([*lines, *self._remarks()])

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[Any] = []
        for kernel in self.kernels:
            name = f"{kernel.get('kernel', self.kernel)} for {self.target}, {self._place(kernel)}"
            facts = Table(title=name, show_header=False)
            facts.add_column(style="bold", no_wrap=True)
            facts.add_column(overflow="fold")
            before = None
            for title, text in self._facts(kernel):
                facts.add_row(Text("" if title == before else title), Text(text))
                before = title or before
            parts.append(facts)
        table = Table("line", title="operations")
        for column in ("operation", "path", "details", "reason"):
            table.add_column(column, overflow="fold")
        files = {one.get("file") for one in self.operations}
        for one in self.operations:
            place = self._place(one) if len(files) > 1 else str(one.get("line", "?"))
            cells = (place, _operation_text(one), one["path"], _details(one).strip(" ()"), one["reason"])
            table.add_row(*(Text(str(cell)) for cell in cells))
        return Group(*parts, table, *(Text(line) for line in self._remarks()))


def _operation_text(one: Mapping[str, Any]) -> str:
    """An operation with its operands: ``copy A -> A_shared``, ``gemm A_shared, B_shared -> C``."""
    operands = list(one.get("operands", ()))
    if not operands:
        return str(one["op"])
    *sources, result = operands
    if not sources:
        return f"{one['op']} {result}"
    return f"{one['op']} {', '.join(sources)} -> {result}"


def _details(one: Mapping[str, Any]) -> str:
    arguments = one.get("arguments")
    if not arguments:
        return ""
    return " (" + ", ".join(f"{key} {value}" for key, value in arguments.items()) + ")"
