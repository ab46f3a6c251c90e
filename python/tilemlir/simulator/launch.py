"""From a call of a kernel to launches: arguments, sizes, guards, workspaces and tensor maps of its launch plan.

The plan is the one that the runtime reads. Arguments are tensors in host memory: NumPy arrays, torch tensors on the
CPU, anything with `__array_interface__`. Their bytes are copied into simulated memory with the same phase of the
address, overlapping tensors into one allocation, and what kernels wrote is copied back.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilemlir import errors
from tilemlir.interop import frameworks
from tilemlir.interop.dtypes import element_type
from tilemlir.runtime.plan import Environment, evaluate, shape_of
from tilemlir.simulator import ptx_parser
from tilemlir.simulator.banks import Banks
from tilemlir.simulator.clocks import HOST, UNINITIALIZED
from tilemlir.simulator.machine import Launch, Machine
from tilemlir.simulator.memory import Buffer, GlobalMemory, Shadow
from tilemlir.simulator.program import Program, UnsupportedInstruction
from tilemlir.simulator.report import Fault, InstructionCount, SimulationReport
from tilemlir.simulator.tensor_memory import TensorMap

__all__ = ["Settings", "Simulation", "simulate_plan"]


@dataclass(frozen=True)
class Settings:
    """How to simulate.

    Attributes:
        seed: of the scheduler; one seed gives one run.
        checks: find races, missing fences and uninitialised reads; bounds, barriers and deadlocks are always checked.
        sm_count: multiprocessors of the simulated device: what `T.num_sms()` gives, and how many blocks are resident.
        max_findings: stop after this many different findings.
        patience: warp instructions without visible effect after which the kernel is said to spin.
        bank_conflicts: count passes over the banks of shared memory.
        trace: an object that records a timeline, see `tilemlir.simulator.trace.Trace`.
        progress: called now and then with (blocks started, blocks in all).
    """

    seed: int = 0
    checks: bool = True
    sm_count: int = 8
    max_findings: int = 20
    patience: int = 2_000_000
    bank_conflicts: bool = False
    trace: Any = None
    progress: Callable[[int, int], None] | None = None


@dataclass
class Simulation:
    """Result of a simulated call.

    Attributes:
        outputs: what the call returns: None, one output, or a list.
        report: what was found.
    """

    outputs: Any
    report: SimulationReport


@dataclass
class _Tensor:
    """A tensor argument in host memory."""

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    keep: Any

    @property
    def size(self) -> int:
        """Bytes from its first to its last element."""
        if 0 in self.shape:
            return 0
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.itemsize


def _tensor(kernel: str, name: str, value: Any) -> tuple[_Tensor, str]:
    """Description and element type of an argument."""
    signature = frameworks.tensor_signature(value)
    if signature is None:
        raise errors.make("not-a-tensor", {"kernel": kernel, "argument": name, "found": type(value).__name__})
    shape, long_name, strides = signature
    torch = frameworks.loaded_torch()
    if torch is not None and isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            fields = {"kernel": kernel, "argument": name, "found": str(value.device), "expected": "cpu"}
            raise errors.make("device", {**fields, "target": "the simulator"})
        address = value.data_ptr()
    else:
        interface = getattr(value, "__array_interface__", None)
        if interface is None:
            raise errors.make("not-a-tensor", {"kernel": kernel, "argument": name, "found": type(value).__name__})
        address = interface["data"][0]
    entry = element_type(long_name)
    if strides is None:
        strides = _contiguous(shape)
    return _Tensor(name, address, shape, tuple(strides), entry.bits // 8, value), entry.short


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class _Call:
    """The arguments of one call, checked against the plan."""

    def __init__(self, plan: Mapping[str, Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any], sms: int):
        self.plan = plan
        self.name = name
        self.environment = Environment(sm_count=sms, plan=plan)
        self.tensors: dict[int, _Tensor] = {}
        self.scalars: dict[int, Any] = {}
        self.pointers: dict[int, int | None] = {}
        self.outputs: list[Any] = []
        values = self._bind(args, kwargs)
        for index, value in values.items():
            self._take(index, value)
        self._read_symbols()
        self._check_shapes(values)
        self._allocate_outputs(values)

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[int, Any]:
        arguments = self.plan["arguments"]
        outputs = set(self.plan.get("outputs", ()))
        inputs = [i for i in range(len(arguments)) if i not in outputs]
        names = {arguments[i]["name"]: i for i in inputs}
        values = dict(zip(inputs, args, strict=False))
        if len(args) + len(kwargs) != len(inputs):
            fields = {"kernel": self.name, "expected": len(inputs), "names": ", ".join(names)}
            made = ", ".join(arguments[i]["name"] for i in sorted(outputs))
            raise errors.make("argument-count", {**fields, "found": len(args) + len(kwargs), "outputs": made})
        for name, value in kwargs.items():
            fields = {"kernel": self.name, "argument": name}
            if name not in names:
                known = name in {argument["name"] for argument in arguments}
                raise errors.make("output-passed" if known else "unknown-argument", fields)
            if names[name] in values:
                raise errors.make("argument-twice", fields)
            values[names[name]] = value
        return values

    def _take(self, index: int, value: Any) -> None:
        argument = self.plan["arguments"][index]
        fields: dict[str, Any] = {"kernel": self.name, "argument": argument["name"]}
        if argument["kind"] == "scalar":
            if isinstance(value, np.generic):
                value = value.item()
            if not isinstance(value, (bool, int, float)):
                fields |= {"expected": argument["dtype"], "found": type(value).__name__}
                raise errors.make("scalar-type", fields)
            self.scalars[index] = value
            if not isinstance(value, float):
                self.environment.scalars[index] = int(value)
            return
        if argument["kind"] == "pointer" and (value is None or isinstance(value, int)):
            self.pointers[index] = value
            return
        if value is None:
            if not argument.get("optional"):
                raise errors.make("none-argument", fields)
            self.pointers[index] = None
            return
        tensor, dtype = _tensor(self.name, argument["name"], value)
        self.tensors[index] = tensor
        if argument["kind"] == "pointer":
            return
        expected = argument["dtype"]
        if element_type(expected).long != element_type(dtype).long:
            fields |= {"found": element_type(dtype).long, "expected": element_type(expected).long}
            raise errors.make("dtype", fields)
        if len(tensor.shape) != len(argument["shape"]):
            fields |= {"found": len(tensor.shape), "shape": tensor.shape, "expected": len(argument["shape"])}
            raise errors.make("rank", fields)
        for axis, (extent, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
            if extent >= 1 << 31:
                raise errors.make("extent-limit", {**fields, "size": extent, "axis": axis})
            self.environment.dims[index, axis] = extent
            self.environment.strides[index, axis] = stride

    def _read_symbols(self) -> None:
        for position, symbol in enumerate(self.plan.get("symbols", ())):
            try:
                self.environment.symbols[position] = evaluate(symbol["source"], self.environment)
            except KeyError:
                argument = self.plan["arguments"][symbol["source"][1]]["name"]
                fields = {"kernel": self.name, "symbol": symbol["name"], "argument": argument}
                raise errors.make("unknown-size", fields) from None

    def _check_shapes(self, values: Mapping[int, Any]) -> None:
        for index, tensor in self.tensors.items():
            argument = self.plan["arguments"][index]
            if argument["kind"] != "tensor":
                continue
            fields: dict[str, Any] = {"kernel": self.name, "argument": argument["name"], "shape": tensor.shape}
            for axis, size in enumerate(argument["shape"]):
                expected = evaluate(size, self.environment)
                if tensor.shape[axis] != expected:
                    raise errors.make(
                        "shape", {**fields, "axis": axis, "found": tensor.shape[axis], "expected": expected}
                    )
            contiguous = _contiguous(tensor.shape)
            relevant = [i for i, extent in enumerate(tensor.shape) if extent > 1]
            if not argument.get("strided"):
                if 0 not in tensor.shape and any(tensor.strides[i] != contiguous[i] for i in relevant):
                    fields |= {"found": tensor.strides, "expected": contiguous}
                    raise errors.make("not-contiguous", fields)
                for axis in range(len(tensor.shape)):
                    self.environment.strides[index, axis] = contiguous[axis]
                tensor.strides = contiguous
            elif 0 not in tensor.shape:
                for axis in relevant:
                    declared = evaluate(argument["strides"][axis], self.environment)
                    if tensor.strides[axis] != declared:
                        fields |= {"strides": tensor.strides, "axis": axis, "found": tensor.strides[axis]}
                        raise errors.make("stride", {**fields, "expected": declared})

    def _allocate_outputs(self, values: Mapping[int, Any]) -> None:
        prototype = next((values[i] for i in sorted(self.tensors) if i in values), None)
        for index in self.plan.get("outputs", ()):
            argument = self.plan["arguments"][index]
            shape = shape_of(argument, self.environment)
            made = frameworks.allocator(prototype, argument["dtype"], 1, 0)(shape)
            tensor, _ = _tensor(self.name, argument["name"], made)
            if tensor.size:
                ctypes.memset(tensor.address, 0xFF, tensor.size)
            self.tensors[index] = tensor
            for axis, extent in enumerate(shape):
                self.environment.dims[index, axis] = extent
                self.environment.strides[index, axis] = tensor.strides[axis]
            self.outputs.append(made)

    def violated_guards(self) -> tuple[int, ...]:
        """Indices of alignment and aliasing guards that do not hold; others raise."""
        violated = []
        for index, guard in enumerate(self.plan.get("guards", ())):
            if guard["kind"] == "expr_true":
                if not evaluate(guard["value"], self.environment):
                    fields = {"kernel": self.name, "message": guard["message"], "expression": str(guard["value"])}
                    raise errors.make("guard", fields)
                continue
            if guard["kind"] == "aligned":
                if self._misaligned(guard["argument"], guard["bytes"]):
                    violated.append(index)
            elif guard["kind"] == "noalias":
                for written in guard["written"]:
                    for other in {*guard["read"], *guard["written"]} - {written}:
                        if self._overlap(written, other):
                            violated.append(index)
        return tuple(sorted(set(violated)))

    def _misaligned(self, index: int, alignment: int) -> bool:
        """Whether a tensor's address or, where the compiler did not know their length, its rows are not aligned."""
        tensor = self.tensors.get(index)
        if tensor is None:
            return False
        argument = self.plan["arguments"][index]
        maps = {one["argument"] for one in self.plan.get("tensor_maps", ())}
        if tensor.address % alignment or (0 in tensor.shape and index in maps):
            return True
        shape = argument["shape"]
        if len(shape) < 2 or argument.get("strided") or isinstance(shape[-1], int):
            return False
        return tensor.shape[-1] * tensor.itemsize % alignment != 0

    def _overlap(self, a: int, b: int) -> bool:
        x, y = self.tensors.get(a), self.tensors.get(b)
        if x is None or y is None:
            return False
        return x.address < y.address + y.size and y.address < x.address + x.size


