"""The instruction cvt: between integers, floats and the small float formats.

Semantics: PTX ISA, "Data Movement and Conversion Instructions: cvt". Integer results of floats are clamped to the range
of the type; `.satfinite` clamps to the largest finite value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilemlir.simulator import small_floats as small
from tilemlir.simulator.arithmetic import computed, directed, flush, round_to_odd_f32
from tilemlir.simulator.program import Program, Words, opcode, type_bits
from tilemlir.simulator.ptx_parser import Instruction

__all__ = ["convert"]

Row = np.ndarray
_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGER_ROUNDING: dict[str, Callable[[Row], Row]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _clip_to_one(value: Row) -> Row:
    """`.sat` of floats: NaN and everything below become +0."""
    return np.where(value > 0, np.minimum(value, 1), 0).astype(value.dtype)


def _positive(value: Row) -> Row:
    """`.relu`: negative values and -0 become +0; NaN stays."""
    return np.where((value > 0) | np.isnan(value), value, 0).astype(value.dtype)


def _whole_to_f64(value: Row, mode: str) -> Row:
    """64-bit integers as float64, rounded towards zero (rz), minus (rm) or plus infinity (rp)."""
    near = value.astype(np.float64)
    rounded = []
    for exact, candidate in zip(value.tolist(), near.tolist(), strict=True):
        wrong_side = {"rm": candidate > exact, "rp": candidate < exact, "rz": abs(candidate) > abs(exact)}[mode]
        towards = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[mode]
        rounded.append(np.nextafter(candidate, towards) if wrong_side else candidate)
    return np.array(rounded)


def _to_double(row: Row, kind: str) -> Row:
    """float64 values of a source row."""
    return small.bf16_to_f32(row).astype(np.float64) if kind == "bf16" else row.astype(np.float64)


def _narrow_integer(row: Row, kind: str) -> Row:
    """The low bits of a row that a type such as s8 means, as int64 (uint64 for u64)."""
    if kind == "u64" or kind == "b64":
        return row.astype(np.uint64)
    return row.astype(np.dtype({"s": "i", "u": "u", "b": "u"}[kind[0]] + str(int(kind[1:]) // 8))).astype(np.int64)


def _from_double(value: Row, kind: str, mode: str | None) -> Row:
    """A float64 row rounded to a float type; the result has the rows' dtype of that type."""
    if kind == "f64":
        return value
    if kind == "f32":
        if mode in ("rz", "rm", "rp"):
            result: Row = directed(lambda x: x, mode)(value)
            return result
        return value.astype(np.float32)
    if mode not in (None, "rn", "rni", "rzi", "rmi", "rpi", "rz", "rna"):
        raise ValueError(f"rounding .{mode} to .{kind}")
    if kind == "f16":
        if mode == "rz":
            near = value.astype(np.float16)
            return np.where(np.abs(near.astype(np.float64)) > np.abs(value), np.nextafter(near, np.float16(0)), near)
        return value.astype(np.float16)
    return small.f32_to_bf16(round_to_odd_f32(value), "rz" if mode == "rz" else "rn")


