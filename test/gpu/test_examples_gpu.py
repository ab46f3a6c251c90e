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