class _Memory:
    """The tensors of a call in simulated memory."""

    def __init__(self, call: _Call) -> None:
        self.memory = GlobalMemory()
        self.addresses: dict[int, int] = {}
        self._copies: list[tuple[int, int, Buffer]] = []
        self.shadowed: list[tuple[Buffer, int]] = []
        fresh = set(call.plan.get("outputs", ()))
        arguments = call.plan["arguments"]
        pending = sorted(call.tensors.items(), key=lambda item: item[1].address)
        while pending:
            index, tensor = pending.pop(0)
            members = [index]
            end = tensor.address + tensor.size
            while pending and tensor.size and pending[0][1].size and pending[0][1].address < end:
                other, next_tensor = pending.pop(0)
                members.append(other)
                end = max(end, next_tensor.address + next_tensor.size)
            access = {arguments[i].get("access", "readwrite") for i in members}
            writable = access != {"read"}
            size = end - tensor.address
            name = " and ".join(f"argument '{arguments[i]['name']}'" for i in members)
            buffer = self.memory.allocate(name, size, 0, writable, tensor.address % 256 if size else 0)
            if size:
                ctypes.memmove(buffer.data.ctypes.data + buffer.start, tensor.address, size)
            for i in members:
                self.addresses[i] = buffer.base + buffer.start + call.tensors[i].address - tensor.address
            if writable:
                self._copies.append((tensor.address, size, buffer))
                unwritten = set(members) <= fresh
                self.shadowed.append((buffer, UNINITIALIZED if unwritten else HOST))

    def copy_back(self) -> None:
        """Writes what kernels may have written to the host's tensors."""
        for address, size, buffer in self._copies:
            if size:
                ctypes.memmove(address, buffer.data.ctypes.data + buffer.start, size)


