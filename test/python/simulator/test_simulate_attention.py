"""The programs of examples/ that are no GEMMs, and attention over small configurations, in the simulator.

Results are right, and there are no races, missing fences or deadlocks.
"""

import runpy

import pytest
import tilemlir as tile
from attention_matrix import Configuration, attention, error_of, tolerance
from example_runs import EXAMPLES

pytest.importorskip("torch")

TARGETS = ["sm_90a", "sm_80"]

#: Arguments of the factory, its keywords, and the sizes that `check` takes.
RUNS = {
    "attention": ((1, 1, 150, 64, True), {}, (1, 1, 150, 64, True)),
    "attention_tuned": ((1, 1, 150, 64, True), {}, (1, 1, 150, 64, True)),
    "attention_gqa": ((1, 4, 2, 70, 64), {}, (1, 4, 2, 70, 64)),
    "attention_varlen": ((1, 64), {}, ([70, 0, 3], 1, 64)),
    "attention_window": ((1, 1, 150, 64, 40), {}, (1, 1, 150, 64, 40)),
    "attention_decode": ((1, 4, 2, 100, 64), {"splits": 2}, (1, 4, 2, 100, 64)),
    "linear_attention": ((1, 1, 100, 64, 64), {}, (1, 1, 100, 64, 64)),
    "softmax": ((72,), {}, (3, 72)),
    "rms_norm": ((136,), {}, (3, 136)),
    "layer_norm": ((72,), {}, (2, 72)),
    "cast_fp8": ((136,), {}, (9, 136)),
    "gemm_dequantized": ((3, 40, 256), {}, (3, 40, 256)),
}


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", RUNS)
def test_example(name, arch):
    arguments, keywords, sizes = RUNS[name]
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    kernel = tile.compile(example[name](*arguments, **keywords), target={"kind": "simulator", "arch": arch})
    assert example["check"](kernel, *sizes) < (6e-3 if name == "linear_attention" else 2.5e-3)


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("causal", [True, False])
def test_tuned_in_bfloat16(causal, arch):
    sizes = 1, 1, 150, 64, causal
    example = runpy.run_path(str(EXAMPLES / "attention_tuned.py"))
    program = example["attention_tuned"](*sizes, dtype="bfloat16")
    kernel = tile.compile(program, target={"kind": "simulator", "arch": arch})
    assert example["check"](kernel, *sizes, dtype="bfloat16") < 8e-3


@pytest.mark.parametrize(
    "one",
    [
        Configuration(64, 96, 64, 63, 256, 3, True),
        Configuration(96, 64, 80, 63, 384, 1, False),
        Configuration(64, 64, 96, 1, 384, 4, False),
        Configuration(128, 64, 80, 130, 256, 2, False),
        Configuration(192, 64, 64, 63, 384, 2, True),
    ],
    ids=str,
)
def test_attention(one):
    kernel = tile.compile(attention(one, heads=2), target={"kind": "simulator", "arch": "sm_90a"})
    assert error_of(kernel, one) < tolerance(one)
