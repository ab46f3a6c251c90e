"""Scalar arithmetic: promotion, Python's integer division, signedness, casts, math functions."""

from __future__ import annotations

import pytest
import tilemlir.language as T
from frontend_support import text_of
from tilemlir.frontend.arithmetic import adapt, promote


def element_kernel(compute, *dtypes, out="float32"):
    """``O[i] = compute(A[i], ...)`` for tensors of the given types."""
    declared = [T.Tensor((64,), dtype) for dtype in (*dtypes, "int8", "int8", "int8")[:3]]
    count = len(dtypes)

    @T.prim_func
    def kernel(A: declared[0], B: declared[1], C: declared[2], O: T.Tensor((64,), out)):
        with T.Kernel(1, threads=64) as bx:
            for i in T.Parallel(64):
                O[i] = compute(*(X[i] for X in (A, B, C)[:count]))

    return kernel


def body_of(compute, *dtypes, out="float32"):
    """Operations between the loads and the store, without their operands."""
    text = text_of(element_kernel(compute, *dtypes, out=out))
    body = text[text.index("tile.parallel") :]
    result = []
    for line in body.splitlines():
        operation = line.split("= ")[-1].split(" ")[0] if "= " in line else ""
        if operation.split(".")[0] in ("arith", "math", "scf"):
            detail = ""
            if operation in ("arith.cmpi", "arith.cmpf"):
                detail = " " + line.split(operation)[1].split(",")[0].strip()
            result.append(operation + detail)
    return result


PROMOTIONS = [
    ("float16", "float32", "float32"),
    ("float16", "bfloat16", "float32"),
    ("float64", "float32", "float64"),
    ("int32", "float16", "float16"),
    ("int8", "int32", "int32"),
    ("int32", "int64", "int64"),
    ("uint8", "int32", "int32"),
    ("uint8", "uint32", "uint32"),
    ("uint32", "int32", "int32"),
    ("int8", "uint8", "int8"),
    ("bool", "int8", "int8"),
    ("float8_e4m3fn", "float16", "float16"),
    ("float8_e4m3fn", "float8_e5m2", "float32"),
]


@pytest.mark.parametrize(("a", "b", "expected"), PROMOTIONS)
def test_promotion(a, b, expected):
    assert promote(T.dtype(a), T.dtype(b)) == expected
    assert promote(T.dtype(b), T.dtype(a)) == expected


@pytest.mark.parametrize(
    ("number", "other", "expected"),
    [
        (1, "float16", "float16"), (0.5, "float16", "float16"), (0.5, "int32", "float32"), (1, "int8", "int32"),
        (1, "int32", "int32"), (1, "int64", "int64"), (1 << 40, "int32", "int64"), (1, "uint32", "uint32"),
        (0xFFFFFFFF, "uint32", "uint32"), (-4, "uint32", "uint32"), (7, "uint8", "int32"), (True, "int8", "int8"),
    ],
)  # fmt: skip
def test_python_numbers_adapt(number, other, expected):
    assert adapt(number, T.dtype(other)) == expected


