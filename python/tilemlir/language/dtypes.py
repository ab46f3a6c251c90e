"""Element types of tensors, buffers and scalars.

A :class:`DType` is accepted wherever a type is expected, and so are its name as a string, the usual aliases
(``"float"`` is float32), torch and NumPy dtypes, and the Python types ``float``, ``int`` and ``bool``.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

from ..errors import TileTypeError
from . import context


class DType:
    """One element type. Instances are unique per name; comparing with a string or a torch dtype works.

    Attributes:
        name: canonical name, as in ``"float16"``.
        kind: ``"float"``, ``"int"``, ``"uint"`` or ``"bool"``.
        bits: width of a value in bits (1 for bool, which is stored as one byte).
        short: the name used by launch plans, as in ``"f16"``.
    """

    __slots__ = ("bits", "kind", "name", "short")

    def __init__(self, name: str, kind: str, bits: int, short: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.short = short

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    itemsize = bytes

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether values are integers; bool is not one."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return self.kind in ("int", "float")

    def __call__(self, value: Any = 0) -> Any:
        """Converts a scalar, as ``T.cast(value, dtype)`` does. Outside of a kernel, a Python number gives a number."""
        builder = context.active()
        if builder is not None:
            return builder.cast(value, self)
        if not isinstance(value, (bool, int, float)):
            context.require(f"T.{self.name}(...)")
        if self.kind == "bool":
            return bool(value)
        return float(value) if self.kind == "float" else int(value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        found = lookup(other)
        return found is not None and found.name == self.name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"T.{self.name}"

    def __str__(self) -> str:
        return self.name

    def as_torch(self) -> Any:
        """The torch dtype of the same name. Raises ImportError without torch, AttributeError when torch has none."""
        import importlib

        return getattr(importlib.import_module("torch"), self.name)


_TABLE: dict[str, DType] = {}


def _define(name: str, kind: str, bits: int, short: str) -> DType:
    _TABLE[name] = DType(name, kind, bits, short)
    return _TABLE[name]


bool_ = _define("bool", "bool", 1, "bool")
int8 = _define("int8", "int", 8, "i8")
int16 = _define("int16", "int", 16, "i16")
int32 = _define("int32", "int", 32, "i32")
int64 = _define("int64", "int", 64, "i64")
uint8 = _define("uint8", "uint", 8, "u8")
uint16 = _define("uint16", "uint", 16, "u16")
uint32 = _define("uint32", "uint", 32, "u32")
uint64 = _define("uint64", "uint", 64, "u64")
float16 = _define("float16", "float", 16, "f16")
bfloat16 = _define("bfloat16", "float", 16, "bf16")
tfloat32 = _define("tfloat32", "float", 32, "tf32")
float32 = _define("float32", "float", 32, "f32")
float64 = _define("float64", "float", 64, "f64")
float8_e4m3fn = _define("float8_e4m3fn", "float", 8, "f8e4m3fn")
float8_e5m2 = _define("float8_e5m2", "float", 8, "f8e5m2")

_ALIASES = {
    "float": float32,
    "half": float16,
    "double": float64,
    "int": int32,
    "uint": uint32,
    "long": int64,
    "boolean": bool_,
    "bool_": bool_,
    "bf16": bfloat16,
    "fp16": float16,
    "fp32": float32,
    "fp64": float64,
    "tf32": tfloat32,
    "float8_e4m3": float8_e4m3fn,
    "e4m3_float8": float8_e4m3fn,
    "e5m2_float8": float8_e5m2,
}
_ALIASES.update({dtype.short: dtype for dtype in _TABLE.values()})

#: Types that programs may name but that cannot be compiled yet.
UNAVAILABLE = frozenset(
    {
        "int4",
        "uint4",
        "float4_e2m1fn",
        "float4_e2m1_unpacked",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e3m4",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    }
)

_PYTHON_TYPES: dict[type, DType] = {float: float32, int: int32, bool: bool_}


def lookup(value: object) -> DType | None:
    """The type that ``value`` names, or None when it names none."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        return _TABLE.get(value) or _ALIASES.get(value) or _TABLE.get(value.removeprefix("torch."))
    if isinstance(value, type) and value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    module = type(value).__module__
    if module == "torch" or module.startswith("torch."):
        return _TABLE.get(str(value).removeprefix("torch."))
    if module.startswith(("numpy", "ml_dtypes")):
        return _TABLE.get(str(getattr(value, "name", "")))
    if isinstance(value, type) and value.__module__.startswith(("numpy", "ml_dtypes")):
        return _TABLE.get(value.__name__.rstrip("_"))
    return None


def is_unavailable(name: str) -> bool:
    """Whether ``name`` is an element type of related languages that cannot be compiled yet: narrow types, vectors."""
    return name in UNAVAILABLE or bool(re.fullmatch(rf"({'|'.join([*_TABLE, *UNAVAILABLE])})x\d+", name))


def names() -> list[str]:
    """Canonical names of all types."""
    return list(_TABLE)


class DTypeError(TileTypeError):
    """Something that is not an element type was given as one."""

    code = "element-type"


def dtype(value: object) -> DType:
    """The element type that ``value`` names.

    Raises:
        DTypeError: when it names none, or one that cannot be compiled yet.
    """
    found = lookup(value)
    if found is not None:
        return found
    name = str(getattr(value, "name", value)).removeprefix("torch.")
    if is_unavailable(name):
        value = name
        raise DTypeError(f"the element type {value} is not available yet; available are {', '.join(names())}")
    raise DTypeError(f"{value!r} is not an element type; allowed are {', '.join(names())}")


#: Largest finite value and least normal exponent data of the float formats: (max, bits of mantissa).
_FLOAT_MAX = {
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float16": 65504.0,
    "bfloat16": struct.unpack("<f", bytes.fromhex("00007f7f"))[0],
    "tfloat32": struct.unpack("<f", bytes.fromhex("ffff7f7f"))[0],
    "float32": struct.unpack("<f", bytes.fromhex("ffff7f7f"))[0],
    "float64": struct.unpack("<d", bytes.fromhex("ffffffffffffef7f"))[0],
}


def max_value(value: object) -> int | float:
    """Largest finite value of a type, as a Python number."""
    kind = dtype(value)
    if kind.kind == "float":
        return float(_FLOAT_MAX[kind.name])
    if kind.kind == "bool":
        return 1
    return (1 << (kind.bits - (kind.kind == "int"))) - 1


def min_value(value: object) -> int | float:
    """Least finite value of a type, as a Python number."""
    kind = dtype(value)
    if kind.kind == "float":
        return -float(_FLOAT_MAX[kind.name])
    return -(1 << (kind.bits - 1)) if kind.kind == "int" else 0


def infinity(value: object = "float32") -> float:
    """Positive infinity, for a type that has it.

    Raises:
        DTypeError: for integers, and for float8_e4m3fn, which has no infinity.
    """
    kind = dtype(value)
    if kind.kind != "float" or kind.name == "float8_e4m3fn":
        raise DTypeError(f"{kind.name} has no infinity; T.max_value({kind.name!r}) is its largest value")
    return math.inf
