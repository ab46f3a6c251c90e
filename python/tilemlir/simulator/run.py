"""Simulating a compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tilemlir import errors
from tilemlir.compiler.knobs import knobs
from tilemlir.simulator import (  # noqa: F401 - importing an engine registers its opcodes
    arithmetic,
    async_copy,
    atomics,
    barriers,
    communication,
    conversion,
    loads_stores,
    logic,
    mma,
    moves,
    tensor_memory,
    warpgroup,
)
from tilemlir.simulator.launch import Settings, Simulation, simulate_plan
from tilemlir.simulator.report import SimulationReport

__all__ = ["Settings", "Simulation", "call", "current_settings", "observed", "simulate"]

_settings: ContextVar[Settings | None] = ContextVar("tilemlir_simulator_settings", default=None)
_observer: ContextVar[Callable[[SimulationReport], None] | None] = ContextVar("tilemlir_simulator", default=None)


def current_settings() -> Settings:
    """Settings of calls to kernels whose target is the simulator: those of `observed`, else the seed of the knob."""
    return _settings.get() or Settings(seed=knobs.simulate_seed)


@contextmanager
def observed(settings: Settings, observer: Callable[[SimulationReport], None]) -> Iterator[None]:
    """Calls of simulated kernels inside of the block use these settings and report.

    Args:
        settings: how to simulate.
        observer: receives the report of every call, before faults are raised.
    """
    tokens = _settings.set(settings), _observer.set(observer)
    try:
        yield
    finally:
        _settings.reset(tokens[0])
        _observer.reset(tokens[1])


def simulate(kernel: Any, *args: Any, settings: Settings | None = None, **kwargs: Any) -> Simulation:
    """Runs a compiled kernel in the simulator.

    Args:
        kernel: compiled for a CUDA architecture; no GPU is needed.
        args, kwargs: of the call: NumPy arrays, torch tensors on the CPU, numbers.
        settings: how to simulate.

    Returns:
        Outputs and report. Faults of the kernel are in the report; `kernel.simulate` raises them.

    Raises:
        TileError: for arguments that do not fit, or instructions that the simulator does not execute.
    """
    if kernel.target.is_cpu:
        raise errors.make("simulator-target", {"kernel": kernel.name, "target": str(kernel.target)})

    def variant(violated: tuple[int, ...]) -> tuple[Mapping[str, Any], str]:
        other = kernel.variant(violated)
        return other.launch_plan, other.asm["ptx"]

    chosen = settings or Settings()
    kept = vars(kernel).setdefault("_simulated_workspaces", {})
    return simulate_plan(kernel.name, kernel.launch_plan, kernel.asm["ptx"], args, kwargs, chosen, variant, kept)


def call(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: Settings) -> Any:
    """The outputs of a simulated call.

    Args:
        kernel: a compiled kernel.
        args, kwargs: of the call.
        settings: how to simulate.

    Raises:
        TileError: with everything that was found, when the kernel is faulty.
    """
    result = simulate(kernel, *args, settings=settings, **kwargs)
    report = result.report
    observer = _observer.get()
    if observer is not None:
        observer(report)
    for line in report.printed:
        print(line, end="")
    if report.findings:
        first = report.findings[0]
        if first.kind == "assertion":
            fields = {"launch": kernel.name, "file": first.location.file, "line": first.location.line}
            raise errors.make("device-assert", {**fields, "message": first.message})
        text = "\n".join(str(one) for one in report.findings)
        raise errors.make("simulation", {"kernel": kernel.name, "seed": settings.seed, "findings": text})
    return result.outputs
