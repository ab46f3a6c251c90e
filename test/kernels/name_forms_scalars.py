"""Forms of scalar functions, conversions and element types."""

from __future__ import annotations

import math

import numpy as np
import tilemlir.language as T
import torch
from name_forms import elementwise, form, generator, numbers


def floats(low=-4.0, high=4.0, size=200, dtype="float32"):
    return torch.from_numpy(generator.uniform(low, high, size)).to(getattr(torch, dtype))


# Math functions, in float32 within a few units in the last place; in float16 rounded once.
FUNCTIONS = {
    "exp": (torch.exp, -5, 5), "exp2": (torch.exp2, -9, 9), "exp10": (lambda x: 10.0**x, -4, 4),
    "log": (torch.log, 0.01, 9), "log2": (torch.log2, 0.01, 9), "log10": (torch.log10, 0.01, 9),
    "log1p": (torch.log1p, -0.5, 5), "sqrt": (torch.sqrt, 0, 9), "rsqrt": (torch.rsqrt, 0.01, 9),
    "abs": (torch.abs, -9, 9), "floor": (torch.floor, -9, 9), "ceil": (torch.ceil, -9, 9),
    "trunc": (torch.trunc, -9, 9),
    "round": (lambda x: torch.sign(x) * torch.floor(x.abs() + 0.5), -9, 9), "nearbyint": (torch.round, -9, 9),
    "sin": (torch.sin, -4, 4), "cos": (torch.cos, -4, 4), "tan": (torch.tan, -1, 1), "tanh": (torch.tanh, -3, 3),
    "sigmoid": (torch.sigmoid, -5, 5), "erf": (torch.erf, -2, 2),
}  # fmt: skip
for _name, (_reference, _low, _high) in FUNCTIONS.items():

    def _case(dtype, name=_name, reference=_reference, low=_low, high=_high):
        x = floats(low, high, dtype=dtype)
        return elementwise(
            getattr(T, name),
            [x],
            reference(x.double()).to(x.dtype),
            dtype,
            {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype],
        )

    form(_name, f"T.{_name}(x), float32")(lambda c=_case: c("float32"))
    if _name in ("exp", "exp2", "log2", "rsqrt"):
        form(_name, f"T.{_name}(x), float16")(lambda c=_case: c("float16"))
        form(_name, f"T.{_name}(x), bfloat16")(lambda c=_case: c("bfloat16"))


def two(function, reference, dtype="float32", low=-9, high=9, second=None, out=None, tolerance=0.0):
    x, y = numbers((100,), dtype, low, high), numbers((100,), second or dtype, low, high)
    out = out or dtype
    return elementwise(function, [x, y], reference(x, y).to(getattr(torch, out)), out, tolerance)


form("max", "T.max(a, b), float32")(lambda: two(T.max, torch.maximum))
form("max", "T.max(a, b), int32")(lambda: two(T.max, torch.maximum, "int32"))
form("max", "T.max(a, b), float16")(lambda: two(T.max, torch.maximum, "float16"))
form("max", "T.max(a, b, c)")(lambda: two(lambda a, b: T.max(a, b, 1.0), lambda a, b: torch.maximum(a, b).clamp_min(1)))
form("max", "T.max(x, 0): a number")(lambda: two(lambda a, b: T.max(a, 0) + b, lambda a, b: a.clamp_min(0) + b))
form("min", "T.min(a, b), float32")(lambda: two(T.min, torch.minimum))
form("min", "T.min(a, b), int64")(lambda: two(T.min, torch.minimum, "int64"))
form("min", "T.min(a, b, c)")(
    lambda: two(lambda a, b: T.min(a, b, -1.0), lambda a, b: torch.minimum(a, b).clamp_max(-1))
)
form("clamp", "T.clamp(x, low, high)")(
    lambda: two(lambda a, b: T.clamp(a, -2.0, 3.0) + b, lambda a, b: a.clamp(-2, 3) + b)
)
form("pow", "T.pow(x, y)")(lambda: two(T.pow, lambda a, b: a.double() ** b.double(), low=1, high=5, tolerance=2e-6))
form("fmod", "T.fmod(x, y)")(lambda: two(T.fmod, torch.fmod, low=1, high=9))
form("copysign", "T.copysign(x, y)")(
    lambda: two(lambda a, b: T.copysign(a, b + 0.5), lambda a, b: torch.copysign(a, b + 0.5))
)

