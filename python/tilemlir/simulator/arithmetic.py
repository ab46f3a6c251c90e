"""Register instructions on 32 lanes: integer and floating-point arithmetic, logic, comparison, moves.

Semantics: PTX ISA, chapter "Instruction Set", sections "Integer Arithmetic Instructions", "Floating Point
Instructions", "Half Precision Floating Point Instructions", "Comparison and Selection Instructions", "Logic and Shift
Instructions" and "Data Movement: mov". Approximate functions (ex2.approx and its like) are computed exactly and
rounded once; the hardware is allowed a few ulp.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tilemlir.simulator.program import Program, Words, opcode, type_bits
from tilemlir.simulator.ptx_parser import Instruction
from tilemlir.simulator.small_floats import bf16_to_f32, f32_to_bf16

__all__ = [
    "FLOATS",
    "PACKED",
    "SIGNED",
    "Function",
    "Row",
    "assign",
    "computed",
    "directed",
    "flush",
    "operands",
    "round_to_odd_f32",
    "ufunc",
]

Row = np.ndarray
Function = Callable[..., Any]

SIGNED = {"s8", "s16", "s32", "s64"}
FLOATS = {"f16", "f32", "f64"}
PACKED = {"f16x2", "bf16x2", "bf16"}
_INTEGERS = {f"{kind}{bits}" for kind in "busB" for bits in (16, 32, 64)}


def assign(row: Row, value: Any, mask: Row | None) -> None:
    """Writes the active lanes of a register.

    Args:
        row: the register's lanes.
        value: new values of all lanes, or one.
        mask: active lanes; None means all.
    """
    if mask is None:
        row[...] = value
    else:
        np.copyto(row, value, where=mask, casting="unsafe")


def ufunc(function: np.ufunc, rows: str, d: int, *sources: int) -> Function:
    """An instruction that is one NumPy function on rows of one type."""
    get = operator.attrgetter(rows)
    if len(sources) == 1:
        (a,) = sources

        def one(w: Any, m: Row | None) -> None:
            r = get(w)
            if m is None:
                function(r[a], out=r[d])
            else:
                function(r[a], out=r[d], where=m)

        return one
    a, b = sources

    def two(w: Any, m: Row | None) -> None:
        r = get(w)
        if m is None:
            function(r[a], r[b], out=r[d])
        else:
            function(r[a], r[b], out=r[d], where=m)

    return two


def computed(function: Function, destination: tuple[str, int], *sources: tuple[str, int]) -> Function:
    """An instruction whose result is computed first and then written."""
    into, d = destination

    def run(w: Any, m: Row | None) -> None:
        value = function(*[getattr(w, rows)[row] for rows, row in sources])
        row = getattr(w, into)[d]
        if m is None:
            row[...] = value
        else:
            np.copyto(row, value, where=m, casting="unsafe")

    return run


def operands(p: Program, one: Instruction, kind: str, sources: tuple[str, ...] | None = None) -> list[tuple[str, int]]:
    """(row list, row) of the destination and of the sources."""
    rest = one.operands[1:]
    kinds = sources or (kind,) * len(rest)
    made = [(p.rows(kind), p.destination(one.operands[0], kind))]
    made += [(p.rows(k), p.source(operand, k)) for operand, k in zip(rest, kinds, strict=True)]
    return made


# Packed and small formats ---------------------------------------------------------------------------------------------


def _halves(function: Function) -> Function:
    """Makes a function of float64 arrays one of packed f16 words."""

    def run(*words: Row) -> Row:
        value = function(*[word.view(np.float16).astype(np.float64) for word in words])
        result: Row = np.asarray(value).astype(np.float16).view(np.uint32)
        return result

    return run


def _brains(function: Function) -> Function:
    """Makes a function of float64 arrays one of bf16 words, packed in pairs or not."""

    def run(*words: Row) -> Row:
        shape = words[0].dtype
        value = function(
            *[bf16_to_f32(np.ascontiguousarray(word).view(np.uint16)).astype(np.float64) for word in words]
        )
        return f32_to_bf16(round_to_odd_f32(value)).view(shape)

    return run


def round_to_odd_f32(value: Row) -> Row:
    """float64 to float32 by rounding to odd, so that a second rounding to a narrower format is right."""
    value = np.asarray(value, np.float64)
    near = value.astype(np.float32)
    back = near.astype(np.float64)
    inexact = (back != value) & np.isfinite(value) & np.isfinite(near)
    if not inexact.any():
        return near
    away = np.abs(back) > np.abs(value)
    bits = near.view(np.uint32).copy()
    bits[inexact & away] -= np.uint32(1)  # towards zero
    bits[inexact] |= np.uint32(1)
    return bits.view(np.float32)


_FLOAT_KINDS: dict[str, Function] = {"f16x2": _halves, "bf16x2": _brains, "bf16": _brains}


def _fma_f32(a: Row, b: Row, c: Row) -> Row:
    product = a.astype(np.float64) * b
    total = product + c
    # Rounding twice differs from once only where the double lies exactly between two floats.
    if ((total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)).any():
        other = total - product
        error = (product - (total - other)) + (c - other)
        bits = total.view(np.int64).copy()
        direction = np.where((error > 0) == (total > 0), 1, -1)
        bits += np.where((error != 0) & np.isfinite(total), direction, 0)
        total = bits.view(np.float64)
    result: Row = total.astype(np.float32)
    return result


def _fma_f64(a: Row, b: Row, c: Row) -> Row:
    """Fused multiply-add by error-free transformations (Dekker's product, Knuth's sum)."""
    product = a * b
    split = 134217729.0
    a1 = a * split
    a1 = a1 - (a1 - a)
    a2 = a - a1
    b1 = b * split
    b1 = b1 - (b1 - b)
    b2 = b - b1
    low = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    total = product + c
    other = total - product
    error = (product - (total - other)) + (c - other)
    result: Row = np.where(np.isfinite(total), total + (np.where(np.isfinite(low), low, 0) + error), total)
    return result


def flush(value: Row) -> Row:
    """Denormals of float32 to zero of the same sign (`.ftz`)."""
    small = (value.view(np.uint32) & np.uint32(0x7F800000)) == 0
    if not small.any():
        return value
    return np.where(small, np.copysign(np.float32(0), value), value)


def _withflush(function: Function) -> Function:
    def run(*values: Row) -> Row:
        flushed = [flush(value) if value.dtype == np.float32 else value for value in values]
        return flush(np.asarray(function(*flushed), np.float32))

    return run


def directed(function: Function, mode: str) -> Function:
    """float32 results rounded towards zero, minus or plus infinity from a float64 result."""

    def run(*values: Row) -> Row:
        exact = np.asarray(function(*[value.astype(np.float64) for value in values]))
        near = exact.astype(np.float32)
        back = near.astype(np.float64)
        low, high = np.float32(-np.inf), np.float32(np.inf)
        down = np.where(back > exact, np.nextafter(near, low), near)
        up = np.where(back < exact, np.nextafter(near, high), near)
        if mode == "rm":
            return down
        return up if mode == "rp" else np.where(exact > 0, down, up)

    return run


def _saturate(function: Function) -> Function:
    def run(*values: Row) -> Row:
        value = np.asarray(function(*values))
        return np.where(np.isnan(value), 0, np.clip(value, 0, 1)).astype(value.dtype)

    return run


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _add64(a: Row, b: Row) -> Row:
    return a + b


_BINARY: dict[str, np.ufunc] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _float_instruction(p: Program, one: Instruction, kind: str, words: Words, function: Function) -> Function:
    """Applies the modifiers of a floating-point instruction to its function of float arrays."""
    ftz = words.take("ftz") is not None
    saturated = words.take("sat") is not None
    mode = words.take("rn", "rna", "rz", "rm", "rp", "approx", "full")
    words.take("relu")
    words.finish()
    if kind in _FLOAT_KINDS:
        if mode not in (None, "rn"):
            raise ValueError(f"rounding .{mode} of .{kind}")
        body = _FLOAT_KINDS[kind](_saturate(function) if saturated else function)
        return computed(body, *operands(p, one, kind))
    body = function
    if kind == "f16":
        wide = function

        def body(*values: Row) -> Row:
            exact: Row = np.asarray(wide(*[value.astype(np.float64) for value in values]))
            return exact.astype(np.float16)

    if mode in ("rz", "rm", "rp"):
        if kind != "f32":
            raise ValueError(f"rounding .{mode} of .{kind}")
        body = directed(function, mode)
    if saturated:
        body = _saturate(body)
    if ftz and kind == "f32":
        body = _withflush(body)
    return computed(body, *operands(p, one, kind))


@opcode("add", "sub", "mul")
def _add_sub_mul(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    function = _BINARY[one.opcode]
    if kind in FLOATS or kind in PACKED:
        if kind in ("f32", "f64") and not ({"ftz", "sat", "rz", "rm", "rp"} & set(words.left)):
            words.take("rn")
            words.finish()
            (rows, d), (_, a), (_, b) = operands(p, one, kind)
            return ufunc(function, rows, d, a, b)
        return _float_instruction(p, one, kind, words, function)
    part = words.take("lo", "hi", "wide")
    if words.take("sat"):
        if kind != "s32":
            raise ValueError(".sat")
        return computed(
            lambda a, b: np.clip(function(a.astype(np.int64), b.astype(np.int64)), -(2**31), 2**31 - 1),
            *operands(p, one, kind),
        )
    words.finish()
    if part == "wide":
        return _wide(p, one, kind, lambda a, b: a * b, 2)
    if part == "hi":
        return computed(partial(_high, kind), *operands(p, one, kind))
    (rows, d), (_, a), (_, b) = operands(p, one, kind)
    return ufunc(function, rows, d, a, b)


def _wide(p: Program, one: Instruction, kind: str, function: Function, narrow: int) -> Function:
    """mul.wide and mad.wide: the first sources are narrow, the result has twice the bits."""
    wider = kind[0] + str(2 * type_bits(kind))
    dtype = np.dtype({"s": "i", "u": "u", "b": "u"}[kind[0]] + str(type_bits(kind) // 4))
    destination = (p.rows(wider), p.destination(one.operands[0], wider))
    kinds = [kind] * narrow + [wider] * (len(one.operands) - 1 - narrow)
    sources = [(p.rows(k), p.source(o, k)) for o, k in zip(one.operands[1:], kinds, strict=True)]
    return computed(lambda a, b, *rest: function(a.astype(dtype), b.astype(dtype), *rest), destination, *sources)


def _high(kind: str, a: Row, b: Row) -> Row:
    bits = type_bits(kind)
    if bits < 64:
        wide = np.int64 if kind in SIGNED else np.uint64
        return (a.astype(wide) * b.astype(wide)) >> wide(bits)
    products = [(int(x) * int(y)) >> 64 for x, y in zip(a, b, strict=True)]
    return np.array([x & (2**64 - 1) for x in products], np.uint64).astype(a.dtype)


@opcode("mad", "fma")
def _mad(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    if kind in FLOATS or kind in PACKED:
        if kind == "f64":
            words.take("rn")
            words.finish()
            return computed(_fma_f64, *operands(p, one, kind))
        plain = kind == "f32" and not ({"rz", "rm", "rp"} & set(words.left))
        return _float_instruction(p, one, kind, words, _fma_f32 if plain else (lambda a, b, c: a * b + c))
    part = words.take("lo", "hi", "wide")
    words.finish()
    if part == "wide":
        return _wide(p, one, kind, lambda a, b, c: a * b + c, 2)
    if part == "hi":
        return computed(lambda a, b, c: _high(kind, a, b).astype(c.dtype) + c, *operands(p, one, kind))
    return computed(lambda a, b, c: a * b + c, *operands(p, one, kind))


def _divide(a: Row, b: Row) -> Row:
    """Integer division towards zero; by zero all bits are set (the ISA leaves it open)."""
    safe = np.where(b == 0, 1, b).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.where(b == 0, np.iinfo(a.dtype).max, a // safe)
    quotient = a // safe
    quotient = quotient + ((quotient < 0) & (quotient * safe != a))
    return np.where(b == 0, -1, quotient)


def _remainder(a: Row, b: Row) -> Row:
    return np.where(b == 0, a, a - _divide(a, b).astype(a.dtype) * b)


@opcode("div")
def _div(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    if kind in FLOATS:
        return _float_instruction(p, one, kind, words, np.divide)
    words.finish()
    return computed(_divide, *operands(p, one, kind))


@opcode("rem")
def _rem(p: Program, one: Instruction) -> Function:
    return computed(_remainder, *operands(p, one, one.modifiers[-1]))


@opcode("min", "max")
def _min_max(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    least = one.opcode == "min"
    if kind in FLOATS or kind in PACKED:
        keeps_nan = words.take("NaN") is not None
        if words.take("xorsign", "abs"):
            raise ValueError(".xorsign.abs")
        function = (np.minimum if least else np.maximum) if keeps_nan else (np.fmin if least else np.fmax)
        return _float_instruction(p, one, kind, words, function)
    relu = words.take("relu") is not None
    words.finish()
    function = np.minimum if least else np.maximum
    if kind in ("s16x2", "u16x2"):
        view = np.int16 if kind[0] == "s" else np.uint16
        destination = ("u32", p.destination(one.operands[0], "b32"))
        sources = [("u32", p.source(operand, "b32")) for operand in one.operands[1:]]
        return computed(lambda a, b: function(a.view(view), b.view(view)).view(np.uint32), destination, *sources)
    if relu:
        return computed(lambda a, b: np.maximum(function(a, b), 0), *operands(p, one, kind))
    (rows, d), (_, a), (_, b) = operands(p, one, kind)
    return ufunc(function, rows, d, a, b)


@opcode("abs", "neg")
def _abs_neg(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    bits = type_bits(kind)
    if kind in FLOATS or kind in PACKED:
        ftz = words.take("ftz") is not None
        words.finish()
        # Only the sign bit changes, also of NaN.
        dtype = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
        sign = dtype(0x80008000 if kind in ("f16x2", "bf16x2") else 1 << (bits - 1))
        rows = f"u{bits}"
        d, a = p.destination(one.operands[0], kind), p.source(one.operands[1], kind)
        negates = one.opcode == "neg"

        def flip(x: Row) -> Row:
            flipped: Row = x ^ sign if negates else x & ~sign
            return flush(flipped.view(np.float32)).view(np.uint32) if ftz and kind == "f32" else flipped

        return computed(flip, (rows, d), (rows, a))
    words.finish()
    return computed(np.negative if one.opcode == "neg" else np.abs, *operands(p, one, kind))


def _unary_float(function: Function) -> Callable[[Program, Instruction], Function]:
    def build(p: Program, one: Instruction) -> Function:
        words = Words(list(one.modifiers))
        kind = words.left.pop()
        body = function
        if kind == "f32":
            body = lambda x: function(x.astype(np.float64)).astype(np.float32)  # noqa: E731
        return _float_instruction(p, one, kind, words, body)

    return build


opcode("sqrt")(_unary_float(np.sqrt))
opcode("rsqrt")(_unary_float(lambda x: 1 / np.sqrt(x)))
opcode("rcp")(_unary_float(lambda x: 1 / x))
opcode("ex2")(_unary_float(np.exp2))
opcode("lg2")(_unary_float(np.log2))
opcode("sin")(_unary_float(np.sin))
opcode("cos")(_unary_float(np.cos))
opcode("tanh")(_unary_float(np.tanh))


@opcode("copysign")
def _copysign(p: Program, one: Instruction) -> Function:
    # PTX ISA: the sign of the first operand goes onto the second.
    return computed(lambda a, b: np.copysign(b, a), *operands(p, one, one.modifiers[-1]))


@opcode("testp")
def _testp(p: Program, one: Instruction) -> Function:
    question, kind = one.modifiers
    tests: dict[str, Function] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
    }
    if question not in tests:
        raise ValueError(f"unknown modifier .{question}")
    destination = ("p", p.destination(one.operands[0], "pred"))
    return computed(tests[question], destination, (p.rows(kind), p.source(one.operands[1], kind)))
