"""Layouts given as functions from coordinates to a position, and fitting them to what the hardware is addressed by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING, Any

from ..language.annotations import normalize_shape

if TYPE_CHECKING:
    from . import SharedLayout


class Layout:
    """``T.Layout(shape, function)``: where each element of a shared-memory tile lies.

    Args:
        shape: extents of the tile.
        function: takes one coordinate per dimension and gives a position in elements, or several coordinates of a
            row-major space, as in ``lambda i, j: [i // 8, j, i % 8]``. It must be one-to-one.

    The function is evaluated on every element of the tile, and the result fitted to row panels with an XOR of the
    16-byte chunk index (:class:`tilemlir.layout.SharedLayout`). One that does not fit is an error.
    """

    def __init__(self, shape: Any, function: Callable[..., Any]) -> None:
        extents = normalize_shape(shape, "T.Layout")
        if not all(isinstance(extent, int) for extent in extents):
            raise ValueError(f"T.Layout needs constant extents; found {extents}")
        if not callable(function):
            raise TypeError(f"T.Layout needs a function from coordinates to a position; found {function!r}")
        self.shape = tuple(int(extent) for extent in extents if isinstance(extent, int))
        self.function = function

    def positions(self) -> Any:
        """Position of every element in elements, as a NumPy array of the tile's shape.

        Raises:
            ValueError: when the function is not one-to-one or gives negative positions.
        """
        import numpy

        coordinates = numpy.indices(self.shape)
        try:
            results = self.function(*coordinates)
            parts = self._parts(results, numpy)
        except Exception:
            # A function that branches on its arguments, or calls one that takes integers only: what is really wrong
            # with it shows below.
            flat = [self._parts(self.function(*(int(x) for x in point)), numpy) for point in numpy.ndindex(*self.shape)]
            count = len(flat[0]) if flat else 0
            parts = [numpy.array([point[k] for point in flat]).reshape(self.shape) for k in range(count)]
        parts = [numpy.broadcast_to(part, self.shape) for part in parts]
        result = numpy.zeros(self.shape, numpy.int64)
        for part in parts:
            result = result * (int(part.max()) + 1) + part
        if int(result.min()) < 0:
            raise ValueError("the layout function gives a negative position")
        if len(numpy.unique(result)) != prod(self.shape):
            raise ValueError("the layout function gives one position to several elements")
        return result

    @staticmethod
    def _parts(results: Any, numpy: Any) -> list[Any]:
        items = list(results) if isinstance(results, (list, tuple)) else [results]
        parts = [numpy.asarray(item) for item in items]
        if any(part.dtype.kind not in "iu" for part in parts):
            raise ValueError("a layout function gives integers")
        return parts

    def __repr__(self) -> str:
        return f"T.Layout({self.shape}, ...)"


def byte_offsets(layout: SharedLayout) -> Any:
    """Byte offset of every element under a shared layout, as a NumPy array of the tile's shape.

    The fastest dimension is cut into panels; a panel holds all rows. With swizzle s, the 16-byte chunk index of a row
    of s bytes is XORed with bits 7 and up of the offset: one bit for 32, two for 64, three for 128 bytes.
    """
    import numpy

    element = layout.element_bits // 8
    coordinates = numpy.indices(layout.shape)
    fastest, *slower = layout.order
    column = coordinates[fastest]
    row = numpy.zeros(layout.shape, numpy.int64)
    stride = 1
    for dim in slower:
        row = row + coordinates[dim] * stride
        stride *= layout.shape[dim]
    offset = ((column // layout.panel) * stride * layout.panel + row * layout.panel + column % layout.panel) * element
    if layout.swizzle:
        bits = {32: 1, 64: 3, 128: 7}[layout.swizzle]
        offset = offset ^ (((offset >> 7) & bits) << 4)
    return offset


def _candidates(shape: Sequence[int], element_bits: int) -> Iterator[SharedLayout]:
    from . import SharedLayout

    element = element_bits // 8
    for order in permutations(range(len(shape))):
        extent = shape[order[0]]
        yield SharedLayout(tuple(shape), element_bits, order, extent, 0)
        for swizzle in (128, 64, 32):
            panel = swizzle // element
            if extent % panel == 0:
                yield SharedLayout(tuple(shape), element_bits, order, panel, swizzle)
                yield SharedLayout(tuple(shape), element_bits, order, panel, 0)


def fit(layout: Layout, element_bits: int) -> SharedLayout:
    """The shared layout that places every element where the function does.

    Args:
        layout: the function from indices to positions.
        element_bits: width of an element in bits.

    Raises:
        ValueError: naming the first element that the closest layout places elsewhere.
    """
    import numpy

    wanted = layout.positions() * (element_bits // 8)
    best: tuple[int, SharedLayout, Any] | None = None
    for candidate in _candidates(layout.shape, element_bits):
        offsets = byte_offsets(candidate)
        matching = int((offsets == wanted).sum())
        if matching == wanted.size:
            return candidate
        if best is None or matching > best[0]:
            best = (matching, candidate, offsets)
    assert best is not None
    point = tuple(int(x) for x in numpy.argwhere(best[2] != wanted)[0])
    name = f"swizzle {best[1].swizzle}" if best[1].swizzle else "no swizzle"
    raise ValueError(
        f"the layout function is no row panel layout with a 16-byte XOR swizzle: the closest one (order "
        f"{list(best[1].order)}, panel {best[1].panel}, {name}) puts element {list(point)} at byte "
        f"{int(best[2][point])}, the function at byte {int(wanted[point])}"
    )
