"""Draws typed expressions over the elements, indices and scalars that are in reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from fuzz.elements import ELEMENTS
from fuzz.program import Binary, Cast, Compare, Const, Expr, Load, Logic, Select, Unary, Var

X = TypeVar("X")


class Choices:
    """Draws of simple things; earlier options are simpler ones, towards which hypothesis shrinks."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def pick(self, options: Sequence[X]) -> X:
        """One of some options."""
        if len(options) == 1:
            return options[0]
        return options[self.draw(st.integers(0, len(options) - 1))]

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low if low >= high else self.draw(st.integers(low, high))

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases; shrinks to False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent


class Expressions(Choices):
    """Expressions of a parallel loop, or of scalar code.

    Args:
        draw: of hypothesis.
        leaves: makes loads: from "float", "int" or "bool" to an expression of that kind, or None where there is none.
        indices: run-time integers in reach.
    """

    def __init__(
        self, draw: Callable[[Any], Any], leaves: Callable[[str], Load | None], indices: Sequence[Expr]
    ) -> None:
        super().__init__(draw)
        self.leaves = leaves
        self.indices = list(indices)

    def of_type(self, dtype: str, depth: int) -> Expr:
        """An expression that may be stored to an element of ``dtype`` without leaving its range too often."""
        element = ELEMENTS[dtype]
        if element.is_float:
            return self.floating(depth)
        if element.kind == "bool":
            return self.truth(depth)
        return self.integral(depth)

    def floating(self, depth: int) -> Expr:
        """A float of any type."""
        choice = self.integer(0, 15) if depth else self.integer(0, 3)
        if choice <= 2:
            leaf = self.leaves("float")
            if leaf is None:
                return Cast("float32", self.integral(0)) if choice else self.float_constant()
            if ELEMENTS[leaf.dtype].bits == 8 or choice == 2:
                return Cast("float32", leaf)
            return leaf
        if choice == 3:
            return self.float_constant() if self.chance(40) else Cast("float32", self.integral(max(depth - 1, 0)))
        left = _run_time(self.floating(depth - 1))
        if choice <= 7:
            return Binary(self.pick(["+", "-"]), left, self._other(self.floating, depth, self.float_constant))
        if choice == 8:
            return Binary("*", left, self._other(self.floating, 1, self.float_constant))
        if choice == 9:
            return Binary(self.pick(["max", "min"]), left, self._other(self.floating, depth, self.float_constant))
        if choice == 10:
            return Unary(self.pick(["-", "abs", "floor", "ceil"]), left)
        if choice == 11:
            return Unary("exp2", Binary("min", left, Const(float(self.integer(0, 3)))))
        if choice == 12:
            return Binary("/", left, self.pick([Const(2.0), Const(3.0), Const(-0.5), Const(4)]))
        if choice == 13:
            if self.chance(50):
                return Unary("rsqrt", Binary("+", Unary("abs", left), Const(1.0)))
            return Unary("sqrt", Unary("abs", left))
        if choice == 14:
            return Cast(self.pick(["float32", "float16", "bfloat16", "float64", "float8_e4m3fn", "float8_e5m2"]), left)
        return self.selection(left, self._other(self.floating, depth, self.float_constant), depth)

    def integral(self, depth: int) -> Expr:
        """An integer of any type."""
        choice = self.integer(0, 14) if depth else self.integer(0, 3)
        if choice <= 1:
            return self.leaves("int") or self.index()
        if choice == 2:
            return self.index()
        if choice == 3:
            return Const(self.integer(0, 9)) if self.chance(60) or not depth else self._whole_of_float(depth)
        left = _run_time(self.integral(depth - 1))
        if choice <= 6:
            return Binary(self.pick(["+", "-"]), left, self._other(self.integral, depth, self.int_constant))
        if choice == 7:
            return Binary("*", left, self._other(self.integral, 1, self.int_constant))
        if choice == 8:
            return Binary(self.pick(["min", "max"]), left, self._other(self.integral, depth, self.int_constant))
        if choice == 9:
            divisor: Expr = Const(self.pick([2, 3, 7, 8, -3]))
            if ELEMENTS[left.dtype].kind == "uint":
                divisor = Const(self.pick([2, 3, 7, 8]))
            elif self.chance(30):
                divisor = Binary("+", Binary("&", _run_time(self.integral(0)), Const(7)), Const(1))
            return Binary(self.pick(["//", "%"]), left, divisor)
        if choice == 10:
            return Binary(self.pick(["&", "|", "^"]), left, self._other(self.integral, depth, self.int_constant))
        if choice == 11:
            return Binary(self.pick(["<<", ">>"]), left, Const(self.integer(0, 7)))
        if choice == 12:
            if ELEMENTS[left.dtype].kind == "int":
                return Unary(self.pick(["-", "abs"]), left)
            return left
        if choice == 13:
            return Cast(self.pick(["int32", "int8", "int64", "uint8", "int16", "uint16", "uint32", "uint64"]), left)
        return self.selection(left, self._other(self.integral, depth, self.int_constant), depth)

    def truth(self, depth: int) -> Expr:
        """A truth value."""
        choice = self.integer(0, 5) if depth else self.integer(0, 2)
        if choice == 0:
            leaf = self.leaves("bool")
            if leaf is not None:
                return leaf
        if choice <= 2 or depth <= 0:
            op = self.pick(["<", "<=", ">", ">=", "==", "!="])
            if self.chance(40):
                return Compare(op, _run_time(self.floating(max(depth - 1, 0))), self.float_constant())
            left = _run_time(self.integral(max(depth - 1, 0)))
            return Compare(op, left, self._other(self.integral, 1, self.int_constant))
        if choice == 5:
            return Unary("not", self.truth(depth - 1))
        return Logic(self.pick(["and", "or"]), self.truth(depth - 1), self.truth(depth - 1))

    def selection(self, then: Expr, otherwise: Expr, depth: int) -> Expr:
        """A choice between two values, brought to one type."""
        if isinstance(then, Const):
            then = Cast(then.dtype, then) if then.type is None else then
        if otherwise.dtype != then.dtype or isinstance(otherwise, Const):
            otherwise = Cast(then.dtype, otherwise)
        return Select(self.truth(min(depth - 1, 1)), then, otherwise, self.chance(30))

    def index(self) -> Expr:
        """A run-time integer in reach, or a number."""
        return self.pick(self.indices) if self.indices else Cast("int32", Const(self.integer(0, 9)))

    def float_constant(self) -> Const:
        return Const(self.pick([1.0, 0.0, 2.0, -1.0, 0.5, 3.0, -2.5, 8.0]))

    def int_constant(self) -> Const:
        return Const(self.pick([1, 0, 2, 3, 5, 7, 16, 100, -1, -4]))

    def _other(self, make: Callable[[int], Expr], depth: int, constant: Callable[[], Const]) -> Expr:
        """The second operand; numbers stand there only, so that one operand is always known at run time only."""
        return constant() if self.chance(35) else _run_time(make(depth - 1))

    def _whole_of_float(self, depth: int) -> Expr:
        clamped = Binary("max", Binary("min", _run_time(self.floating(depth - 1)), Const(90.0)), Const(-90.0))
        return Cast(self.pick(["int32", "int8", "int16", "int64"]), clamped)


def _run_time(expr: Expr) -> Expr:
    """Numbers get a type of their own."""
    return Const(expr.value, expr.dtype) if isinstance(expr, Const) and expr.type is None else expr


__all__ = ["Choices", "Expressions", "Var"]
