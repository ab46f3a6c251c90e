"""Helpers of the front-end tests: tracing, and asking what a module holds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tilemlir.frontend import FrontendError, TracedFunction, trace


def text_of(function: Any, *arguments: Any, **keywords: Any) -> str:
    """The traced module without locations."""
    return str(trace(function, arguments, keywords).module)


def lines_of(function: Any, operation: str) -> list[str]:
    """The lines of a traced module that hold an operation."""
    return [
        line.strip()
        for line in text_of(function).splitlines()
        if re.search(rf"(^|= |\s){re.escape(operation)}\b", line)
    ]


def operations(traced: TracedFunction) -> list[str]:
    """Names of all operations in program order, constants left out."""
    names: list[str] = []

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    if inner.operation.name != "arith.constant":
                        names.append(inner.operation.name)
                    visit(inner.operation)

    visit(traced.module.operation)
    return names


def error_of(function: Any, *arguments: Any, **keywords: Any) -> FrontendError:
    """The error that tracing gives."""
    with pytest.raises(FrontendError) as caught:
        trace(function, arguments, keywords)
    return caught.value


def check_error(function: Any, expected: str, *arguments: Any) -> None:
    """The exact text of an error; the file is written as FILE, and its line as LINE, the margin adjusted."""
    error = error_of(function, *arguments)
    text = str(error)
    assert error.location is not None, text
    text = text.replace(error.location.file, "FILE")
    text = re.sub(r"FILE:\d+:", "FILE:LINE:", text)
    text = re.sub(r"^ \d+ \|", " LINE |", text, flags=re.M)
    text = re.sub(r"^ +\|", "      |", text, flags=re.M)
    text = re.sub(r"(?<=\bline )\d+", "N", text)
    text = re.sub(r"^( LINE \|)\s+", r"\1 ", text, flags=re.M)
    # Carets keep their position relative to the source line.
    source = next((line for line in str(error).splitlines() if re.match(r"^ \d+ \|", line)), None)
    if source is not None:
        code = source.split("|", 1)[1][1:]
        indent = len(code) - len(code.lstrip())
        text = "\n".join(
            line.replace("| " + " " * indent, "| ", 1) if line.startswith("      |") else line
            for line in text.splitlines()
        )
    assert text == expected.strip("\n"), text
