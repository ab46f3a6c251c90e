"""How much a launch computes and moves, and how fast a machine could do that at best.

The compiler reports, for every operation, what one execution does and the loops and conditions around it, as
expressions of sizes, block indices and loop variables. This module sums them: exactly where every expression has a
value, by evenly spaced samples where a loop that others depend on has too many iterations to visit.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilemlir.compiler.machines import Machine
from tilemlir.runtime.plan import Environment, evaluate

__all__ = [
    "Roofline",
    "TensorTraffic",
    "Work",
    "describe_expression",
    "formulas",
    "missing_sizes",
    "roofline",
    "sum_work",
]

_BLOCKS = ("block.x", "block.y", "block.z")
# Iterations visited per operation; more are sampled.
_VISITS = 65536


def _symbols(expression: Any) -> set[str]:
    """Names of all symbols in an expression."""
    if not isinstance(expression, (list, tuple)):
        return set()
    if expression[0] == "symbol":
        return {expression[1]}
    return set().union(*(_symbols(part) for part in expression[1:]))


def _levels(entry: Mapping[str, Any], grid: Sequence[Any]) -> list[tuple[str, Any, Any, Any]]:
    """All loops around an operation, outermost first: name, lower and upper bound, step. Blocks count as loops."""
    blocks = [(name, 0, extent, 1) for name, extent in zip(_BLOCKS, grid, strict=False)]
    return [*blocks, *(tuple(loop) for loop in entry["loops"])]


def _executions(
    entry: Mapping[str, Any],
    grid: Sequence[Any],
    environment: Environment,
    only: Iterable[str] | None = None,
    last: bool = False,
) -> tuple[float, bool]:
    """How often an operation runs in a launch, and whether that is exact.

    Args:
        entry: of the compiler's report.
        grid: extents as expressions.
        environment: sizes; gets the values of loop variables on the way.
        only: count the iterations of these loops only, and of the others the first iteration.
        last: ... or the last iteration.
    """
    levels = _levels(entry, grid)
    counted = {name for name, *_ in levels} if only is None else set(only)
    needed = set().union(
        *(_symbols(part) for _, *bounds in levels for part in bounds), *(_symbols(one) for one in entry["conditions"])
    )
    visited = [name for name, *_ in levels if name in needed and name in counted]
    limit = max(16, int(_VISITS ** (1 / len(visited)))) if visited else 1
    exact = bool(entry["exact"])

    def run(index: int) -> float:
        nonlocal exact
        if index == len(levels):
            return float(all(evaluate(one, environment) for one in entry["conditions"]))
        name, *bounds = levels[index]
        lower, upper, step = (evaluate(bound, environment) for bound in bounds)
        trips = max(0, -(-(upper - lower) // step))
        if not trips:
            return 0.0
        if name not in visited:
            environment.symbols[name] = lower + (trips - 1) * step * (last and name not in counted)
            return run(index + 1) * (trips if name in counted else 1)
        samples = min(trips, limit)
        exact = exact and samples == trips
        total = 0.0
        for sample in range(samples):
            # The middle of each of `samples` equal parts.
            environment.symbols[name] = lower + step * ((2 * sample + 1) * trips // (2 * samples))
            total += run(index + 1)
        return total * trips / samples

    return run(0), exact


@dataclasses.dataclass
class TensorTraffic:
    """Global memory traffic of one tensor in one launch, in bytes.

    Attributes:
        name: of the tensor.
        read: by all blocks together, from L2 or memory.
        written: by all blocks together.
        unique: that memory has to deliver or take at least once.
        atomic: whether some of it is read-modify-write.
    """

    name: str
    read: float = 0.0
    written: float = 0.0
    unique: float = 0.0
    atomic: bool = False


@dataclasses.dataclass
class Work:
    """What one launch does.

    Attributes:
        blocks: of the grid.
        products: floating-point or integer operations of matrix products by (path, element type of A).
        arithmetic: f32 operations outside of products.
        special: transcendental functions and divisions.
        tensors: global memory traffic by tensor.
        shared_read, shared_written: bytes of shared memory.
        exact: False when a loop or condition has no closed form (counted as run once) or was sampled.
    """

    blocks: int = 0
    products: dict[tuple[str, str], float] = dataclasses.field(default_factory=dict)
    arithmetic: float = 0.0
    special: float = 0.0
    tensors: dict[str, TensorTraffic] = dataclasses.field(default_factory=dict)
    shared_read: float = 0.0
    shared_written: float = 0.0
    exact: bool = True

    @property
    def flops(self) -> float:
        """Operations of products and of arithmetic."""
        return sum(self.products.values()) + self.arithmetic

    @property
    def traffic(self) -> float:
        """Bytes between global memory (mostly L2) and the multiprocessors."""
        return sum(one.read + one.written for one in self.tensors.values())

    @property
    def dram(self) -> float:
        """Bytes that memory has to deliver or take at least."""
        return sum(one.unique for one in self.tensors.values())


def sum_work(kernel: Mapping[str, Any], environment: Environment) -> Work:
    """Sums the work of a launch.

    Args:
        kernel: the compiler's entry of a kernel, with ``grid`` and ``work``.
        environment: values of all sizes.

    Raises:
        KeyError: a leaf of an expression has no value.
        ValueError: the grid has no closed form.
    """
    grid = kernel["grid"]
    if "?" in grid:
        raise ValueError("the grid has no closed form")
    work = Work(blocks=math.prod(evaluate(extent, environment) for extent in grid))
    footprints: dict[tuple[str, str], float] = {}
    sizes: dict[str, float] = {}
    for entry in kernel["work"]:
        runs, exact = _executions(entry, grid, environment)
        work.exact = work.exact and exact
        kind = entry["kind"]
        if kind == "product":
            key = (entry["path"], entry["types"][0])
            work.products[key] = work.products.get(key, 0.0) + runs * entry["flops"]
        elif kind == "arithmetic":
            work.arithmetic += runs * entry["flops"]
            work.special += runs * entry["special"]
        elif kind == "shared":
            work.shared_read += runs * entry["bytes"] * entry.get("reads", False)
            work.shared_written += runs * entry["bytes"] * entry.get("writes", False)
        else:
            name = entry["name"]
            tensor = work.tensors.setdefault(name, TensorTraffic(name))
            reads, writes = entry.get("reads", False), entry.get("writes", False)
            tensor.read += runs * entry["bytes"] * reads
            tensor.written += runs * entry["bytes"] * writes
            tensor.atomic |= reads and writes
            sizes[name] = (
                math.prod(evaluate(extent, environment) for extent in entry["extents"]) * entry["element_bits"] / 8
            )
            # The first and the last block or iteration bound how far the others reach, as under a causal mask.
            footprint = max(_executions(entry, grid, environment, entry["depends"], last)[0] for last in (False, True))
            # Reads and writes of the same place are both traffic of memory.
            for direction in ("read",) * reads + ("written",) * writes:
                footprints[name, direction] = footprints.get((name, direction), 0.0) + footprint * entry["bytes"]
    for (name, _), touched in footprints.items():
        work.tensors[name].unique += min(touched, sizes[name])
    return work


# ----------------------------------------------------------------------------------------------------------------------
# Closed forms as text
# ----------------------------------------------------------------------------------------------------------------------

_INFIX = {"add": (" + ", 1), "sub": (" - ", 1), "mul": (" * ", 2), "floordiv": (" // ", 2), "mod": (" % ", 2)}


def describe_expression(expression: Any, arguments: Sequence[Mapping[str, Any]] = ()) -> str:
    """An expression as Python would write it; sizes and scalars by name.

    Args:
        expression: in the form of launch plans, with symbols by name.
        arguments: of the launch plan, for the names of tensors and scalars.
    """
    return _describe(expression, arguments)[0]


def _describe(expression: Any, arguments: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """The text, and how strongly its outermost operator binds."""
    if not isinstance(expression, (list, tuple)):
        return str(expression), 3
    kind, *operands = expression
    if kind == "symbol":
        return str(operands[0]), 3
    if kind == "sm_count":
        return "multiprocessors", 3
    if kind in ("dim", "stride", "scalar"):
        name = arguments[operands[0]]["name"] if operands[0] < len(arguments) else f"argument {operands[0]}"
        return (name if kind == "scalar" else f"{name}.{'shape' if kind == 'dim' else 'strides'}[{operands[1]}]"), 3
    parts = [_describe(one, arguments) for one in operands]
    if kind not in _INFIX:
        return f"{kind}({', '.join(text for text, _ in parts)})", 3
    sign, strength = _INFIX[kind]
    left, right = (
        text if binds > strength or (binds == strength and not side) else f"({text})"
        for side, (text, binds) in enumerate(parts)
    )
    return left + sign + right, strength


def _formula(entry: Mapping[str, Any], amount: int, grid: Sequence[Any], arguments: Sequence[Mapping[str, Any]]) -> str:
    """How much all executions do, such as ``1048576 * ceildiv(M, 128)``."""
    levels = _levels(entry, grid)
    needed = set().union(
        *(_symbols(part) for _, *bounds in levels for part in bounds), *(_symbols(one) for one in entry["conditions"])
    )
    factors: list[str] = []
    sums: list[str] = []
    for name, lower, upper, step in levels:
        trips = upper if lower == 0 else ["sub", upper, lower]
        trips = trips if step == 1 else ["ceildiv", trips, step]
        if name in needed:
            bounds = [describe_expression(one, arguments) for one in (lower, upper, step)]
            sums.append(f"{name} < {bounds[1]}" if (lower, step) == (0, 1) else f"{name} in range({', '.join(bounds)})")
        elif isinstance(trips, int):
            amount *= trips
        else:
            text, binds = _describe(trips, arguments)
            factors.append(text if binds >= 2 else f"({text})")
    factors += [f"({describe_expression(one, arguments)})" for one in entry["conditions"]]
    text = " * ".join([str(amount), *factors])
    return f"sum({', '.join(sums)}: {text})" if sums else text


def formulas(kernel: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Closed forms of the work of a launch by what they count.

    Keys are ``product flops``, ``arithmetic flops``, ``special functions``, ``bytes of NAME`` for every tensor, and
    ``shared bytes``, in this order.

    Args:
        kernel: the compiler's entry of a kernel.
        arguments: of the launch plan, for names.
    """
    parts: dict[str, dict[str, int]] = {}
    order = ("product", "arithmetic", "tensor", "shared")
    for entry in sorted(kernel["work"], key=lambda one: order.index(one["kind"])):
        kind = entry["kind"]
        counted = {
            "product": [("product flops", "flops")],
            "arithmetic": [("arithmetic flops", "flops"), ("special functions", "special")],
            "shared": [("shared bytes", "bytes")],
            "tensor": [(f"bytes of {entry.get('name')}", "bytes")],
        }[kind]
        for title, key in counted:
            if entry[key]:
                # Equal factors are collected by their form for one unit.
                form = _formula(entry, 1, kernel["grid"], arguments)
                listed = parts.setdefault(title, {})
                listed[form] = listed.get(form, 0) + entry[key]
    return {
        title: " + ".join(_scaled(form, amount) for form, amount in forms.items()) for title, forms in parts.items()
    }


