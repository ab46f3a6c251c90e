"""Reads MLIR in its generic form (`-mlir-print-op-generic`) into plain Python objects.

The generic form has one syntax for all operations, so that this reader needs to know no dialect. Attributes and types
stay text, with helpers for the few shapes that tests evaluate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Block", "Operation", "integer_list", "parse"]

_OPEN, _CLOSE = "<([{", ">)]}"


@dataclass
class Block:
    """A block: names and types of its arguments, and its operations."""

    arguments: list[tuple[str, str]]
    operations: list[Operation] = field(default_factory=list)


@dataclass
class Operation:
    """An operation. Values are names such as ``%3`` or ``%4#1``; attributes and types are text."""

    name: str
    results: list[str]
    operands: list[str]
    attributes: dict[str, str]
    regions: list[list[Block]]
    operand_types: list[str]
    result_types: list[str]

    def walk(self) -> Iterator[Operation]:
        """This operation and all inside of it, in program order."""
        yield self
        for region in self.regions:
            for block in region:
                for inner in block.operations:
                    yield from inner.walk()

    def integer(self, name: str, default: int | None = None) -> int:
        """The integer attribute ``name``.

        Raises:
            KeyError: it is absent and there is no default.
        """
        text = self.attributes.get(name)
        if text is None:
            if default is None:
                raise KeyError(f"{self.name} has no attribute {name}")
            return default
        return int(text.split(":")[0])


def integer_list(text: str) -> list[int]:
    """The elements of ``array<i64: 1, 2>``."""
    body = text[text.index("<") + 1 : text.rindex(">")]
    _, _, elements = body.partition(":")
    return [int(element) for element in elements.split(",") if element.strip()]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
            elif self.text.startswith("//", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def peek(self, token: str) -> bool:
        self.skip()
        return self.text.startswith(token, self.at)

    def accept(self, token: str) -> bool:
        if self.peek(token):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ValueError(f"expected {token!r} at ...{self.text[self.at : self.at + 60]!r}")

    def match(self, pattern: str) -> str:
        self.skip()
        found = re.compile(pattern).match(self.text, self.at)
        if not found:
            raise ValueError(f"expected {pattern!r} at ...{self.text[self.at : self.at + 60]!r}")
        self.at = found.end()
        return found.group()

    def balanced(self, stops: str) -> str:
        """Text up to one of ``stops`` (or a line end) outside of brackets and strings."""
        self.skip()
        start, depth = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if depth == 0 and (char in stops or char == "\n"):
                break
            if char == '"':
                self.at = self._string_end(self.at)
                continue
            if self.text.startswith("->", self.at):
                self.at += 2
                continue
            if char in _OPEN:
                depth += 1
            elif char in _CLOSE:
                depth -= 1
            self.at += 1
        return self.text[start : self.at].strip()

    def _string_end(self, at: int) -> int:
        at += 1
        while self.text[at] != '"':
            at += 2 if self.text[at] == "\\" else 1
        return at + 1

    def string(self) -> str:
        self.skip()
        start, self.at = self.at, self._string_end(self.at)
        return self.text[start + 1 : self.at - 1]

    def attributes(self, close: str) -> dict[str, str]:
        result: dict[str, str] = {}
        while not self.accept(close):
            name = self.string() if self.peek('"') else self.match(r"[\w.$]+")
            result[name] = self.balanced("," + close[0]) if self.accept("=") else "unit"
            self.accept(",")
        return result

    def types(self) -> list[str]:
        if not self.accept("("):
            return [self.balanced("")]
        result = []
        while not self.accept(")"):
            result.append(self.balanced(",)"))
            self.accept(",")
        return result

    def block(self, named: bool) -> Block:
        arguments = []
        if named:
            self.match(r"\^\w+")
            if self.accept("("):
                while not self.accept(")"):
                    name = self.match(r"%[\w#]+")
                    self.expect(":")
                    arguments.append((name, self.balanced(",)")))
                    self.accept(",")
            self.expect(":")
        block = Block(arguments)
        while not self.peek("}") and not self.peek("^"):
            block.operations.append(self.operation())
        return block

    def operation(self) -> Operation:
        results: list[str] = []
        if self.peek("%"):
            name = self.match(r"%\w+")
            if self.accept(":"):
                count = int(self.match(r"\d+"))
                results = [f"{name}#{index}" for index in range(count)]
            else:
                results = [name]
            self.expect("=")
        name = self.string()
        operands = []
        self.expect("(")
        while not self.accept(")"):
            operands.append(self.match(r"%[\w#]+"))
            self.accept(",")
        attributes: dict[str, str] = {}
        if self.accept("<{"):
            attributes.update(self.attributes("}>"))
        regions = []
        if self.accept("("):
            while not self.accept(")"):
                self.expect("{")
                region = []
                while not self.accept("}"):
                    region.append(self.block(self.peek("^")))
                regions.append(region)
                self.accept(",")
        if self.accept("{"):
            attributes.update(self.attributes("}"))
        self.expect(":")
        operand_types = self.types()
        self.expect("->")
        result_types = self.types()
        return Operation(name, results, operands, attributes, regions, operand_types, result_types)


def parse(text: str) -> Operation:
    """The top-level operation of a file in generic form without attribute aliases.

    Raises:
        ValueError: the text is not in that form.
    """
    return _Reader(text).operation()
