"""Runs conformance cases in the simulator and compares with what hardware gave."""

from __future__ import annotations

import numpy as np
from conformance import Case, launch_plan, module_text
from conformance_inputs import FORMATS
from conformance_results import Result, digest_of
from tilemlir.simulator.report import SimulationReport
from tilemlir.simulator.run import Settings, simulate_plan


def simulate(case: Case, seed: int = 0) -> tuple[list[np.ndarray], SimulationReport]:
    """What the simulator writes into the written arrays of a case, and its report."""
    arrays = [array.copy() for array in case.arrays]
    settings = Settings(seed=seed, checks=case.checks, patience=20_000)
    report = simulate_plan("kernel", launch_plan(case), module_text(case), arrays, {}, settings).report
    return [arrays[i] for i in case.written], report


def _halves(bits: np.ndarray, kind: str) -> tuple[np.ndarray, str]:
    """Elements of a packed type, and their type."""
    if kind.endswith("x2"):
        return bits.view(np.uint16), kind[:-2]
    return bits.view(f"u{bits.dtype.itemsize}"), kind


def is_nan(bits: np.ndarray, kind: str) -> np.ndarray:
    """Which bit patterns of a floating-point type are NaN."""
    width, _, mantissa = FORMATS[kind]
    magnitude = bits & bits.dtype.type((1 << (width - 1)) - 1)
    return magnitude > bits.dtype.type(((1 << (width - 1)) - 1) >> mantissa << mantissa)


def ordered(bits: np.ndarray, kind: str) -> np.ndarray:
    """Bit patterns as integers in the order of their values."""
    width = FORMATS[kind][0]
    magnitude = (bits & bits.dtype.type((1 << (width - 1)) - 1)).astype(np.int64)
    return np.where(bits >> bits.dtype.type(width - 1) != 0, -magnitude, magnitude)


def distance(ours: np.ndarray, theirs: np.ndarray, kind: str) -> np.ndarray:
    """Steps between two arrays of patterns of a floating-point type; NaN is 0 from NaN, and far from all else."""
    ours, element = _halves(ours, kind)
    theirs, _ = _halves(theirs, kind)
    ours_nan, theirs_nan = is_nan(ours, element), is_nan(theirs, element)
    steps = np.abs(ordered(ours, element) - ordered(theirs, element))
    steps = np.where(ours_nan & theirs_nan, 0, np.where(ours_nan | theirs_nan, 1 << 40, steps))
    # Zeros of two signs are different results.
    signs = (ours == 0) != (theirs == 0)
    return np.where((steps == 0) & signs, 1 << 41, steps)


def differing(case: Case, index: int, ours: np.ndarray, recorded: Result) -> np.ndarray:
    """Positions in a written array where the simulator and hardware differ in bits; NaN equals NaN."""
    theirs = recorded.values
    mine = ours[:: recorded.step]
    kind = case.kinds[index]
    if kind == "bits":
        found = np.flatnonzero(mine != theirs)
        if len(found) == 0 and digest_of(ours) != recorded.digest:
            return np.array([-1])  # somewhere between the samples
        return found
    return np.flatnonzero(distance(np.ascontiguousarray(mine), theirs, kind))


#: How far approximate functions may be from the simulator, which rounds the exact value: steps between floats, found
#: over all 2^32 inputs (`recorded/sweeps.json`); 1 where nothing is said.
FUNCTION_STEPS = {
    "ex2.approx.f32": 2, "ex2.approx.ftz.f32": 2, "lg2.approx.f32": 2, "lg2.approx.ftz.f32": 2, "rsqrt.approx.f32": 2,
    "rsqrt.approx.ftz.f32": 2, "tanh.approx.f32": 134, "div.approx.f32": 2, "div.approx.ftz.f32": 2, "div.full.f32": 2,
}  # fmt: skip
#: Absolute differences that are allowed besides: logarithms near 1, sine and cosine near their zeros.
FUNCTION_ABSOLUTE = {
    "sin.approx.f32": 2.0**-20.9, "cos.approx.f32": 2.0**-20.9, "lg2.approx.f32": 2.0**-22, "lg2.approx.ftz.f32": 2.0**-22,
}  # fmt: skip


def function_error(case: Case, ours: np.ndarray, theirs: np.ndarray) -> str | None:
    """Why an approximate function is further from hardware than its model allows, or None."""
    kind = case.kinds[0]
    steps = distance(ours, theirs, kind)
    allowed = steps <= FUNCTION_STEPS.get(case.name, 1)
    with np.errstate(all="ignore"):
        if case.name in FUNCTION_ABSOLUTE:
            a, b = ours.view(np.float32).astype(np.float64), theirs.view(np.float32).astype(np.float64)
            allowed |= np.abs(a - b) <= FUNCTION_ABSOLUTE[case.name]
    wrong = np.flatnonzero(~allowed)
    return f"{len(wrong)} results, up to {int(steps[wrong].max())} steps away" if len(wrong) else None


def problem(case: Case, outputs: list[np.ndarray], recorded: list[Result]) -> str | None:
    """What the simulator does differently from hardware, beyond the model of the case; None when nothing."""
    for index, (ours, theirs) in enumerate(zip(outputs, recorded, strict=True)):
        if case.model == "function":
            found = function_error(case, ours, theirs.values)
            if found is not None:
                return found
            continue
        wrong = differing(case, index, ours, theirs)
        if len(wrong):
            mine = ours[:: theirs.step]
            place = int(wrong[0]) // (2 if case.kinds[index].endswith("x2") else 1)
            return (
                f"{len(wrong)} of {len(mine)} elements of array {case.written[index]}, first {place * theirs.step}: "
                f"simulator {mine[place].item():#x}, hardware {theirs.values[place].item():#x}"
            )
    return None
