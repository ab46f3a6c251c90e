"""Helpers for tensor-core code that programs import beside the language."""

from __future__ import annotations

from typing import Any

from ..layout import SharedLayout, make_swizzled_layout

__all__ = ["get_swizzle_layout", "make_mma_swizzle_layout"]


def make_mma_swizzle_layout(shared_buffer: Any, is_smooth: bool = False) -> SharedLayout:
    """A layout of ``shared_buffer`` that matrix instructions read without bank conflicts.

    The widest swizzle that the rows allow; the same as :func:`tilemlir.layout.make_swizzled_layout`. ``is_smooth`` is
    accepted for compatibility: rows are never permuted.
    """
    return make_swizzled_layout(shared_buffer)


get_swizzle_layout = make_mma_swizzle_layout
