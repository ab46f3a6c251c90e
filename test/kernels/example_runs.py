"""The programs of examples/: the sizes that tests run them with, and a way to run one as its user would."""

import runpy
import sys
from pathlib import Path

import tilemlir as tile

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Arguments of each program. No tile divides the sizes; 16-byte vectors divide the first (the defaults) only.
RUNS = {
    "gemm": [[], ["--m", "70", "--n", "90", "--k", "77"]],
    "gemm_batched": [
        [],
        ["--batch", "3", "--m", "70", "--n", "90", "--k", "77"],
        ["--batch", "200", "--m", "9", "--n", "7", "--k", "5"],
    ],
    "gemm_fp8": [[], ["--m", "70", "--n", "90", "--k", "77"], ["--m", "1", "--n", "130", "--k", "65"]],
    "gemm_fp8_block_scaled": [[], ["--m", "70", "--n", "90", "--k", "77"], ["--m", "3", "--n", "301", "--k", "391"]],
    "gemm_grouped": [
        [],
        ["--sizes", "0", "1", "130", "0", "64", "7", "--n", "90", "--k", "77"],
        ["--sizes", "65", "--n", "8", "--k", "8"],
        ["--sizes", "0", "0", "--n", "90", "--k", "77"],
    ],
    "gemm_persistent": [
        [],
        ["--m", "270", "--n", "390", "--k", "77", "--workers", "5"],
        ["--m", "9", "--n", "9", "--k", "9", "--workers", "3"],
    ],
    "gemm_split_k": [
        [],
        ["--m", "70", "--n", "90", "--k", "777", "--splits", "5"],
        ["--m", "70", "--n", "90", "--k", "77", "--splits", "9"],  # more slices than steps
        ["--m", "70", "--n", "90", "--k", "0", "--splits", "2"],
        ["--m", "9", "--n", "7", "--k", "100", "--splits", "2"],
    ],
    "gemm_stream_k": [
        [],
        ["--m", "270", "--n", "390", "--k", "555", "--workers", "13"],
        ["--m", "270", "--n", "390", "--k", "555", "--workers", "1"],
        ["--m", "70", "--n", "90", "--k", "77", "--workers", "9"],  # more workers than steps
        ["--m", "70", "--n", "90", "--k", "0", "--workers", "2"],
        ["--m", "9", "--n", "7", "--k", "100", "--workers", "3"],
    ],
    "quickstart": [[]],
}

#: Every run, for parametrization.
ALL_RUNS = [(name, arguments) for name, runs in RUNS.items() for arguments in runs]


def run_example(name, arguments, monkeypatch, tmp_path, change=lambda kernel: kernel):
    """Runs a program in this process; the kernels that it compiled. What it calls is `change` of each."""
    compiled = []
    given = tile.compile

    def recording(*values, **keywords):
        kernel = given(*values, **keywords)
        compiled.append(kernel)
        return change(kernel)

    with monkeypatch.context() as patch:
        patch.setattr(tile, "compile", recording)
        patch.setattr(sys, "argv", [f"{name}.py", *arguments])
        patch.chdir(tmp_path)  # gemm.py writes its stages to the current folder
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return compiled
