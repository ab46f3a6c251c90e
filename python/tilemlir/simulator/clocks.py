"""Vector clocks: which accesses are ordered before what a thread does next.

Every thread is a component, and so is everything asynchronous that completes as a unit: the copies of one mbarrier, the
bulk groups, the cp.async groups and the wgmma groups of whoever issued them. An access is stamped with a component and
an epoch; it is ordered before a thread whose clock has at least that epoch at that component. A clock has two rows:
what is ordered for the generic proxy, and what proxy fences have made visible to the async proxy (PTX ISA, "Memory
Consistency Model", sections "Proxies" and "Causality Order"; "Async Proxy").

Clocks are arrays that nobody changes once they are shared: joins make new ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["ASYNC", "GENERIC", "HOST", "UNINITIALIZED", "Clock", "Components", "join"]

Clock = np.ndarray

#: Rows of a clock.
GENERIC, ASYNC = 0, 1
#: Components that are no threads: written before the launch; never written.
HOST, UNINITIALIZED = 0, 1

_ALWAYS = np.iinfo(np.int32).max


def join(a: Clock | None, b: Clock | None) -> Clock | None:
    """What is ordered before either of two clocks; None knows nothing."""
    if a is None or a is b:
        return b
    if b is None:
        return a
    made: Clock = np.maximum(a, b)
    return made


class Components:
    """Numbers of components, and what they are.

    Args:
        threads: threads that are resident at a time.
        others: the most components of other kinds.
    """

    def __init__(self, threads: int, others: int) -> None:
        self.size = 2 + threads + others
        self._next = 2
        self._names: list[tuple[int, int, Callable[[int], str]]] = []

    def allocate(self, count: int, describe: Callable[[int], str]) -> int:
        """First of `count` new components; `describe` names one by its position among them."""
        first = self._next
        if first + count > self.size:
            raise MemoryError("too many asynchronous agents for the clocks of the simulator")
        self._next += count
        self._names.append((first, count, describe))
        return first

    def describe(self, component: int) -> str:
        """What a component is, in words."""
        for first, count, describe in self._names:
            if first <= component < first + count:
                return describe(component - first)
        return "the host"

    def initial(self) -> Clock:
        """The clock of a thread at the start: only what the host did is ordered before it."""
        clock = np.zeros((2, self.size), np.int32)
        clock[:, HOST] = _ALWAYS
        clock[:, UNINITIALIZED] = -1
        return clock
