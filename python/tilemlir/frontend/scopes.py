"""Names: frames of functions being traced, and questions about the syntax of their bodies."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from .source import FunctionSource

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Missing:
    """The answer of a look-up that found nothing."""


MISSING = Missing()


class Frame:
    """One function, or one comprehension or lambda in it, while its body is traced.

    Attributes:
        locals: names that the body has bound.
        source: where its text is.
        depth: how many run-time regions of this trace surround it; returning is possible only there.
        unavailable: names that were bound where the present place cannot see them: (why, line).
        bound_at: the region depth at which each local name was bound.
        references: parameters passed by reference.
    """

    def __init__(
        self, function: FunctionType, source: FunctionSource, depth: int, scope: dict[str, Any] | None
    ) -> None:
        self.function = function
        self.source = source
        self.depth = depth
        self.locals: dict[str, Any] = {}
        self.unavailable: dict[str, tuple[str, int]] = {}
        self.bound_at: dict[str, int] = {}
        self.references: set[str] = set()
        self.scope = scope or {}
        self._closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def lookup(self, name: str) -> Any:
        """The value of a name, or MISSING."""
        found = self.locals.get(name, MISSING)
        if found is not MISSING:
            return found
        if name in self.unavailable:
            return MISSING
        return self.lookup_outside(name)

    def lookup_outside(self, name: str) -> Any:
        """The value of a name that the function does not bind itself."""
        cell = self._closure.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:
                return MISSING
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        if name in self.scope:
            return self.scope[name]
        return getattr(builtins, name, MISSING)

    def suggestions(self, name: str) -> list[str]:
        """Names that look like ``name``."""
        known: set[str] = {*self.locals, *self._closure, *self.function.__globals__, *dir(builtins)}
        return difflib.get_close_matches(name, [other for other in known if not other.startswith("_")], 2, 0.7)

    def bind(self, name: str, value: Any, depth: int) -> None:
        """Binds a name at a region depth."""
        self.locals[name] = value
        self.bound_at[name] = depth
        self.unavailable.pop(name, None)


def assigned_names(statements: Iterable[ast.AST]) -> set[str]:
    """Names that the statements may rebind; targets of loops and of ``with`` are not among them."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, (*_NESTED, *_COMPREHENSIONS)):
            return
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found.add(node.id)
            return
        if isinstance(node, ast.For):
            for child in (node.iter, *node.body, *node.orelse):
                visit(child)
            return
        if isinstance(node, ast.With):
            for child in node.body:
                visit(child)
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in statements:
        visit(statement)
    return found


class Facts(NamedTuple):
    """What the body of a compound statement does.

    Attributes:
        assigned: names that it may rebind.
        breaks, continues: whether it holds a ``break`` or ``continue`` of its own loop.
    """

    assigned: frozenset[str]
    breaks: bool
    continues: bool


def facts_of(node: ast.For | ast.While | ast.If) -> Facts:
    """The facts of a statement; kept with the node, as one function is traced many times."""
    found: Facts | None = getattr(node, "_tilemlir_facts", None)
    if found is None:
        body = [*node.body, *node.orelse]
        found = Facts(frozenset(assigned_names(body)), has_own(ast.Break, body), has_own(ast.Continue, body))
        node._tilemlir_facts = found  # type: ignore[union-attr]
    return found


def loads_of(name: str, root: ast.AST) -> int:
    """How often a name is read below a node."""
    return sum(
        1
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )


def has_own(kind: type[ast.AST] | tuple[type[ast.AST], ...], statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements hold a ``break`` or ``continue`` that belongs to the loop around them."""

    def visit(node: ast.AST) -> bool:
        if isinstance(node, kind):
            return True
        if isinstance(node, (ast.For, ast.While, *_NESTED)):
            return any(visit(child) for child in node.orelse) if isinstance(node, (ast.For, ast.While)) else False
        return any(visit(child) for child in ast.iter_child_nodes(node))

    return any(visit(statement) for statement in statements)


def is_simple(node: ast.AST) -> bool:
    """Whether evaluating an expression early is harmless whatever it gives: no access, call or division in it."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Subscript, ast.Call, ast.IfExp, ast.BoolOp, *_COMPREHENSIONS)):
            return False
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            return False
    return True
