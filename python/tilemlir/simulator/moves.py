"""Moves between registers, packing and unpacking, conversion of addresses between state spaces.

Semantics: PTX ISA, "Data Movement and Conversion Instructions: mov", "cvta", "isspacep"; "Generic Addressing".
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tilemlir.simulator.arithmetic import Function, Row, assign, computed
from tilemlir.simulator.logic import predicate_reader
from tilemlir.simulator.program import Program, opcode, type_bits
from tilemlir.simulator.ptx_parser import Address, Immediate, Instruction, Sink, Symbol, Vector

__all__ = ["LOCAL_WINDOW", "SHARED_WINDOW"]


# Moves ----------------------------------------------------------------------------------------------------------------


@opcode("mov")
def _mov(p: Program, one: Instruction) -> Function:
    kind = one.modifiers[-1]
    into, source = one.operands
    if kind == "pred":
        d = p.destination(into, "pred")
        if isinstance(source, Immediate):
            value = bool(source.value)
            return lambda w, m: assign(w.p[d], value, m)
        read = predicate_reader(p, source)
        return lambda w, m: assign(w.p[d], read(w), m)
    if isinstance(into, Vector):
        return _unpack(p, into, source)
    if isinstance(source, Vector):
        return _pack(p, into, source)
    if isinstance(source, Address) and isinstance(source.base, Symbol):
        base = p.source(source.base, kind)
        offset = source.offset
        return computed(
            lambda a: a + a.dtype.type(offset), (p.rows(kind), p.destination(into, kind)), (p.rows(kind), base)
        )
    bits, rows, d = p.register_row(into)
    if bits == 128:
        raise ValueError("128-bit registers")
    s = p.source(
        source, f"f{bits}" if isinstance(source, Immediate) and isinstance(source.value, float) else f"b{bits}"
    )
    get = operator.attrgetter(rows)

    def run(w: Any, m: Row | None) -> None:
        r = get(w)
        if m is None:
            r[d][...] = r[s]
        else:
            np.copyto(r[d], r[s], where=m)

    return run


def _pack(p: Program, into: Any, source: Vector) -> Function:
    """mov.b64 %rd, {%r1, %r2} and its like; the first element has the lowest bits."""
    total, rows, d = p.register_row(into)
    count = len(source.items)
    bits = total // count
    kind = f"b{bits}"
    if bits == 8:
        raise ValueError("vectors of bytes")
    dtype = np.dtype(f"u{total // 8}")
    parts = [p.source(item, kind) for item in source.items]
    part_rows = p.rows(kind)

    def run(w: Any, m: Row | None) -> None:
        r = getattr(w, part_rows)
        value = r[parts[0]].astype(dtype)
        for i, part in enumerate(parts[1:], 1):
            value |= r[part].astype(dtype) << dtype.type(i * bits)
        assign(getattr(w, rows)[d], value, m)

    return run


def _unpack(p: Program, into: Vector, source: Any) -> Function:
    total, rows, s = p.register_row(source)
    bits = total // len(into.items)
    kind = f"b{bits}"
    if bits == 8:
        raise ValueError("vectors of bytes")
    part_rows = p.rows(kind)
    places = [(i, p.destination(item, kind)) for i, item in enumerate(into.items) if not isinstance(item, Sink)]

    def run(w: Any, m: Row | None) -> None:
        value = getattr(w, rows)[s].copy()
        r = getattr(w, part_rows)
        for i, d in places:
            assign(r[d], value >> value.dtype.type(i * bits), m)

    return run


@opcode("cvta")
def _cvta(p: Program, one: Instruction) -> Function:
    """Generic addresses of shared memory are its addresses plus a window; those of global memory are equal."""
    kind = one.modifiers[-1]
    bits = type_bits(kind)
    space = next(
        word for word in one.modifiers if word.split("::")[0] in ("global", "shared", "local", "const", "param")
    )
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space.split("::")[0], 0)
    dtype = np.dtype(f"u{bits // 8}")
    delta = dtype.type((-window if "to" in one.modifiers else window) & ((1 << bits) - 1))
    into, source = one.operands
    return computed(
        lambda a: a + delta, (p.rows(kind), p.destination(into, kind)), (p.rows(kind), p.source(source, kind))
    )


#: Where shared and local memory appear in the generic address space.
SHARED_WINDOW = 0x7000_0000_0000
LOCAL_WINDOW = 0x7100_0000_0000


@opcode("isspacep")
def _isspacep(p: Program, one: Instruction) -> Function:
    space = one.modifiers[0].split("::")[0]
    destination = ("p", p.destination(one.operands[0], "pred"))
    kind = "u64"

    def run(a: Row) -> Row:
        shared, local = a >> np.uint64(40) == 0x70, a >> np.uint64(40) == 0x71
        return {"shared": shared, "local": local}.get(space, ~(shared | local))

    return computed(run, destination, ("u64", p.source(one.operands[1], kind)))


@opcode("nanosleep", "pragma", "prefetch", "prefetchu", "membar.cta.hint")
def _nothing(p: Program, one: Instruction) -> Function:
    """Instructions without effect on what is computed."""
    return lambda w, m: None
