"""A barrier of all blocks of a grid."""

from __future__ import annotations

from typing import Any

from . import context
from .atomics import atomic_add, atomic_load
from .functions import macro
from .kernel import get_thread_binding, sync_threads
from .scalars import if_then_else


@macro
def _meet(arrived: Any, block: Any, blocks: Any) -> None:
    """Every block adds its share, together 2**31: the sign of the sum turns when the last one has arrived.

    So the counter never has to be set back, and the next barrier, or the next launch, begins where this one ended.
    """
    sync_threads()
    if get_thread_binding() == 0:
        share = if_then_else(block == 0, 2147483647 - (blocks - 2), 1)
        before = atomic_add(arrived[0], share, memory_order="acq_rel", return_prev=True)
        while (atomic_load(arrived[0], "acquire") ^ before) >= 0:
            pass
    sync_threads()


def sync_grid() -> None:
    """Barrier of all threads of all blocks of the grid.

    What a thread wrote to global memory before is visible to all behind it. All blocks have to be on the device at the
    same time: the launch is a cooperative one, and fails when the grid is larger than what fits. There are no
    cooperative launches on the CPU.
    """
    arrived, block, blocks = context.require("T.sync_grid").grid_meeting("T.sync_grid")
    if isinstance(blocks, int) and blocks == 1:
        sync_threads()
    else:
        _meet(arrived, block, blocks)
