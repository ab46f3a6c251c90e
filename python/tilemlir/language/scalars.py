"""Arithmetic on scalars: integer helpers, selection, math functions, casts.

Applied to Python numbers these functions compute a Python number at once, inside and outside of kernels; applied to
run-time scalars they become part of the kernel. Integer division follows Python: ``//`` and ``%`` round towards
negative infinity; ``truncdiv`` and ``truncmod`` round towards zero.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

from . import context, symbols
from .dtypes import DType
from .dtypes import dtype as _dtype
from .symbols import SymbolicExpr

_Number = (bool, int, float)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, _Number) for value in values)


def _are_sizes(*values: Any) -> bool:
    return all(isinstance(value, (int, SymbolicExpr)) for value in values)


def _unary(name: str, evaluate: Callable[[float], float], x: Any) -> Any:
    if isinstance(x, _Number):
        try:
            return evaluate(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan
    return context.require(f"T.{name}").math(name, (x,))


def _binary(name: str, evaluate: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if _are_numbers(a, b):
        return evaluate(a, b)
    return context.require(f"T.{name}").math(name, (a, b))


# Integer helpers.


def ceildiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for integers and launch-time sizes."""
    if _are_sizes(a, b):
        return symbols.binary("ceildiv", a, b)
    return context.require("T.ceildiv").math("ceildiv", (a, b))


cdiv = ceildiv


def floordiv(a: Any, b: Any) -> Any:
    """``a // b``: the quotient rounded towards negative infinity."""
    if _are_sizes(a, b):
        return symbols.binary("floordiv", a, b)
    return _binary("floordiv", operator.floordiv, a, b)


def floormod(a: Any, b: Any) -> Any:
    """``a % b``: the remainder with the sign of ``b``."""
    if _are_sizes(a, b):
        return symbols.binary("mod", a, b)
    return _binary("floormod", operator.mod, a, b)


def _truncdiv(a: Any, b: Any) -> Any:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncdiv(a: Any, b: Any) -> Any:
    """The integer quotient rounded towards zero."""
    return _binary("truncdiv", _truncdiv, a, b)


def truncmod(a: Any, b: Any) -> Any:
    """The integer remainder with the sign of ``a``."""
    return _binary("truncmod", lambda x, y: x - _truncdiv(x, y) * y, a, b)


def index_to_coordinates(index: Any, shape: Any) -> list[Any]:
    """The coordinates, one per extent of ``shape``, of the element with the row-major number ``index``."""
    coordinates: list[Any] = []
    for extent in reversed(list(shape)[1:]):
        coordinates.insert(0, floormod(index, extent))
        index = floordiv(index, extent)
    return [index, *coordinates]


def align_up(value: Any, alignment: Any) -> Any:
    """The least multiple of ``alignment`` that is not below ``value``."""
    return ceildiv(value, alignment) * alignment


def next_power_of_2(value: int) -> int:
    """The least power of two that is not below the Python integer ``value``."""
    return 1 if value < 1 else 1 << (value - 1).bit_length()


def max(a: Any, b: Any, *more: Any) -> Any:
    """The largest of ``a``, ``b`` and ``more``. A NaN operand gives the other operand."""
    return _fold_extremum("max", a, b, more)


def min(a: Any, b: Any, *more: Any) -> Any:
    """The least of ``a``, ``b`` and ``more``. A NaN operand gives the other operand."""
    return _fold_extremum("min", a, b, more)


def _extremum(name: str, a: Any, b: Any) -> Any:
    if _are_numbers(a, b):
        if a != a or b != b:
            return b if a != a else a
        return (a if a >= b else b) if name == "max" else (a if a <= b else b)
    if _are_sizes(a, b):
        return symbols.binary(name, a, b)
    return context.require(f"T.{name}").math(name, (a, b))


def _fold_extremum(name: str, a: Any, b: Any, more: tuple[Any, ...]) -> Any:
    result = _extremum(name, a, b)
    for value in more:
        result = _extremum(name, result, value)
    return result


