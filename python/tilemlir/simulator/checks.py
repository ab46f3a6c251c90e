"""Checks at the end of a block: asynchronous work that nobody waited for, and barriers that are left half full."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilemlir.simulator.machine import Block, Machine

__all__ = ["at_exit"]


def at_exit(machine: Machine, block: Block) -> None:
    """Notes what a block leaves behind.

    Args:
        machine: that ran it.
        block: whose threads have all exited.
    """
    for warp in block.warps:
        for what, step in warp.state.get("left", {}).values():
            machine.note(machine.finding("work-left-at-exit", what(), warp, pc=step))
    for barrier in block.mbarriers.values():
        if barrier.tx:
            machine.note(
                machine.finding(
                    "work-left-at-exit",
                    f"the block ends while {barrier.name} still needs {barrier.tx} bytes",
                    block.warps[0],
                    pc=barrier.pc,
                )
            )
