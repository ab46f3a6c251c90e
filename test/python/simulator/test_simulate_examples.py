"""The GEMM programs of examples/ in the simulator, for both generations, run as their users would.

The others are in test_simulate_attention.py. Each program compares its result and stops when it is wrong.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest
import tilemlir as tile
from example_runs import EXAMPLES, run_example

pytest.importorskip("torch")
from test_simulate_attention import RUNS as OTHERS

#: Small sizes; no tile divides them, so that every program meets its tails.
RUNS = {
    "gemm": ["--m", "70", "--n", "90", "--k", "77"],
    "gemm_batched": ["--batch", "2", "--m", "70", "--n", "90", "--k", "77"],
    "gemm_fp8": ["--m", "70", "--n", "90", "--k", "80"],
    "gemm_fp8_block_scaled": ["--m", "70", "--n", "90", "--k", "144"],
    "gemm_grouped": ["--sizes", "0", "1", "130", "0", "7", "--n", "90", "--k", "77"],
    "gemm_persistent": ["--m", "140", "--n", "270", "--k", "72", "--workers", "2"],
    "gemm_split_k": ["--m", "70", "--n", "90", "--k", "200", "--splits", "3"],
    "gemm_stream_k": ["--m", "70", "--n", "90", "--k", "200", "--workers", "3"],
}


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", RUNS)
def test_example(name, arch, monkeypatch, tmp_path):
    compile_ = tile.compile

    def for_simulator(*values, **keywords):
        return compile_(*values, **{**keywords, "target": {"kind": "simulator", "arch": arch}})

    monkeypatch.setattr(tile, "compile", for_simulator)
    compiled = run_example(name, RUNS[name], monkeypatch, tmp_path)
    assert compiled and all(str(kernel.target) == f"{arch} in the simulator" for kernel in compiled)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_quickstart(arch):
    """Its kernel, on less than the 1024 x 1024 x 1024 of the program."""
    program = runpy.run_path(str(EXAMPLES / "quickstart.py"))["gemm_relu"](130, 136, 72)
    kernel = tile.compile(program, out_idx=[2], target={"kind": "simulator", "arch": arch})
    a, b = (np.random.default_rng().integers(-3, 4, shape).astype(np.float16) for shape in ((130, 72), (72, 136)))
    np.testing.assert_array_equal(kernel(a, b), np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0))


def test_all_examples_are_simulated():
    assert {path.stem for path in Path(EXAMPLES).glob("*.py")} == set(RUNS) | set(OTHERS) | {"quickstart"}
