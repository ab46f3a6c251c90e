"""The expanded elementary functions of f32 against float64: error in ulp over the whole range, and special values."""

import numpy as np
import pytest
from harness import Kernel, guarded
from programs import elementwise

FUNCTIONS = {
    "exp": (np.exp, -110, 95), "exp2": (np.exp2, -155, 135), "log": (np.log, None, None), "log2": (np.log2, None, None),
    "tanh": (np.tanh, -12, 12), "sqrt": (np.sqrt, None, None), "rsqrt": (lambda x: 1 / np.sqrt(x), None, None),
    "sin": (np.sin, -1e3, 1e3), "erf": (None, -5, 5), "absf": (np.abs, -5, 5), "floor": (np.floor, -1e5, 1e5),
}  # fmt: skip
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    1e-45,
    -1e-45,
    1.1754944e-38,
    3.4028235e38,
    -3.4028235e38,
    1e-20,
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_below_two_ulp(name):
    reference, lower, upper = FUNCTIONS[name]
    if reference is None:
        import math

        reference = np.vectorize(math.erf, otypes=[np.float64])
    rng = np.random.default_rng()
    if lower is None:  # all positive floats, subnormal ones included, and the neighbourhood of one
        x = rng.integers(1, 0x7F800000, 1 << 17, dtype=np.uint32).view(np.float32)
        x = np.concatenate([x, (1 + rng.uniform(-0.3, 0.4, 1 << 16)).astype(np.float32)])
    else:
        x = rng.uniform(lower, upper, 1 << 17).astype(np.float32)
        x = np.concatenate([x, rng.standard_normal(1 << 16).astype(np.float32) * np.float32(1e-3)])
    x = np.concatenate([x, np.array(SPECIAL, np.float32)])
    out = guarded(x.shape, np.float32, 0xFF)
    Kernel(elementwise(f"%r = math.{name} %x0 : f32", ["f32"], "f32"))(x, out)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
        rounded = exact.astype(np.float32)
        ulp = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        error = np.abs(out.astype(np.float64) - exact) / ulp
    finite = np.isfinite(rounded)
    assert np.array_equal(out[~finite], rounded[~finite], equal_nan=True)
    assert np.isfinite(out[finite]).all()
    assert error[finite].max() <= 2.0
    zeros = rounded == 0
    assert np.array_equal(np.signbit(out[zeros]), np.signbit(rounded[zeros]))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "tanh"])
def test_loops_with_functions_are_vectorised(name):
    """No call of libm is left in a loop over an expanded function."""
    from tilemlir._mlir._mlir_libs import _tilemlir

    program = Kernel(elementwise(f"%r = math.{name} %x0 : f32", ["f32"], "f32"))
    assert not {s for s in _tilemlir.undefined_symbols(program.object) if s.startswith(name)}


@pytest.mark.parametrize("name", ["exp", "tanh", "cos", "log1p", "atan"])
def test_double(name):
    generator = np.random.default_rng()
    x = np.concatenate([generator.uniform(0.1, 3, 1000), 10 ** generator.uniform(-15, -1, 200)])
    out = guarded(x.shape, np.float64, 0xFF)
    Kernel(elementwise(f"%r = math.{name} %x0 : f64", ["f64"], "f64"))(x, out)
    reference = {"exp": np.exp, "tanh": np.tanh, "cos": np.cos, "log1p": np.log1p, "atan": np.arctan}[name]
    assert np.allclose(out, reference(x), rtol=1e-15, atol=0)
