"""Runs a described program on one target and compares every tensor with the reference.

Targets: ``cpu``; ``simulator:sm_80``, ``simulator:sm_90a``; ``gpu`` (the device's own architecture) or ``gpu:sm_80``;
``passes:sm_80`` and ``passes:sm_90a`` (the module after passes of that target's pipeline, up to tile-multibuffer, on
the CPU); ``assemble:sm_80`` and ``assemble:sm_90a`` (ptxas, for spills and serialised products; nothing runs);
``compile:sm_80`` and ``compile:sm_90a`` (to PTX).
"""

from __future__ import annotations

import linecache
import re
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fuzz.elements import ELEMENTS, from_torch, to_torch
from fuzz.program import Program, Tensor, value_of
from fuzz.reference import Memory, Reference
from fuzz.source import source

#: Elements before and after every tensor, which no kernel may touch.
GUARD = 512

#: What may be refused: programs are drawn so that they mean something, but not so that everything fits. Any other error
#: is a failure, also one that speaks of the user's program.
_REFUSALS = (re.compile(r"needs [\d,]+ bytes of shared memory, but a block on"),)

PASSES = (
    "tile-canonicalize-kernel",
    "tile-map-blocks",
    "tile-raise-loops",
    "tile-analyze-bounds",
    "tile-verify-uniformity",
    "tile-select-instructions",
    "tile-assign-layouts",
    "tile-optimize-conversions",
    "tile-plan-pipeline",
    "tile-multibuffer",
)


@dataclass
class Outcome:
    """What became of a program on a target.

    Attributes:
        target: as it was named.
        status: ok, refused, or a kind of failure: mismatch, fault, internal, verifier, error, exception, crash, hang,
            guard.
        reason: of a refusal or failure in one line, without what differs between programs.
        message: the whole text.
        notes: spills and remarks of ptxas.
        seconds: that it took.
    """

    target: str
    status: str
    reason: str = ""
    message: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return self.status not in ("ok", "refused")

    @property
    def signature(self) -> tuple[str, str, str]:
        """Failures with the same signature have probably the same cause."""
        return self.target, self.status, self.reason


class Mismatch(AssertionError):
    """A tensor is not what the reference says."""


class GuardError(AssertionError):
    """Memory around a tensor, or an input, was written."""


class Fault(AssertionError):
    """The simulator found a fault."""


def generalized(message: str) -> str:
    """The first line of a message without places, names of buffers and numbers."""
    lines = [line for line in message.strip().splitlines() if line.strip()]
    line = lines[0] if lines else ""
    line = re.sub(r"^.*?:\d+: error: ", "", line)
    line = re.sub(r"<fuzz [0-9a-f]+>:\d+", "PLACE", line)
    line = re.sub(r"\b(k\d)?[sfARCWbnx]\d*_?\d*(_s\d|_scan)?\b(?!\w)", "NAME", line)
    line = re.sub(r"0x[0-9a-f]+|\d+(x\d+)*", "N", line)
    return line[:200]


def load(program: Program) -> Any:
    """The kernel function of a program, traced from its source text."""
    text = source(program)
    filename = f"<fuzz {abs(hash(text)):x}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), scope)
    return scope["kernel"]


