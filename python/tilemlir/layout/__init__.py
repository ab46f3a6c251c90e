"""Memory layouts that a program may ask for with ``T.annotate_layout``.

These functions describe layouts; they need no compiler and may be called inside of kernels on buffers, and outside of
kernels on anything that has ``shape`` and ``dtype``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..language.dtypes import dtype as _dtype
from .functions import Layout, byte_offsets, fit

__all__ = [
    "Layout",
    "SharedLayout",
    "byte_offsets",
    "fit",
    "make_full_bank_swizzled_layout",
    "make_half_bank_swizzled_layout",
    "make_linear_layout",
    "make_quarter_bank_swizzled_layout",
    "make_swizzled_layout",
]


@dataclass(frozen=True)
class SharedLayout:
    """Where each element of a shared-memory tile lies.

    The fastest dimension is cut into panels of ``panel`` elements, a panel holds all rows, and with ``swizzle`` (32, 64
    or 128 bytes, the length of a panel row) the index of a 16-byte chunk is XORed with low bits of the row index.

    Attributes:
        shape: extents of the tile.
        element_bits: bits of one element in memory.
        order: dimensions from fastest to slowest.
        panel: elements of a panel row.
        swizzle: 0 (linear), 32, 64 or 128.
    """

    shape: tuple[int, ...]
    element_bits: int
    order: tuple[int, ...]
    panel: int
    swizzle: int

    def attribute_text(self) -> str:
        """The layout in the syntax of ``#tile.shared_layout``."""
        order = ", ".join(str(dim) for dim in self.order)
        return f"#tile.shared_layout<order = [{order}], panel = {self.panel}, swizzle = {self.swizzle}>"


def _describe(buffer: Any) -> tuple[tuple[int, ...], int]:
    shape = tuple(int(extent) for extent in buffer.shape)
    if not shape:
        raise ValueError("a scalar has no memory layout")
    return shape, _dtype(buffer.dtype).bytes * 8


def _swizzled(buffer: Any, swizzle: int) -> SharedLayout:
    shape, bits = _describe(buffer)
    row_bytes = shape[-1] * bits // 8
    if row_bytes % swizzle:
        raise ValueError(
            f"a swizzle of {swizzle} bytes needs rows of a multiple of {swizzle} bytes; "
            f"{getattr(buffer, 'name', 'the buffer')} has rows of {row_bytes} bytes"
        )
    order = tuple(reversed(range(len(shape))))
    return SharedLayout(shape, bits, order, swizzle * 8 // bits, swizzle)


def make_linear_layout(buffer: Any) -> SharedLayout:
    """Row-major, without swizzle."""
    shape, bits = _describe(buffer)
    return SharedLayout(shape, bits, tuple(reversed(range(len(shape)))), shape[-1], 0)


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> SharedLayout:
    """The widest swizzle that the rows of ``buffer`` allow: 128, 64 or 32 bytes, else linear.

    ``k_major`` and ``allow_pad`` are accepted for compatibility; the layout is the same for both operand orders, and
    rows are never padded.
    """
    shape, bits = _describe(buffer)
    row_bytes = shape[-1] * bits // 8
    for swizzle in (128, 64, 32):
        if len(shape) >= 2 and row_bytes % swizzle == 0:
            return _swizzled(buffer, swizzle)
    return make_linear_layout(buffer)


def make_full_bank_swizzled_layout(buffer: Any) -> SharedLayout:
    """A swizzle over 128 bytes. Raises ValueError when the rows are not a multiple of 128 bytes."""
    return _swizzled(buffer, 128)


def make_half_bank_swizzled_layout(buffer: Any) -> SharedLayout:
    """A swizzle over 64 bytes. Raises ValueError when the rows are not a multiple of 64 bytes."""
    return _swizzled(buffer, 64)


def make_quarter_bank_swizzled_layout(buffer: Any) -> SharedLayout:
    """A swizzle over 32 bytes. Raises ValueError when the rows are not a multiple of 32 bytes."""
    return _swizzled(buffer, 32)
