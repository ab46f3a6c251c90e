"""Element types: short names of launch plans, long names, NumPy and torch dtypes, DLPack codes."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ELEMENT_TYPES", "ElementType", "element_type", "numpy_dtype", "torch_dtype"]


class ElementType(NamedTuple):
    """One element type.

    Attributes:
        short: the launch plan's name, such as ``"f16"``.
        long: the name that torch, NumPy and `T.<name>` use, such as ``"float16"``.
        bits: storage size in bits.
        dlpack_code: DLPack type code.
    """

    short: str
    long: str
    bits: int
    dlpack_code: int


ELEMENT_TYPES: tuple[ElementType, ...] = (
    ElementType("f16", "float16", 16, 2),
    ElementType("bf16", "bfloat16", 16, 4),
    ElementType("f32", "float32", 32, 2),
    ElementType("f64", "float64", 64, 2),
    ElementType("tf32", "float32", 32, 2),
    ElementType("f8e4m3fn", "float8_e4m3fn", 8, 10),
    ElementType("f8e5m2", "float8_e5m2", 8, 12),
    ElementType("i8", "int8", 8, 0),
    ElementType("i16", "int16", 16, 0),
    ElementType("i32", "int32", 32, 0),
    ElementType("i64", "int64", 64, 0),
    ElementType("u8", "uint8", 8, 1),
    ElementType("u16", "uint16", 16, 1),
    ElementType("u32", "uint32", 32, 1),
    ElementType("u64", "uint64", 64, 1),
    ElementType("bool", "bool", 8, 6),
)

_BY_SHORT = {entry.short: entry for entry in ELEMENT_TYPES}
# tf32 shares float32's long name; the storage type is the plain one.
_BY_LONG = {entry.long: entry for entry in reversed(ELEMENT_TYPES) if entry.short != "tf32"}
_NUMPY_BOOL_NAMES = {"bool_": "bool"}


def element_type(dtype: object) -> ElementType:
    """The element type that a short name, long name, NumPy dtype or torch dtype stands for.

    Raises:
        TypeError: when nothing in a kernel has that type.
    """
    if isinstance(dtype, ElementType):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        name = str(dtype).removeprefix("torch.")
        if isinstance(dtype, type):
            name = _NUMPY_BOOL_NAMES.get(dtype.__name__, dtype.__name__)
    found = _BY_SHORT.get(name) or _BY_LONG.get(name)
    if found is None:
        raise TypeError(f"kernels have no element type {dtype!r}")
    return found


def numpy_dtype(dtype: object) -> Any:
    """The NumPy dtype of an element type; bfloat16 and 8-bit floats need the `ml_dtypes` package.

    Raises:
        ImportError: when `ml_dtypes` is needed and missing.
    """
    import numpy

    entry = element_type(dtype)
    if entry.short in ("bf16", "f8e4m3fn", "f8e5m2"):
        try:
            import ml_dtypes
        except ImportError as error:
            raise ImportError(f"NumPy has no {entry.long}: install the ml_dtypes package, or use torch") from error
        return numpy.dtype(getattr(ml_dtypes, entry.long))
    return numpy.dtype(entry.long)


def torch_dtype(dtype: object) -> Any:
    """The torch dtype of an element type."""
    import torch

    return getattr(torch, element_type(dtype).long)
