"""Atomic operations on tensors and shared memory."""

from __future__ import annotations

from typing import Any

from . import context


def atomic_add(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False, use_tma: bool = False
) -> Any:
    """Adds ``value`` to ``dst`` atomically.

    Args:
        dst: an element, or a region when ``value`` is a tile (regions are written as for ``T.copy``).
        value: a scalar or a tile; converted to the element type of ``dst``.
        memory_order: ``relaxed`` (default), ``acquire``, ``release`` or ``acq_rel``.
        return_prev: return the old value (elements only).
        use_tma: accepted; a request for bulk reduction that may be ignored.
    """
    return context.require("T.atomic_add").atomic("add", dst, value, memory_order, return_prev, "T.atomic_add")


def atomic_max(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Any:
    """Replaces ``dst`` by the larger of itself and ``value`` atomically; see :func:`atomic_add`."""
    return context.require("T.atomic_max").atomic("max", dst, value, memory_order, return_prev, "T.atomic_max")


def atomic_min(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Any:
    """Replaces ``dst`` by the smaller of itself and ``value`` atomically; see :func:`atomic_add`."""
    return context.require("T.atomic_min").atomic("min", dst, value, memory_order, return_prev, "T.atomic_min")


def atomic_or(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Any:
    """Sets bits of the integer ``dst`` atomically; see :func:`atomic_add`."""
    return context.require("T.atomic_or").atomic("or", dst, value, memory_order, return_prev, "T.atomic_or")


def atomic_addx2(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Adds two neighbouring elements beginning at ``value`` to those beginning at ``dst``, each atomically.

    ``return_prev`` as for :func:`atomic_add`.
    """
    return context.require("T.atomic_addx2").atomic_vector(dst, value, 2, return_prev, "T.atomic_addx2")


def atomic_addx4(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Adds four neighbouring elements beginning at ``value`` to those beginning at ``dst``, each atomically.

    ``return_prev`` as for :func:`atomic_add`.
    """
    return context.require("T.atomic_addx4").atomic_vector(dst, value, 4, return_prev, "T.atomic_addx4")


def atomic_load(src: Any, memory_order: str = "acquire") -> Any:
    """Reads the element ``src`` atomically; ``memory_order`` as for :func:`atomic_add`."""
    return context.require("T.atomic_load").atomic_load(src, memory_order)


def atomic_store(dst: Any, value: Any, memory_order: str = "release") -> None:
    """Writes ``value`` to the element ``dst`` atomically; ``memory_order`` as for :func:`atomic_add`."""
    context.require("T.atomic_store").atomic("exchange", dst, value, memory_order, False, "T.atomic_store")
