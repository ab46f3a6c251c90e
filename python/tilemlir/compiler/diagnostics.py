"""Turns diagnostics of the compiler into errors at the user's source lines.

Passes report problems with the location that the tracer put on each operation; users see their own file, line and a
caret, never IR. A failure without any such location is a fault of the compiler: it is reported with the command that
replays it.
"""

from __future__ import annotations

import linecache
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilemlir.frontend.errors import FrontendError, SourceRange

__all__ = ["InternalCompilerError", "collect", "raise_failure", "source_range"]


class InternalCompilerError(RuntimeError):
    """The compiler failed on a program that it had accepted; the text says how to replay and report it."""


def source_range(location: Any) -> SourceRange | None:
    """The user's place behind an MLIR location: the innermost file range, through call sites, names and fusions."""
    if location.is_a_file():
        line, column = location.start_line, location.start_col
        if line == 0 or not str(location.filename).endswith((".py", ">", ".ipynb")):
            return None
        text = linecache.getline(location.filename, line)
        end_line, end_column = location.end_line, location.end_col
        if (end_line, end_column) <= (line, column):
            end_line, end_column = line, column + 1
        return SourceRange(location.filename, line, column, end_line, end_column, text)
    if location.is_a_callsite():
        return source_range(location.callee) or source_range(location.caller)
    if location.is_a_name():
        return source_range(location.child_loc)
    if location.is_a_fused():
        for part in location.locations:
            found = source_range(part)
            if found:
                return found
    return None


def _callers(location: Any) -> list[SourceRange]:
    """Places that led to the innermost one, from the inside out."""
    places = []
    while location.is_a_callsite():
        location = location.caller
        place = source_range(location)
        if place:
            places.append(place)
    return places


@contextmanager
def collect(context: Any) -> Iterator[list[Any]]:
    """Collects copies of the error diagnostics that ``context`` emits inside of the ``with`` block.

    Each is ``(message, location, notes)`` with notes as ``(message, location)`` pairs.
    """
    from tilemlir._mlir import ir

    found: list[Any] = []

    def handle(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            notes = [(note.message, note.location) for note in diagnostic.notes]
            found.append((diagnostic.message, diagnostic.location, notes))
            return True
        return False

    handler = context.attach_diagnostic_handler(handle)
    try:
        yield found
    finally:
        handler.detach()


def _strip_operation(message: str) -> str:
    """Drops MLIR's "'tile.copy' op " in front of a message but keeps the operation in the user's spelling."""
    if message.startswith("'tile.") and "' op " in message:
        name, rest = message[len("'tile.") :].split("' op ", 1)
        return f"T.{name} {rest}"
    return message


def raise_failure(found: list[Any], pipeline: str, module_text: str) -> None:
    """Raises the error for a failed pipeline.

    Args:
        found: what :func:`collect` collected.
        pipeline: textual pass pipeline that failed.
        module_text: the module it ran on, before it ran.

    Raises:
        FrontendError: when a diagnostic has a place in the user's source.
        InternalCompilerError: otherwise, with the command to replay it.
    """
    for message, location, notes in found:
        place = source_range(location)
        if place is None:
            continue
        error = FrontendError("verification", _strip_operation(message), location=place)
        for caller in _callers(location):
            error.add_note_at("called from here", caller)
        for text, note_location in notes:
            if not text.startswith("see current operation"):
                error.add_note_at(_strip_operation(text), source_range(note_location))
        raise error
    handle, name = tempfile.mkstemp(prefix="tilemlir-failure-", suffix=".mlir")
    os.close(handle)
    Path(name).write_text(module_text)
    details = "\n".join(f"  {message}" for message, _, _ in found) or "  (no diagnostic)"
    raise InternalCompilerError(
        f"the compiler failed on a valid program; this is a fault of tilemlir.\n{details}\n"
        f"  replay: tile-opt {name} --pass-pipeline='{pipeline}'"
    )