def test_signed_floor_division():
    assert body_of(lambda a, b: a // b, "int32", "int32", out="int32") == ["arith.floordivsi"]
    assert body_of(lambda a, b: a % b, "int32", "int32", out="int32") == [
        "arith.floordivsi",
        "arith.muli",
        "arith.subi",
    ]


def test_unsigned_division():
    assert body_of(lambda a, b: a // b, "uint32", "uint32", out="uint32") == ["arith.divui"]
    assert body_of(lambda a, b: a % b, "uint32", "uint32", out="uint32") == ["arith.remui"]
    assert body_of(lambda a, b: a >> b, "uint32", "uint32", out="uint32") == ["arith.shrui"]
    assert body_of(lambda a, b: a >> b, "int32", "int32", out="int32") == ["arith.shrsi"]


def test_truncating_division():
    assert body_of(lambda a, b: T.truncdiv(a, b), "int32", "int32", out="int32") == ["arith.divsi"]
    assert body_of(lambda a, b: T.truncmod(a, b), "int32", "int32", out="int32") == ["arith.remsi"]


def test_division_of_integers_is_float32():
    assert body_of(lambda a, b: a / b, "int32", "int64") == ["arith.sitofp", "arith.sitofp", "arith.divf"]


def test_known_non_negative_indices_divide_cheaply():
    @T.prim_func
    def kernel(O: T.Tensor((64, 64), "int32")):
        with T.Kernel(64, threads=64) as bx:
            for i in T.Parallel(64):
                O[bx, i] = (bx * 64 + i) // 24 + i % 8

    text = text_of(kernel)
    assert "arith.divui" in text and "arith.remui" in text and "floordivsi" not in text


def test_remainders_by_extents_known_at_launch_divide_cheaply():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(O: T.Tensor((n,), "int32")):
        with T.Kernel(64, threads=1) as bx:
            O[bx] = bx % n // 3 % 5

    text = text_of(kernel)
    assert text.count("arith.remui") == 2 and "arith.divui" in text and "floordivsi" not in text


def test_multiples_divide_exactly():
    @T.prim_func
    def kernel(O: T.Tensor((64,), "int32")):
        with T.Kernel(64) as bx:
            O[bx] = T.ceildiv((bx + 1) * 128, 64) + (bx * 64) // 64

    text = text_of(kernel)
    assert "div" not in text
    assert text.count("arith.muli") == 3  # the two products, and (bx + 1) * 2


@pytest.mark.parametrize(
    ("name", "signed", "unsigned", "real"),
    [("<", "slt", "ult", "olt"), (">=", "sge", "uge", "oge"), ("==", "eq", "eq", "oeq"), ("!=", "ne", "ne", "une")],
)
def test_comparisons(name, signed, unsigned, real):
    compare = eval(f"lambda a, b: a {name} b")
    assert body_of(compare, "int32", "int32", out="bool") == [f"arith.cmpi {signed}"]
    assert body_of(compare, "uint32", "uint32", out="bool") == [f"arith.cmpi {unsigned}"]
    assert body_of(compare, "float32", "float32", out="bool") == [f"arith.cmpf {real}"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("float32", "float16", ["arith.truncf"]),
        ("float16", "float32", ["arith.extf"]),
        ("float16", "bfloat16", ["arith.extf", "arith.truncf"]),
        ("float32", "float8_e4m3fn", ["arith.truncf"]),
        ("float8_e5m2", "float16", ["arith.extf"]),
        ("float32", "int8", ["arith.fptosi"]),
        ("float32", "uint8", ["arith.fptoui"]),
        ("int8", "float32", ["arith.sitofp"]),
        ("uint8", "float32", ["arith.uitofp"]),
        ("int8", "int32", ["arith.extsi"]),
        ("uint8", "int32", ["arith.extui"]),
        ("int64", "int32", ["arith.trunci"]),
        ("int32", "uint32", []),
        ("bool", "int32", ["arith.extui"]),
        ("int32", "bool", ["arith.cmpi ne"]),
        ("float32", "bool", ["arith.cmpf une"]),
        ("tfloat32", "float32", []),
    ],
)
def test_stores_convert(source, target, expected):
    assert body_of(lambda a: a, source, out=target) == expected


def test_casts():
    assert body_of(lambda a: T.cast(a, "float16"), "float32", out="float16") == ["arith.truncf"]
    assert body_of(lambda a: T.Cast("float16", a), "float32", out="float16") == ["arith.truncf"]
    assert body_of(lambda a: T.float16(a), "float32", out="float16") == ["arith.truncf"]
    assert body_of(lambda a: a.astype("float16"), "float32", out="float16") == ["arith.truncf"]
    assert body_of(lambda a: T.reinterpret(a, "int32"), "float32", out="int32") == ["arith.bitcast"]
    assert body_of(lambda a: T.reinterpret("float32", a), "int32") == ["arith.bitcast"]
    assert body_of(lambda a: T.reinterpret(a, "uint32") >> 31, "int32", out="uint32") == ["arith.shrui"]


def test_math_functions():
    assert body_of(lambda a: T.exp2(a), "float32") == ["math.exp2"]
    assert body_of(lambda a: T.exp2(a), "float16", out="float16") == ["arith.extf", "math.exp2", "arith.truncf"]
    assert body_of(lambda a: T.sqrt(a), "int32") == ["arith.sitofp", "math.sqrt"]
    assert body_of(lambda a: T.sigmoid(a), "float32") == ["arith.negf", "math.exp", "arith.addf", "arith.divf"]
    assert body_of(lambda a: T.exp10(a), "float32") == ["math.powf"]
    assert body_of(lambda a: T.abs(a), "float16", out="float16") == ["math.absf"]
    assert body_of(lambda a: T.abs(a), "int32", out="int32") == ["math.absi"]
    assert body_of(lambda a: T.abs(a), "uint32", out="uint32") == []
    assert body_of(lambda a: T.floor(a), "int32", out="int32") == []
    assert body_of(lambda a, b: T.fmod(a, b), "float32", "float32") == ["arith.remf"]
    assert body_of(lambda a, b: T.copysign(a, b), "float32", "float32") == ["math.copysign"]
    assert body_of(lambda a: T.isnan(a), "float32", out="bool") == ["arith.cmpf une"]
    assert body_of(lambda a: T.isinf(a), "float32", out="bool") == ["math.absf", "arith.cmpf oeq"]
    assert body_of(lambda a: T.isfinite(a), "float16", out="bool") == ["arith.extf", "math.absf", "arith.cmpf olt"]
    assert body_of(lambda a: T.popcount(a), "uint32", out="int32") == ["math.ctpop"]


@pytest.mark.parametrize(
    "name", "exp exp2 log log2 log10 log1p sqrt rsqrt floor ceil trunc round sin cos tan tanh erf".split()
)
def test_unary_functions_exist(name):
    assert body_of(lambda a: getattr(T, name)(a), "float32") == [f"math.{name}"]


def test_extrema():
    assert body_of(lambda a, b: T.max(a, b), "float32", "float32") == ["arith.maxnumf"]
    assert body_of(lambda a, b: T.min(a, b), "int32", "int32", out="int32") == ["arith.minsi"]
    assert body_of(lambda a, b: T.max(a, b), "uint32", "uint32", out="uint32") == ["arith.maxui"]
    assert body_of(lambda a: T.clamp(a, 0, 6), "float32") == ["arith.maxnumf", "arith.minnumf"]


def test_powers():
    assert body_of(lambda a: a**2, "float32") == ["arith.mulf"]
    assert body_of(lambda a: a**5, "float32") == ["arith.mulf"] * 3
    assert body_of(lambda a: a**0.5, "float32") == ["math.sqrt"]
    assert body_of(lambda a: a**-1, "float32") == ["arith.divf"]
    assert body_of(lambda a, b: a**b, "float32", "float32") == ["math.powf"]
    assert body_of(lambda a, b: T.pow(a, b), "int32", "int32", out="int32") == ["math.ipowi"]


def test_negation():
    assert body_of(lambda a: -a, "float16", out="float16") == ["arith.negf"]
    assert body_of(lambda a: -a, "int32", out="int32") == ["arith.subi"]
    assert body_of(lambda a: ~a, "int32", out="int32") == ["arith.xori"]
    assert body_of(lambda a: ~(a > 0), "int32", out="bool") == ["arith.cmpi sgt", "arith.xori"]


def test_compile_time_numbers_stay_python():
    seen = []

    @T.prim_func
    def kernel(O: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            x = 7 // 2 + T.ceildiv(10, 3)
            seen.append((x, T.exp2(3), -T.infinity("float32"), f"{x}", T.max(2, 3), 7 / 2, T.truncdiv(-7, 2)))
            O[0] = x

    text_of(kernel)
    assert seen == [(7, 8.0, float("-inf"), "7", 3, 3.5, -3)]


def test_wide_indices_are_saturated():
    @T.prim_func
    def kernel(I: T.Tensor((8,), "int64"), A: T.Tensor((8,), "float32"), O: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(8):
                O[i] = A[I[i]]

    text = text_of(kernel)
    assert text.index("arith.minsi") < text.index("arith.maxsi") < text.index("arith.trunci")
