"""Register instructions on bits, comparisons and selections.

Semantics: PTX ISA, "Logic and Shift Instructions", "Integer Arithmetic Instructions" (bfe, bfi, popc and their like),
"Comparison and Selection Instructions".
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tilemlir.simulator.arithmetic import (
    FLOATS,
    PACKED,
    SIGNED,
    Function,
    Row,
    assign,
    computed,
    flush,
    operands,
    ufunc,
)
from tilemlir.simulator.program import Program, Words, opcode, type_bits
from tilemlir.simulator.ptx_parser import Immediate, Instruction, Negated, Pair
from tilemlir.simulator.small_floats import bf16_to_f32

__all__ = ["predicate_reader"]


# Logic and bits -------------------------------------------------------------------------------------------------------


@opcode("and", "or", "xor", "not")
def _logic(p: Program, one: Instruction) -> Function:
    (kind,) = one.modifiers
    functions = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not}
    if kind == "pred":
        functions = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
    (rows, d), *sources = operands(p, one, kind)
    return ufunc(functions[one.opcode], rows, d, *[row for _, row in sources])


@opcode("shl", "shr")
def _shift(p: Program, one: Instruction) -> Function:
    (kind,) = one.modifiers
    bits = type_bits(kind)
    left = one.opcode == "shl"
    destination = (p.rows(kind), p.destination(one.operands[0], kind))
    sources = ((p.rows(kind), p.source(one.operands[1], kind)), ("u32", p.source(one.operands[2], "u32")))
    amount = one.operands[2]
    if isinstance(amount, Immediate) and isinstance(amount.value, int) and amount.value < bits:
        row = p.source(Immediate(amount.value), kind)
        function = np.left_shift if left else np.right_shift
        return ufunc(function, p.rows(kind), destination[1], sources[0][1], row)

    def run(a: Row, b: Row) -> Row:
        # Amounts beyond the width are clamped to it.
        small = np.minimum(b, bits - 1).astype(a.dtype)
        shifted = a << small if left else a >> small
        if not left and kind in SIGNED:
            return shifted
        return np.where(b >= bits, 0, shifted)

    return computed(run, destination, *sources)


@opcode("shf")
def _funnel(p: Program, one: Instruction) -> Function:
    direction, mode, _ = one.modifiers

    def run(low: Row, high: Row, amount: Row) -> Row:
        n = (np.minimum(amount, 32) if mode == "clamp" else amount & 31).astype(np.uint64)
        both = (high.astype(np.uint64) << np.uint64(32)) | low
        if direction == "r":
            return both >> n
        return (both << n) >> np.uint64(32)

    return computed(run, *operands(p, one, "b32"))


@opcode("bfe")
def _bit_field_extract(p: Program, one: Instruction) -> Function:
    (kind,) = one.modifiers
    bits = type_bits(kind)

    def run(a: Row, start: Row, length: Row) -> Row:
        begin = (start & 0xFF).astype(np.int64)
        count = np.minimum((length & 0xFF).astype(np.int64), bits)
        values = []
        for value, s, n in zip(a.tolist(), begin.tolist(), count.tolist(), strict=True):
            pattern = value & ((1 << bits) - 1)
            if kind in SIGNED and pattern >> (bits - 1):
                pattern -= 1 << bits
            field = (pattern >> s) & ((1 << n) - 1)
            if kind in SIGNED and n and (pattern >> min(s + n - 1, bits - 1)) & 1:
                field |= -1 << n
            values.append(field & ((1 << bits) - 1))
        return np.array(values, np.uint64).astype(a.dtype)

    def fast(a: Row, start: Row, length: Row) -> Row:
        return (a >> start) & ((np.uint32(1) << length) - np.uint32(1))

    constants = all(isinstance(x, Immediate) for x in one.operands[2:])
    if kind == "u32" and constants and all(x.value < 32 for x in one.operands[2:]):  # type: ignore[union-attr]
        return computed(fast, *operands(p, one, kind))
    return computed(run, *operands(p, one, kind, (kind, "u32", "u32")))


@opcode("bfi")
def _bit_field_insert(p: Program, one: Instruction) -> Function:
    (kind,) = one.modifiers
    bits = type_bits(kind)

    def run(a: Row, b: Row, start: Row, length: Row) -> Row:
        values = []
        for value, into, s, n in zip(
            a.tolist(), b.tolist(), (start & 255).tolist(), (length & 255).tolist(), strict=True
        ):
            field = ((1 << min(n, bits)) - 1) << s & ((1 << bits) - 1)
            values.append((into & ~field) | ((value << s) & field))
        return np.array(values, np.uint64).astype(a.dtype)

    return computed(run, *operands(p, one, kind, (kind, kind, "u32", "u32")))


def _count_rows(p: Program, one: Instruction, function: Callable[[int, int], int]) -> Function:
    kind = one.modifiers[-1]
    bits = type_bits(kind)
    unsigned = {32: "u32", 64: "u64"}[bits]
    destination = ("u32", p.destination(one.operands[0], "u32"))
    source = (unsigned, p.source(one.operands[1], kind))
    return computed(
        lambda a: np.array([function(value, bits) & 0xFFFFFFFF for value in a.tolist()], np.uint32), destination, source
    )


@opcode("popc")
def _popc(p: Program, one: Instruction) -> Function:
    return _count_rows(p, one, lambda value, bits: bin(value).count("1"))


@opcode("clz")
def _clz(p: Program, one: Instruction) -> Function:
    return _count_rows(p, one, lambda value, bits: bits - value.bit_length())


@opcode("bfind")
def _bfind(p: Program, one: Instruction) -> Function:
    shift = "shiftamt" in one.modifiers
    signed = one.modifiers[-1] in SIGNED

    def find(value: int, bits: int) -> int:
        if signed and value >> (bits - 1):
            value ^= (1 << bits) - 1
        if value == 0:
            return 0xFFFFFFFF
        position = value.bit_length() - 1
        return bits - 1 - position if shift else position

    return _count_rows(p, one, find)


@opcode("brev")
def _brev(p: Program, one: Instruction) -> Function:
    kind = one.modifiers[-1]
    bits = type_bits(kind)

    def run(a: Row) -> Row:
        return np.array([int(f"{value:0{bits}b}"[::-1], 2) for value in a.tolist()], a.dtype)

    return computed(run, *operands(p, one, kind))


#: Bytes that the modes of prmt take, by the low two bits of the third operand (PTX ISA, prmt).
_PERMUTE_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@opcode("prmt")
def _permute_bytes(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    words.take("b32")
    mode = words.take(*_PERMUTE_MODES)
    words.finish()
    table = None if mode is None else np.array(_PERMUTE_MODES[mode], np.uint32)

    def run(a: Row, b: Row, control: Row) -> Row:
        pool = np.concatenate([a.view(np.uint8).reshape(-1, 4), b.view(np.uint8).reshape(-1, 4)], axis=1)
        if table is None:
            picks = (control[:, None] >> np.array([0, 4, 8, 12], np.uint32)) & np.uint32(15)
        else:
            picks = table[control & np.uint32(3)]
        chosen = np.take_along_axis(pool, (picks & 7).astype(np.int64), axis=1)
        signs = np.where(chosen & 0x80, 0xFF, 0).astype(np.uint8)
        result = np.where(picks & 8, signs, chosen).astype(np.uint8)
        words: Row = np.ascontiguousarray(result).view(np.uint32).reshape(-1)
        return words

    return computed(lambda a, b, c: run(np.ascontiguousarray(a), np.ascontiguousarray(b), c), *operands(p, one, "b32"))


@opcode("lop3")
def _lop3(p: Program, one: Instruction) -> Function:
    table = one.operands[4]
    if one.modifiers != ("b32",) or not isinstance(table, Immediate):
        raise ValueError("form of lop3")
    lut = int(table.value)

    def run(a: Row, b: Row, c: Row) -> Row:
        result = np.zeros_like(a)
        for i in range(8):
            if lut >> i & 1:
                result |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        return result

    destination = ("u32", p.destination(one.operands[0], "b32"))
    return computed(run, destination, *[("u32", p.source(operand, "b32")) for operand in one.operands[1:4]])


@opcode("dp4a")
def _dp4a(p: Program, one: Instruction) -> Function:
    first, second = (np.int8 if kind == "s32" else np.uint8 for kind in one.modifiers)
    signed = "s32" in one.modifiers

    def run(a: Row, b: Row, c: Row) -> Row:
        x = np.ascontiguousarray(a).view(first).reshape(-1, 4).astype(np.int64)
        y = np.ascontiguousarray(b).view(second).reshape(-1, 4).astype(np.int64)
        return ((x * y).sum(axis=1) + c.astype(np.int64)) & 0xFFFFFFFF

    kind = "s32" if signed else "u32"
    destination = ("u32", p.destination(one.operands[0], "u32"))
    return computed(run, destination, *[(p.rows(kind), p.source(operand, kind)) for operand in one.operands[1:]])


# Comparison and selection ---------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def _comparison(name: str, kind: str) -> Function:
    floating = kind in FLOATS or kind in PACKED
    if not floating:
        return _COMPARISONS[name]
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
    if name.endswith("u"):
        ordered = _COMPARISONS[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    if name == "ne":  # ordered and unequal
        return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return _COMPARISONS[name]


@opcode("setp")
def _setp(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    ftz = words.take("ftz") is not None
    name = words.left.pop(0)
    joining = words.take("and", "or", "xor")
    words.finish()
    compare = _comparison(name, kind)
    into = one.operands[0]
    first, second = (into.first, into.second) if isinstance(into, Pair) else (into, None)
    a, b = p.source(one.operands[1], kind), p.source(one.operands[2], kind)
    rows = p.rows(kind)
    if kind == "bf16":
        plain = compare
        compare = lambda x, y: plain(bf16_to_f32(x), bf16_to_f32(y))  # noqa: E731
    if ftz:
        exact = compare
        compare = lambda x, y: exact(flush(x), flush(y))  # noqa: E731
    d = p.destination(first, "pred")
    if joining is None and second is None and isinstance(compare, np.ufunc):
        get = operator.attrgetter(rows)
        function = compare

        def simple(w: Any, m: Row | None) -> None:
            r = get(w)
            if m is None:
                function(r[a], r[b], w.p[d])
            else:
                function(r[a], r[b], w.p[d], where=m)

        return simple
    e = -1 if second is None else p.destination(second, "pred")
    join = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, None: None}[joining]
    third = predicate_reader(p, one.operands[3]) if join is not None else None

    def run(w: Any, m: Row | None) -> None:
        r = getattr(w, rows)
        result = compare(r[a], r[b])
        inverse = ~result
        if join is not None:
            assert third is not None
            other = third(w)
            result, inverse = join(result, other), join(inverse, other)
        if d >= 0:
            assign(w.p[d], result, m)
        if e >= 0:
            assign(w.p[e], inverse, m)

    return run


def predicate_reader(p: Program, operand: Any) -> Callable[[Any], Row]:
    """Reads a predicate operand."""
    if isinstance(operand, Negated):
        index = operand.register.index
        return lambda w: ~w.p[index]
    index = p.source(operand, "pred")
    return lambda w: w.p[index]


@opcode("selp")
def _selp(p: Program, one: Instruction) -> Function:
    kind = one.modifiers[-1]
    rows = p.rows(kind)
    d, a, b = (
        p.destination(one.operands[0], kind),
        p.source(one.operands[1], kind),
        p.source(one.operands[2], kind),
    )
    predicate = predicate_reader(p, one.operands[3])
    get = operator.attrgetter(rows)

    def run(w: Any, m: Row | None) -> None:
        r = get(w)
        assign(r[d], np.where(predicate(w), r[a], r[b]), m)

    return run


@opcode("slct")
def _slct(p: Program, one: Instruction) -> Function:
    kind, by = [word for word in one.modifiers if word != "ftz"]
    return computed(lambda a, b, c: np.where(c >= 0, a, b), *operands(p, one, kind, (kind, kind, by)))


@opcode("set")
def _set(p: Program, one: Instruction) -> Function:
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    result = words.left.pop()
    ftz = words.take("ftz") is not None
    name = words.left.pop(0)
    words.finish()
    compare = _comparison(name, kind)
    if ftz:
        exact = compare
        compare = lambda a, b: exact(flush(a), flush(b))  # noqa: E731
    true = 1.0 if result == "f32" else 0xFFFFFFFF
    destination = (p.rows(result if result == "f32" else "u32"), p.destination(one.operands[0], result))
    sources = [(p.rows(kind), p.source(operand, kind)) for operand in one.operands[1:]]
    return computed(lambda a, b: np.where(compare(a, b), true, 0), destination, *sources)
