"""Every bit pattern of the 8 and 16 bit floats: widening, rounding from f32 and f64, arithmetic, integer conversions."""
# ruff: noqa: E501  (lines of IR text)

import re

import numpy as np
import pytest
from harness import FORMATS, Kernel, decode_as, encode_as, guarded
from programs import elementwise

DTYPES = list(FORMATS)
HOST_FORMS = ["", "native-f16=false"]


def storage(dtype):
    return np.uint8 if FORMATS[dtype][0] == 8 else np.uint16


def all_patterns(dtype):
    return np.arange(2 ** FORMATS[dtype][0], dtype=np.uint32).astype(storage(dtype))


def same_bits(actual, expected, dtype):
    """Equal patterns, with all NaNs alike."""
    actual_nan, expected_nan = np.isnan(decode_as(actual, dtype)), np.isnan(decode_as(expected, dtype))
    return np.array_equal(actual_nan, expected_nan) and np.array_equal(actual[~actual_nan], expected[~expected_nan])


@pytest.mark.parametrize("options", HOST_FORMS)
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_widening_is_exact(dtype, wide, options):
    bits = all_patterns(dtype)
    out = guarded(bits.shape, np.float32 if wide == "f32" else np.float64, 0)
    Kernel(elementwise(f"%r = arith.extf %x0 : {dtype} to {wide}", [dtype], wide), options=options)(bits, out)
    assert np.array_equal(out.astype(np.float64), decode_as(bits, dtype), equal_nan=True)
    finite = ~np.isnan(out)
    assert np.array_equal(np.signbit(out)[finite], np.signbit(decode_as(bits, dtype))[finite])


def rounding_inputs(dtype, wide):
    """All values of the format, the middles between neighbours and their neighbours, and the special values."""
    values = decode_as(all_patterns(dtype), dtype)
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[:-1] + finite[1:]) / 2
    top = finite[-1] + (finite[-1] - finite[-2]) / 2
    base = np.concatenate([finite, middles, [top, -top, 0.0, -0.0]]).astype(wide)
    with np.errstate(over="ignore"):
        around = np.concatenate([base, np.nextafter(base, wide(np.inf)), np.nextafter(base, wide(-np.inf))])
    rng = np.random.default_rng()
    random = rng.standard_normal(1 << 16) * np.exp2(rng.uniform(-30, 20, 1 << 16))
    special = [np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-38, 1e-44, -1e-44]
    return np.concatenate([around, random.astype(wide), np.array(special, wide)]).astype(wide)


