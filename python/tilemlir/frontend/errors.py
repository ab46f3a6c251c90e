"""Errors of the front end: one class, one catalogue.

Every error names the user's file, line and column, shows the source line with a caret range, and says what was found,
what is allowed and how to fix it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import TileCompileError

#: code -> what the class of errors is about. Messages themselves are written where the facts are known.
CATALOGUE: dict[str, str] = {
    "argument": "an argument of a language function has a value that is not allowed",
    "ambiguous-copy": "an element-form copy matches its tile to the tensor in more than one way",
    "barrier": "a barrier, or an asynchronous operation, that is not used as it has to be",
    "call": "a function called while tracing raised an exception, or was called with wrong arguments",
    "collective-in-parallel": "a tile operation inside of T.Parallel",
    "compile-time-value": "a run-time value where a compile-time one is needed, or the reverse",
    "control-flow": "control flow that cannot be expressed in a kernel",
    "copy-shape": "the two sides of a copy differ in shape",
    "declaration": "an argument of the kernel function is not declared correctly",
    "dtype": "element types that do not fit the operation",
    "gemm-operands": "operands of T.gemm that do not match in shape",
    "index": "an index that is outside of its dimension",
    "kernel": "a kernel operation in the wrong place",
    "layout": "a layout that does not fit its buffer",
    "not-available": "a known feature that this version does not have",
    "parallel-conflict": "iterations of T.Parallel that write the same element",
    "output": "outputs that are not returned, or returned values that are not outputs",
    "rank": "a wrong number of indices",
    "rebinding": "a name that changes its kind under run-time control flow",
    "reduce-shape": "operands of a reduction that do not match in shape",
    "warp-groups": "code of warp groups that does not fit the kernel, or buffers that they cannot share",
    "source": "the source text of the function is not available",
    "symbolic-size": "a size known only at launch where a constant is needed",
    "syntax": "Python that cannot be part of a kernel",
    "undefined-name": "a name that is not defined",
    "verification": "the compiler rejects an operation",
}


@dataclass(frozen=True)
class SourceRange:
    """A range of source text; lines and columns count from 1, columns are characters, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""

    def render(self) -> list[str]:
        """The first line of the range with carets below it; nothing when the text is unknown."""
        if not self.text.strip():
            return []
        number = str(self.line)
        stripped = self.text.rstrip("\n")
        end = self.end_column if self.end_line == self.line else len(stripped) + 1
        width = max(1, min(end, len(stripped) + 1) - self.column)
        margin = " " * len(number)
        return [
            f" {number} | {stripped}",
            f" {margin} | {' ' * (self.column - 1)}{'^' * width}",
        ]


class FrontendError(TileCompileError):
    """A program that cannot be traced.

    Attributes:
        code: key of :data:`CATALOGUE`.
        message: what is wrong, in one sentence.
        found: the offending values, or empty.
        allowed: what would be accepted, or empty.
        fix: what to do about it, or empty.
        location: where it happened in the user's source.
        notes: further places, as (text, place): the macro call, the first assignment, ...
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        found: str = "",
        allowed: str = "",
        fix: str = "",
        location: SourceRange | None = None,
    ) -> None:
        if code not in CATALOGUE:
            raise KeyError(f"error code {code!r} is not in the catalogue")
        self.code = code
        self.message = message
        self.found = found
        self.allowed = allowed
        self.fix = fix
        self.location = location
        self.notes: list[tuple[str, SourceRange | None]] = []
        super().__init__(message)

    def add_note_at(self, text: str, location: SourceRange | None) -> None:
        """Adds a further place to the message."""
        self.notes.append((text, location))

    def __str__(self) -> str:
        place = f"{self.location.file}:{self.location.line}: " if self.location else ""
        lines = [f"{place}error: {self.message} [{self.code}]"]
        if self.location:
            lines += self.location.render()
        for title, text in (("found", self.found), ("allowed", self.allowed), ("fix", self.fix)):
            if text:
                lines.append(f"  {title}: {text}")
        for text, location in self.notes:
            place = f"{location.file}:{location.line}: " if location else ""
            lines.append(f"{place}note: {text}")
            if location:
                lines += location.render()
        return "\n".join(lines)


class FrontendWarning(UserWarning):
    """A program that is traced, but not as its author may expect."""
