"""Sizes that are known only at launch.

``T.dynamic("M")`` gives a :class:`SymbolicExpr`. It may be used in tensor shapes, in grid extents and in scalar code;
integer arithmetic on it outside of a kernel builds an expression that the kernel evaluates at launch.
"""

from __future__ import annotations

from typing import Any

from . import context
from .dtypes import DType, int32
from .dtypes import dtype as _dtype


class SymbolicExpr:
    """A closed integer expression over symbols.

    Attributes:
        kind: ``"symbol"`` or ``"constant"`` for leaves; ``add, sub, mul, floordiv, ceildiv, mod, min, max`` for nodes.
        operands: the two operands of a node.
        name: the name of a symbol.
        value: the value of a constant.
        dtype: integer type of a symbol as the user declared it.
        specialized: whether the symbol comes from ``T.const``: its value becomes part of the compiled kernel.
    """

    __slots__ = ("dtype", "kind", "name", "operands", "specialized", "value")

    def __init__(
        self,
        kind: str,
        operands: tuple[SymbolicExpr, ...] = (),
        *,
        name: str = "",
        value: int = 0,
        dtype: DType = int32,
        specialized: bool = False,
    ) -> None:
        self.kind = kind
        self.operands = operands
        self.name = name
        self.value = value
        self.dtype = dtype
        self.specialized = specialized

    def text(self) -> str:
        """The expression in the syntax of ``#tile.expr``."""
        if self.kind == "symbol":
            return f'symbol("{self.name}")'
        if self.kind == "constant":
            return str(self.value)
        return f"{self.kind}({', '.join(operand.text() for operand in self.operands)})"

    def symbols(self) -> set[str]:
        """Names of the symbols inside."""
        if self.kind == "symbol":
            return {self.name}
        return set().union(*(operand.symbols() for operand in self.operands)) if self.operands else set()

    def evaluate(self, values: dict[str, int]) -> int:
        """The value, given one for each symbol. Raises KeyError when one is missing."""
        if self.kind == "symbol":
            return values[self.name]
        if self.kind == "constant":
            return self.value
        left, right = (operand.evaluate(values) for operand in self.operands)
        return evaluate(self.kind, left, right)

    def __repr__(self) -> str:
        if self.kind == "symbol":
            return self.name
        if self.kind == "constant":
            return str(self.value)
        sign = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}.get(self.kind)
        left, right = self.operands
        return f"({left} {sign} {right})" if sign else f"{self.kind}({left}, {right})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicExpr) and self.text() == other.text()

    def __hash__(self) -> int:
        return hash(self.text())

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} is known only at launch and has no truth value in Python")

    def __index__(self) -> int:
        raise TypeError(f"the size {self} is known only at launch and cannot be used as a Python integer")

    def __add__(self, other: Any) -> Any:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("mul", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary("mod", other, self)

    def __neg__(self) -> Any:
        return binary("sub", 0, self)


def evaluate(kind: str, left: int, right: int) -> int:
    """The value of a node of ``kind``, such as ``"add"``, on the Python integers ``left`` and ``right``."""
    if kind == "add":
        return left + right
    if kind == "sub":
        return left - right
    if kind == "mul":
        return left * right
    if kind == "floordiv":
        return left // right
    if kind == "ceildiv":
        return -(-left // right)
    if kind == "mod":
        return left % right
    return min(left, right) if kind == "min" else max(left, right)


def as_expression(value: object) -> SymbolicExpr | None:
    """``value`` as an expression: itself, or a constant for a Python integer; None for anything else."""
    if isinstance(value, SymbolicExpr):
        return value
    if isinstance(value, int):
        return SymbolicExpr("constant", value=int(value))
    return None


def binary(kind: str, left: object, right: object) -> Any:
    """A node of ``kind``, such as ``"add"``, over ``left`` and ``right``.

    Folded when both are constants; NotImplemented when one is neither an integer nor a size.
    """
    a, b = as_expression(left), as_expression(right)
    if a is None or b is None:
        return NotImplemented
    if a.kind == "constant" and b.kind == "constant":
        return evaluate(kind, a.value, b.value)
    if (kind in ("add", "sub") and b.kind == "constant" and b.value == 0) or (
        kind in ("mul", "floordiv", "ceildiv") and b.kind == "constant" and b.value == 1
    ):
        return a
    if (kind == "add" and a.kind == "constant" and a.value == 0) or (
        kind == "mul" and a.kind == "constant" and a.value == 1
    ):
        return b
    return SymbolicExpr(kind, (a, b))


def _split(names: str | list[str] | tuple[str, ...]) -> list[str]:
    if isinstance(names, str):
        return [part for part in names.replace(",", " ").split() if part]
    return list(names)


def _declare(names: Any, dtype: object, specialized: bool, what: str) -> Any:
    split = _split(names)
    kind = _dtype(dtype)
    if not split or any(not part.isidentifier() for part in split):
        raise ValueError(f'{what} takes one or more names, as in {what}("M") or {what}("M, N"); found {names!r}')
    if not kind.is_integer:
        raise TypeError(f"{what} declares sizes, which are integers; found the type {kind.name}")
    made = tuple(SymbolicExpr("symbol", name=part, dtype=kind, specialized=specialized) for part in split)
    return made[0] if len(made) == 1 else made


def dynamic(names: str | list[str] | tuple[str, ...], dtype: object = "int32") -> Any:
    """Declares sizes that are read from the tensors at each launch; one kernel serves all of their values.

    ``T.dynamic("M")`` gives one symbol, ``T.dynamic("M, N")`` or a list of names a tuple. The same name always means
    the same size, which every launch checks. ``dtype`` is the type of a size in the kernel.
    """
    return _declare(names, dtype, False, "T.dynamic")


def symbolic(names: str | list[str] | tuple[str, ...], dtype: object = "int32") -> Any:
    """Another name of :func:`dynamic`."""
    return _declare(names, dtype, False, "T.symbolic")


def const(names: str | list[str] | tuple[str, ...], dtype: object = "int32") -> Any:
    """Declares sizes, in the kernel of ``@tile.jit``, that are read from the tensors of a call and compiled in.

    ``names`` as for :func:`dynamic`. Must be called in the traced function itself, before the tensors that use the
    sizes are declared. ``dtype`` is the type of a size in the kernel.

    Raises:
        OutsideKernelError: outside of a traced function.
    """
    builder = context.require("T.const")
    made = _declare(names, dtype, True, "T.const")
    builder.declare_constants([one.name for one in (made if isinstance(made, tuple) else (made,))])
    return made