@pytest.mark.parametrize("options", HOST_FORMS)
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_to_nearest_even(dtype, wide, options):
    values = rounding_inputs(dtype, np.float32 if wide == "f32" else np.float64)
    out = guarded(values.shape, storage(dtype), 0)
    Kernel(elementwise(f"%r = arith.truncf %x0 : {wide} to {dtype}", [wide], dtype), options=options)(values, out)
    assert same_bits(out, encode_as(values, dtype), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", ["addf", "subf", "mulf", "divf", "maximumf", "minnumf"])
def test_arithmetic_rounds_once(dtype, operation):
    rng = np.random.default_rng()
    patterns = all_patterns(dtype)
    x, y = rng.permutation(np.resize(patterns, 1 << 16)), rng.permutation(np.resize(patterns, 1 << 16))
    out = guarded(x.shape, storage(dtype), 0)
    Kernel(elementwise(f"%r = arith.{operation} %x0, %x1 : {dtype}", [dtype, dtype], dtype))(x, y, out)
    a, b = decode_as(x, dtype).astype(np.float32), decode_as(y, dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = {
            "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "maximumf": np.maximum,
            "minnumf": np.fmin,
        }[operation](a, b)  # fmt: skip
    expected_bits = encode_as(expected.astype(np.float64), dtype)
    actual, expected = decode_as(out, dtype), decode_as(expected_bits, dtype)
    assert np.array_equal(actual, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_and_constants(dtype):
    bits = all_patterns(dtype)
    out = guarded(bits.shape, storage(dtype), 0)
    body = f"""%c = arith.constant 1.5 : {dtype}
      %d = arith.constant -2.0 : {dtype}
      %less = arith.cmpf olt, %x0, %c : {dtype}
      %r = arith.select %less, %d, %x0 : {dtype}"""
    Kernel(elementwise(body, [dtype], dtype))(bits, out)
    values = decode_as(bits, dtype)
    assert np.array_equal(decode_as(out, dtype), np.where(values < 1.5, -2.0, values), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_round_once(dtype):
    """Through f32, large integers would be rounded twice."""
    rng = np.random.default_rng()
    integers = (rng.integers(-(2**31), 2**31, 1 << 14) >> rng.integers(0, 31, 1 << 14)).astype(np.int32)
    integers[:3] = [2**24 + 2**16 + 1, 2**30 + 2**22 + 1, -(2**30) - 2**22 - 1]
    out = guarded(integers.shape, storage(dtype), 0)
    Kernel(elementwise(f"%r = arith.sitofp %x0 : i32 to {dtype}", ["i32"], dtype))(integers, out)
    assert np.array_equal(out, encode_as(integers.astype(np.float64), dtype))


def test_float_to_integer_saturates():
    values = np.array([0.9, -0.9, 1e10, -1e10, np.nan, np.inf, -np.inf, 2147483520.0], np.float32)
    signed, unsigned = guarded(values.shape, np.int32), guarded(values.shape, np.int32)
    Kernel(elementwise("%r = arith.fptosi %x0 : f32 to i32", ["f32"], "i32"))(values, signed)
    Kernel(elementwise("%r = arith.fptoui %x0 : f32 to i32", ["f32"], "i32"))(values, unsigned)
    assert signed.tolist() == [0, 0, 2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 2147483520]
    assert unsigned.view(np.uint32).tolist() == [0, 0, 2**32 - 1, 0, 0, 2**32 - 1, 0, 2147483520]


ALLOWED_SYMBOLS = {
    "memcpy", "memset", "memmove", "tilemlir_scratch", "tilemlir_print", "tilemlir_assert_fail",
    # libm
    "sin", "sinf", "cos", "cosf", "exp", "exp2", "log", "log2", "pow", "powf", "fmod", "fmodf", "erf", "erff", "tanh",
    "tan", "tanf", "log10", "log10f", "log1p", "log1pf", "expm1", "expm1f", "atan", "atanf", "atan2", "atan2f",
}  # fmt: skip


@pytest.mark.parametrize("options", HOST_FORMS)
@pytest.mark.parametrize("dtype", [*DTYPES, "f32", "f64"])
def test_no_compiler_runtime_functions(dtype, options):
    """Object code needs nothing of libgcc or compiler-rt."""
    from tilemlir._mlir._mlir_libs import _tilemlir

    body = f"""%p = arith.mulf %x0, %x1 : {dtype}
      %e = math.exp2 %p : {dtype}
      %w = math.sin %e : {dtype}
      %q = arith.remf %w, %x1 : {dtype}
      %whole = arith.fptosi %q : {dtype} to i64
      %f = arith.uitofp %whole : i64 to {dtype}
      %h = math.erf %f : {dtype}
      %t = math.tanh %h : {dtype}
      %o = math.powf %t, %x0 : {dtype}
      %r = math.roundeven %o : {dtype}"""
    program = Kernel(elementwise(body, [dtype, dtype], dtype), options=options)
    symbols = set(_tilemlir.undefined_symbols(program.object)) - {"_GLOBAL_OFFSET_TABLE_"}
    assert symbols <= ALLOWED_SYMBOLS, symbols - ALLOWED_SYMBOLS
    assert not any(re.match("__", symbol) for symbol in symbols)
