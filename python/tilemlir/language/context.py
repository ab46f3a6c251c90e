"""Which kernel is being traced by this thread.

The functions of this package only describe a kernel; what they do is decided by the builder that is active while the
front end evaluates a kernel body. Without one, a kernel operation has no meaning and says so.
"""

from __future__ import annotations

import threading
from typing import Any

from ..errors import TileRuntimeError


class OutsideKernelError(TileRuntimeError):
    """A kernel operation was called by ordinary Python code."""

    code = "outside-kernel"


class _Active(threading.local):
    builder: Any = None


_active = _Active()


def active() -> Any | None:
    """The builder of the kernel that this thread is tracing, or None."""
    return _active.builder


def activate(builder: Any | None) -> Any | None:
    """Makes ``builder`` the active one of this thread and returns the one before."""
    previous = _active.builder
    _active.builder = builder
    return previous


def require(name: str) -> Any:
    """The active builder.

    Raises:
        OutsideKernelError: when no kernel is being traced; ``name`` is what the user called, as in ``T.copy``.
    """
    builder = _active.builder
    if builder is None:
        raise OutsideKernelError(
            f"{name} has a meaning only inside of a kernel: call it in a function decorated with @T.prim_func or "
            f"@T.macro (or in the kernel of @tile.jit), which is traced when it is compiled"
        )
    return builder
