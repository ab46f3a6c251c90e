"""Arithmetic of the reference: arrays of values with bounds of how far a right result may be away.

Floats are computed in float64 and rounded to their type after every operation, which is the one rounding that the
language asks for. The bound is zero as long as every target has to give this very number; it grows where the language
leaves room: products may be fused into sums, sums of a reduction or a matrix product may be taken in any order,
approximate functions have some error. An infinite bound marks values that mean nothing: nobody wrote them, or they
hang on a comparison that is too close to call, or a conversion that is out of range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fuzz.elements import ELEMENTS, Element, lowest_bit, round_to, spacing

#: Relative error of exp2, sqrt, rsqrt and the like in float32.
FUNCTION_ERROR = 2.0**-21


@dataclass
class Value:
    """An array of one element type with error bounds of the same shape."""

    element: Element
    values: np.ndarray
    errors: np.ndarray


def exact(element: Element, values: np.ndarray) -> Value:
    """Values that are certain."""
    values = np.asarray(values)
    return Value(element, values, np.zeros(values.shape))


def wrap(values: np.ndarray, element: Element) -> np.ndarray:
    """Python-sized or wider integers as a narrower type, modulo 2^bits."""
    return np.asarray(values).astype(element.numpy)


def settle(element: Element, values: np.ndarray, errors: np.ndarray, fused: bool = False) -> Value:
    """Rounds float64 results once to a type.

    Args:
        element: a float type.
        values: results in float64.
        errors: their bounds before rounding.
        fused: the rounding may be left out where the value is used next.
    """
    with np.errstate(all="ignore"):
        rounded = round_to(values, element)
        errors = np.where(errors > 0, errors + spacing(rounded, element), 0.0)
        if not element.saturates:
            # Within the bound lies infinity.
            errors = np.where((errors > 0) & (np.abs(values) + errors > element.largest), np.inf, errors)
        if fused:
            errors = errors + np.where(np.isfinite(rounded), np.abs(rounded - values), 0.0)
    invalid = np.isnan(rounded) | np.isnan(errors)
    return Value(element, rounded, np.where(invalid, np.inf, errors))


def convert(value: Value, element: Element) -> Value:
    """``T.cast``, and what every store does."""
    source = value.element
    if source.name == element.name:
        return value
    poisoned = np.isinf(value.errors)
    if element.is_float:
        return settle(element, value.values.astype(np.float64), value.errors)
    if not source.is_float:
        if element.kind == "bool":
            return Value(element, value.values != 0, value.errors)
        return Value(element, wrap(value.values, element), value.errors)
    if element.kind == "bool":
        close = (value.errors > 0) & (np.abs(value.values) <= value.errors)
        return Value(element, value.values != 0, np.where(poisoned | close, np.inf, 0.0))
    with np.errstate(all="ignore"):
        low, high = np.trunc(value.values - value.errors), np.trunc(value.values + value.errors)
        known = (low == high) & (low >= element.low) & (high <= element.high) & np.isfinite(value.values)
        whole = np.where(known, np.trunc(value.values), 0.0)
        # float64 has no neighbour of 2^63: compare in floats, convert only what fits.
        known &= np.abs(whole) < 2.0**62
        return Value(element, np.where(known, whole, 0.0).astype(element.numpy), np.where(known, 0.0, np.inf))


def _integer_binary(op: str, a: Value, b: Value, element: Element) -> Value:
    x, y = a.values, b.values
    errors = np.where((a.errors > 0) | (b.errors > 0), np.inf, 0.0)
    with np.errstate(all="ignore"):
        if op in ("//", "%"):
            safe = np.where(y == 0, 1, y).astype(y.dtype)
            result = np.floor_divide(x, safe) if op == "//" else np.mod(x, safe)
            errors = np.where(y == 0, np.inf, errors)
        elif op in ("<<", ">>"):
            inside = (y >= 0) & (y < element.bits)
            amount = np.where(inside, y, 0).astype(y.dtype)
            result = np.left_shift(x, amount) if op == "<<" else np.right_shift(x, amount)
            errors = np.where(inside, errors, np.inf)
        else:
            result = _INTEGER[op](x, y)
    return Value(element, np.asarray(result).astype(element.numpy), errors + np.zeros(np.shape(result)))


_INTEGER = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}


def binary(op: str, a: Value, b: Value, element: Element) -> Value:
    """An operation of two values in the type ``element``."""
    a, b = convert(a, element), convert(b, element)
    if not element.is_float:
        return _integer_binary(op, a, b, element)
    x, y, ex, ey = a.values, b.values, a.errors, b.errors
    with np.errstate(all="ignore"):
        if op in ("+", "-"):
            return settle(element, x + y if op == "+" else x - y, ex + ey)
        if op == "*":
            errors = np.abs(x) * ey + np.abs(y) * ex + ex * ey
            errors = np.where(np.isinf(ex) | np.isinf(ey), np.inf, np.where((ex == 0) & (ey == 0), 0.0, errors))
            return settle(element, x * y, errors, fused=True)
        if op == "/":
            result = x / y
            errors = (ex + np.abs(result) * ey) / (np.abs(y) - ey)
            errors = np.where((np.abs(y) <= ey) | np.isinf(ex), np.inf, np.where((ex == 0) & (ey == 0), 0.0, errors))
            inexact = round_to(result, element) != result
            wide = spacing(result, element if element.bits > 32 else ELEMENTS["float32"])
            return settle(element, result, errors + np.where(inexact, 2 * wide, 0.0))
        result = np.fmin(x, y) if op == "min" else np.fmax(x, y)
        return settle(element, result, np.maximum(ex, ey))


def compare(op: str, a: Value, b: Value, element: Element) -> Value:
    """A comparison in the type ``element``; poisoned where errors could turn it round."""
    a, b = convert(a, element), convert(b, element)
    errors = a.errors + b.errors
    with np.errstate(all="ignore"):
        result = _COMPARISONS[op](a.values, b.values)
        if element.is_float:
            close = (errors > 0) & ~(np.abs(a.values - b.values) > errors)
        else:
            close = errors > 0
    return Value(ELEMENTS["bool"], result, np.where(close, np.inf, 0.0))


_COMPARISONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def logic(op: str, a: Value, b: Value) -> Value:
    """``and``, ``or``: the right side counts only where the left does not decide."""
    decided = ~a.values if op == "and" else a.values
    result = a.values & b.values if op == "and" else a.values | b.values
    errors = np.where(np.isinf(a.errors), np.inf, np.where(decided, 0.0, b.errors))
    return Value(a.element, result, errors)


def select(condition: Value, then: Value, otherwise: Value) -> Value:
    """One of two values of one type."""
    values = np.where(condition.values, then.values, otherwise.values)
    errors = np.where(condition.values, then.errors, otherwise.errors)
    return Value(then.element, values, np.where(np.isinf(condition.errors), np.inf, errors))


def unary(op: str, a: Value) -> Value:
    """A function of one value, in its type."""
    element, x, e = a.element, a.values, a.errors
    if op == "not":
        return Value(element, ~x, e)
    if not element.is_float:
        with np.errstate(all="ignore"):
            result = np.negative(x) if op == "-" else np.abs(x) if element.kind == "int" else x
        return Value(element, result.astype(element.numpy), e)
    with np.errstate(all="ignore"):
        if op == "-":
            return Value(element, -x, e)
        if op == "abs":
            return Value(element, np.abs(x), e)
        if op in ("floor", "ceil"):
            function = np.floor if op == "floor" else np.ceil
            moved = function(x + e) - function(x - e)
            return settle(element, function(x), np.where(np.isfinite(e), moved, np.inf))
        relative = FUNCTION_ERROR if element.bits <= 32 else 2.0**-48
        if op == "exp2":
            result = np.exp2(x)
            errors = result * (np.exp2(e) - 1) + result * relative + 2.0**-126
        else:
            result = np.sqrt(x)
            errors = np.where(e > 0, e / np.sqrt(np.maximum(x - e, 1e-300)), 0.0) + result * relative
            if op == "rsqrt":
                errors = errors / np.maximum(x - e, 0.0)
                result = 1 / result
                errors = errors + result * relative
    return settle(element, result, errors)


def total(value: Value, axis: int, element: Element, precision: int, largest: float = np.inf) -> Value:
    """A sum along an axis in any order, accumulated with ``precision`` bits; parts of it may exceed ``largest``."""
    x = value.values
    if not element.is_float:
        with np.errstate(all="ignore"):
            result = np.add.reduce(x.astype(element.numpy), axis=axis, dtype=element.numpy)
        return Value(element, result, np.where((value.errors > 0).any(axis=axis), np.inf, 0.0))
    with np.errstate(all="ignore"):
        size = np.abs(x).sum(axis=axis)
        errors = value.errors.sum(axis=axis)
        safe = size <= lowest_bit(x) * 2.0**precision
        errors = errors + np.where(safe, 0.0, size * x.shape[axis] * 2.0**-precision)
        errors = np.where(size + errors > largest, np.inf, errors)
        return settle(element, x.sum(axis=axis), errors)


def product(a: Value, b: Value, c: Value | None, element: Element) -> Value:
    """``A @ B + C`` accumulated in ``element``, in any order."""
    if not element.is_float:
        x, y = a.values.astype(np.int64), b.values.astype(np.int64)
        result = x @ y + (0 if c is None else c.values.astype(np.int64))
        lost = (a.errors > 0).any(axis=1)[:, None] | (b.errors > 0).any(axis=0)[None, :]
        if c is not None:
            lost = lost | (c.errors > 0)
        return Value(element, wrap(result, element), np.where(lost, np.inf, 0.0))
    x, y = a.values, b.values
    with np.errstate(all="ignore"):
        known_a, known_b = np.where(np.isinf(a.errors), 0.0, a.errors), np.where(np.isinf(b.errors), 0.0, b.errors)
        lost = np.isinf(a.errors).any(axis=1)[:, None] | np.isinf(b.errors).any(axis=0)[None, :]
        result, size = x @ y, np.abs(x) @ np.abs(y)
        errors = np.abs(x) @ known_b + known_a @ (np.abs(y) + known_b)
        bit = lowest_bit(x) * lowest_bit(y)
        if c is not None:
            result, size, errors = result + c.values, size + np.abs(c.values), errors + c.errors
            bit = min(bit, lowest_bit(c.values))
        # Tensor cores add 8-bit floats with fewer bits than the accumulator has.
        precision = 13 if a.element.bits == 8 else min(element.precision, 24)
        steps = x.shape[1] if element.precision < 24 else 8
        errors = errors + np.where(size <= bit * 2.0**precision, 0.0, size * (steps + 2) * 2.0**-precision)
        # A sum of some of the products may be infinite though that of all is not.
        lost = lost | (size + errors > element.largest)
    return settle(element, result, np.where(lost, np.inf, errors))
