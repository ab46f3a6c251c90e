"""The source text of user functions: finding it, parsing it, and naming places in it."""

from __future__ import annotations

import ast
import linecache
import os
from dataclasses import dataclass
from types import CodeType, FunctionType

from .errors import FrontendError, SourceRange


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """One parsed function.

    Attributes:
        filename: as Python knows it.
        tree: the function definition; its line numbers are those of the file.
        lines: all lines of the file.
    """

    filename: str
    tree: ast.FunctionDef
    lines: list[str]

    def range(self, node: ast.AST) -> SourceRange:
        """The place of a node of this function."""
        line = getattr(node, "lineno", self.tree.lineno)
        end_line = getattr(node, "end_lineno", None) or line
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        end_text = self.lines[end_line - 1] if 0 < end_line <= len(self.lines) else ""
        return SourceRange(
            self.filename,
            line,
            _characters(text, getattr(node, "col_offset", 0)) + 1,
            end_line,
            _characters(end_text, getattr(node, "end_col_offset", None) or 0) + 1,
            text,
        )


def _characters(text: str, offset: int) -> int:
    """Characters before a byte offset: the parser counts bytes of UTF-8."""
    if text.isascii():
        return offset
    return len(text.encode()[:offset].decode(errors="replace"))


_parsed: dict[CodeType, FunctionSource] = {}


def of_function(function: FunctionType) -> FunctionSource:
    """Reads and parses a function; the result is kept, as many closures share one code object.

    Raises:
        FrontendError: when Python cannot tell the source text (a function typed at the interactive prompt).
    """
    code = function.__code__
    found = _parsed.get(code)
    if found is None:
        found = _parsed[code] = _parse(function)
    return found


def _parse(function: FunctionType) -> FunctionSource:
    code = function.__code__
    filename = code.co_filename
    if not filename.startswith("<"):
        linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines and os.path.exists(filename):
        with open(filename, encoding="utf-8") as file:
            lines = file.readlines()
    if not lines or code.co_firstlineno > len(lines):
        raise FrontendError(
            "source",
            f"the source text of {function.__name__} is not available",
            found=f"a function defined in {filename}",
            fix="define the kernel in a file or in a notebook cell; the prompt of Python keeps no source text",
        )
    tree = _parse_block(lines, code.co_firstlineno - 1, function.__name__)
    if tree is None:
        tree = _find_in_file(lines, code.co_firstlineno, function.__name__)
    if tree is None:
        raise FrontendError(
            "source",
            f"{function.__name__} was not found in its file",
            found=f"{filename}, line {code.co_firstlineno}",
            fix="the file may have changed after it was imported; import it again. A lambda cannot be a kernel",
        )
    return FunctionSource(filename, tree, lines)


def _parse_block(lines: list[str], start: int, name: str) -> ast.FunctionDef | None:
    """Parses only the lines of one definition, which is much cheaper than the whole of a long file."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = start
    in_header = True
    while end < len(lines):
        line = lines[end]
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        if stripped and not stripped.startswith("#") and depth <= indent:
            if not in_header and not stripped.startswith((")", "]", "}")):
                break
            if stripped.startswith(("def ", "async ")):
                in_header = False
        end += 1
    text = "".join(lines[start:end])
    if indent:
        text = "if True:\n" + text
    try:
        module = ast.parse(text)
    except SyntaxError:
        return None
    body = module.body[0].body if indent and isinstance(module.body[0], ast.If) else module.body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or body[0].name != name:
        return None
    ast.increment_lineno(body[0], start - (1 if indent else 0))
    return body[0]


def _find_in_file(lines: list[str], first_line: int, name: str) -> ast.FunctionDef | None:
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begin == first_line or node.lineno == first_line:
                return node
    return None
