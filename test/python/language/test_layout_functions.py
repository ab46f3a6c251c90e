"""Layouts given as functions, and the byte offsets of shared layouts."""

from __future__ import annotations

import numpy
import pytest
import tilemlir.language as T
from tilemlir.layout import SharedLayout, byte_offsets, fit, make_linear_layout, make_swizzled_layout


class Tile:
    """Something with a shape and a type."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def reference_offset(layout: SharedLayout, point: tuple[int, ...]) -> int:
    """The definition, one element at a time."""
    fastest, *slower = layout.order
    element = layout.element_bits // 8
    row, stride = 0, 1
    for dim in slower:
        row += point[dim] * stride
        stride *= layout.shape[dim]
    panel, column = divmod(point[fastest], layout.panel)
    offset = ((panel * stride + row) * layout.panel + column) * element
    if layout.swizzle:
        chunks = layout.swizzle // 16
        chunk = offset // 16 % chunks
        lines = offset // 128
        offset = offset - chunk * 16 + (chunk ^ (lines % chunks)) * 16
    return offset


@pytest.mark.parametrize(
    "layout",
    [
        make_linear_layout(Tile((5, 24), "float32")),
        make_swizzled_layout(Tile((16, 64), "float16")),
        make_swizzled_layout(Tile((16, 128), "float16")),
        make_swizzled_layout(Tile((16, 32), "float16")),
        make_swizzled_layout(Tile((16, 48), "float16")),
        make_swizzled_layout(Tile((2, 8, 64), "float16")),
        SharedLayout((64, 24), 16, (0, 1), 64, 128),
    ],
)
def test_byte_offsets(layout):
    offsets = byte_offsets(layout)
    assert sorted(offsets.ravel()) == [layout.element_bits // 8 * k for k in range(offsets.size)]
    for point in numpy.ndindex(*layout.shape):
        assert offsets[point] == reference_offset(layout, point)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda i, j: i * 64 + j, ((1, 0), 64, 0)),
        (lambda i, j: [i, j], ((1, 0), 64, 0)),
        (lambda i, j: (j, i), ((0, 1), 32, 0)),
        (lambda i, j: i * 64 + ((j // 8) ^ (i % 8)) * 8 + j % 8, ((1, 0), 64, 128)),
        (lambda i, j: [j // 32, i, j % 32], ((1, 0), 32, 0)),
        (lambda i, j: [j // 32, i, ((j % 32 // 8) ^ (i // 2 % 4)) * 8 + j % 8], ((1, 0), 32, 64)),
        (lambda i, j: T.floordiv(i, 1) * 64 + (j if i >= 0 else 0), ((1, 0), 64, 0)),
    ],
)
def test_fitting(function, expected):
    layout = fit(T.Layout((32, 64), function), 16)
    assert (layout.order, layout.panel, layout.swizzle) == expected


def test_misfits():
    with pytest.raises(ValueError, match=r"puts element \[0, 1\] at byte 2, the function at byte 126"):
        fit(T.Layout((32, 64), lambda i, j: i * 64 + (64 - j) % 64), 16)
    with pytest.raises(ValueError, match="one position to several elements"):
        fit(T.Layout((32, 64), lambda i, j: i), 16)
    with pytest.raises(ValueError, match="negative position"):
        fit(T.Layout((32, 64), lambda i, j: -i * 64 - j), 16)
    with pytest.raises(ValueError, match="constant extents"):
        T.Layout((T.dynamic("M"), 64), lambda i, j: i)
