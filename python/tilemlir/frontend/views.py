"""Views of tensors under another shape: indices of the view are translated to indices of the tensor.

Neighbouring dimensions of view and tensor with the same number of elements form a group. Within one, the index of the
view is made linear and divided again over the dimensions of the tensor, so that dimensions that both share stay plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..language.symbols import SymbolicExpr
from .mathematics import Mathematics
from .values import Element, Region, Scalar, Tensor, TensorView

Group = tuple[tuple[int, ...], tuple[int, ...]]


def group_dimensions(view: Sequence[Any], tensor: Sequence[Any]) -> list[Group]:
    """Groups of (dimensions of the view, dimensions of the tensor), in order.

    Extents that are known only at launch are matched when they are equal; otherwise everything to their left is one
    group.

    Raises:
        ValueError: when constant extents show that the numbers of elements differ.
    """
    groups: list[Group] = []
    i, j = len(view), len(tensor)
    while i or j:
        mine: list[int] = []
        theirs: list[int] = []
        left = right = 1
        while True:
            if i and j and not mine and not theirs and view[i - 1] == tensor[j - 1]:
                i, j = i - 1, j - 1
                mine, theirs = [i], [j]
                break
            if mine and theirs and left == right:
                break
            next_view = view[i - 1] if i else None
            next_tensor = tensor[j - 1] if j else None
            symbolic = isinstance(next_view, SymbolicExpr) or isinstance(next_tensor, SymbolicExpr)
            if symbolic and (left == right or not (next_view and left < right) or not (next_tensor and right < left)):
                mine, theirs = [*range(i), *reversed(mine)][::-1], [*range(j), *reversed(theirs)][::-1]
                i = j = 0
                break
            if i and (left <= right or not j):
                i -= 1
                left *= view[i]
                mine.append(i)
            elif j:
                j -= 1
                right *= tensor[j]
                theirs.append(j)
            else:
                break
            if not i and not j:
                if left != right:
                    raise ValueError("the numbers of elements differ")
                break
        groups.append((tuple(reversed(mine)), tuple(reversed(theirs))))
    return list(reversed(groups))


class Views(Mathematics):
    """Views of tensors."""

    def check_extents(self, name: str, shape: tuple[Any, ...]) -> None:
        """Refuses extents that places along a dimension, which are int32, cannot reach."""
        for axis, extent in enumerate(shape):
            if isinstance(extent, int) and extent >= 2**31:
                self.fail(
                    "declaration",
                    f"{name} is too long along dimension {axis}",
                    found=f"{extent} elements",
                    allowed="fewer than 2**31 along one dimension; the number of all elements may be larger",
                    fix="give the tensor more dimensions",
                )

    def tensor_view(self, tensor: Tensor, shape: tuple[Any, ...], what: str) -> Tensor:
        """``T.reshape(A, shape)`` of a tensor in global memory."""
        base = tensor.base if isinstance(tensor, TensorView) else tensor
        if self.is_strided(base):
            self.fail(
                "argument",
                f"{what} needs a contiguous tensor",
                found=f"{base.name}, a T.StridedTensor",
                fix="declare it as T.Tensor",
            )
        self.check_extents(f"the view of {base.name}", shape)
        try:
            groups = group_dimensions(shape, base.shape)
        except ValueError:
            self.fail(
                "copy-shape",
                f"{what} keeps the number of elements",
                found=f"{base.describe()} and the shape {shape}",
            )
        return TensorView(base, shape, groups)

    def is_strided(self, tensor: Tensor) -> bool:
        """Whether a tensor was declared with strides."""
        raise NotImplementedError

    def base_element(self, element: Element) -> Element:
        """The element of the tensor that an element of a view is."""
        view = element.storage
        if not isinstance(view, TensorView):
            return element
        indices: list[Any] = [0] * len(view.base.shape)
        for mine, theirs in view.groups:
            if len(mine) == 1 and len(theirs) == 1:
                indices[theirs[0]] = element.indices[mine[0]]
                continue
            linear: Any = 0
            inside: Any = True
            for position, dim in enumerate(mine):
                index, extent = element.indices[dim], self.scalar(view.shape[dim])
                linear = self.binary("add", self.binary("mul", linear, extent), index)
                if position:
                    inside = self.logical("and", inside, self._in_range(index, extent))
            linear = self.select(inside, linear, -1)  # an index outside of the view must not reach another row
            for dim in reversed(theirs[1:]):
                extent = self.scalar(view.base.shape[dim])
                indices[dim] = self.math("floormod", (linear, extent)) if self._is_runtime(linear) else linear % extent
                linear = self.math("floordiv", (linear, extent)) if self._is_runtime(linear) else linear // extent
            if theirs:
                indices[theirs[0]] = linear
        return Element(view.base, tuple(indices))

    @staticmethod
    def _is_runtime(value: Any) -> bool:
        return isinstance(value, Scalar)

    def _in_range(self, index: Any, extent: Any) -> Any:
        if isinstance(extent, int):
            if not isinstance(index, Scalar):
                return 0 <= index < extent
            if index.nonnegative and index.high is not None and index.high < extent:
                return True
        return self.logical("and", self.compare("ge", index, 0), self.compare("lt", index, extent))

    def base_region(self, region: Region) -> Region | None:
        """A region of a view as one of the tensor, where dimensions correspond one to one; else None."""
        view = region.storage
        if not isinstance(view, TensorView):
            return region
        offsets: list[Any] = [0] * len(view.base.shape)
        sizes: list[int | None] = [1] * len(view.base.shape)
        for mine, theirs in view.groups:
            wide_mine = [dim for dim in mine if view.shape[dim] != 1]
            wide_theirs = [dim for dim in theirs if view.base.shape[dim] != 1]
            if len(wide_mine) > 1 or len(wide_theirs) > 1 or len(wide_mine) != len(wide_theirs):
                return None
            if wide_mine:
                offsets[wide_theirs[0]] = region.offsets[wide_mine[0]]
                sizes[wide_theirs[0]] = region.sizes[wide_mine[0]]
        return Region(view.base, tuple(offsets), tuple(sizes), (True,) * len(sizes))