_SCALARS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "bool": "?",
            "f16": "e", "f32": "f", "f64": "d"}  # fmt: skip


def _pack(dtype: str, value: Any) -> bytes:
    if dtype == "bf16":
        from tilemlir.simulator.small_floats import f32_to_bf16

        return f32_to_bf16(np.array([value], np.float32)).tobytes()
    code = _SCALARS[dtype]
    return struct.pack("<" + code, float(value) if code in "efd" else bool(value) if code == "?" else int(value))


def _tensor_map(call: _Call, memory: _Memory, record: Mapping[str, Any]) -> TensorMap:
    index = record["argument"]
    tensor, environment = call.tensors[index], call.environment
    if record.get("shape"):
        shape = [evaluate(size, environment) for size in record["shape"]]
        strides = [evaluate(stride, environment) for stride in record["strides"]]
    else:
        shape = [tensor.shape[axis] for axis in record["dim_order"]]
        strides = [tensor.strides[axis] for axis in record["dim_order"]]
    offset = evaluate(record.get("offset", 0), environment)
    return TensorMap(
        name=f"argument '{call.plan['arguments'][index]['name']}'",
        address=memory.addresses[index] + offset * tensor.itemsize,
        shape=tuple(shape),
        strides=tuple(stride * tensor.itemsize for stride in strides),
        box=tuple(record["box"]),
        element_strides=tuple(record.get("element_strides") or [1] * len(shape)),
        element_bytes=tensor.itemsize,
        dtype=record.get("dtype") or call.plan["arguments"][index]["dtype"],
        swizzle=record.get("swizzle", 0),
        fill=record.get("fill", "zero"),
    )


