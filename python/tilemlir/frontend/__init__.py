"""The front end: Python functions to the `tile` dialect. The only reader of user source.

``trace`` evaluates the body of a function in two worlds: compile-time Python values are computed at once, run-time
scalars, buffers and tensors become operations that carry the user's file, line and columns.
"""

from __future__ import annotations

from typing import Any

from .errors import CATALOGUE, FrontendError, FrontendWarning, SourceRange

__all__ = [
    "CATALOGUE",
    "Argument",
    "FrontendError",
    "FrontendWarning",
    "SourceRange",
    "TensorSpec",
    "TracedFunction",
    "range_of_location",
    "trace",
    "verify",
]

_LAZY = {
    "Argument": "hosting",
    "TensorSpec": "hosting",
    "TracedFunction": "tracer",
    "range_of_location": "tracer",
    "trace": "tracer",
    "verify": "tracer",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
