"""Every program of examples/ runs its own check on the GPU, with code for sm_80 and for the device."""

import pytest
from example_runs import ALL_RUNS, run_example

pytest.importorskip("torch")


def ids(value):
    return "_".join(value).replace("--", "") if isinstance(value, list) else value


@pytest.mark.parametrize("target", ["sm_80", None], ids=["sm_80", "device"])
@pytest.mark.parametrize(("name", "arguments"), ALL_RUNS, ids=ids)
def test_check(name, arguments, target, monkeypatch, tmp_path, capsys):
    if target is not None:
        if name == "quickstart":
            pytest.skip("takes no target")
        arguments = [*arguments, "--target", target]
    kernels = run_example(name, arguments, monkeypatch, tmp_path)
    assert kernels and not any(kernel.target.is_cpu for kernel in kernels)
    out = capsys.readouterr().out
    assert "relative" in out
    assert "compiled only" not in out


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("attention", ["--batch", "4", "--heads", "16", "--length", "1100", "--dim", "128"]),
        ("attention_decode", ["--batch", "16", "--heads", "32", "--groups", "4", "--length", "5000", "--splits", "16"]),
        ("attention_gqa", ["--batch", "4", "--heads", "32", "--groups", "4", "--length", "1100", "--dim", "128"]),
        ("attention_tuned", ["--batch", "4", "--heads", "16", "--length", "1100", "--dim", "128"]),
        (
            "attention_tuned",
            ["--batch", "4", "--heads", "16", "--length", "1100", "--dim", "128", "--full", "--dtype", "bfloat16"],
        ),
        ("attention_varlen", ["--lengths", "1000", "0", "3", "2000", "777", "--heads", "16", "--dim", "128"]),
        ("attention_window", ["--batch", "4", "--heads", "16", "--length", "1100", "--dim", "64", "--window", "128"]),
        ("cast_fp8", ["--rows", "4097", "--columns", "5120"]),
        ("gemm_dequantized", ["--m", "16", "--n", "8192", "--k", "8192"]),
        ("layer_norm", ["--rows", "4097", "--columns", "5120"]),
        ("linear_attention", ["--batch", "4", "--heads", "16", "--length", "1100", "--dim", "128"]),
        ("rms_norm", ["--rows", "4097", "--columns", "5120"]),
        ("softmax", ["--rows", "4097", "--columns", "5120"]),
        ("gemm_batched", ["--batch", "7", "--m", "1000", "--n", "1224", "--k", "2056"]),
        # Not longer: the tensor cores' own sums of 8-bit products would be tested.
        ("gemm_fp8", ["--m", "2000", "--n", "3000", "--k", "1040"]),
        ("gemm_fp8_block_scaled", ["--m", "2000", "--n", "3000", "--k", "4112"]),
        ("gemm_grouped", ["--sizes", "700", "0", "3", "1025", "4096", "0", "--n", "1512", "--k", "2056"]),
        ("gemm_persistent", ["--m", "3000", "--n", "5000", "--k", "1032"]),
        ("gemm_split_k", ["--m", "200", "--n", "136", "--k", "65544", "--splits", "48"]),
        ("gemm_stream_k", ["--m", "1500", "--n", "1800", "--k", "4104"]),
    ],
    ids=ids,
)
def test_check_of_many_tiles(name, arguments, monkeypatch, tmp_path, capsys):
    """More tiles than multiprocessors, or many steps."""
    run_example(name, arguments, monkeypatch, tmp_path)
    assert "compiled only" not in capsys.readouterr().out
