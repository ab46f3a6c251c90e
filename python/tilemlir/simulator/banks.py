"""Bank conflicts of shared memory.

Shared memory has 32 banks of 4 bytes. A pass serves one word of every bank to all lanes that want it; accesses of 8 and
16 bytes are served by half and quarter warps (CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and
later).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Banks", "passes"]


def passes(offsets: np.ndarray, size: int) -> tuple[int, int]:
    """Passes that one access takes, and the fewest for its amount of data.

    Args:
        offsets: byte offsets of the active lanes.
        size: bytes per lane.
    """
    share = max(1, size // 4)
    lanes = max(1, 32 // share)
    taken = ideal = 0
    for start in range(0, len(offsets), lanes):
        words = np.unique((offsets[start : start + lanes, None] >> 2) + np.arange(share))
        taken += int(np.bincount(words & 31, minlength=32).max())
        ideal += -(-len(words) // 32)
    return taken, ideal


class Banks:
    """Counts per instruction.

    Attributes:
        totals: step of the program to executions, passes, and passes without conflicts.
    """

    def __init__(self) -> None:
        self.totals: dict[int, list[int]] = {}
        self._known: dict[tuple[bytes, int], tuple[int, int]] = {}

    def count(self, w: Any, offsets: np.ndarray, size: int) -> None:
        """Counts an access of a warp at byte offsets.

        Args:
            w: the warp.
            offsets: of its active lanes.
            size: bytes per lane.
        """
        relative = offsets - (int(offsets[0]) & ~127)
        key = (relative.tobytes(), size)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = passes(relative, size)
        total = self.totals.setdefault(w.pc, [0, 0, 0])
        total[0] += 1
        total[1] += found[0]
        total[2] += found[1]
