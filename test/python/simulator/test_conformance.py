"""The simulator against an H200: conformance cases whose results on hardware are recorded in test/calibration."""

import dataclasses
import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "calibration"))
import conformance
import conformance_results
import conformance_runs

CASES = conformance.all_cases()
recorded = functools.cache(conformance_results.read)


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    _, results = recorded(case.group)
    assert name in results, "not recorded: run test/calibration/record.py on hardware"
    fingerprint, expected = results[name]
    assert fingerprint == case.fingerprint, "recorded for another kernel or other inputs: record it again"
    outputs, report = conformance_runs.simulate(case)
    assert report.ok, str(report)
    assert conformance_runs.problem(case, outputs, expected) is None


def test_every_result_has_a_case():
    groups = {case.group for case in CASES.values()}
    assert {path.stem for path in conformance_results.RECORDED.glob("*.npz")} == groups
    for group in groups:
        about, results = recorded(group)
        assert about["capability"] == "(9, 0)"
        assert set(results) <= {name for name, case in CASES.items() if case.group == group}


def test_models_of_functions_hold_for_all_inputs():
    """The largest distances over 2^32 inputs, by sign and exponent of the input. Denormals are flushed elsewhere."""
    sweeps = json.loads((conformance_results.RECORDED / "sweeps.json").read_text())
    for name, found in sweeps.items():
        if name.startswith(("sin", "cos")) or ".ftz" in name:
            continue  # their errors are absolute; flushed operands have cases of their own
        allowed = conformance_runs.FUNCTION_STEPS.get(name, 1)
        near_one = {126, 127} if name.startswith("lg2") else set()
        assert max(steps for i, steps in enumerate(found["distance"]) if i not in near_one) <= allowed, name
        assert sum(found["nan"]) == 0


def test_a_wrong_result_is_noticed():
    """Bits that differ, also where only a hash of them is recorded; a function beyond its model; NaN for a number."""
    for name in ("cvt.rn.f16.f32", "cvt.u32.s64", "ex2.approx.f32"):
        case = CASES[name]
        expected = recorded(case.group)[1][name][1]
        outputs, _ = conformance_runs.simulate(case)
        assert conformance_runs.problem(case, outputs, expected) is None
        outputs[0][1] ^= outputs[0].dtype.type(1 << 10)
        assert conformance_runs.problem(case, outputs, expected) is not None


def test_a_store_before_the_begin_of_a_tensor_is_a_fault():
    """The H200 stops with an illegal instruction; loads may begin there."""
    case = CASES["tensor store 2d inside"]
    arrays = list(case.arrays)
    arrays[1] = np.array([-16, 0, 32, 8], np.int32)
    _, report = conformance_runs.simulate(dataclasses.replace(case, arrays=tuple(arrays)))
    assert [finding.kind for finding in report.findings] == ["invalid"]
    assert "hardware refuses" in report.findings[0].message