def _programs(ptx: str, cache: dict[str, Any] = {}) -> ptx_parser.Module:  # noqa: B006 - parsed once per text
    found = cache.get(ptx)
    if found is None:
        if len(cache) > 64:
            cache.clear()
        found = cache[ptx] = ptx_parser.parse(ptx)
    parsed: ptx_parser.Module = found
    return parsed


def _triple(value: Any, environment: Environment) -> tuple[int, int, int]:
    extents = [evaluate(one, environment) for one in value] if isinstance(value, (list, tuple)) else [int(value)]
    extents += [1] * (3 - len(extents))
    return extents[0], extents[1], extents[2]


def simulate_plan(
    name: str,
    plan: Mapping[str, Any],
    ptx: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: Settings,
    variant: Callable[[tuple[int, ...]], Any] | None = None,
    kept: dict[Any, np.ndarray] | None = None,
) -> Simulation:
    """Runs a launch plan with the PTX of its kernels.

    Args:
        name: of the kernel function.
        plan: the launch plan in its JSON form.
        ptx: text of the module.
        args, kwargs: of the call, without outputs.
        settings: how to simulate.
        variant: called with guards that do not hold; returns (plan, ptx) of a version without those assumptions.
        kept: contents of workspaces that later calls find as earlier ones left them; this call uses and updates it.

    Returns:
        Outputs and report; faults are in the report, not raised.

    Raises:
        TileError: for arguments that do not fit the plan, and for instructions that no engine executes.
    """
    begin = time.perf_counter()
    call = _Call(plan, name, args, kwargs, settings.sm_count)
    violated = call.violated_guards()
    if violated:
        if variant is None:
            raise errors.make("no-variant", {"kernel": name, "guards": ", ".join(map(str, violated))})
        other_plan, other_ptx = variant(violated)
        return simulate_plan(name, other_plan, other_ptx, args, kwargs, settings, variant, kept)
    module = _programs(ptx)
    memory = _Memory(call)
    workspaces = []
    for position, workspace in enumerate(plan.get("workspaces", ())):
        size = evaluate(workspace["bytes"], call.environment)
        zero = bool(workspace.get("zero") or workspace.get("kept"))
        buffer = memory.memory.allocate(f"workspace {position}", size, 0 if zero else 0xFF)
        workspaces.append(buffer)
        known = None if kept is None else kept.get((ptx, position))
        if workspace.get("kept") and known is not None and len(known) == len(buffer.data):
            buffer.data[:] = known
        memory.shadowed.append((buffer, HOST if zero else UNINITIALIZED))
    report = SimulationReport(name, module.target, settings.seed)
    for launch in plan["launches"]:
        machine = _prepare(call, memory, workspaces, module, launch, settings, len(report.findings))
        if machine is None:
            continue
        try:
            machine.run()
        except Fault:
            pass
        finally:
            _collect(machine, report)
        if report.findings:
            break
        # What a launch wrote is ordered before the next one.
        memory.shadowed = [(buffer, _settle(buffer, component)) for buffer, component in memory.shadowed]
    memory.copy_back()
    if kept is not None:
        for position, workspace in enumerate(plan.get("workspaces", ())):
            if workspace.get("kept"):
                kept[ptx, position] = workspaces[position].data.copy()
        if report.findings:  # nobody knows what they hold now
            kept.clear()
    report.seconds = time.perf_counter() - begin
    outputs = call.outputs
    return Simulation(None if not outputs else outputs[0] if len(outputs) == 1 else outputs, report)