def clamp(x: Any, min_val: Any, max_val: Any) -> Any:
    """``min(max(x, min_val), max_val)``."""
    return min(max(x, min_val), max_val)


# Selection.


def if_then_else(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``; only the chosen operand is evaluated.

    The two operands are converted to their common type.
    """
    if isinstance(condition, _Number):
        return then if condition else otherwise
    return context.require("T.if_then_else").select(condition, then, otherwise)


def Select(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``; both operands are evaluated."""
    if isinstance(condition, _Number):
        return then if condition else otherwise
    return context.require("T.Select").select(condition, then, otherwise)


def And(first: Any, *more: Any) -> Any:
    """Whether ``first`` and all of ``more`` hold; all are evaluated."""
    for operand in more:
        first = _connect("and", first, operand)
    return first


def Or(first: Any, *more: Any) -> Any:
    """Whether ``first`` or one of ``more`` holds."""
    for operand in more:
        first = _connect("or", first, operand)
    return first


def Not(a: Any) -> Any:
    """Whether ``a`` does not hold."""
    return not a if isinstance(a, _Number) else context.require("T.Not").logical_not(a)


def _connect(name: str, a: Any, b: Any) -> Any:
    if _are_numbers(a, b):
        return (a and b) if name == "and" else (a or b)
    return context.require(f"T.{name.capitalize()}").logical(name, a, b)


# Exponentials, logarithms, roots.


def exp(x: Any) -> Any:
    """e to the power of x."""
    return _unary("exp", math.exp, x)


def exp2(x: Any) -> Any:
    """2 to the power of x; one instruction on GPUs for float32."""
    return _unary("exp2", lambda v: 2.0**v, x)


def exp10(x: Any) -> Any:
    """10 to the power of x."""
    return _unary("exp10", lambda v: 10.0**v, x)


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda v: -math.inf if v == 0 else function(v)


def log(x: Any) -> Any:
    """Natural logarithm."""
    return _unary("log", _log(math.log), x)


def log2(x: Any) -> Any:
    """Logarithm to base 2."""
    return _unary("log2", _log(math.log2), x)


def log10(x: Any) -> Any:
    """Logarithm to base 10."""
    return _unary("log10", _log(math.log10), x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near zero."""
    return _unary("log1p", lambda v: -math.inf if v == -1 else math.log1p(v), x)


def sqrt(x: Any) -> Any:
    """Square root."""
    return _unary("sqrt", math.sqrt, x)


def rsqrt(x: Any) -> Any:
    """Reciprocal square root."""
    return _unary("rsqrt", lambda v: math.inf if v == 0 else 1.0 / math.sqrt(v), x)


def pow(x: Any, y: Any) -> Any:
    """x to the power of y."""
    return _binary("pow", operator.pow, x, y)


# Rounding, signs.


def abs(x: Any) -> Any:
    """Absolute value."""
    return (x if x >= 0 else -x) if isinstance(x, _Number) else context.require("T.abs").math("abs", (x,))


def floor(x: Any) -> Any:
    """Largest whole number not above x, in the type of x."""
    return _unary("floor", lambda v: float(math.floor(v)) if isinstance(v, float) else v, x)


def ceil(x: Any) -> Any:
    """Least whole number not below x, in the type of x."""
    return _unary("ceil", lambda v: float(math.ceil(v)) if isinstance(v, float) else v, x)


def trunc(x: Any) -> Any:
    """x without its fraction, in the type of x."""
    return _unary("trunc", lambda v: float(math.trunc(v)) if isinstance(v, float) else v, x)


def round(x: Any) -> Any:
    """Nearest whole number, halves away from zero, in the type of x."""
    return _unary("round", lambda v: math.copysign(math.floor(math.fabs(v) + 0.5), v) if isinstance(v, float) else v, x)


def nearbyint(x: Any) -> Any:
    """Nearest whole number, halves to even, in the type of x."""
    import builtins

    return _unary("nearbyint", lambda v: float(builtins.round(v)) if isinstance(v, float) else v, x)


def copysign(x: Any, y: Any) -> Any:
    """The magnitude of x with the sign of y."""
    return _binary("copysign", math.copysign, x, y)


def fmod(x: Any, y: Any) -> Any:
    """Floating-point remainder with the sign of x."""
    return _binary("fmod", math.fmod, x, y)


# Trigonometric and other functions.


def sin(x: Any) -> Any:
    """Sine of x in radians."""
    return _unary("sin", math.sin, x)


def cos(x: Any) -> Any:
    """Cosine of x in radians."""
    return _unary("cos", math.cos, x)


def tan(x: Any) -> Any:
    """Tangent of x in radians."""
    return _unary("tan", math.tan, x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return _unary("tanh", math.tanh, x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return _unary("sigmoid", lambda v: 1.0 / (1.0 + math.exp(-v)) if v > -700 else 0.0, x)


def erf(x: Any) -> Any:
    """Error function."""
    return _unary("erf", math.erf, x)


def isnan(x: Any) -> Any:
    """Whether x is not a number."""
    return math.isnan(x) if isinstance(x, _Number) else context.require("T.isnan").math("isnan", (x,))


def isinf(x: Any) -> Any:
    """Whether x is positive or negative infinity."""
    return math.isinf(x) if isinstance(x, _Number) else context.require("T.isinf").math("isinf", (x,))


def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""
    return math.isfinite(x) if isinstance(x, _Number) else context.require("T.isfinite").math("isfinite", (x,))


# Bits.


def bitwise_and(a: Any, b: Any) -> Any:
    """Bitwise and of integers."""
    return a & b


def bitwise_or(a: Any, b: Any) -> Any:
    """Bitwise or of integers."""
    return a | b


def bitwise_xor(a: Any, b: Any) -> Any:
    """Bitwise exclusive or of integers."""
    return a ^ b


def bitwise_not(a: Any) -> Any:
    """All bits of an integer inverted."""
    return ~a


def shift_left(a: Any, b: Any) -> Any:
    """``a << b``."""
    return a << b


def shift_right(a: Any, b: Any) -> Any:
    """``a >> b``: arithmetic for signed, logical for unsigned types."""
    return a >> b


def popcount(x: Any) -> Any:
    """Number of set bits."""
    return bin(x).count("1") if isinstance(x, int) else context.require("T.popcount").math("popcount", (x,))


def clz(x: Any) -> Any:
    """Number of leading zero bits of a run-time integer."""
    return context.require("T.clz").math("clz", (x,))


# Types.


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None) -> Any:
    """``value`` converted to ``dtype``: floats round to nearest even, float to integer truncates.

    Args:
        round: ``""`` or ``"rn"``; other modes are not available yet.
        sat: accepted; conversions to 8-bit floats saturate to the largest finite value.
        rbits: must be None; stochastic rounding is not available yet.
    """
    if round not in ("", "rn") or rbits is not None:
        raise NotImplementedError(
            f"T.cast rounds to nearest even; the rounding mode {round or 'rs'!r} is not available yet"
        )
    return _dtype(dtype)(value)


def Cast(dtype: Any, value: Any) -> Any:
    """:func:`cast` with the type first."""
    return cast(value, dtype)


def reinterpret(value: Any, dtype: Any) -> Any:
    """The bits of ``value`` read as ``dtype``, a type of the same width. The arguments may come in either order."""
    if not hasattr(value, "dtype") and not isinstance(value, _Number):
        value, dtype = dtype, value
    kind: DType = _dtype(dtype)
    builder = context.active()
    if builder is not None:
        return builder.reinterpret(value, kind)
    formats = {"float32": "<f", "int32": "<i", "uint32": "<I", "float64": "<d", "int64": "<q", "uint64": "<Q"}
    if not isinstance(value, _Number) or kind.name not in formats:
        context.require("T.reinterpret")
    source = {32: "<f", 64: "<d"} if isinstance(value, float) else {32: "<I", 64: "<Q"}
    masked = value if isinstance(value, float) else int(value) & ((1 << kind.bits) - 1)
    return struct.unpack(formats[kind.name], struct.pack(source[kind.bits], masked))[0]