form("ceildiv", "T.ceildiv(a, b) of run-time integers")(
    lambda: two(T.ceildiv, lambda a, b: -torch.div(-a, b, rounding_mode="floor"), "int32", 1, 20)
)
form("cdiv", "T.cdiv(a, b)")(lambda: two(T.cdiv, lambda a, b: -torch.div(-a, b, rounding_mode="floor"), "int32", 1, 20))
form("ceildiv", "T.ceildiv(a, b) of Python integers")(
    lambda: two(lambda a, b: a + T.ceildiv(7, 2), lambda a, b: a + 4, "int32")
)
form("floordiv", "T.floordiv(a, b)")(
    lambda: two(
        lambda a, b: T.floordiv(a, T.max(b, 1)),
        lambda a, b: torch.div(a, b.clamp_min(1), rounding_mode="floor"),
        "int32",
    )
)
form("floormod", "T.floormod(a, b)")(
    lambda: two(lambda a, b: T.floormod(a, T.max(b, 1)), lambda a, b: torch.remainder(a, b.clamp_min(1)), "int32")
)
form("truncdiv", "T.truncdiv(a, b)")(
    lambda: two(
        lambda a, b: T.truncdiv(a, T.max(b, 1)),
        lambda a, b: torch.div(a, b.clamp_min(1), rounding_mode="trunc"),
        "int32",
    )
)
form("truncmod", "T.truncmod(a, b)")(
    lambda: two(lambda a, b: T.truncmod(a, T.max(b, 1)), lambda a, b: torch.fmod(a, b.clamp_min(1)), "int32")
)
form("align_up", "T.align_up(x, 16)")(
    lambda: two(lambda a, b: T.align_up(a, 16), lambda a, b: (a + 15) // 16 * 16, "int32", 1)
)

form("infinity", "-T.infinity(dtype)")(lambda: two(lambda a, b: T.max(a, -T.infinity("float32")), lambda a, b: a))
form("infinity", "T.infinity(T.float16)")(
    lambda: two(
        lambda a, b: T.if_then_else(a > 0, T.infinity(T.float16), b),
        lambda a, b: torch.where(a > 0, math.inf, b),
        "float16",
    )
)
form("max_value", "T.max_value(dtype), T.min_value(dtype)")(
    lambda: two(
        lambda a, b: T.if_then_else(a > 0, T.max_value("int32"), T.min_value("int32")),
        lambda a, b: torch.where(a > 0, 2**31 - 1, -(2**31)),
        "int32",
    )
)

form("if_then_else", "T.if_then_else(a > b, a, -T.infinity(a.dtype))")(
    lambda: two(
        lambda a, b: T.if_then_else(a > b, a, -T.infinity("float32")), lambda a, b: torch.where(a > b, a, -math.inf)
    )
)
form("if_then_else", "numbers on both sides: T.if_then_else(a >= b, 0, -1e9)")(
    lambda: two(lambda a, b: T.if_then_else(a >= b, 0, -1e9), lambda a, b: torch.where(a >= b, 0.0, -1e9))
)
form("if_then_else", "T.And, T.Or, T.Not as conditions")(
    lambda: two(
        lambda a, b: T.if_then_else(T.Or(T.And(a > 0, b > 0), T.Not(a < 3)), a, b),
        lambda a, b: torch.where(((a > 0) & (b > 0)) | (a >= 3), a, b),
    )
)
form("if_then_else", "a > 0 and b > 0")(
    lambda: two(
        lambda a, b: T.if_then_else(T.And(a > 0, b > 0), a, b), lambda a, b: torch.where((a > 0) & (b > 0), a, b)
    )
)
form("Select", "T.Select(condition, a, b)")(lambda: two(lambda a, b: T.Select(a > b, a, b), torch.maximum))

for _name, _reference in (
    ("bitwise_and", torch.bitwise_and), ("bitwise_or", torch.bitwise_or), ("bitwise_xor", torch.bitwise_xor),
):  # fmt: skip
    form(_name, f"T.{_name}(a, b)")(lambda n=_name, r=_reference: two(getattr(T, n), r, "int32", -999, 999))
form("bitwise_not", "T.bitwise_not(a)")(lambda: two(lambda a, b: T.bitwise_not(a), lambda a, b: ~a, "int32"))
form("shift_left", "T.shift_left(a, b)")(lambda: two(T.shift_left, lambda a, b: a << b, "int32", 0, 9))
form("shift_right", "T.shift_right(a, b)")(
    lambda: two(lambda a, b: T.shift_right(a - 500, b % 7), lambda a, b: (a - 500) >> (b % 7), "int32", 0, 999)
)
form("popcount", "T.popcount(x)")(
    lambda: two(
        lambda a, b: T.popcount(a), lambda a, b: torch.tensor([bin(int(v)).count("1") for v in a]), "int32", 0, 9999
    )
)
form("clz", "T.clz(x)")(
    lambda: two(
        lambda a, b: T.clz(a), lambda a, b: torch.tensor([32 - int(v).bit_length() for v in a]), "int32", 0, 9999
    )
)


def predicate(name, reference):
    x = torch.tensor([1.0, math.inf, -math.inf, math.nan, 0.0, -2.5] * 8)
    return elementwise(lambda v: T.if_then_else(getattr(T, name)(v), 1, 0), [x], reference(x).to(torch.int32), "int32")


for _name, _reference in (("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite)):
    form(_name, f"T.{_name}(x)")(lambda n=_name, r=_reference: predicate(n, r))


# Conversions. Integers wrap, floats are truncated, narrower floats round to nearest even and 8-bit ones saturate.


def convert(function, source, dest, values=None):
    x = (
        numbers((128,), source, 0 if source.startswith("u") or source == "bool" else -8, 8)
        if values is None
        else values
    )
    kind = getattr(torch, dest)
    if dest.startswith("float8"):
        limit = torch.finfo(kind).max
        expected = x.double().clamp(-limit, limit).to(kind)
    elif dest.startswith(("int", "uint")) and x.dtype.is_floating_point:
        expected = torch.from_numpy(np.trunc(x.double().numpy()).astype(dest))
    elif dest == "bool":
        expected = x != 0
    else:
        expected = x.to(kind)
    return elementwise(function, [x], expected, dest)


DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64", "float8_e4m3fn", "float8_e5m2")  # fmt: skip
for _source in DTYPES:
    if _source == "float32":
        continue
    form("cast", f"{_source} to float32")(lambda s=_source: convert(lambda v: T.cast(v, "float32"), s, "float32"))
    form("cast", f"float32 to {_source}")(
        lambda d=_source: convert(
            lambda v: T.cast(v, d), "float32", d,
            floats(0 if d.startswith("u") else -8, 8, 128) if d != "bool" else numbers((128,), "float32", -1, 1),
        )
    )  # fmt: skip
form("cast", "T.cast(x, T.bfloat16)")(
    lambda: convert(lambda v: T.cast(v, T.bfloat16), "float32", "bfloat16", floats(size=128))
)
form("cast", "saturating float8_e4m3fn")(
    lambda: convert(lambda v: T.cast(v, "float8_e4m3fn"), "float32", "float8_e4m3fn", floats(-1000, 1000, 128))
)
form("cast", "saturating float8_e5m2")(
    lambda: convert(lambda v: T.cast(v, "float8_e5m2"), "float32", "float8_e5m2", floats(-1e5, 1e5, 128))
)
form("cast", "int32 to int8 wraps")(
    lambda: convert(lambda v: T.cast(v, "int8"), "int32", "int8", numbers((128,), "int32", -999, 999))
)
form("cast", 'round="rn", sat=True')(
    lambda: convert(lambda v: T.cast(v, "float8_e4m3fn", "rn", True), "float32", "float8_e4m3fn", floats(size=128))
)
form("Cast", 'T.Cast("float16", x)')(
    lambda: convert(lambda v: T.Cast("float16", v), "float32", "float16", floats(size=128))
)
form("float16", "T.float16(x)")(lambda: convert(lambda v: T.float16(v), "float32", "float16", floats(size=128)))
form("int32", "T.int32(x)")(lambda: convert(lambda v: T.int32(v), "float32", "int32", floats(size=128)))
form("float32", "x.astype(T.float32)")(lambda: convert(lambda v: v.astype(T.float32), "float16", "float32"))
form("bool", "T.bool(x)")(lambda: convert(lambda v: T.bool(v), "int32", "bool", numbers((128,), "int32", -1, 1)))


def reinterpreted(function, x, dest):
    return elementwise(function, [x], x.view(getattr(torch, dest)), dest)


form("reinterpret", 'T.reinterpret(x, "int32") of float32')(
    lambda: reinterpreted(lambda v: T.reinterpret(v, "int32"), floats(), "int32")
)
form("reinterpret", 'T.reinterpret("uint16", x) of float16')(
    lambda: reinterpreted(lambda v: T.reinterpret("uint16", v), floats(dtype="float16"), "uint16")
)
form("reinterpret", "T.reinterpret(x, T.float32) of uint32")(
    lambda: reinterpreted(
        lambda v: T.reinterpret(v, T.float32), torch.from_numpy(floats().numpy().view(np.uint32)), "float32"
    )
)
form("reinterpret", "bits of uint8 as float8_e4m3fn")(
    lambda: reinterpreted(
        lambda v: T.reinterpret(v, "float8_e4m3fn"), numbers((200,), "uint8", 0, 100), "float8_e4m3fn"
    )
)
