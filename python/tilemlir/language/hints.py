"""Requests and promises to the compiler, and debugging aids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import context


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Renumbers blocks so that consecutive ones work on a panel of ``panel_size`` rows (or columns) of the grid.

    ``order`` is ``"row"`` or ``"column"``; ``enable=False`` leaves the numbers as they are. Keeps the operands that
    concurrent blocks share in the L2 cache.
    """
    context.require("T.use_swizzle").use_swizzle(panel_size, order, enable)


def annotate_layout(layouts: Mapping[Any, Any]) -> None:
    """Pins the memory layout of buffers: ``T.annotate_layout({A_shared: make_swizzled_layout(A_shared)})``."""
    context.require("T.annotate_layout").annotate_layout(layouts)


def annotate_safe_value(values: Mapping[Any, Any]) -> None:
    """Sets what reads outside of a tensor give, instead of zero: ``T.annotate_safe_value({A: -1.0})``."""
    context.require("T.annotate_safe_value").annotate_safe_value(values)


def annotate_min_blocks_per_sm(count: int) -> None:
    """Asks for registers to be limited so that ``count`` blocks fit on one multiprocessor."""
    context.require("T.annotate_min_blocks_per_sm").min_blocks_per_sm(count)


def annotate_l2_hit_ratio(ratios: Mapping[Any, Any]) -> None:
    """Accepted with a warning: L2 persistence is not controlled."""
    context.require("T.annotate_l2_hit_ratio").no_effect("T.annotate_l2_hit_ratio", "L2 persistence is not controlled")


def annotate_restrict_buffers(*buffers: Any) -> None:
    """Accepted: tensors do not overlap by contract, which every launch checks."""
    context.require("T.annotate_restrict_buffers")


def assume(condition: Any) -> None:
    """Promises that a condition holds. Conditions on launch-time values only are checked by the launcher."""
    context.require("T.assume").assume(condition)


def device_assert(condition: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Stops the kernel when ``condition`` is false, with the place and ``msg``; ``no_stack_info`` has no effect."""
    context.require("T.device_assert").device_assert(condition, msg)


def print(obj: Any, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Prints ``obj``, a scalar (by every thread), a whole buffer (once per block) or a text, from the kernel.

    ``msg`` is printed before the value. ``warp_group_id`` and ``warp_id`` are accepted and have no effect.
    """
    context.require("T.print").print(obj, msg)