def _settle(buffer: Buffer, component: int) -> int:
    """After a launch: granules that were written count as written by the host."""
    if buffer.shadow is not None:
        buffer.written = (np.asarray(buffer.shadow.writer != UNINITIALIZED), buffer.shadow.shift)
    return component


def _prepare(
    call: _Call,
    memory: _Memory,
    workspaces: Sequence[Buffer],
    module: ptx_parser.Module,
    launch: Mapping[str, Any],
    settings: Settings,
    found: int,
) -> Machine | None:
    """The machine for one launch; None for an empty grid."""
    environment = call.environment
    grid = _triple(launch["grid"], environment)
    cluster = _triple(launch.get("cluster", (1, 1, 1)), environment)
    if 0 in grid:
        return None
    x, y, z = (-(-extent // c) * c for extent, c in zip(grid, cluster, strict=True))
    grid = (x, y, z)
    function = module.functions[launch["kernel"]]
    try:
        program = getattr(function, "program", None) or Program(module, function)
    except UnsupportedInstruction as error:
        where = error.instruction.location
        raise errors.make(
            "simulator-unsupported", {"kernel": call.name, "what": str(error), "place": str(where)}
        ) from None
    function.program = program  # type: ignore[attr-defined]
    maps = [_tensor_map(call, memory, record) for record in call.plan.get("tensor_maps", ())]
    parameters: dict[str, bytes] = {}
    tensor_maps: dict[str, TensorMap] = {}
    for declared, parameter in zip(function.parameters, launch["parameters"], strict=True):
        kind = parameter["kind"]
        if kind == "pointer":
            index = parameter["argument"]
            address = memory.addresses.get(index, call.pointers.get(index) or 0)
            parameters[declared.name] = struct.pack("<Q", address)
        elif kind == "workspace":
            parameters[declared.name] = struct.pack("<Q", workspaces[parameter["index"]].base)
        elif kind == "expr":
            parameters[declared.name] = _pack(parameter["dtype"], evaluate(parameter["value"], environment))
        elif kind == "scalar":
            index = parameter["argument"]
            parameters[declared.name] = _pack(call.plan["arguments"][index]["dtype"], call.scalars[index])
        else:
            parameters[declared.name] = bytes(128)
            tensor_maps[declared.name] = maps[parameter["index"]]
    shared = evaluate(launch.get("shared_bytes", 0), environment)
    made = Launch(program, grid, cluster, _triple(launch["threads"], environment), shared, parameters, tensor_maps)
    machine = Machine(
        made,
        memory.memory,
        settings.seed,
        settings.checks,
        settings.sm_count,
        settings.max_findings - found,
        settings.patience,
        settings.trace,
    )
    machine.on_progress = settings.progress
    if settings.bank_conflicts:
        machine.banks = Banks()
    if settings.checks:
        for buffer, component in memory.shadowed:
            buffer.shadow = Shadow(buffer.size, machine.global_granule, 1, component)
            if buffer.written is not None:
                _restore(buffer.shadow, *buffer.written)
    return machine


def _restore(shadow: Shadow, written: np.ndarray, shift: int) -> None:
    """Marks what an earlier launch wrote, whose granules may have had another size."""
    if shift >= shadow.shift:
        wide = np.repeat(written, 1 << (shift - shadow.shift))[: len(shadow.writer)]
    else:
        step = 1 << (shadow.shift - shift)
        padded = np.pad(written, (0, -len(written) % step))
        wide = np.asarray(padded.reshape(-1, step).any(axis=1))[: len(shadow.writer)]
    shadow.writer[np.flatnonzero(wide)] = HOST


def _collect(machine: Machine, report: SimulationReport) -> None:
    report.findings += machine.findings.values()
    report.instructions += machine.executed
    report.printed += machine.printed
    for name, amount in machine.counts.items():
        report.counts[name] = report.counts.get(name, 0) + amount
    report.counts["launches"] = report.counts.get("launches", 0) + 1
    if machine.banks is not None:
        for pc, (executions, passes, ideal) in sorted(machine.banks.totals.items()):
            if passes > ideal:
                one = machine.program.steps[pc].instruction
                report.bank_conflicts.append(
                    InstructionCount(one.location, one.line, one.name, executions, passes, ideal)
                )