def _clamp(value: Row, bits: int, signed: bool, wide: bool) -> Row:
    """Whole numbers in float64 as integers of a width, clamped to its range.

    Args:
        value: float64.
        bits, signed: of the integers.
        wide: the source or the target has 64 bits: NaN gives only the highest bit (PTX ISA, cvt), else 0.
    """
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    dtype = np.dtype(("i" if signed else "u") + str(max(bits, 8) // 8))
    # The bounds of 64-bit integers are no doubles: compare, then convert what lies inside.
    inside = (value > low) & (value < high)
    result = np.where(inside, value, 0).astype(dtype)
    result[value <= low] = low
    result[value >= high] = high
    result[np.isnan(value)] = (low if signed else 1 << (bits - 1)) if wide else 0
    return result


def convert(row: Row, source: str, target: str, mode: str | None, sat: bool, ftz: bool, relu: bool = False) -> Row:
    """Values of a row converted between two scalar PTX types.

    Args:
        row: lanes of the source register, in the dtype of its type.
        source, target: PTX types.
        mode: rounding modifier without its dot.
        sat: `.sat`: integers clamp to their range, floats to [0, 1].
        ftz: `.ftz`: float32 denormals count as zero.
        relu: `.relu`: negative results become zero.
    """
    if source in _FLOATS:
        if ftz and source == "f32":
            row = flush(row)
        value = _to_double(row, source)
        if mode in _INTEGER_ROUNDING:
            value = _INTEGER_ROUNDING[mode](value)
        if target in _FLOATS:
            if sat:
                value = _clip_to_one(value)
            if relu:
                value = _positive(value)
            result = _from_double(value, target, mode)
            return flush(result) if ftz and target == "f32" else result
        bits = int(target[1:])
        return _clamp(value, bits, target[0] == "s", source == "f64" or bits == 64)
    value = _narrow_integer(row, source)
    if target in _FLOATS:
        if target == "f32" and value.dtype in (np.int64, np.uint64) and int(source[1:]) > 32 and mode in (None, "rn"):
            return value.astype(np.float32)
        if target == "f64" and mode in ("rz", "rm", "rp") and int(source[1:]) > 32:
            return _whole_to_f64(value, mode)
        return _from_double(value.astype(np.float64), target, mode)
    if sat:
        bits = int(target[1:])
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
        value = np.array([min(max(int(x), low), high) for x in value], dtype=object).astype(
            np.uint64 if target == "u64" else np.int64
        )
    return value


@opcode("cvt")
def _cvt(p: Program, one: Instruction) -> Callable[..., Any]:
    words = Words(list(one.modifiers))
    source, target = words.left.pop(), words.left.pop()
    mode = words.take("rn", "rna", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")
    sat = words.take("sat") is not None
    finite = words.take("satfinite") is not None
    relu = words.take("relu") is not None
    ftz = words.take("ftz") is not None
    words.finish()
    if target in ("f16x2", "bf16x2", "e4m3x2", "e5m2x2") or source in ("e4m3x2", "e5m2x2"):
        return _packed(p, one, target, source, mode, finite, relu)
    if target == "tf32":
        destination = ("u32", p.destination(one.operands[0], "b32"))
        rounding = mode or "rna"
        return computed(
            lambda a: small.f32_to_tf32(_positive(a) if relu else a, rounding),
            destination,
            ("f32", p.source(one.operands[1], "f32")),
        )
    into_bits, into_rows, d = p.register_row(one.operands[0])
    from_kind = source
    if source not in _FLOATS:
        from_bits = type_bits(source)
        operand = one.operands[1]
        actual = getattr(operand, "bits", from_bits)
        from_kind = f"{'s' if source[0] == 's' else 'u'}{actual}"
    if target in _FLOATS:
        into_rows = p.rows(target)
        if type_bits(target) != into_bits:
            raise ValueError("width of the destination")

    def run(a: Row) -> Row:
        value = convert(a, source, target, mode, sat, ftz, relu)
        if target not in _FLOATS:
            width = int(target[1:])
            signed = target[0] == "s"
            if width < into_bits:  # sign- or zero-extended into the wider register
                value = value.astype(np.dtype(("i" if signed else "u") + str(width // 8)))
            return (
                value.astype(np.dtype(f"i{into_bits // 8}")).view(np.dtype(f"u{into_bits // 8}"))
                if signed
                else (value.astype(np.dtype(f"u{into_bits // 8}")))
            )
        return value

    if target not in _FLOATS and source not in _FLOATS and not sat:
        simple = _integer_resize(source, target, into_bits)
        return computed(simple, (into_rows, d), (p.rows(from_kind), p.source(one.operands[1], from_kind)))
    return computed(run, (into_rows, d), (p.rows(from_kind), p.source(one.operands[1], from_kind)))


def _integer_resize(source: str, target: str, into_bits: int) -> Callable[[Row], Row]:
    """Between integers without saturation: take the source's bits, extend, take the target's bits."""

    def dtype(kind: str) -> np.dtype[Any]:
        return np.dtype(("i" if kind[0] == "s" else "u") + str(int(kind[1:]) // 8))

    first, second, last = dtype(source), dtype(target), np.dtype(f"u{into_bits // 8}")
    return lambda a: a.astype(first).astype(second).astype(last)


def _packed(
    p: Program, one: Instruction, target: str, source: str, mode: str | None, finite: bool, relu: bool
) -> Callable[..., Any]:
    """Conversions of pairs. The first source goes into the upper half (PTX ISA, cvt: "f16x2")."""

    def positive(value: Row) -> Row:
        return _positive(value) if relu else value

    if source in ("e4m3x2", "e5m2x2"):
        if target != "f16x2":
            raise ValueError(f"conversion of .{source} to .{target}")
        kind = source[:4]

        def widen(a: Row) -> Row:
            values = positive(small.fp8_to_f32(np.ascontiguousarray(a).view(np.uint8), kind))
            return values.astype(np.float16).view(np.uint32)

        return computed(
            widen, ("u32", p.destination(one.operands[0], "b32")), ("u16", p.source(one.operands[1], "b16"))
        )
    if target in ("e4m3x2", "e5m2x2"):
        kind = target[:4]
        destination = ("u16", p.destination(one.operands[0], "b16"))
        if source == "f16x2":

            def narrow_half(a: Row) -> Row:
                halves = positive(np.ascontiguousarray(a).view(np.float16).astype(np.float32))
                return small.f32_to_fp8(halves, kind).view(np.uint16)

            return computed(narrow_half, destination, ("u32", p.source(one.operands[1], "b32")))

        def narrow(a: Row, b: Row) -> Row:
            high = small.f32_to_fp8(positive(a), kind).astype(np.uint16)
            return (high << np.uint16(8)) | small.f32_to_fp8(positive(b), kind)

        return computed(narrow, destination, *[("f32", p.source(operand, "f32")) for operand in one.operands[1:]])
    if source != "f32":
        raise ValueError(f"conversion of .{source} to .{target}")
    limit = 65504.0 if target == "f16x2" else 3.3895313892515355e38

    def half(value: Row) -> Row:
        value = positive(value)
        if finite:
            value = np.clip(value, -limit, limit)
        if target == "bf16x2":
            return small.f32_to_bf16(value.astype(np.float32), mode or "rn")
        return _from_double(value.astype(np.float64), "f16", mode).view(np.uint16)

    def pair(a: Row, b: Row) -> Row:
        return (half(a).astype(np.uint32) << np.uint32(16)) | half(b)

    destination = ("u32", p.destination(one.operands[0], "b32"))
    return computed(pair, destination, *[("f32", p.source(operand, "f32")) for operand in one.operands[1:]])
