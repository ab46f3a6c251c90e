"""The command `tilemlir` on a machine with a GPU: it is found, and kernels run on it."""

import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("torch")

from tilemlir.compiler.target import detect
from tilemlir.runtime import cuda
from tilemlir.tools import environment
from tilemlir.tools.cli import app
from typer.testing import CliRunner


def test_doctor_runs_a_kernel_on_the_device():
    found = {one.name: one for one in environment.run_checks()}
    assert found["CUDA devices"].status is environment.Status.OK
    assert cuda.device_properties(0).name in found["CUDA devices"].text
    assert found["GPU target"].status is environment.Status.OK, found["GPU target"].text
    assert found["GPU target"].text == "compiles and runs a kernel"


def test_env_lists_every_device():
    devices = json.loads(CliRunner().invoke(app, ["env", "--json"]).output)["device"]
    assert len(devices) == cuda.device_count()
    assert devices[0].startswith(f"0: {cuda.device_properties(0).name}, sm_")


@pytest.mark.parametrize("target", [[], ["--target", "cuda"]])
def test_the_device_is_the_default_target(target, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tilemlir.language as T\n"
        "@T.prim_func\n"
        "def negate(x: T.Tensor((100,), 'float32')):\n"
        "    with T.Kernel(2, threads=64) as block:\n"
        "        for i in T.Parallel(64):\n"
        "            x[block * 64 + i] = -x[block * 64 + i]\n"
    )
    done = CliRunner().invoke(app, ["explain", str(program), *target], catch_exceptions=False)
    assert done.output.splitlines()[0] == f"negate for {detect()}"
