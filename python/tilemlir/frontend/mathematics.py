"""Math functions of run-time scalars.

Functions of 8- and 16-bit floats are computed in float32 and rounded once; integers are converted to float32 first,
except where the function is defined on integers.
"""

from __future__ import annotations

import math
from typing import Any

from ..language.dtypes import DType, float32
from .arithmetic import Arithmetic, python_type
from .values import Scalar

_UNARY = {
    "exp": "math.exp", "exp2": "math.exp2", "log": "math.log", "log2": "math.log2", "log10": "math.log10",
    "log1p": "math.log1p", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "floor": "math.floor", "ceil": "math.ceil",
    "round": "math.round", "nearbyint": "math.roundeven", "trunc": "math.trunc", "sin": "math.sin",
    "cos": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "erf": "math.erf",
}  # fmt: skip
_WHOLE = {"floor", "ceil", "round", "nearbyint", "trunc"}
_TESTS = ("isnan", "isinf", "isfinite")
_OPERATORS = {"ceildiv", "floordiv", "floormod", "truncdiv", "truncmod", "max", "min"}
_LARGEST_UNROLLED_EXPONENT = 16


class Mathematics(Arithmetic):
    """``T.exp2`` and its relatives."""

    def math(self, name: str, operands: tuple[Any, ...]) -> Any:
        """One function of the language applied to operands of which at least one is a run-time scalar."""
        values = tuple(self.scalar(operand) for operand in operands)
        if name in _OPERATORS:
            return self._operator(name, *values)
        if name == "pow":
            dtype = self.common(*values)
            return self.power(values[0], values[1], dtype)
        if name in ("copysign", "fmod"):
            return self._binary_function(name, *values)
        value = values[0]
        if not isinstance(value, Scalar):
            value = self.as_type(value, python_type(value))
        if name in _TESTS:
            return self._test(name, value)
        if name == "abs":
            return self._absolute(value)
        if name in ("popcount", "clz"):
            return self._count_bits(name, value)
        if name in _WHOLE and not value.dtype.is_float:
            return value
        return self._float_function(name, value)

    def _operator(self, name: str, a: Any, b: Any) -> Any:
        dtype = self.common(a, b)
        if dtype.kind == "bool":
            from ..language.dtypes import int32

            dtype = int32
        return self._emit_binary(name, self.as_type(a, dtype), self.as_type(b, dtype), dtype)

    def _compute_type(self, dtype: DType) -> DType:
        return dtype if dtype.is_float and dtype.bits >= 32 else float32

    def _float_function(self, name: str, value: Scalar) -> Scalar:
        result = value.dtype if value.dtype.is_float else float32
        compute = self._compute_type(result)
        operand = self.convert(value, compute)
        if name == "sigmoid":
            one = self.constant(1.0, compute)
            exponential = self._float_function("exp", self.unary("neg", operand))
            made = self.binary("div", one, self.binary("add", one, exponential))
        elif name == "exp10":
            made = Scalar(
                self.value("math.powf", self.scalar_type(compute), [self.constant(10.0, compute).value, operand.value]),
                compute,
            )
        else:
            made = Scalar(self.value(_UNARY[name], self.scalar_type(compute), [operand.value]), compute)
        return self.convert(made, result)

    def _binary_function(self, name: str, a: Any, b: Any) -> Any:
        dtype = self.common(a, b)
        if not dtype.is_float:
            if name == "fmod":
                return self._operator("truncmod", a, b)
            dtype = float32
        compute = self._compute_type(dtype)
        left, right = self.as_type(a, compute), self.as_type(b, compute)
        if name == "copysign":
            made = Scalar(self.value("math.copysign", self.scalar_type(compute), [left.value, right.value]), compute)
        else:
            made = self._emit_binary("fmod", left, right, compute)
        return self.convert(made, dtype)

    def _test(self, name: str, value: Scalar) -> Any:
        if not value.dtype.is_float:
            return name == "isfinite"
        operand = self.convert(value, self._compute_type(value.dtype))
        if name == "isnan":
            return self.compare("ne", operand, operand)
        # Comparisons with NaN are false: a NaN is neither infinite nor finite.
        magnitude = self._absolute(operand)
        return self.compare("eq" if name == "isinf" else "lt", magnitude, math.inf)

    def _absolute(self, value: Scalar) -> Scalar:
        if value.dtype.kind in ("uint", "bool") or (value.dtype.is_integer and value.nonnegative):
            return value
        target = self.scalar_type(value.dtype)
        if value.dtype.is_float:
            if value.dtype.bits == 8:
                return self.convert(self._absolute(self.convert(value, float32)), value.dtype)
            return Scalar(self.value("math.absf", target, [value.value]), value.dtype)
        return Scalar(self.value("math.absi", target, [value.value]), value.dtype, multiple=value.multiple)

    def _count_bits(self, name: str, value: Scalar) -> Scalar:
        if not value.dtype.is_integer:
            self.fail("dtype", f"T.{name} needs an integer", found=self.describe(value))
        operation = "math.ctpop" if name == "popcount" else "math.ctlz"
        made = self.value(operation, self.scalar_type(value.dtype), [value.value])
        return Scalar(made, value.dtype, low=0, high=value.dtype.bits)

    def power(self, a: Any, b: Any, dtype: DType) -> Any:
        """``a ** b``: products for small constant exponents, a square root for 0.5, else the power function."""
        if not isinstance(b, Scalar):
            if float(b) == int(b) and 0 <= b <= _LARGEST_UNROLLED_EXPONENT:
                return self._product(self.as_type(a, dtype), int(b), dtype)
            if b == 0.5:
                return self._float_function("sqrt", self.as_type(a, dtype))
            if float(b) == int(b) and -_LARGEST_UNROLLED_EXPONENT <= b < 0:
                kind = dtype if dtype.is_float else float32
                return self.binary("div", 1.0, self._product(self.as_type(a, kind), -int(b), kind))
        if dtype.kind == "bool":
            self.fail("dtype", "the power of truth values is not defined")
        if dtype.is_integer:
            operands = [self.as_type(a, dtype).value, self.as_type(b, dtype).value]
            return Scalar(self.value("math.ipowi", self.scalar_type(dtype), operands), dtype)
        compute = self._compute_type(dtype)
        operands = [self.as_type(a, compute).value, self.as_type(b, compute).value]
        made = Scalar(self.value("math.powf", self.scalar_type(compute), operands), compute)
        return self.convert(made, dtype)

    def _product(self, base: Scalar, exponent: int, dtype: DType) -> Any:
        if exponent == 0:
            return self.as_type(1, dtype)
        result: Any = None
        square: Any = base
        while exponent:
            if exponent & 1:
                result = square if result is None else self.binary("mul", result, square)
            exponent >>= 1
            if exponent:
                square = self.binary("mul", square, square)
        return result
