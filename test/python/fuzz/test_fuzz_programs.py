"""A small, fixed part of the fuzzer, and what it must notice."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[2]))

from fuzz import elements, values
from fuzz.campaign import Campaign, Plan, failure_text
from fuzz.child import Child
from fuzz.execution import Arguments, generalized, run
from fuzz.program import (
    Assign,
    Binary,
    Buffer,
    Const,
    Copy,
    Dim,
    Fill,
    Gemm,
    If,
    Kernel,
    Load,
    Loop,
    Parallel,
    Program,
    Region,
    Scalar,
    Tensor,
    Var,
    features,
)
from fuzz.reduction import reduced
from fuzz.reference import InvalidProgram, Reference
from fuzz.source import source
from fuzz.work import work

WHOLE = Region("s_1")


def program(*body, tensors=(), buffers=()):
    """A function of one kernel with one block."""
    return Program(tuple(tensors), (), (Kernel(("bx",), (1,), 128, tuple(buffers), tuple(body)),))


def scaled():
    """Copies a tile, adds one to it and stores it."""
    target = Load("s_1", (Var("p"), Var("q")), "float32")
    return program(
        Copy(Region("A0"), WHOLE),
        Parallel(("p", "q"), (8, 16), (Assign(target, Binary("+", target, Const(1.0))),)),
        Copy(WHOLE, Region("R1")),
        tensors=[Tensor("A0", "float32", (8, 16), "small"), Tensor("R1", "float32", (8, 16))],
        buffers=[Buffer("s_1", "shared", (8, 16), "float32")],
    )


@pytest.mark.parametrize("chunk", range(4))
def test_programs(chunk, tmp_path):
    """Programs of fixed seeds on the CPU, in the simulator, and after passes on the CPU."""
    plan = Plan(("cpu", "simulator", "passes"), 20, 9, tmp_path, shrink_seconds=0, timeout=120)
    campaign = Campaign(plan)
    try:
        statistics = campaign.chunk(chunk)
    finally:
        campaign.child.close()
    failures = [path.read_text() for path in tmp_path.glob("*.py")]
    assert not failures, "\n\n".join(failures)
    assert statistics.programs >= 9
    assert sum(statistics.passed.values()) >= 0.8 * sum(statistics.runs.values())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"])
def test_rounding(name):
    import torch

    element = elements.ELEMENTS[name]
    rng = np.random.default_rng()
    exact = rng.standard_normal(20000) * np.exp2(rng.integers(-30, 20, 20000))
    single = exact.astype(np.float32)
    expected = torch.from_numpy(single).to(getattr(torch, name)).to(torch.float64).numpy()
    found = elements.round_to(single.astype(np.float64), element)
    if element.saturates:
        expected = np.clip(np.where(np.isfinite(expected), expected, np.copysign(np.inf, single)), -element.largest, element.largest)  # noqa: E501  # fmt: skip
    np.testing.assert_array_equal(found, expected)


def test_bounds_hold_for_other_orders():
    """Sums and products of random numbers in another order and in single precision stay inside of the bounds."""
    single = elements.ELEMENTS["float32"]
    rng = np.random.default_rng()
    x = rng.standard_normal((40, 300)).astype(np.float32).astype(np.float64)
    total = values.total(values.exact(single, x), 1, single, 24)
    other = np.add.reduce(x.astype(np.float32)[:, ::-1].cumsum(axis=1, dtype=np.float32)[:, -1:], axis=1)
    assert (np.abs(total.values - other) <= total.errors).all()
    half = elements.round_to(rng.standard_normal((30, 64)), elements.ELEMENTS["float16"])
    operand = values.exact(elements.ELEMENTS["float16"], half)
    made = values.product(operand, values.exact(operand.element, half.T), None, single)
    other = (half.astype(np.float32) @ half.T.astype(np.float32)).astype(np.float64)
    assert (np.abs(made.values - other) <= made.errors).all()
    assert (made.errors < 1e-3).all()
    small = values.exact(single, rng.integers(-3, 4, (8, 100)).astype(np.float64))
    assert (values.total(small, 1, single, 24).errors == 0).all()


def test_infinity_within_errors_is_unknown():
    half = elements.ELEMENTS["float16"]
    made = values.settle(half, np.array([65000.0, 65000.0, 100.0]), np.array([600.0, 0.0, 600.0]))
    assert list(np.isinf(made.errors)) == [True, False, False]
    # The parts 250 * 250 + 250 * 250 and 250 * 250 - 250 * 250 of one sum: the first is infinite.
    a, b = (values.exact(half, np.array([rows])) for rows in ([250.0] * 4, [250.0, 250.0, -250.0, -250.0]))
    assert np.isinf(values.product(a, values.exact(half, b.values.T), None, half).errors).all()
    single = elements.ELEMENTS["float32"]
    assert (values.product(a, values.exact(half, b.values.T), None, single).errors == 0).all()
    large = values.exact(half, np.array([[40000.0, 40000.0, -40000.0]]))
    assert np.isinf(values.total(large, 1, single, 11, half.largest).errors).all()


def test_comparison_within_errors_is_unknown():
    single = elements.ELEMENTS["float32"]
    a = values.Value(single, np.array([1.0, 2.0]), np.array([0.5, 0.5]))
    result = values.compare("<", a, values.exact(single, np.array([1.25, 1.25])), single)
    assert list(np.isinf(result.errors)) == [True, False]
    whole = values.convert(
        values.Value(single, np.array([1.9, 300.0]), np.array([0.2, 0.0])), elements.ELEMENTS["int8"]
    )
    assert np.isinf(whole.errors).all()


def test_work_counts_iterations_blocks_and_products():
    element = Load("s_1", (Var("p"),), "float32")
    body = (
        Copy(Region("A0"), WHOLE),
        Loop(
            "serial",
            "i_1",
            0,
            Binary("+", Var("bx"), Const(2)),  # most: 4
            (
                Gemm("s_1", "s_2", "s_3", precision="ieee"),
                Loop("pipelined", "i_2", 0, Var("x0"), (Gemm("s_1", "s_2", "s_3"), Fill("s_3", 0)), 2),
                Parallel(("p",), (8,), (Assign(element, Const(1.0)),)),
            ),
        ),
    )
    shapes = {"s_1": (8, 16), "s_2": (16, 4), "s_3": (8, 4)}
    buffers = tuple(Buffer(name, "shared", shape, "float32") for name, shape in shapes.items())
    kernel = Kernel(("bx",), ((Dim("n1", 21), 8),), 128, buffers, body)
    tensors = (Tensor("A0", "float32", (8, 16), "small"), Tensor("R1", "float32", (8, 16)))
    described = Program(tensors, (Scalar("x0", "int32", 5),), (kernel,))
    product = 8 * 16 * 4
    assigned = 4  # the assignment, its target, the index and the number
    once = product + 5 * (product / 16 + 8 * 4) + 8 * assigned
    assert work(described) == 3 * (8 * 16 + 4 * once)


def test_wrong_values_are_noticed():
    one = scaled()
    assert run(one, "cpu").status == "ok"
    wrong = Reference(one)
    wrong.run()
    wrong.memories["R1"].values[3, 4] += 1
    outcome = run(one, "cpu", wrong)
    assert outcome.status == "mismatch"
    assert "1 of 128 elements differ\n  R1[3, 4] = " in outcome.message


def test_writes_outside_are_noticed():
    one = scaled()
    reference = Reference(one)
    reference.run()
    arguments = Arguments(one, reference, "cpu")
    arguments.tensors["R1"].copy_(arguments.tensors["A0"] + 1)
    arguments.check(reference.memories)
    arguments.memories["A0"][3] = 1
    with pytest.raises(AssertionError, match=r"A0 .* was written where nothing is stored"):
        arguments.check(reference.memories)


def test_reads_of_nothing_have_no_meaning():
    with pytest.raises(InvalidProgram, match="s_1 is copied where nobody wrote"):
        reference = Reference(
            program(
                Copy(WHOLE, Region("R1")),
                tensors=[Tensor("R1", "float32", (8, 16))],
                buffers=[Buffer("s_1", "shared", (8, 16), "float32")],
            )
        )
        reference.run()


@pytest.mark.parametrize(("offset", "races"), [(Var("bx"), False), (Const(0), True)])
def test_blocks_that_race_have_no_meaning(offset, races):
    """Each of two blocks reads a row that it wrote itself, or one of another block."""
    row = Region("R0", "slice", (Var("bx"), Const(0)), (1, 16))
    body = (
        Fill("s_1", 1.0),
        Copy(WHOLE, row),
        Copy(Region("R0", "slice", (offset, Const(0)), (1, 16)), WHOLE),
        Copy(WHOLE, Region("R1", "slice", (Var("bx"), Const(0)), (1, 16))),
    )
    tensors = (Tensor("R0", "float32", (2, 16)), Tensor("R1", "float32", (2, 16)))
    kernel = Kernel(("bx",), (2,), 128, (Buffer("s_1", "shared", (1, 16), "float32"),), body)
    reference = Reference(Program(tensors, (), (kernel,)))
    if races:
        with pytest.raises(InvalidProgram, match="blocks race for R0"):
            reference.run()
    else:
        reference.run()


def test_refusals_and_failures():
    """What does not fit is refused; any other error is a failure."""
    wrong = scaled()
    bad = Copy(Region("A0", "slice", (Const(0), Const(0)), (4, 16)), WHOLE)
    kernel = dataclasses.replace(wrong.kernels[0], body=(bad, *wrong.kernels[0].body[1:]))
    outcome = run(dataclasses.replace(wrong, kernels=(kernel,)), "cpu", Reference(wrong))
    assert (outcome.status, outcome.failed) == ("error", True)
    assert outcome.reason == "copy-shape: the two sides of T.copy differ in shape"
    big = program(
        Fill("s_1", 1.0),
        Copy(WHOLE, Region("R1")),
        tensors=[Tensor("R1", "float32", (256, 512))],
        buffers=[Buffer("s_1", "shared", (256, 512), "float32")],
    )
    outcome = run(big, "compile:sm_80")
    assert (outcome.status, outcome.failed) == ("refused", False)
    assert "bytes of shared memory" in outcome.reason


@pytest.mark.parametrize(
    ("code", "status"), [("import os; os.abort()", "crash"), ("import time; time.sleep(60)", "hang")]
)
def test_crashes_and_hangs_are_outcomes(code, status):
    child = Child(3, [sys.executable, "-c", f"import sys; sys.stdin.buffer.read(8); {code}"])
    assert child.run(scaled(), "cpu").status == status
    child.close()


def test_child_goes_on():
    child = Child(120)
    try:
        assert child.run(scaled(), "cpu").status == "ok"
        assert child.run(scaled(), "compile:sm_80").status == "ok"
    finally:
        child.close()


def test_reduction_keeps_what_matters():
    gemm = Gemm("s_1", "s_1", "s_2", transpose_b=True)
    body = (Fill("s_1", 1.0), If(Const(1), (Loop("pipelined", "k", 0, Const(4), (Fill("s_2", 0.0), gemm), 3),)))
    one = program(
        *scaled().kernels[0].body,
        *body,
        tensors=scaled().tensors,
        buffers=[Buffer("s_1", "shared", (8, 16), "float32"), Buffer("s_2", "fragment", (8, 8), "float32")],
    )
    smaller = reduced(one, lambda other: "gemm float32" in features(other), 60)
    assert smaller.kernels[0].body == (gemm,)
    assert smaller.tensors == ()


def test_failure_files_run_themselves(tmp_path):
    one = scaled()
    outcome = run(one, "cpu")
    text = failure_text(one, outcome)
    assert source(one) in text
    scope: dict = {"__name__": "__main__"}
    calls = []
    text = text.replace("from fuzz.replay import replay", "")
    exec(compile(text, "failure.py", "exec"), {**scope, "replay": lambda *arguments: calls.append(arguments)})
    assert calls == [(one, "cpu")]


def test_messages_are_generalized():
    first = generalized("<fuzz 12ab>:7: error: index 12 is outside of dimension 0 of A3 [index]")
    assert first == generalized("<fuzz 99>:121: error: index 3 is outside of dimension 1 of s_12 [index]")
    warnings = [generalized(f"<fuzz {text}>:{line}: index 9 is always outside of dimension 0 of A2: 4x8 uint8")
                for text, line in (("ab1cf", 7), ("99", 12))]  # fmt: skip
    assert warnings[0] == warnings[1] == "PLACE: index N is always outside of dimension N of NAME: N uintN"
