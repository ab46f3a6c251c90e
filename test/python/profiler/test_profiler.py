"""The profiler and timers on the CPU."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))

from runtime_support import CLibrary, vector_add_plan
from tilemlir import errors
from tilemlir.profiler import Profiler, TensorSupplyType, assert_close, do_bench, make_tensor
from tilemlir.profiler.bench import summarize
from tilemlir.runtime import LoadedKernel

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CLibrary:
    return CLibrary(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def profiler(library: CLibrary) -> Profiler:
    return Profiler(LoadedKernel(vector_add_plan(), {"vector_add": library["vector_add"]}))


def test_do_bench_counts_and_statistics() -> None:
    calls: list[int] = []
    found = do_bench(lambda: calls.append(1), _n_warmup=3, _n_repeat=7, device="cpu")
    assert isinstance(found, float) and found >= 0
    assert len(calls) == 2 + 3 + 7
    slept = do_bench(lambda: time.sleep(0.002), warmup=1, rep=20, return_mode="min", device="cpu")
    assert isinstance(slept, float) and slept >= 2.0


def test_quantiles() -> None:
    times = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert summarize(times, [0.0, 0.5, 0.25, 1.0, 0.9], "mean") == pytest.approx([1.0, 3.0, 2.0, 5.0, 4.6])
    assert summarize(times, [0.5], "mean") == 3.0
    assert summarize(times, None, "median") == 3.0
    assert summarize(times, None, "max") == 5.0 and summarize(times, None, "min") == 1.0
    assert summarize(times, None, "mean") == 3.0
    quantiles = do_bench(lambda: None, _n_warmup=1, _n_repeat=20, quantiles=(0.5, 0.2, 0.8), device="cpu")
    assert isinstance(quantiles, list) and quantiles[1] <= quantiles[0] <= quantiles[2]


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(errors.TileValueError) as caught:
        do_bench(lambda: None, backend="clock")  # type: ignore[arg-type]
    assert str(caught.value) == ("option backend is 'clock', expected 'event', 'cudagraph', 'cupti' or 'wall'")
    with pytest.raises(errors.TileValueError, match="option return_mode is 'mode'"):
        do_bench(lambda: None, return_mode="mode")  # type: ignore[arg-type]


def test_inputs_need_dynamic_sizes(profiler: Profiler) -> None:
    with pytest.raises(errors.TileValueError) as caught:
        profiler.make_inputs()
    assert str(caught.value) == (
        "inputs cannot be made: size 'n' has no value. "
        "Pass dynamic_symbolic_constraints={name: value}, or input_tensors."
    )
    inputs = profiler.make_inputs({"n": 33})
    assert [value.shape for value in inputs] == [(33,), (33,)]


def test_assert_allclose(profiler: Profiler) -> None:
    sizes = {"n": 1000}
    profiler.assert_allclose(lambda a, b: a + b, dynamic_symbolic_constraints=sizes)
    inputs = [np.ones(100, np.float32), np.ones(100, np.float32)]
    profiler.assert_allclose(lambda a, b: [a + b], inputs)
    with pytest.raises(AssertionError) as caught:
        profiler.assert_allclose(lambda a, b: a - b, inputs)
    assert str(caught.value) == (
        "C differs in 100 of 100 elements (100.00%, allowed 1.00%) with rtol=0.01, atol=0.01: first at (0,): 2.0 "
        "against 0.0; largest difference 2 at (0,)"
    )
    profiler.assert_consistent(input_tensors=inputs)
    checked: list[Any] = []
    profiler.manual_assert_close(lambda a, b: a + b, inputs, lambda found, wanted: checked.append((found, wanted)))
    assert np.array_equal(checked[0][0][0], checked[0][1][0])


def test_kernels_that_write_in_place(library: CLibrary) -> None:
    plan = vector_add_plan(outputs=[])
    profiler = Profiler(LoadedKernel(plan, {"vector_add": library["vector_add"]}))

    def reference(a: Any, b: Any, c: Any) -> None:
        c[:] = a + b

    profiler.assert_allclose(reference, dynamic_symbolic_constraints={"n": 77})
    profiler.assert_allclose(lambda a, b, c: a + b, dynamic_symbolic_constraints={"n": 77})
    with pytest.raises(AssertionError, match="C differs in"):
        profiler.assert_allclose(lambda a, b, c: a - b, dynamic_symbolic_constraints={"n": 77})


def test_profiler_do_bench(profiler: Profiler) -> None:
    found = profiler.do_bench(dynamic_symbolic_constraints={"n": 100}, n_warmup=1, n_repeat=3)
    assert isinstance(found, float) and found > 0


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("supply", TensorSupplyType)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float8_e4m3fn", "int8", "uint8", "int32", "bool"])
def test_supply(framework: str, supply: TensorSupplyType, dtype: str) -> None:
    tensor = make_tensor(dtype, (50, 41), supply, framework=framework)
    assert tuple(tensor.shape) == (50, 41)
    assert type(tensor).__module__.split(".")[0] == framework
    values = np.asarray(tensor.to(torch.float32) if framework == "torch" else tensor.astype(np.float32))
    assert np.isfinite(values).all()
    if supply is TensorSupplyType.Zero:
        assert (values == 0).all()
    elif supply is TensorSupplyType.One:
        assert (values == 1).all()
    else:
        assert len(np.unique(values)) > 1
        if dtype.startswith("uint") or dtype == "bool":
            assert (values >= 0).all()
        elif supply in (TensorSupplyType.Integer, TensorSupplyType.Auto) and dtype.startswith("int"):
            assert set(np.unique(values)) <= {-2, -1, 0, 1, 2}
        else:
            assert (values < 0).any()


def test_seeds() -> None:
    for framework in ("numpy", "torch"):
        one, two, other = (make_tensor("float32", (9,), framework=framework, seed=seed) for seed in (1, 1, 2))
        assert (one == two).all() and not (one == other).all()


class TestAssertClose:
    def test_nan_infinity_and_shapes(self) -> None:
        a = np.array([np.nan, np.inf, -np.inf, 1.0])
        assert_close(a, a.copy())
        with pytest.raises(AssertionError, match=r"differs in 1 of 4 .* first at \(1,\): inf against -inf"):
            assert_close(a, np.array([np.nan, -np.inf, -np.inf, 1.0]))
        with pytest.raises(AssertionError, match="differs in 1 of 4"):
            assert_close(np.where(np.isnan(a), 0.0, a), a)
        with pytest.raises(AssertionError, match=r"result has shape \(4,\), expected \(2, 2\)"):
            assert_close(a, a.reshape(2, 2))
        assert_close(np.zeros(0), np.zeros(0))

    def test_share_of_mismatches(self) -> None:
        a, b = np.zeros(100), np.zeros(100)
        b[:2] = 1
        assert_close(a, b, max_mismatched_ratio=0.02)
        with pytest.raises(AssertionError, match=r"differs in 2 of 100 elements \(2.00%, allowed 1.00%\)"):
            assert_close(a, b, max_mismatched_ratio=0.01)

    def test_narrow_types_compare_by_value(self) -> None:
        values = torch.linspace(-2, 2, 33)
        for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn):
            assert_close(values.to(dtype), values.to(dtype).float(), rtol=0, atol=0)
        with pytest.raises(AssertionError):
            assert_close(torch.tensor([200], dtype=torch.uint8), torch.tensor([-56], dtype=torch.int8), rtol=0, atol=0)
