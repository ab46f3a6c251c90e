"""Reading a launch plan in Python: its expressions evaluated, its arguments described.

The native launcher evaluates plans for launches; this is for what happens around them: profiling, reports, the
simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Environment", "evaluate", "shape_of", "symbols_in"]

Expression = Any  # an integer, or a list: an operator and its operands (the JSON form)


class Environment:
    """Values of an expression's leaves.

    Args:
        symbols: values by index or name; names are resolved with `plan`, and stay valid in expressions with names.
        dims, strides: (argument, axis) to elements.
        scalars: values by argument.
        sm_count: multiprocessors.
        plan: the plan whose symbols are named.
    """

    def __init__(
        self,
        symbols: Mapping[int, int] | Mapping[str, int] | None = None,
        dims: Mapping[tuple[int, int], int] | None = None,
        strides: Mapping[tuple[int, int], int] | None = None,
        scalars: Mapping[int, int] | None = None,
        sm_count: int | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        names = [entry["name"] for entry in (plan or {}).get("symbols", ())]
        self.symbols: dict[int | str, int] = {}
        for key, value in (symbols or {}).items():
            self.symbols[key] = value
            if key in names:
                self.symbols[names.index(key)] = value
        self.dims = dict(dims or {})
        self.strides = dict(strides or {})
        self.scalars = dict(scalars or {})
        self.sm_count = sm_count


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def evaluate(expression: Expression, environment: Environment) -> int:
    """The value of a plan's expression under an `environment` from leaves to values.

    Raises:
        KeyError: naming the first leaf without a value, such as ``("symbol", 0)``.
        ZeroDivisionError: for a division by zero.
    """
    if isinstance(expression, int):
        return expression
    kind, *operands = expression
    if kind in _OPERATORS:
        return _OPERATORS[kind](evaluate(operands[0], environment), evaluate(operands[1], environment))
    leaf = (kind, *operands)
    value: int | None
    if kind == "symbol":
        value = environment.symbols.get(operands[0])
    elif kind == "dim":
        value = environment.dims.get((operands[0], operands[1]))
    elif kind == "stride":
        value = environment.strides.get((operands[0], operands[1]))
    elif kind == "scalar":
        value = environment.scalars.get(operands[0])
    else:
        value = environment.sm_count
    if value is None:
        raise KeyError(leaf)
    return value


def symbols_in(expression: Expression) -> set[int]:
    """Indices of the symbols that an expression reads."""
    if isinstance(expression, int):
        return set()
    kind, *operands = expression
    if kind == "symbol":
        return {operands[0]}
    found: set[int] = set()
    for operand in operands:
        if not isinstance(operand, (int, str)):
            found |= symbols_in(operand)
    return found


def shape_of(argument: Mapping[str, Any], environment: Environment) -> tuple[int, ...]:
    """The shape of a tensor argument of a plan under an `environment` from leaves to values."""
    shape: Sequence[Expression] = argument["shape"]
    return tuple(evaluate(size, environment) for size in shape)
