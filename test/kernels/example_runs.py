"""The programs of examples/: the sizes that tests run them with, and a way to run one as its user would."""

import runpy
import sys
from pathlib import Path

import tilemlir as tile

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Arguments of each program. No tile divides the sizes; 16-byte vectors divide the first (the defaults) only.
RUNS = {
    "attention": [[], ["--length", "77", "--dim", "80", "--full"], ["--length", "1", "--batch", "1"]],
    "attention_decode": [
        [],
        ["--length", "99", "--splits", "5", "--dim", "80", "--heads", "6", "--groups", "6"],  # parts without keys
        ["--length", "300", "--heads", "40", "--groups", "2"],
    ],
    "attention_gqa": [[], ["--length", "77", "--heads", "16", "--groups", "4"], ["--length", "3", "--heads", "6"]],
    "attention_tuned": [
        [],
        ["--length", "77", "--dim", "80", "--full"],
        ["--length", "1", "--batch", "1"],
        ["--length", "130", "--dtype", "bfloat16"],
    ],
    "attention_varlen": [[], ["--lengths", "1", "0", "130", "77", "--dim", "80"]],
    "attention_window": [[], ["--length", "77", "--window", "50", "--dim", "80"], ["--length", "300", "--window", "1"]],
    "cast_fp8": [[], ["--rows", "33", "--columns", "777"], ["--rows", "1", "--columns", "5"]],
    "gemm": [[], ["--m", "70", "--n", "90", "--k", "77"]],
    "gemm_batched": [
        [],
        ["--batch", "3", "--m", "70", "--n", "90", "--k", "77"],
        ["--batch", "200", "--m", "9", "--n", "7", "--k", "5"],
    ],
    "gemm_dequantized": [[], ["--m", "1", "--n", "200", "--k", "384"], ["--m", "33", "--n", "7", "--k", "128"]],
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
    "layer_norm": [[], ["--rows", "33", "--columns", "777"], ["--rows", "1", "--columns", "5"]],
    "linear_attention": [[], ["--length", "77", "--dim", "48"], ["--length", "1", "--value-dim", "40"]],
    "quickstart": [[]],
    "rms_norm": [[], ["--rows", "33", "--columns", "777"], ["--rows", "1", "--columns", "5"]],
    "softmax": [[], ["--rows", "33", "--columns", "777"], ["--rows", "1", "--columns", "5"]],
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
