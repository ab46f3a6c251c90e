"""Runs the PTX that the compiler emits, without a GPU, and says what is wrong with it.

`kernel.simulate(a, b, seed=0)` is the way in; `simulate` below gives the report as well. Engines are files of their own
that register the opcodes they execute: arithmetic, conversion, loads_stores, atomics, communication, barriers,
async_copy, tensor_memory, mma, warpgroup.
"""

from __future__ import annotations

from typing import Any

from tilemlir.simulator.report import Finding, SimulationReport

__all__ = ["Finding", "Settings", "Simulation", "SimulationReport", "simulate"]


def __getattr__(name: str) -> Any:
    if name in ("Settings", "Simulation", "simulate"):
        from tilemlir.simulator import run

        return getattr(run, name)
    raise AttributeError(name)
