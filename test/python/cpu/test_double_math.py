"""The functions of f64 that GPU code consists of, compiled for the CPU, against the 80-bit functions of NumPy."""

import math

import numpy as np
import pytest
from harness import Kernel, guarded
from programs import elementwise

PASS = ["tile-gpu-expand-double-math"]
TINY = np.array([5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-20, 1e-8])
SPECIAL = np.concatenate([TINY, -TINY, [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1.7e308, -1.7e308]])
rng = np.random.default_rng()


def positive(count):
    """All magnitudes alike, subnormal numbers included."""
    return rng.integers(1, 0x7FF0000000000000, count, dtype=np.uint64).view(np.float64)


def spread(lower, upper):
    return np.concatenate([rng.uniform(lower, upper, 40000), rng.standard_normal(20000) * 1e-3])


near_one = 1 + rng.uniform(-0.3, 0.42, 20000)
angles = np.concatenate([
    rng.uniform(-100, 100, 30000), rng.integers(-(2**38), 2**38, 20000) * (np.pi / 2),
    positive(40000), -positive(1000), rng.integers(1, 2**53, 4000) * 2.0 ** rng.integers(-53, 970, 4000),
    [6381956970095103 * 2.0**797, 1e22, 2.0**40, np.nextafter(2.0**40, 0)],
])  # fmt: skip

# name: reference in long double, arguments, error in ulp
FUNCTIONS = {
    "exp": (np.exp, spread(-746, 710.5), 1.5), "exp2": (np.exp2, spread(-1076, 1025), 1.5),
    "expm1": (np.expm1, np.concatenate([spread(-45, 710), spread(-2, 2)]), 1.5),
    "log": (np.log, np.concatenate([positive(50000), near_one]), 1.5),
    "log2": (np.log2, np.concatenate([positive(50000), near_one]), 1.5),
    "log10": (np.log10, np.concatenate([positive(50000), near_one]), 1.5),
    "log1p": (np.log1p, np.concatenate([spread(-0.999, 3), positive(20000), -near_one / 2]), 1.5),
    "sin": (np.sin, angles, 1.5), "cos": (np.cos, angles, 1.5), "tan": (np.tan, angles, 3.0),
    "tanh": (np.tanh, np.concatenate([spread(-25, 25), spread(-1, 1)]), 2.0),
    "erf": (None, np.concatenate([spread(-7, 7), spread(-1, 1)]), 2.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), positive(50000), 1.5),
}  # fmt: skip


def check(out, exact, limit):
    rounded = exact.astype(np.float64)
    finite = np.isfinite(rounded)
    assert np.array_equal(out[~finite], rounded[~finite], equal_nan=True)
    # The largest number and infinity are neighbours.
    assert np.isfinite(out[finite & (np.abs(rounded) < 1.797e308)]).all()
    ulp = np.spacing(np.abs(rounded[finite])).astype(np.longdouble)
    error = np.abs(out[finite].astype(np.longdouble) - exact[finite]) / ulp
    assert error.max() <= limit
    zeros = (rounded == 0) & (out == 0)
    assert np.array_equal(np.signbit(out[zeros]), np.signbit(rounded[zeros]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(name):
    reference, x, limit = FUNCTIONS[name]
    x = np.concatenate([x, SPECIAL])
    out = guarded(x.shape, np.float64, 0xFF)
    Kernel(elementwise(f"%r = math.{name} %x0 : f64", ["f64"], "f64"), PASS)(x, out)
    with np.errstate(all="ignore"):
        if reference is None:
            # math.erf is good to an ulp or so.
            exact, limit = np.array([math.erf(v) for v in x]).astype(np.longdouble), limit + 1
        else:
            exact = reference(x.astype(np.longdouble))
    check(out, exact, limit)


def test_power():
    x = np.concatenate([positive(30000), near_one, rng.uniform(0, 50, 30000)])
    with np.errstate(all="ignore"):
        bound = 745 / np.maximum(np.abs(np.log(x)), 1e-12)
    y = rng.uniform(-1, 1, x.size) * np.minimum(bound, 1e15)
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 3.0, -3.0, 2.5, -2.5, 1e300, -7e15]
    )
    a, b = np.meshgrid(special, special)
    integers = rng.integers(-20, 20, 5000).astype(np.float64)
    x = np.concatenate([x, a.ravel(), -rng.uniform(0, 5, 5000)])
    y = np.concatenate([y, b.ravel(), integers])
    out = guarded(x.shape, np.float64, 0xFF)
    Kernel(elementwise("%r = math.powf %x0, %x1 : f64", ["f64", "f64"], "f64"), PASS)(x, y, out)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        check(out, exact, 2.0)
