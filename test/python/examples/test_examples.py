"""Every program of examples/ runs its own check on the CPU, and assembles without spills for GPUs."""

import re

import pytest
from example_runs import ALL_RUNS, EXAMPLES, RUNS, run_example
from tilemlir import errors
from tilemlir.compiler import toolchain

pytest.importorskip("torch")

#: Those that take a target: the tour runs where it is.
WITH_TARGET = sorted(RUNS.keys() - {"quickstart"})


def ids(value):
    return "_".join(value).replace("--", "") if isinstance(value, list) else value


def test_every_example_has_runs_and_a_row_in_the_table():
    programs = {path.stem for path in EXAMPLES.glob("*.py")}
    assert programs == RUNS.keys()
    table = (EXAMPLES / "README.md").read_text()
    assert set(re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|", table, re.M)) == programs


@pytest.mark.parametrize(("name", "arguments"), [run for run in ALL_RUNS if run[0] in WITH_TARGET], ids=ids)
def test_check_on_the_cpu(name, arguments, monkeypatch, tmp_path, capsys):
    kernels = run_example(name, [*arguments, "--target", "cpu"], monkeypatch, tmp_path)
    assert kernels and all(kernel.target.is_cpu for kernel in kernels)
    out = capsys.readouterr().out
    assert "target: cpu" in out
    assert re.search(r"relative (error )?\d\.\d+e[-+]\d+", out), out
    assert "nan" not in out


class Faulty:
    """A kernel whose results are one percent too large, or were never written."""

    def __init__(self, kernel, written):
        self.kernel, self.written = kernel, written

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def __call__(self, *arguments):
        result = self.kernel(*arguments) if self.written else None
        if self.written:
            output = arguments[-1] if result is None else result
            output *= 1.01
        return result


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("name", [name for name in WITH_TARGET if name != "gemm"])
def test_checks_notice_wrong_results(name, written, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="the result is wrong"):
        run_example(
            name,
            [*RUNS[name][1], "--target", "cpu"],
            monkeypatch,
            tmp_path,
            change=lambda kernel: Faulty(kernel, written),
        )


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", WITH_TARGET)
def test_assembles(name, arch, monkeypatch, tmp_path, capsys):
    """For sizes that 16-byte vectors divide, and for those that they do not."""
    try:
        kind = toolchain.find_assembler().kind
    except errors.TileError as error:
        pytest.skip(str(error))
    if kind != "ptxas":
        pytest.skip("the driver says nothing about registers")
    for arguments in RUNS[name][:2]:
        kernels = run_example(name, [*arguments, "--target", arch], monkeypatch, tmp_path)
        assert f"target: {arch}" in capsys.readouterr().out
        assert kernels
        for kernel in kernels:
            for one in kernel.explain().to_dict()["kernels"]:
                assert one["spill_bytes"] == 0, one
                assert one["registers"] <= 255