class Arguments:
    """The tensors of a call, each in memory of its own with guards, and the scalars.

    Args:
        program: what is called.
        reference: holds the inputs.
        device: of torch.
        aligned: let all tensors begin at aligned addresses.
    """

    def __init__(self, program: Program, reference: Reference, device: str, aligned: bool = False) -> None:
        self.program = program
        self.memories: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.tensors: dict[str, Any] = {}
        #: The first element of each tensor in its memory.
        self.begins = {one.name: GUARD + (0 if aligned else one.shift) for one in program.tensors}
        for tensor in program.tensors:
            if not tensor.workspace:
                self._make(tensor, reference, device)
        self.values = [*self.tensors.values(), *(one.value for one in program.scalars)]

    def _make(self, tensor: Tensor, reference: Reference, device: str) -> None:
        import torch

        dtype = getattr(torch, tensor.dtype)
        shape = tuple(value_of(size) for size in tensor.shape)
        strides = tensor.strides or _contiguous(shape)
        count = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) if 0 not in shape else 0  # noqa: E501  # fmt: skip
        begin = self.begins[tensor.name]
        memory = torch.full(((count + begin + GUARD) * dtype.itemsize,), 0xFF, dtype=torch.uint8).view(dtype)
        view = memory.as_strided(shape, strides, begin)
        if tensor.data:
            view.copy_(to_torch(reference.inputs[tensor.name], ELEMENTS[tensor.dtype]))
        self.before[tensor.name] = memory.view(torch.uint8).clone()
        memory = memory.to(device)
        self.memories[tensor.name] = memory
        self.tensors[tensor.name] = memory.as_strided(shape, strides, begin)

    def check(self, memories: dict[str, Memory]) -> None:
        """Compares all tensors with the reference.

        Raises:
            GuardError: memory was written that must not be.
            Mismatch: a value is wrong.
        """
        import torch

        for tensor in self.program.tensors:
            if tensor.workspace:
                continue
            memory, expected = self.memories[tensor.name].cpu(), memories[tensor.name]
            raw, before = memory.view(torch.uint8), self.before[tensor.name]
            written = torch.zeros(memory.shape, dtype=torch.bool)
            strides = tensor.strides or _contiguous(expected.values.shape)
            begin = self.begins[tensor.name]
            written.as_strided(expected.values.shape, strides, begin).copy_(torch.from_numpy(expected.written))
            changed = (raw != before).view(-1, memory.element_size()).any(dim=1) & ~written
            if bool(changed.any()):
                places = changed.nonzero().flatten()[:5].tolist()
                shape = list(expected.values.shape)
                raise GuardError(
                    f"{tensor.name} {shape} was written where nothing is stored: elements "
                    f"{[place - begin for place in places]} of memory, {int(changed.sum())} in all"
                )
            view = memory.as_strided(expected.values.shape, strides, begin)
            self._compare(tensor, from_torch(view, ELEMENTS[tensor.dtype]), expected)

    @staticmethod
    def _compare(tensor: Tensor, found: np.ndarray, expected: Memory) -> None:
        known = expected.written & np.isfinite(expected.errors)
        with np.errstate(all="ignore"):
            same = found == expected.values
            if expected.element.is_float:
                same |= np.abs(found - expected.values) <= expected.errors
        wrong = known & ~same
        if wrong.any():
            places = np.argwhere(wrong)
            lines = [
                f"  {tensor.name}{[int(one) for one in place]} = {found[tuple(place)]}, not "
                f"{expected.values[tuple(place)]} +- {expected.errors[tuple(place)]:.3g}"
                for place in places[:6]
            ]
            raise Mismatch(
                f"{tensor.name} {tensor.dtype} {list(found.shape)}: "
                f"{len(places)} of {int(known.sum())} elements differ\n" + "\n".join(lines)
            )


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def run(program: Program, target: str, reference: Reference | None = None) -> Outcome:
    """Runs a program on a target.

    Args:
        program: what to run.
        target: see the head of this file.
        reference: evaluated already; evaluated here when omitted.
    """
    begin = time.perf_counter()
    if reference is None:
        reference = Reference(program)
        reference.run()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = _attempt(program, target, reference)
    outcome.notes += [f"warning: {generalized(str(one.message))}" for one in caught if "tilemlir" in str(one.category) or "FrontendWarning" in str(one.category)]  # noqa: E501  # fmt: skip
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _attempt(program: Program, target: str, reference: Reference) -> Outcome:
    from tilemlir.compiler.diagnostics import InternalCompilerError
    from tilemlir.errors import TileError
    from tilemlir.frontend.errors import FrontendError

    outcome = Outcome(target, "ok")
    try:
        kind, _, arch = target.partition(":")
        _KINDS[kind](program, arch, reference, outcome)
    except InternalCompilerError as error:
        text = str(error)
        lines = [line.strip() for line in text.splitlines()]
        return Outcome(target, "internal", generalized(lines[1] if len(lines) > 1 else text), text, outcome.notes)
    except FrontendError as error:
        text = str(error)
        status = "verifier" if error.code == "verification" else "error"
        if any(one.search(error.message) for one in _REFUSALS):
            status = "refused"
        return Outcome(target, status, f"{error.code}: {generalized(error.message)}", text, outcome.notes)
    except Mismatch as error:
        return Outcome(target, "mismatch", "", str(error), outcome.notes)
    except GuardError as error:
        return Outcome(target, "guard", "", str(error), outcome.notes)
    except Fault as error:
        return Outcome(target, "fault", generalized(str(error)), str(error), outcome.notes)
    except TileError as error:
        text = "".join(traceback.format_exception_only(error))
        return Outcome(target, "error", f"{error.code}: {generalized(str(error))}", text, outcome.notes)
    except Exception as error:
        text = traceback.format_exc()
        return Outcome(target, "exception", f"{type(error).__name__}: {generalized(str(error))}", text, outcome.notes)
    return outcome


