"""Buffers and data movement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import context


def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Any:
    """A tile in shared memory: one copy per block, undefined until written.

    Args:
        shape: static extents (Python integers).
        dtype: element type.
        scope: accepted for compatibility; static and dynamic shared memory are one arena.
    """
    return context.require("T.alloc_shared").alloc("shared", shape, dtype, "T.alloc_shared")


def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Any:
    """A tile in registers, spread over the threads of the block, undefined until written.

    Args:
        shape: static extents of the whole tile; which thread holds which element is decided by the compiler.
        dtype: element type.
        scope: accepted for compatibility.
    """
    return context.require("T.alloc_fragment").alloc("fragment", shape, dtype, "T.alloc_fragment")


def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Any:
    """An array private to each thread, undefined until written.

    Args:
        shape: static extents.
        dtype: element type.
        scope: accepted for compatibility.
    """
    return context.require("T.alloc_local").alloc("local", shape, dtype, "T.alloc_local")


def alloc_var(dtype: Any, *arguments: Any, scope: str = "local.var", init: Any = None) -> Any:
    """A scalar variable private to each thread; assign to it with ``=``.

    ``init`` (also the second positional argument) is its first value; without one it is undefined until written.
    Values assigned to it are converted to ``dtype``. Strings among ``arguments``, and ``scope``, name a storage scope
    elsewhere; they are accepted.
    """
    for argument in arguments:
        if not isinstance(argument, str):
            init = argument
    return context.require("T.alloc_var").alloc_var(dtype, init)


def alloc_global(shape: Any, dtype: Any, zero: bool | str = False) -> Any:
    """Scratch memory on the device that lives for one call, shared by all blocks and kernels of the function.

    ``shape`` may hold launch-time sizes and integers that the host part computes, such as ``T.num_sms()`` or a scalar
    argument; ``dtype`` is the element type. The contents are undefined unless ``zero`` asks for zeros. With
    ``zero="once"`` only the first call on a stream finds zeros, a later one what the call before it left: that costs no
    launch, and is for counters which the kernel itself brings back to zero.
    """
    return context.require("T.alloc_global").alloc_global(shape, dtype, zero)


def empty(*shape: Any, dtype: Any = "float32") -> Any:
    """An output tensor that the call allocates; the traced function must return it.

    ``shape`` may hold launch-time sizes. ``T.empty((M, N), "float16")``, ``T.empty(M, N, dtype="float16")`` and
    ``T.empty([M, N], dtype="float16")`` are the same.
    """
    builder = context.require("T.empty")
    if len(shape) == 2 and isinstance(shape[0], (list, tuple)):
        return builder.empty(shape[0], shape[1])
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        return builder.empty(shape[0], dtype)
    return builder.empty(shape, dtype)


def copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copies a rectangular region; complete before the next statement.

    ``src`` and ``dst`` are a tensor or buffer (all of it), a slice (``A[0:64, k * 32 : (k + 1) * 32]``), or an element
    (``A[by * block_M, k * 32]``) that names where a region of the other side's shape begins. When the tile has fewer
    dimensions than the tensor, each tile dimension is matched, in order, to a dimension whose index is a multiple of
    its extent (``bx * block_M``, ``0``) and never to a bare index (``head``); an ambiguous match is an error that
    shows the slice form.

    Element types are converted when they differ. Reads outside of a tensor give zero (or the value of
    ``T.annotate_safe_value``), writes outside are dropped.

    Args:
        coalesced_width: elements per access that the copy should use.
        disable_tma: do not use bulk copies.
        eviction_policy: ``"evict_normal"``, ``"evict_first"`` or ``"evict_last"``.
        prefer_instruction: ``"tma"``, ``"cp_async"`` or ``"sync"``; a request, ``explain()`` tells the outcome.
        annotations: the same keywords as a dictionary.
        loop_layout: not available yet.
    """
    options = dict(annotations or {})
    options.setdefault("coalesced_width", coalesced_width)
    options.setdefault("disable_tma", disable_tma)
    options.setdefault("eviction_policy", eviction_policy)
    options.setdefault("prefer_instruction", prefer_instruction)
    options["loop_layout"] = loop_layout
    context.require("T.copy").copy(src, dst, options)


def fill(buffer: Any, value: Any) -> None:
    """Sets all elements of a buffer, slice or tensor to ``value``, converted to its element type."""
    context.require("T.fill").fill(buffer, value, "T.fill")


def clear(buffer: Any) -> None:
    """Sets all elements of a buffer, slice or tensor to zero."""
    context.require("T.clear").fill(buffer, 0, "T.clear")


def reshape(src: Any, shape: Any) -> Any:
    """The elements of ``src``, a buffer or contiguous tensor, in row-major order under another ``shape``.

    No data moves.
    """
    return context.require("T.reshape").view(src, shape, None, "T.reshape")


def view(src: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The bytes of ``src`` under another ``shape`` or, for a buffer, element type ``dtype``; None keeps either."""
    return context.require("T.view").view(src, shape, dtype, "T.view")


def shape_of(buffer: Any) -> Sequence[Any]:
    """The extents of a tensor or buffer."""
    return tuple(buffer.shape)
