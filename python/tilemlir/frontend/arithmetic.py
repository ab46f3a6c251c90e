"""Arithmetic on run-time scalars: promotion, conversion, operators, selection.

Signedness lives in the element type of a :class:`Scalar`; MLIR values are signless. Promotion: the wider of two
floats (float32 for float16 with bfloat16), the float of a float and an integer, the wider of two integers (signed
when signedness differs). Python floats take the type of the other operand if it is a float, else float32; Python
integers take the type of the other operand if it is a float or an integer of at least 32 bits, else int32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..language.dtypes import DType, bool_, float32, float64, int32, int64
from ..language.symbols import SymbolicExpr
from .builder import Builder
from .values import Element, Reference, RuntimeValue, Scalar, Storage, Variable, combined_multiple, with_article

Number = (bool, int, float)

_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
_INTEGER_PREDICATES = {
    "eq": (0, 0),
    "ne": (1, 1),
    "lt": (2, 6),
    "le": (3, 7),
    "gt": (4, 8),
    "ge": (5, 9),
}  # (signed, unsigned) of arith.cmpi
_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}  # ordered, except une
_BITWISE = {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


def promote(a: DType, b: DType) -> DType:
    """The common type of two run-time operands."""
    if a.name == b.name:
        return a
    if a.is_float or b.is_float:
        if not a.is_float:
            return b
        if not b.is_float:
            return a
        if a.bits != b.bits:
            return a if a.bits > b.bits else b
        return float32
    if a.kind == "bool":
        return b
    if b.kind == "bool":
        return a
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    bits = max(a.bits, b.bits)
    return {8: _signed(8), 16: _signed(16), 32: int32, 64: int64}[bits]


def _signed(bits: int) -> DType:
    from ..language import dtypes

    return {8: dtypes.int8, 16: dtypes.int16}[bits]


def fits(value: int, dtype: DType) -> bool:
    """Whether an integer type holds a value exactly."""
    if dtype.kind == "uint":
        return 0 <= value < 1 << dtype.bits
    return -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1)


def python_type(value: int | float) -> DType:
    """The type of a Python number on its own."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    return int32 if fits(value, int32) else int64


def adapt(value: int | float, other: DType) -> DType:
    """The type that an operation of a Python number and a run-time value of type ``other`` is done in."""
    if isinstance(value, bool):
        return other
    if isinstance(value, float):
        return other if other.is_float else float32
    if other.is_float:
        return other
    if other.kind == "bool" or other.bits < 32:
        return int32 if fits(value, int32) else int64
    if other.kind == "uint":
        return other if -(1 << (other.bits - 1)) <= value < 1 << other.bits else int64
    return other if fits(value, other) else int64