def _compiled(program: Program, target: object) -> Any:
    import tilemlir as tile

    return tile.compile(load(program), target=target)


def _on_cpu(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    kernel = _compiled(program, "cpu")
    arguments = Arguments(program, reference, "cpu")
    kernel(*arguments.values)
    arguments.check(reference.memories)


def _simulated(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    from tilemlir.simulator import Settings, simulate

    kernel = _compiled(program, {"kind": "simulator", "arch": arch})
    arguments = Arguments(program, reference, "cpu")
    result = simulate(kernel, *arguments.values, settings=Settings(seed=program.schedule, sm_count=4))
    if result.report.findings:
        first = result.report.findings[0]
        text = "\n".join(str(one) for one in result.report.findings)
        raise Fault(f"{first.kind}: {first.message}\n{text}")
    arguments.check(reference.memories)


def _on_gpu(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    import torch

    kernel = _compiled(program, {"kind": "cuda", "arch": arch} if arch else "cuda")
    outcome.notes += _resource_notes(kernel)
    arguments = Arguments(program, reference, "cuda")
    kernel(*arguments.values)
    torch.cuda.synchronize()
    arguments.check(reference.memories)


def _assembled(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    outcome.notes += _resource_notes(_compiled(program, {"kind": "cuda", "arch": arch}))


def _compile_only(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    _compiled(program, {"kind": "simulator", "arch": arch})


def _resource_notes(kernel: Any) -> list[str]:
    notes = []
    for one in kernel._image.resources.values():
        if one.get("spill_bytes"):
            notes.append("spills")
        notes += [generalized(note) for note in one.get("notes", ())]
    notes += [generalized(note) for note in kernel._image.notes if "C75" in note or "C76" in note]
    return notes


def _after_passes(program: Program, arch: str, reference: Reference, outcome: Outcome) -> None:
    """After the last pass, and after one that the seed chooses, the module gives the same numbers on the CPU."""
    from tilemlir.compiler import lowering
    from tilemlir.compiler.compile import trace
    from tilemlir.compiler.options import CompileOptions

    options = CompileOptions.from_user({"kind": "cuda", "arch": arch}, None, None)
    function = load(program)
    for count in sorted({len(PASSES), program.seed % len(PASSES)}, reverse=True):
        traced = trace(function)
        lowering.set_compile_attributes(traced.module, options)
        kernel = _cpu_kernel(traced.module, PASSES[:count])
        # Alignment is an assumption of that pipeline, for which there is no variant here.
        arguments = Arguments(program, reference, "cpu", aligned=True)
        kernel(*arguments.values)
        try:
            arguments.check(reference.memories)
        except (Mismatch, GuardError) as error:
            raise type(error)(f"after {PASSES[count - 1] if count else 'no pass'}: {error}") from None


def _cpu_kernel(module: Any, passes: tuple[str, ...]) -> Any:
    """A module of a GPU's pipeline, after some of its passes, loaded for the CPU."""
    import json

    from tilemlir._mlir._mlir_libs import _tilemlir
    from tilemlir.compiler import lowering
    from tilemlir.runtime import LoadedKernel, host_symbols

    lowering.run_passes(module, f"builtin.module({','.join([*passes, 'tile-cpu-pipeline'])})")
    plan = json.loads(_tilemlir.launch_plan(module))
    engine = _tilemlir.CpuImage(_tilemlir.compile_cpu(module), host_symbols())
    entries = {launch["kernel"]: engine.entry(launch["kernel"]) for launch in plan["launches"]}

    def variant(violated: tuple[int, ...]) -> Any:
        raise Mismatch(f"launch guards {violated} do not hold")

    return LoadedKernel(plan, entries, variant, engine)


_KINDS = {
    "cpu": _on_cpu,
    "simulator": _simulated,
    "gpu": _on_gpu,
    "assemble": _assembled,
    "compile": _compile_only,
    "passes": _after_passes,
}
