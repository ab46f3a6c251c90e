"""What ``kernel.explain()`` returns: how a kernel was compiled, and why.

The compiler records, for every copy, gemm, reduction and loop, the path it took and the reason; the assembler adds
registers and spills. This module only presents those facts, as text, as a rich table or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Report", "occupancy"]

# CUDA C++ Programming Guide, technical specifications per compute capability: registers and threads of a
# multiprocessor, blocks of a multiprocessor, shared memory of a multiprocessor in KiB. Registers are handed out in
# units of 256 per warp, shared memory with 1 KiB of overhead per block.
_MULTIPROCESSOR = {
    80: (65536, 2048, 32, 164),
    86: (65536, 1536, 16, 100),
    87: (65536, 1536, 16, 164),
    89: (65536, 1536, 24, 100),
    90: (65536, 2048, 32, 228),
    100: (65536, 2048, 32, 228),
    120: (65536, 1536, 24, 100),
}


def occupancy(capability: int, threads: int, registers: int, shared_bytes: int) -> tuple[int, str] | None:
    """Blocks that fit on one multiprocessor at the same time, and what limits them.

    Args:
        capability: compute capability, such as 80.
        threads: per block.
        registers: per thread, as the assembler reports them.
        shared_bytes: dynamic shared memory per block.

    Returns:
        None for a capability whose limits are not known here.
    """
    known = [one for one in _MULTIPROCESSOR if one <= capability]
    if not known or threads <= 0:
        return None
    register_file, thread_limit, block_limit, shared_kib = _MULTIPROCESSOR[max(known)]
    warps = -(-threads // 32)
    limits = {"blocks": block_limit, "threads": thread_limit // (warps * 32)}
    if registers > 0:
        per_warp = -(-registers * 32 // 256) * 256
        limits["registers"] = register_file // (per_warp * warps)
    limits["shared memory"] = shared_kib * 1024 // (-(-shared_bytes // 128) * 128 + 1024)
    limiter = min(limits, key=lambda name: limits[name])
    return limits[limiter], limiter


@dataclass(frozen=True)
class Report:
    """How a kernel was compiled.

    Attributes:
        kernel: name of the function.
        target: such as ``"sm_80"``.
        operations: one mapping per operation: ``location``, ``op``, ``path``, ``reason`` and ``arguments``.
        kernels: one mapping per launch: ``kernel``, ``threads``, ``shared_bytes``, ``buffers`` (name, bytes, offset).
        resources: by kernel: ``registers``, ``spill_bytes`` and the assembler's notes; empty on the CPU.
        notes: compile-wide remarks, such as why a fast path of the target does not apply.
    """

    kernel: str
    target: str
    operations: Sequence[Mapping[str, Any]]
    kernels: Sequence[Mapping[str, Any]]
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain data."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "operations": [dict(one) for one in self.operations],
            "kernels": [{**one, **self._resources_of(one)} for one in self.kernels],
            "notes": list(self.notes),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The facts as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def _resources_of(self, kernel: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(self.resources.get(str(kernel.get("kernel")), {}))
        if found and self.target.startswith("sm_"):
            capability = int("".join(c for c in self.target if c.isdigit()))
            fits = occupancy(
                capability,
                int(kernel.get("threads", 0)),
                int(found.get("registers", 0)),
                int(kernel.get("shared_bytes", 0)),
            )
            if fits:
                found["blocks_per_multiprocessor"], found["limited_by"] = fits
        return found

    def summary(self) -> list[str]:
        """One line per launch with its resources, each followed by lines of its shared buffers."""
        lines = []
        for one in self.kernels:
            parts = [f"{one.get('threads', '?')} threads", f"{one.get('shared_bytes', 0)} bytes of shared memory"]
            resources = self._resources_of(one)
            if "registers" in resources:
                parts += [f"{resources['registers']} registers", f"{resources.get('spill_bytes', 0)} bytes spilled"]
            if "blocks_per_multiprocessor" in resources:
                parts.append(
                    f"{resources['blocks_per_multiprocessor']} blocks per multiprocessor "
                    f"(limited by {resources['limited_by']})"
                )
            lines.append(f"{one.get('kernel', self.kernel)}: " + ", ".join(parts))
            lines += [
                f"  {buffer['name']}: {buffer['bytes']} bytes at {buffer['offset']}"
                for buffer in one.get("buffers", ())
            ]
        return lines

    def __str__(self) -> str:
        lines = [f"{self.kernel} for {self.target}", *self.summary()]
        for one in self.operations:
            arguments = _describe(one.get("arguments"))
            lines.append(f"{one.get('location', '?')}: {one['op']} -> {one['path']}{arguments}: {one['reason']}")
        return "\n".join([*lines, *self.notes])

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("location", "operation", "path", "details", "reason", title=f"{self.kernel} for {self.target}")
        for one in self.operations:
            details = _describe(one.get("arguments")).strip(" ()")
            table.add_row(
                *(
                    Text(str(cell))
                    for cell in (one.get("location", "?"), one["op"], one["path"], details, one["reason"])
                )
            )
        return Group(table, *(Text(line) for line in [*self.summary(), *self.notes]))


def _describe(arguments: Mapping[str, Any] | None) -> str:
    if not arguments:
        return ""
    return " (" + ", ".join(f"{key} {value}" for key, value in arguments.items()) + ")"
