"""Element types of fuzzed programs: rounding, promotion, and conversion between NumPy and torch.

Values of floats are held as float64, integers as NumPy integers of their own type, truth values as bool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Element:
    """An element type.

    Attributes:
        name: as in the language.
        kind: float, int, uint or bool.
        bits: width in memory.
        precision: significant bits of a float, with the hidden one.
        least: exponent of the smallest normal number.
        largest: the largest finite value.
        saturates: whether conversions clamp to the largest value instead of giving infinity.
    """

    name: str
    kind: str
    bits: int
    precision: int = 0
    least: int = 0
    largest: float = 0.0
    saturates: bool = False

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def numpy(self) -> np.dtype:
        """What values are held as."""
        if self.is_float:
            return np.dtype(np.float64)
        return np.dtype(np.bool_) if self.kind == "bool" else np.dtype(self.name)

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - (self.kind == "int"))) - 1 if self.is_integer else 1


_FLOATS = (
    Element("float16", "float", 16, 11, -14, 65504.0),
    Element("bfloat16", "float", 16, 8, -126, (2 - 2.0**-7) * 2.0**127),
    Element("float32", "float", 32, 24, -126, (2 - 2.0**-23) * 2.0**127),
    Element("float64", "float", 64, 53, -1022, float(np.finfo(np.float64).max)),
    Element("float8_e4m3fn", "float", 8, 4, -6, 448.0, True),
    Element("float8_e5m2", "float", 8, 3, -14, 57344.0, True),
)
_INTEGERS = tuple(Element(f"{kind}{bits}", kind, bits) for kind in ("int", "uint") for bits in (8, 16, 32, 64))
ELEMENTS: dict[str, Element] = {one.name: one for one in (*_FLOATS, *_INTEGERS, Element("bool", "bool", 8))}
#: Operands of a float32 product with the default precision.
TF32 = Element("tf32", "float", 32, 11, -126, (2 - 2.0**-10) * 2.0**127)

FLOATS = tuple(one.name for one in _FLOATS)
INTEGERS = tuple(one.name for one in _INTEGERS)


def round_to(values: np.ndarray, element: Element) -> np.ndarray:
    """float64 values rounded once to a float type, to nearest even."""
    if element.name == "float64":
        return values
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        # The exponent of frexp is one more than that of the leading bit.
        last = np.maximum(exponent - 1, element.least) - (element.precision - 1)
        rounded = np.ldexp(np.rint(np.ldexp(values, -last)), last)
        over = np.abs(rounded) > element.largest
        top = element.largest if element.saturates else np.inf
        clamped = np.where(over, np.copysign(top, values), rounded)
        special = values if not element.saturates else np.where(np.isnan(values), values, np.copysign(top, values))
        return np.where(np.isfinite(values), clamped, special)


def spacing(values: np.ndarray, element: Element) -> np.ndarray:
    """Distance between neighbouring numbers of a float type at float64 values."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
        return np.ldexp(1.0, np.maximum(exponent - 1, element.least) - (element.precision - 1))


def lowest_bit(values: np.ndarray) -> float:
    """The largest power of two that all finite values are multiples of; infinity when all are zero."""
    used = values[np.isfinite(values) & (values != 0)]
    if used.size == 0:
        return float("inf")
    mantissa, exponent = np.frexp(used)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponent - 53).min())


def promote(a: str, b: str) -> str:
    """The type of an operation of two run-time operands (docs/language.md, Scalars)."""
    x, y = ELEMENTS[a], ELEMENTS[b]
    if a == b:
        return a
    if x.is_float or y.is_float:
        if not x.is_float:
            return b
        if not y.is_float:
            return a
        if x.bits != y.bits:
            return a if x.bits > y.bits else b
        return "float32"
    if "bool" in (a, b):
        return b if a == "bool" else a
    if x.kind == y.kind:
        return a if x.bits > y.bits else b
    return f"int{max(x.bits, y.bits)}"


def adapt(value: int | float, other: str) -> str:
    """The type of an operation of a Python number and a run-time operand."""
    element = ELEMENTS[other]
    if element.is_float:
        return other
    if isinstance(value, float):
        return "float32"
    if element.kind == "bool" or element.bits < 32:
        return "int32"
    return other


def to_torch(values: np.ndarray, element: Element):
    """A contiguous torch tensor; float64 values must be numbers of the type."""
    import torch

    if element.is_float:
        wide = torch.from_numpy(np.ascontiguousarray(values, np.float64))
        if element.bits == 8:
            wide = wide.to(torch.float32)
        return wide.to(getattr(torch, element.name))
    raw = np.ascontiguousarray(values, element.numpy)
    return torch.from_numpy(raw.reshape(-1).view(np.uint8)).view(getattr(torch, element.name)).reshape(raw.shape)


def from_torch(tensor, element: Element) -> np.ndarray:
    """Values of a torch tensor on the CPU, as they are held here."""
    import torch

    if element.is_float:
        if element.bits == 8:
            tensor = tensor.to(torch.float32)
        return tensor.to(torch.float64).numpy()
    if element.kind == "bool":
        return tensor.clone().view(torch.uint8).numpy() != 0
    return np.array(tensor.numpy())