class Arithmetic(Builder):
    """Operators of the traced world."""

    #: Operations so far that must not be executed ahead of the condition they stand under.
    unsafe_operations = 0

    # Reading and converting.

    def scalar(self, value: Any) -> Any:
        """``value`` ready to be computed with: references are read, launch-time sizes lowered; numbers stay."""
        if isinstance(value, Scalar) or isinstance(value, Number):
            return value
        if isinstance(value, Reference):
            return self.load(value)
        if isinstance(value, SymbolicExpr):
            return self.lower_size(value)
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            return value.item()  # a NumPy scalar is a compile-time number
        self.fail(
            "argument",
            "this value cannot be used in arithmetic of the kernel",
            found=repr(value),
            allowed="numbers, run-time scalars, elements of tensors and buffers",
        )

    def load(self, reference: Reference) -> Scalar:
        """Reads a variable or an element."""
        raise NotImplementedError

    def lower_size(self, size: SymbolicExpr) -> Any:
        """The value of a launch-time size."""
        raise NotImplementedError

    def as_type(self, value: Any, dtype: DType) -> Scalar:
        """``value`` as a run-time scalar of exactly ``dtype``."""
        value = self.scalar(value)
        if isinstance(value, Scalar):
            return self.convert(value, dtype)
        self.check_number(value, dtype)
        if dtype.kind == "bool":
            return self.constant(int(bool(value)), dtype)
        if dtype.is_integer:
            return self.constant(int(value), dtype)
        return self.constant(float(value), dtype)

    def index_value(self, value: Any) -> Scalar:
        """``value`` as an i32 coordinate. 64-bit integers outside of its range become its ends, which no tensor has."""
        value = self.scalar(value)
        if isinstance(value, Scalar):
            if value.dtype.name == "int32":
                return value
            if not (value.dtype.is_integer or value.dtype.kind == "bool"):
                self.fail(
                    "index",
                    f"an index must be an integer, found {with_article(value.dtype)}",
                    fix="convert it: T.cast(x, 'int32')",
                )
            if value.dtype.bits == 64:
                kind = value.dtype
                if kind.kind == "uint":
                    value = self._emit_binary("min", value, self.constant((1 << 31) - 1, kind), kind)
                else:
                    value = self._emit_binary("min", value, self.constant((1 << 31) - 1, kind), kind)
                    value = self._emit_binary("max", value, self.constant(-(1 << 31), kind), kind)
            return self.convert(value, int32)
        if isinstance(value, float):
            self.fail("index", f"an index must be an integer, found {value}")
        self.check_number(value, int32)
        return self.constant(int(value), int32)

    def cast(self, value: Any, dtype: Any) -> Any:
        """``T.cast``: converts a scalar or a compile-time number to a run-time scalar of ``dtype``."""
        from ..language.dtypes import dtype as lookup

        kind = lookup(dtype)
        return self.as_type(value, kind)

    def convert(self, value: Scalar, dtype: DType) -> Scalar:
        """A run-time scalar in another type; floats round to nearest even, float to integer truncates."""
        source = value.dtype
        if source.name == dtype.name:
            return value
        if value.constant is not None and (not isinstance(value.constant, float) or dtype.is_float):
            if dtype.is_float or dtype.kind == "bool" or fits(int(value.constant), dtype):
                return self.as_type(value.constant, dtype)
        target = self.scalar_type(dtype)
        operand = value.value
        if dtype.kind == "bool":
            truth: Scalar = self.compare("ne", value, 0)
            return truth
        if source.is_float and dtype.is_float:
            return Scalar(self._float_to_float(operand, source, dtype), dtype)
        if source.is_float:
            name = "arith.fptosi" if dtype.kind == "int" else "arith.fptoui"
            return Scalar(self.value(name, target, [operand]), dtype, bare=value.bare)
        if dtype.is_float:
            name = "arith.sitofp" if source.kind == "int" else "arith.uitofp"
            return Scalar(self.value(name, target, [operand]), dtype)
        if source.bits == dtype.bits:
            made = operand
        elif source.bits > dtype.bits:
            made = self.value("arith.trunci", target, [operand])
        else:
            made = self.value("arith.extsi" if source.kind == "int" else "arith.extui", target, [operand])
        keeps = value.low is not None and value.high is not None and fits(value.low, dtype) and fits(value.high, dtype)
        return Scalar(
            made,
            dtype,
            low=value.low if keeps else (0 if source.kind in ("uint", "bool") and source.bits < dtype.bits else None),
            high=value.high if keeps else None,
            multiple=value.multiple,
            bare=value.bare,
            linear=value.terms() if dtype.bits >= source.bits else None,
        )

    def _float_to_float(self, operand: Any, source: DType, dtype: DType) -> Any:
        target = self.scalar_type(dtype)
        if {source.name, dtype.name} == {"tfloat32", "float32"}:
            return operand
        if source.bits < dtype.bits:
            return self.value("arith.extf", target, [operand])
        if source.bits > dtype.bits:
            return self.value("arith.truncf", target, [operand])
        wide = self.value("arith.extf", self.scalar_type(float32), [operand])
        return self.value("arith.truncf", target, [wide])

    def reinterpret(self, value: Any, dtype: DType) -> Scalar:
        """``T.reinterpret``: the same bits as another type."""
        value = self.scalar(value)
        if not isinstance(value, Scalar):
            value = self.as_type(value, python_type(value))
        if value.dtype.bits != dtype.bits:
            self.fail(
                "dtype",
                "T.reinterpret keeps the number of bits",
                found=f"{value.dtype} has {value.dtype.bits} bits, {dtype} has {dtype.bits}",
                fix="use T.cast to convert the value",
            )
        if self.scalar_type(value.dtype) == self.scalar_type(dtype):
            return Scalar(value.value, dtype)
        return Scalar(self.value("arith.bitcast", self.scalar_type(dtype), [value.value]), dtype)

    def boolean(self, value: Any) -> Any:
        """The truth value: a Python bool, or a scalar of type bool."""
        value = self.scalar(value)
        if not isinstance(value, Scalar):
            return bool(value)
        return self.convert(value, bool_)

    # Operators.

    def common(self, a: Any, b: Any) -> DType:
        """The type that an operation on ``a`` and ``b``, at least one of them a run-time scalar, is done in."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return promote(a.dtype, b.dtype)
        if isinstance(a, Scalar):
            return adapt(b, a.dtype)
        return adapt(a, b.dtype)

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """One operator; ``name`` as in ``add, sub, mul, div, floordiv, floormod, pow, and, or, xor, shl, shr, lt``."""
        for operand in (a, b):
            if not isinstance(operand, (RuntimeValue, SymbolicExpr, *Number)) and not hasattr(operand, "item"):
                self.fail(
                    "argument",
                    f"the operator {_SIGNS.get(name, name)} is not defined for these operands",
                    found=f"{self.describe(a)} and {self.describe(b)}",
                    allowed="run-time scalars and numbers; whole buffers are combined element by element in T.Parallel",
                )
        if name in _COMPARISONS:
            return self.compare(name, a, b)
        a, b = self.scalar(a), self.scalar(b)
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return python_binary(name, a, b)
        dtype = self.common(a, b)
        if name == "div" and not dtype.is_float:
            dtype = float32
        if name in ("and", "or", "xor", "shl", "shr"):
            if dtype.is_float:
                self.fail(
                    "dtype",
                    f"the operator {_SIGNS[name]} needs integers",
                    found=f"{self.describe(a)} and {self.describe(b)}",
                    fix="T.reinterpret reads the bits of a float as an integer",
                )
        elif dtype.kind == "bool":
            dtype = int32
        simple = self._identity(name, a, b, dtype)
        if simple is not None:
            return simple
        if name == "pow":
            return self.power(a, b, dtype)
        return self._emit_binary(name, self.as_type(a, dtype), self.as_type(b, dtype), dtype)

    def describe(self, value: Any) -> str:
        """A value for messages."""
        if isinstance(value, (Scalar, Element, Variable)):
            return f"a run-time {value.dtype}"
        if isinstance(value, Storage):
            return value.describe()
        if callable(value) and hasattr(value, "__name__"):
            return f"the function {value.__name__}"
        return repr(value)

    def _identity(self, name: str, a: Any, b: Any, dtype: DType) -> Scalar | None:
        """``x + 0``, ``x * 1`` and the like of integers, which need no operation."""
        if dtype.is_float or dtype.kind == "bool":
            return None
        if isinstance(a, Scalar) and a.dtype.name == dtype.name and not isinstance(b, Scalar):
            if b == 0 and name in ("add", "sub", "shl", "shr", "or", "xor"):
                return a
            if b == 1 and name in ("mul", "floordiv"):
                return a
        if isinstance(b, Scalar) and b.dtype.name == dtype.name and not isinstance(a, Scalar):
            if (a == 0 and name in ("add", "or", "xor")) or (a == 1 and name == "mul"):
                return b
        if name == "mul" and (a == 0 if not isinstance(a, Scalar) else not isinstance(b, Scalar) and b == 0):
            return self.constant(0, dtype)
        return None

    def _emit_binary(self, name: str, a: Scalar, b: Scalar, dtype: DType) -> Scalar:
        target = self.scalar_type(dtype)
        if dtype.is_float:
            return Scalar(self._float_binary(name, a.value, b.value, target, dtype), dtype)
        if (
            a.constant is not None
            and b.constant is not None
            and (b.constant != 0 or name not in ("floordiv", "floormod", "ceildiv", "truncdiv", "truncmod"))
        ):
            folded = python_binary(name, int(a.constant), int(b.constant))
            if fits(folded, dtype):
                return self.constant(folded, dtype)
        exact = self._exact_quotient(name, a, b, dtype)
        if exact is not None:
            return exact
        facts = self._integer_facts(name, a, b, dtype)
        if b.constant == 0 and name in ("floordiv", "floormod", "ceildiv", "truncdiv", "truncmod"):
            self.fail("argument", "division by zero")
        if name in ("floordiv", "floormod", "ceildiv", "truncdiv", "truncmod") and (b.low is None or b.low < 1):
            self.unsafe_operations += 1  # may divide by zero: must not be done ahead of a condition
        made = Scalar(self._integer_binary(name, a, b, dtype), dtype, **facts)
        if name == "mul" and (a.constant is None) != (b.constant is None):
            made.factor = (b, int(a.constant)) if a.constant is not None else (a, int(b.constant or 0))
        return made

    def _exact_quotient(self, name: str, a: Scalar, b: Scalar, dtype: DType) -> Scalar | None:
        """``(x * 64) / 32`` without a division, where the product cannot have wrapped around."""
        if name not in ("floordiv", "ceildiv", "truncdiv") or a.factor is None or not b.constant:
            return None
        base, factor = a.factor
        if factor % int(b.constant) or dtype.bits < 32 or dtype.kind == "uint":
            return None
        quotient = factor // int(b.constant)
        if quotient == 1:
            return base
        return self._emit_binary("mul", base, self.constant(quotient, dtype), dtype)

    def _float_binary(self, name: str, a: Any, b: Any, target: Any, dtype: DType) -> Any:
        simple = {
            "add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf", "fmod": "arith.remf",
            "max": "arith.maxnumf", "min": "arith.minnumf", "truncmod": "arith.remf",
        }.get(name)  # fmt: skip
        if dtype.bits == 8:
            wide = self.scalar_type(float32)
            a, b = self.value("arith.extf", wide, [a]), self.value("arith.extf", wide, [b])
            return self.value("arith.truncf", target, [self._float_binary(name, a, b, wide, float32)])
        if simple:
            return self.value(simple, target, [a, b])
        if name in ("floordiv", "ceildiv", "truncdiv"):
            rounding = {"floordiv": "math.floor", "ceildiv": "math.ceil", "truncdiv": "math.trunc"}[name]
            return self.value(rounding, target, [self.value("arith.divf", target, [a, b])])
        if name == "floormod":
            whole = self.value("math.floor", target, [self.value("arith.divf", target, [a, b])])
            return self.value("arith.subf", target, [a, self.value("arith.mulf", target, [whole, b])])
        self.fail("dtype", f"the operator {_SIGNS.get(name, name)} is not defined for {dtype}")

    def _integer_binary(self, name: str, a: Scalar, b: Scalar, dtype: DType) -> Any:
        target = self.scalar_type(dtype)
        operands = [a.value, b.value]
        unsigned = dtype.kind != "int"
        positive = unsigned or (a.nonnegative and b.nonnegative)
        if name in ("add", "sub", "mul"):
            return self.value(f"arith.{name}i", target, operands)
        if name in _BITWISE:
            return self.value(_BITWISE[name], target, operands)
        if name == "shl":
            return self.value("arith.shli", target, operands)
        if name == "shr":
            return self.value("arith.shrui" if unsigned else "arith.shrsi", target, operands)
        if name in ("max", "min"):
            return self.value(f"arith.{name}{'u' if unsigned else 's'}i", target, operands)
        if name == "truncdiv" or (name == "floordiv" and positive):
            return self.value("arith.divui" if positive else "arith.divsi", target, operands)
        if name == "truncmod" or (name == "floormod" and positive):
            return self.value("arith.remui" if positive else "arith.remsi", target, operands)
        if name == "floordiv":
            return self.value("arith.floordivsi", target, operands)
        if name == "ceildiv":
            return self.value("arith.ceildivui" if unsigned else "arith.ceildivsi", target, operands)
        if name == "floormod":
            quotient = self.value("arith.floordivsi", target, operands)
            return self.value("arith.subi", target, [a.value, self.value("arith.muli", target, [quotient, b.value])])
        self.fail("dtype", f"the operator {_SIGNS.get(name, name)} is not defined for {dtype}")

    def _integer_facts(self, name: str, a: Scalar, b: Scalar, dtype: DType) -> dict[str, Any]:
        """Bounds, divisibility and linear form of a result."""
        low: int | None = None
        high: int | None = None
        multiple = 1
        bare = False
        linear = None
        if name in ("add", "sub"):
            sign = 1 if name == "add" else -1
            b_low, b_high = (b.low, b.high) if sign == 1 else (_negated(b.high), _negated(b.low))
            low = a.low + b_low if a.low is not None and b_low is not None else None
            high = a.high + b_high if a.high is not None and b_high is not None else None
            multiple = combined_multiple(a.multiple, b.multiple)
            linear = _add_terms(a.terms(), b.terms(), sign)
        elif name == "mul":
            if None not in (a.low, a.high, b.low, b.high):
                products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
                low, high = min(products), max(products)
            elif a.nonnegative and b.nonnegative:
                low = 0
            multiple = a.multiple * b.multiple
            if b.constant is not None:
                linear = _scale_terms(a.terms(), int(b.constant))
            elif a.constant is not None:
                linear = _scale_terms(b.terms(), int(a.constant))
        elif name in ("floordiv", "truncdiv", "ceildiv", "shr"):
            bare = True
            divisor = 1 << int(b.constant) if name == "shr" and b.constant is not None else b.constant
            if a.nonnegative and (b.low is not None and b.low >= (0 if name == "shr" else 1)):
                low, high = 0, a.high
            if divisor and divisor > 0 and a.low is not None:
                up = int(divisor) - 1 if name == "ceildiv" else 0
                low = (a.low + up) // int(divisor)
                high = (a.high + up) // int(divisor) if a.high is not None else None
            if divisor and a.multiple % int(divisor) == 0:
                multiple = a.multiple // abs(int(divisor))
        elif name in ("floormod", "truncmod"):
            bare = True
            if b.nonnegative and (a.nonnegative or (name == "floormod" and b.low)):
                low, high = 0, b.high - 1 if b.high else None  # zero is no divisor
            multiple = combined_multiple(a.multiple, b.multiple)
        elif name == "shl" and b.constant is not None and 0 <= b.constant < dtype.bits:
            return self._integer_facts("mul", a, self.constant(1 << int(b.constant), dtype), dtype)
        elif name in ("min", "max"):
            multiple = combined_multiple(a.multiple, b.multiple)
            pick = min if name == "min" else max
            if a.low is not None and b.low is not None:
                low = pick(a.low, b.low)
            elif name == "max":
                low = a.low if a.low is not None else b.low
            if a.high is not None and b.high is not None:
                high = pick(a.high, b.high)
            elif name == "min":
                high = a.high if a.high is not None else b.high
        elif name == "and":
            known = [x.high for x in (a, b) if x.nonnegative and x.high is not None]
            if known:
                low, high = 0, min(known)
            elif a.nonnegative or b.nonnegative:
                low = 0
            bare = True
        if (low is not None and not fits(low, dtype)) or (high is not None and not fits(high, dtype)):
            low = high = None  # may wrap around
        elif high is None and low is not None and name in ("add", "mul", "sub") and dtype.bits < 32:
            low = None
        return {"low": low, "high": high, "multiple": multiple, "bare": bare, "linear": linear}

    def compare(self, name: str, a: Any, b: Any) -> Any:
        """A comparison: a Python bool, or a scalar of type bool."""
        a, b = self.scalar(a), self.scalar(b)
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return python_binary(name, a, b)
        dtype = self.common(a, b)
        if dtype.kind == "bool" and name not in ("eq", "ne"):
            dtype = int32
        left, right = self.as_type(a, dtype), self.as_type(b, dtype)
        if dtype.is_float and dtype.bits == 8:
            dtype = float32
            left, right = self.convert(left, dtype), self.convert(right, dtype)
        if dtype.is_float:
            attribute = self.attribute(f"{_FLOAT_PREDICATES[name]} : i64")
            return Scalar(self.value("arith.cmpf", self.i1, [left.value, right.value], {"predicate": attribute}), bool_)
        predicate = _INTEGER_PREDICATES[name][0 if dtype.kind == "int" else 1]
        return Scalar(
            self.value(
                "arith.cmpi", self.i1, [left.value, right.value], {"predicate": self.attribute(f"{predicate} : i64")}
            ),
            bool_,
        )

    def unary(self, name: str, value: Any) -> Any:
        """``neg``, ``pos``, ``invert`` or ``abs``."""
        value = self.scalar(value)
        if not isinstance(value, Scalar):
            return {"neg": lambda v: -v, "pos": lambda v: +v, "invert": lambda v: ~v, "abs": abs}[name](value)
        if name == "pos":
            return value
        if name == "abs":
            return self.math("abs", (value,))
        if name == "invert":
            if value.dtype.is_float:
                self.fail("dtype", "the operator ~ needs an integer", found=self.describe(value))
            if value.dtype.kind == "bool":
                return self.logical_not(value)
            return self.binary("xor", value, self.constant(-1, value.dtype))
        if value.dtype.is_float:
            if value.constant is not None:
                return self.constant(-value.constant, value.dtype)
            if value.dtype.bits == 8:
                return self.convert(self.unary("neg", self.convert(value, float32)), value.dtype)
            return Scalar(self.value("arith.negf", self.scalar_type(value.dtype), [value.value]), value.dtype)
        return self.binary("sub", 0, value)

    def logical_not(self, value: Any) -> Any:
        """``not value``."""
        condition = self.boolean(value)
        if not isinstance(condition, Scalar):
            return not condition
        return Scalar(self.value("arith.xori", self.i1, [condition.value, self.constant(1, bool_).value]), bool_)

    def logical(self, name: str, a: Any, b: Any) -> Any:
        """``and`` or ``or`` of truth values that are both safe to evaluate."""
        left, right = self.boolean(a), self.boolean(b)
        if not isinstance(left, Scalar):
            return right if left == (name == "and") else left
        if not isinstance(right, Scalar):
            return left if right == (name == "and") else right
        return Scalar(self.value(_BITWISE[name], self.i1, [left.value, right.value]), bool_)

    def select(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """``then`` where the condition holds, else ``otherwise``; both are evaluated."""
        test = self.boolean(condition)
        if not isinstance(test, Scalar):
            return then if test else otherwise
        a, b = self.scalar(then), self.scalar(otherwise)
        dtype = self.common_of_branches(a, b)
        a, b = self.as_type(a, dtype), self.as_type(b, dtype)
        made = self.value("arith.select", self.scalar_type(dtype), [test.value, a.value, b.value])
        return self.merged(made, a, b)

    def common_of_branches(self, a: Any, b: Any) -> DType:
        """The type of an expression that gives ``a`` or ``b``."""
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return self.common(a, b)
        return promote(python_type(a), python_type(b))

    def merged(self, value: Any, a: Scalar, b: Scalar) -> Scalar:
        """A scalar that equals ``a`` or ``b``."""
        if a.dtype.is_float or a.dtype.kind == "bool":
            return Scalar(value, a.dtype)
        return Scalar(
            value,
            a.dtype,
            low=min(a.low, b.low) if a.low is not None and b.low is not None else None,
            high=max(a.high, b.high) if a.high is not None and b.high is not None else None,
            multiple=combined_multiple(a.multiple, b.multiple),
        )

    def power(self, a: Any, b: Any, dtype: DType) -> Any:
        """``a ** b``."""
        raise NotImplementedError

    def math(self, name: str, operands: tuple[Any, ...]) -> Any:
        """One function of the language."""
        raise NotImplementedError


def python_binary(name: str, a: Any, b: Any) -> Any:
    """The operator on Python numbers."""
    import operator

    if name in ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"):
        if name == "floordiv":
            return a // b
        if name == "floormod":
            return a % b
        if name == "ceildiv":
            return -(-a // b)
        quotient = abs(a) // abs(b)
        quotient = quotient if (a < 0) == (b < 0) else -quotient
        return quotient if name == "truncdiv" else a - quotient * b
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
        "and": operator.and_, "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
        "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
        "ne": operator.ne, "max": max, "min": min,
    }  # fmt: skip
    return functions[name](a, b)


def _negated(value: int | None) -> int | None:
    return None if value is None else -value


def _add_terms(
    a: tuple[dict[Scalar, int], int], b: tuple[dict[Scalar, int], int], sign: int
) -> tuple[dict[Scalar, int], int]:
    terms = dict(a[0])
    for atom, coefficient in b[0].items():
        total = terms.get(atom, 0) + sign * coefficient
        if total:
            terms[atom] = total
        else:
            terms.pop(atom, None)
    return terms, a[1] + sign * b[1]


def _scale_terms(a: tuple[dict[Scalar, int], int], factor: int) -> tuple[dict[Scalar, int], int]:
    return ({atom: coefficient * factor for atom, coefficient in a[0].items()} if factor else {}, a[1] * factor)


__all__ = ["Arithmetic", "adapt", "fits", "float64", "promote", "python_binary", "python_type"]
