"""Draws the arguments of a program: tensors and the regions of them that copies move, sizes, scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fuzz.elements import ELEMENTS
from fuzz.expressions import Choices
from fuzz.program import Binary, Const, Dim, Expr, Load, Region, Scalar, Size, Tensor, Var, value_of

#: Types of elements, simple ones first; the first ones are drawn more often.
COMMON = ["float32", "float16", "int32", "bfloat16"]
RARE = [
    "int8",
    "uint8",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "int16",
    "uint16",
    "uint32",
    "int64",
    "uint64",
    "bool",
]


@dataclass(frozen=True)
class Bound:
    """An integer in scope and the least and greatest value that it takes."""

    name: str
    least: int
    most: int

    @property
    def var(self) -> Var:
        return Var(self.name)


def scaled(bound: Bound, factor: int) -> Expr:
    """``name * factor``."""
    return bound.var if factor == 1 else Binary("*", bound.var, Const(factor))


def plus(expr: Expr, number: int) -> Expr:
    """``expr + number``."""
    if number == 0:
        return expr
    if isinstance(expr, Const):
        return Const(expr.value + number)
    return Binary("+" if number > 0 else "-", expr, Const(abs(number)))


class Operands(Choices):
    """The arguments of a program as they are drawn, one by one."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        super().__init__(draw)
        self.tensors: list[Tensor] = []
        self.scalars: list[Scalar] = []
        self.dims = 0
        #: Outputs and workspaces that earlier kernels have written completely, and those of this kernel, which its
        #: other blocks must not read.
        self.complete: list[str] = []
        self._pending: list[str] = []
        #: Whether another kernel follows.
        self.follows = False

    def next_kernel(self) -> None:
        """Behind a kernel: what it has written completely can be read."""
        self.complete += self._pending
        self._pending = []

    def dtype(self, exclude: Sequence[str] = ()) -> str:
        """An element type."""
        kind = self.pick(RARE) if self.chance(35) else self.pick(COMMON)
        return kind if kind not in exclude else "float32"

    def tensor(self, name: str) -> Tensor:
        return next(one for one in self.tensors if one.name == name)

    def size(self, value: int) -> Size:
        """A number, or a size known at launch with this value."""
        if value > 0 and self.chance(12):
            self.dims += 1
            return Dim(f"n{self.dims}", value)
        return value

    def scalar(self, dtype: str, value: int | float) -> Scalar:
        """A new scalar argument."""
        made = Scalar(f"x{len(self.scalars)}", dtype, value)
        self.scalars.append(made)
        return made

    def data(self, dtype: str) -> str:
        """How an input is filled."""
        return self.pick(["small", "small", "small", "wide", "quarters", "normal"])

    def input(self, dtype: str, shape: tuple[Size, ...], data: str | None = None) -> Tensor:
        """A new input tensor."""
        strides = None
        if data != "flags" and self.chance(8) and all(value_of(size) > 0 for size in shape):
            strides = self._strides([value_of(size) for size in shape])
        name = f"A{len(self.tensors)}"
        made = Tensor(name, dtype, shape, data or self.data(dtype), strides, shift=self._shift())
        self.tensors.append(made)
        return made

    def _shift(self) -> int:
        """How many elements a tensor begins behind an aligned address."""
        return self.pick([1, 2, 3, 4, 8]) if self.chance(6) else 0

    def _strides(self, shape: list[int]) -> tuple[int, ...]:
        """Strides of a view of a larger or permuted tensor."""
        order = list(range(len(shape)))
        if self.chance(50):
            order = order[::-1]
        strides = [0] * len(shape)
        step = self.pick([1, 1, 2])
        for axis in reversed(order):
            strides[axis] = step
            step *= shape[axis]
            step += self.pick([0, 0, 1, 8])
        return tuple(strides)

    def output(self, dtype: str, shape: tuple[Size, ...], workspace: bool = False) -> Tensor:
        """A new output tensor, or a workspace."""
        if workspace:
            made = Tensor(f"W{len(self.tensors)}", dtype, tuple(value_of(size) for size in shape), workspace=True)
        else:
            strides = self._strides([value_of(size) for size in shape]) if self.chance(6) else None
            made = Tensor(f"R{len(self.tensors)}", dtype, shape, strides=strides, shift=self._shift())
        self.tensors.append(made)
        return made

    def accumulator(self, dtype: str, shape: tuple[int, ...]) -> Tensor:
        """A new tensor that kernels change in place."""
        made = Tensor(f"C{len(self.tensors)}", dtype, shape, "small")
        self.tensors.append(made)
        return made

    # Regions.

    def offset(self, extent: int, scope: Sequence[Bound]) -> tuple[Expr, int, bool]:
        """Where a tile begins in one dimension: the expression, its greatest value, whether it is a multiple."""
        choice = self.integer(0, 9)
        if choice <= 2 or not scope:
            if choice == 2 and self.chance(60):
                start = self.integer(1, 2 * extent)
                return Const(start), start, start % extent == 0
            return Const(0), 0, True
        bound = self.pick(scope)
        if choice <= 7:
            return scaled(bound, extent), bound.most * extent, True
        if choice == 8:
            step = self.pick([1, 2, 3, 8])
            return scaled(bound, step), bound.most * step, False
        shift = self.integer(-extent, extent)
        return plus(scaled(bound, extent), shift), max(bound.most * extent + shift, 0), shift == 0

    def source(self, shape: tuple[int, ...], dtype: str, scope: Sequence[Bound], given: Tensor | None = None) -> Region:
        """A region of an input tensor that fills a tile; makes the tensor.

        Args:
            shape: of the tile.
            dtype: of the tensor.
            scope: what places may depend on.
            given: take this tensor, of the tile's rank.
        """
        offsets: list[Expr] = []
        extents: list[int | None] = []
        sizes: list[int] = []
        multiples = True
        for extent in shape:
            offset, most, multiple = self.offset(extent, scope)
            multiples &= multiple
            offsets.append(offset)
            extents.append(extent)
            sizes.append(max(most + extent + self._excess(extent), 1))
        leading = 0
        while given is None and len(sizes) < 4 and scope and self.chance(18):
            at = self.integer(0, len(sizes))
            bound = self.pick(scope)
            offsets.insert(at, bound.var)
            extents.insert(at, None)
            sizes.insert(at, bound.most + 1 + (1 if self.chance(20) else 0))
            leading += 1
        tensor = given or self._reused(dtype, sizes) or self.input(dtype, tuple(self.size(size) for size in sizes))
        form = "slice"
        plain = all(isinstance(offset, Const) and offset.value == 0 for offset in offsets)
        if plain and not leading and self.chance(60) and all(isinstance(s, int) and s <= e for s, e in zip(tensor.shape, shape, strict=True)):  # noqa: E501  # fmt: skip
            return Region(tensor.name)
        if ((multiples and 1 not in shape) or not leading) and self.chance(60):
            form = "element"
        return Region(tensor.name, form, tuple(offsets), tuple(extents))

    def _excess(self, extent: int) -> int:
        """How much larger than what is read a tensor is; negative: the last tiles hang over the edge."""
        choice = self.integer(0, 5)
        if choice <= 2:
            return 0
        if choice == 3:
            return self.integer(1, 9)
        if choice == 4:
            return -self.integer(1, max(extent - 1, 1))
        return -self.pick([1, 8, extent])

    def _reused(self, dtype: str, sizes: list[int]) -> Tensor | None:
        """An existing tensor of the right rank in place of a new one; more of it may lie outside."""
        options = [
            one
            for one in self.tensors
            if one.dtype == dtype
            and len(one.shape) == len(sizes)
            and one.data not in ("", "flags")
            and one.name[0] == "A"
        ]
        options += [
            self.tensor(name)
            for name in self.complete
            if self.tensor(name).dtype == dtype and len(self.tensor(name).shape) == len(sizes)
        ]
        if not options or not (len(self.tensors) > 6 or self.chance(25)):
            return None
        return self.pick(options)

    def destination(
        self, shape: tuple[int, ...], dtype: str, unique: Sequence[Bound], scope: Sequence[Bound], always: bool
    ) -> Region:
        """A region of a new output tensor that is another one in every block.

        Args:
            shape: of the tile.
            dtype: of the tensor.
            unique: integers that tell blocks apart.
            scope: loop indices that may take part.
            always: whether every block reaches the store once, whatever the data.
        """
        offsets: list[Expr] = []
        sizes: list[int] = []
        extents: list[int | None] = list(shape)
        pending = [bound for bound in unique if bound.most > 0 or self.chance(50)]
        pending += [bound for bound in scope if self.chance(50)]
        covered = True
        for extent in shape:
            if pending and self.chance(65):
                bound = pending.pop(self.integer(0, len(pending) - 1))
                offsets.append(scaled(bound, extent))
                size = (bound.most + 1) * extent
            else:
                offsets.append(Const(0))
                size = extent
            if self.chance(30):
                change = self._excess(extent)
                covered &= change <= 0
                size = max(size + change, 1)
            sizes.append(size)
        leading = bool(pending)
        for bound in pending:
            at = self.integer(0, len(sizes))
            offsets.insert(at, bound.var)
            extents.insert(at, None)
            sizes.insert(at, bound.most + 1)
        if len(sizes) > 5:
            covered = False
        lasting = covered and always and not scope
        workspace = lasting and self.follows and self.chance(50)
        tensor = self.output(dtype, tuple(self.size(size) for size in sizes), workspace)
        plain = all(isinstance(offset, Const) for offset in offsets)
        region = Region(tensor.name, "slice", tuple(offsets), tuple(extents))
        if plain and not leading and tensor.shape == shape and self.chance(50):
            region = Region(tensor.name)
        elif (1 not in shape or not leading) and self.chance(60):
            region = replace(region, form="element")
        if lasting:
            self._pending.append(tensor.name)
        return region


def load_of(name: str, dtype: str, indices: Sequence[Expr]) -> Load:
    """An element."""
    return Load(name, tuple(indices), dtype)


__all__ = ["ELEMENTS", "Bound", "Operands", "load_of", "plus", "scaled"]
