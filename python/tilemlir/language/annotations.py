"""Declarations of kernel arguments: tensors, strided tensors, references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import context
from .dtypes import DType
from .dtypes import dtype as _dtype
from .symbols import SymbolicExpr

#: An extent of a declared tensor: a constant, or an expression over launch-time symbols.
Extent = int | SymbolicExpr


@dataclass(frozen=True)
class TensorType:
    """What a kernel argument is declared to be.

    Attributes:
        shape: one extent per dimension.
        dtype: element type.
        strides: in elements, one per dimension; None means row-major contiguous.
    """

    shape: tuple[Extent, ...]
    dtype: DType
    strides: tuple[Extent, ...] | None = None


def normalize_shape(shape: object, what: str) -> tuple[Extent, ...]:
    """A shape given as an integer, symbol, list or tuple, as a tuple of extents.

    Args:
        shape: what the user gave.
        what: the construct, for the text of an error.

    Raises:
        TypeError: for anything else, or for extents that are not integers.
        ValueError: for a negative extent.
    """
    items: Sequence[Any]
    if isinstance(shape, (int, SymbolicExpr)) or hasattr(shape, "__index__"):
        items = (shape,)
    elif isinstance(shape, Sequence) and not isinstance(shape, str):
        items = shape
    else:
        raise TypeError(f"{what} needs a shape such as (M, K); found {shape!r}")
    result: list[Extent] = []
    for item in items:
        if isinstance(item, SymbolicExpr):
            result.append(item)
        elif hasattr(item, "__index__") and not isinstance(item, bool):
            extent = item.__index__()
            if extent < 0:
                raise ValueError(f"{what} has a negative extent {extent} in its shape {tuple(items)}")
            result.append(extent)
        else:
            raise TypeError(f"{what} has {item!r} in its shape; extents are integers or T.dynamic sizes")
    return tuple(result)


class _TensorFactory:
    """``T.Tensor``: declares a row-major contiguous tensor in global memory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, shape: object, dtype: object = "float32", data: Any = None) -> Any:
        """Declares a tensor; with ``data=A.data``, in a kernel, gives ``A`` under another shape."""
        if data is not None:
            return context.require(f"{self._name} of existing data").view(data, shape, dtype, self._name)
        return TensorType(normalize_shape(shape, self._name), _dtype(dtype))

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], (list, tuple, int, SymbolicExpr)):
            if not isinstance(key[1], (int, SymbolicExpr)):
                return self(key[0], key[1])
        return self(key if not isinstance(key, tuple) else list(key))

    def __repr__(self) -> str:
        return self._name


class _StridedTensorFactory:
    """``T.StridedTensor``: declares a tensor in global memory with arbitrary strides."""

    def __call__(self, shape: object, strides: object, dtype: object = "float32") -> TensorType:
        extents = normalize_shape(shape, "T.StridedTensor")
        steps = normalize_shape(strides, "T.StridedTensor")
        if len(extents) != len(steps):
            raise ValueError(
                f"T.StridedTensor needs one stride per dimension; found {len(extents)} extents and {len(steps)} strides"
            )
        return TensorType(extents, _dtype(dtype), steps)

    def __getitem__(self, key: tuple[object, object, object]) -> TensorType:
        return self(*key)

    def __repr__(self) -> str:
        return "T.StridedTensor"


Tensor = _TensorFactory("T.Tensor")
"""``T.Tensor(shape, dtype)`` or ``T.Tensor[shape, dtype]``: a row-major contiguous tensor argument.

``shape`` holds integers, ``T.dynamic`` sizes and integer expressions of them; ``dtype`` defaults to float32."""

Buffer = _TensorFactory("T.Buffer")
"""Another name of :data:`Tensor`."""

StridedTensor = _StridedTensorFactory()
"""``T.StridedTensor(shape, strides, dtype)``: a tensor argument whose strides (in elements) are integers or symbols."""


SharedBuffer = _TensorFactory("T.SharedBuffer")
"""Annotation of a macro parameter that takes a buffer in shared memory, with or without shape and type; not checked."""

FragmentBuffer = _TensorFactory("T.FragmentBuffer")
"""Annotation of a macro parameter that takes a fragment, with or without shape and type; not checked."""

LocalBuffer = _TensorFactory("T.LocalBuffer")
"""Annotation of a macro parameter that takes a per-thread buffer, with or without shape and type; not checked."""


class Ref:
    """Annotation of a macro parameter that is passed by reference.

    The argument must be a variable (``T.alloc_var``) or an element such as ``A[i]``; assigning to the parameter inside
    of the macro stores to it.
    """
