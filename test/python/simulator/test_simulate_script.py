"""Programs run with the simulator in place of a GPU: the target, the command, the timeline."""

import json
import sys

import numpy as np
import pytest
import simulated_products as kernels
import tilemlir as tile
from tilemlir import errors
from tilemlir.compiler import target as targets
from tilemlir.compiler.knobs import knobs
from tilemlir.simulator import Settings, simulate
from tilemlir.simulator.trace import Trace
from tilemlir.tools import cli
from typer.testing import CliRunner

SCRIPT = """
import sys
import numpy as np
import tilemlir as tile
import tilemlir.language as T

@T.prim_func
def double(a: T.Tensor((96,), "float32"), b: T.Tensor((96,), "float32")):
    with T.Kernel(3, threads=32) as block:
        for i in T.Parallel(32):
            b[block * 32 + i] = 2 * a[block * 32 + i]

kernel = tile.compile(double, out_idx=[1])
a = np.arange(96, dtype=np.float32)
print(kernel.target, bool((kernel(a) == 2 * a).all()), sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    return path


def test_target_runs_calls_in_the_simulator():
    target = {"kind": "simulator", "arch": "sm_80"}
    kernel = tile.compile(kernels.gemm(64, 64, 64, block=(64, 64, 32)), out_idx=[2], target=target)
    assert str(kernel.target) == "sm_80 in the simulator"
    assert kernel.target.device == "cpu" and kernel.can_run
    a, b = kernels.operands(64, 64, 64)
    np.testing.assert_array_equal(kernel(a, b), (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


def test_knob_puts_the_simulator_in_place_of_a_gpu():
    with knobs.scope(simulate=True):
        assert targets.parse("cuda") == targets.Target("simulator", 90, True)
        assert targets.parse({"kind": "cuda", "arch": "sm_80"}) == targets.Target("simulator", 80)
        assert targets.parse("cpu").is_cpu
    assert targets.parse("sm_80").kind == "cuda"


def test_command(script, tmp_path):
    trace = tmp_path / "trace.json"
    words = ["simulate", "--trace", str(trace), "--seed", "3", "--runs", "2", str(script), "--flag", "x"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert "sm_90a in the simulator True ['--flag', 'x']" in result.output
    assert "2 simulated calls, 0 with faults" in result.output
    assert json.loads(trace.read_text())["traceEvents"]


def test_command_fails_for_a_faulty_kernel(script):
    script.write_text(SCRIPT.replace("T.Kernel(3,", "T.Kernel(3,").replace("b[block * 32 + i] =", "b[i] ="))
    result = CliRunner().invoke(cli.app, ["simulate", str(script)])
    assert result.exit_code == 1, result.output
    assert "1 simulated calls, 1 with faults" in result.output


def test_timeline_has_warps_copies_products_and_barriers(tmp_path):
    trace = Trace()
    kernel = kernels.compiled_gemm("sm_90a")
    simulate(kernel, *kernels.operands(128, 128, 256), settings=Settings(trace=trace))
    trace.write(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"run", "wait", "copy", "product", "barrier"} <= {event.get("cat") for event in events}
    rows = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"copies", "mbarriers", "products of warp group 1", "warp 0"} <= rows


def test_picture(script, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "timeline.png"
    result = CliRunner().invoke(cli.app, ["simulate", "--picture", str(picture), str(script)])
    assert result.exit_code == 0, result.output
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG") and int.from_bytes(data[16:20], "big") == 1920


def test_lanes_of_a_picture(monkeypatch):
    """Roles, copies, products and barriers each have a lane; blocks beyond the first ones are said to be left out."""
    figures = pytest.importorskip("matplotlib.figure")
    drawn = []
    monkeypatch.setattr(figures.Figure, "savefig", lambda self, path, **_: drawn.append(self))
    trace = Trace()
    kernel = kernels.compiled_gemm("sm_90a")
    simulate(kernel, *kernels.operands(128, 128, 256), settings=Settings(trace=trace))
    trace.picture("unused.png")
    (figure,) = drawn
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert {"producer (warps 0-3)", "consumer (warps 4-7)", "loads on their way", "stores on their way"} <= set(labels)
    assert "wgmma of group 1" in labels
    assert sum(label.startswith("mbarrier at ") for label in labels) >= 4
    assert figure.get_suptitle() == "gemm_kernel for sm_90a"
    assert "not cycles" in axes.get_xlabel()
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"runs", "waits", "load, issue to arrival", "store", "product"} <= legend


def test_picture_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.TileRuntimeError, match="A picture of the timeline needs matplotlib"):
        Trace().picture(tmp_path / "timeline.png")


def test_refusals():
    kernel = tile.compile(kernels.gemm(64, 64, 64, block=(64, 64, 32)), out_idx=[2], target="cpu")
    with pytest.raises(errors.TileValueError, match="only CUDA architectures are simulated"):
        kernel.simulate(*kernels.operands(64, 64, 64))
    kernel = kernels.compiled_gemm("sm_80")
    a, b = kernels.operands(128, 128, 256)
    with pytest.raises(errors.TileTypeError, match=r"takes 2 argument\(s\)"):
        kernel.simulate(a)
    with pytest.raises(errors.TileTypeError, match="has dtype float32, expected float16"):
        kernel.simulate(a.astype(np.float32), b)
    with pytest.raises(errors.TileValueError, match="is not contiguous"):
        kernel.simulate(a[:, ::2].repeat(2, 1)[:, ::1].T.copy().T, b)