def _scaled(form: str, amount: int) -> str:
    head, colon, form = form.partition(": ") if form.startswith("sum(") else ("", "", form)
    count = re.match(r"\d+", form)
    assert count is not None, form
    return f"{head}{colon}{int(count[0]) * amount}{form[count.end() :]}"


def missing_sizes(kernel: Mapping[str, Any], environment: Environment) -> list[str]:
    """Names of the sizes that the work of `kernel` depends on and `environment` does not have."""
    names: set[str] = set()
    for entry in kernel["work"]:
        loops = {name for name, *_ in entry["loops"]}
        parts = [*kernel["grid"], *(part for _, *bounds in entry["loops"] for part in bounds), *entry["conditions"]]
        parts += entry.get("extents", ())
        names |= set().union(*(_symbols(part) for part in parts)) - loops - set(_BLOCKS)
    return sorted(names - set(environment.symbols))


# ----------------------------------------------------------------------------------------------------------------------
# Roofline
# ----------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Roofline:
    """The least time that a machine needs for some work, one unit at a time.

    Attributes:
        machine: whose peaks are meant.
        microseconds: by unit: ``tensor cores``, ``f32 units``, ``special functions``, ``shared memory``, ``DRAM``.
        limiter: the unit that takes longest.
        work: what is done.
    """

    machine: Machine
    microseconds: Mapping[str, float]
    limiter: str
    work: Work

    @property
    def bound(self) -> float:
        """The least time in microseconds."""
        return self.microseconds[self.limiter]

    @property
    def teraflops(self) -> float:
        """The rate at that time in TFLOP/s."""
        return self.work.flops / self.bound / 1e6 if self.bound else 0.0


def roofline(work: Work, machine: Machine) -> Roofline:
    """The bound of `work` on `machine`, all of whose multiprocessors are taken to be busy all the time."""
    clocks_per_microsecond = machine.megahertz * machine.multiprocessors
    tensor = fma = 0.0
    for (path, operand), flops in work.products.items():
        rate = machine.tensor_rate(operand, path)
        if path in ("mma_sync", "wgmma_ss", "wgmma_rs", "tcgen05") and rate:
            tensor += flops / rate
        else:
            fma += flops / machine.float_flops
    fma += work.arithmetic / machine.float_flops
    times = {
        "tensor cores": tensor / clocks_per_microsecond,
        "f32 units": fma / clocks_per_microsecond,
        "special functions": work.special / machine.special_results / clocks_per_microsecond,
        # Measured on an H200: reads and writes do not add up, wgmma runs at its peak rate where their sum says no.
        "shared memory": max(work.shared_read, work.shared_written) / machine.shared_bytes / clocks_per_microsecond,
        "DRAM": work.dram / machine.dram_gigabytes / 1e3,
    }
    return Roofline(machine, times, max(times, key=lambda unit: times[unit]), work)
