"""Inputs of conformance cases: the edges of each type, and patterns from a stream that never changes.

Streams come from SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"), seeded by a name:
the same everywhere, so that inputs need not be recorded.
"""

from __future__ import annotations

import hashlib

import numpy as np

#: Bits, exponent bits and mantissa bits of floating-point types.
FORMATS = {
    "f16": (16, 5, 10), "bf16": (16, 8, 7), "f32": (32, 8, 23), "f64": (64, 11, 52), "tf32": (32, 8, 10),
    "e4m3": (8, 4, 3), "e5m2": (8, 5, 2),
}  # fmt: skip
_WIDTHS = {"s8": 8, "u8": 8, "b8": 8, "f16x2": 32, "bf16x2": 32, "e4m3x2": 16, "e5m2x2": 16}


def width(kind: str) -> int:
    """Bits of a type."""
    if kind in FORMATS:
        return FORMATS[kind][0]
    return _WIDTHS.get(kind) or int(kind[1:])


def unsigned(bits: int) -> np.dtype:
    """NumPy's unsigned integer of a width."""
    return np.dtype(f"u{bits // 8}")


def stream(name: str, count: int) -> np.ndarray:
    """`count` random 64-bit words that depend on the name only."""
    seed = np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    with np.errstate(over="ignore"):
        x = seed + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(name: str, count: int, bits: int) -> np.ndarray:
    """Random words of 8 to 64 bits."""
    return (stream(name, count) >> np.uint64(64 - bits)).astype(unsigned(bits))


def below(name: str, count: int, limit: int) -> np.ndarray:
    """Random numbers in [0, limit) as int64."""
    return ((stream(name, count) >> np.uint64(33)) % np.uint64(limit)).astype(np.int64)


def moderate(name: str, count: int, kind: str, span: int = 8, short: bool = True) -> np.ndarray:
    """Floats near one: exponents within `span` of that of 1; with `short`, half of the mantissas end in zeros."""
    bits, exponent_bits, mantissa_bits = FORMATS[kind]
    if kind == "tf32":
        mantissa_bits = 23
    words = stream(name, count)
    bias = (1 << (exponent_bits - 1)) - 1
    span = min(span, bias - 2)
    exponent = bias - span + below(name + " exponent", count, 2 * span + 1)
    mantissa = words & np.uint64((1 << mantissa_bits) - 1)
    if short:
        cut = below(name + " cut", count, 2 * mantissa_bits)
        cut = np.where(cut < mantissa_bits, cut, 0).astype(np.uint64)
        mantissa = mantissa >> cut << cut
    sign = words >> np.uint64(63)
    pattern = (sign << np.uint64(bits - 1)) | (exponent.astype(np.uint64) << np.uint64(mantissa_bits)) | mantissa
    return pattern.astype(unsigned(bits))


def encode(values: object, kind: str) -> np.ndarray:
    """Bit patterns of values that the type holds exactly."""
    array = np.asarray(values, np.float64)
    if kind == "f64":
        return array.view(np.uint64)
    if kind in ("f32", "tf32"):
        return array.astype(np.float32).view(np.uint32)
    if kind == "f16":
        return array.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (array.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if kind in ("e4m3", "e5m2"):
        _, exponent_bits, mantissa_bits = FORMATS[kind]
        bias = (1 << (exponent_bits - 1)) - 1
        codes = np.arange(128)
        exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
        scale = 2.0 ** (np.maximum(exponent, 1) - bias - mantissa_bits)
        grid = scale * np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa)
        found = np.searchsorted(grid, np.abs(array))
        assert (grid[found] == np.abs(array)).all()
        return (found | np.where(np.signbit(array), 128, 0)).astype(np.uint8)
    return array.astype(np.int64).astype(unsigned(width(kind)))


def _float_edges(kind: str) -> list[int]:
    bits, _, mantissa_bits = FORMATS[kind]
    sign = 1 << (bits - 1)
    infinity = ((1 << (bits - 1)) - 1) >> mantissa_bits << mantissa_bits
    one = int(encode([1.0], kind)[0])
    ulp = 1
    positive = [
        0, 1, (1 << mantissa_bits) - 1, 1 << mantissa_bits, (1 << mantissa_bits) + 1, infinity - 1, infinity,
        infinity | 1 << (mantissa_bits - 1), infinity | ((1 << mantissa_bits) - 1), one, one + ulp, one - ulp,
    ]  # fmt: skip
    numbers = [0.5, 1.5, 2.5, 3.5, 2.0, 3.0, 4.0, 0.25, 0.75, 100.0, 128.0]
    if bits >= 32:
        numbers += [
            127.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0, 2.0**31, 2.0**31 - 128, 2.0**32, 2.0**63, 2.0**64,
            2.0**23, 2.0**24, 2.0**23 + 1, 2.0**22 + 0.5, 65504.0, 65520.0, 65519.0, 65536.0, 448.0, 464.0, 472.0,
            57344.0, 61440.0, 2.0**-24, 2.0**-25, 2.0**-14, 2.0**-15, 2.0**-9, 2.0**-10, 3 * 2.0**-11, 2.0**-16,
            2.0**-17, 240.0, 2.0**-126, 2.0**-127, 2.0**-149, 2.0**-133, 2.0**-134, 88.0, -88.0, 127.5, 150.0, 1e30,
        ]  # fmt: skip
    positive += encode(numbers, kind).astype(np.int64 if bits < 64 else np.uint64).tolist()
    return [value for one_value in positive for value in (int(one_value), int(one_value) ^ sign)]


def edges(kind: str) -> np.ndarray:
    """Bit patterns at the edges of a type's range."""
    if kind in ("e4m3", "e5m2"):
        return np.arange(256, dtype=np.uint8)
    if kind in FORMATS:
        values = _float_edges(kind)
    else:
        bits = width(kind)
        top = 1 << (bits - 1)
        values = [0, 1, 2, 3, top, top - 1, top + 1, 2 * top - 1, 2 * top - 2, 5, 7, 10]
        values += [v for shift in (4, 7, 8, 15, 16, 31, 32) if shift < bits for v in ((1 << shift) - 1, 1 << shift)]
        values += [(2 * top) - (1 << shift) for shift in (4, 7, 8, 15, 16, 31) if shift < bits]
    unique = list(dict.fromkeys(value & ((1 << width(kind)) - 1) for value in values))
    return np.array(unique, np.uint64).astype(unsigned(width(kind)))


def typed(name: str, count: int, kind: str) -> np.ndarray:
    """Random values of a type: patterns, moderate floats, integers of all magnitudes."""
    bits = width(kind)
    raw = random_bits(name, count, bits)
    if kind in ("f16x2", "bf16x2"):
        halves = typed(name + " halves", 2 * count, kind[:-2])
        return halves.view(np.uint32)
    if kind in FORMATS:
        near = moderate(name + " near", count, kind)
        far = moderate(name + " far", count, kind, 40)
        which = below(name + " which", count, 4)
        return np.where(which == 0, raw, np.where(which == 1, far, near)).astype(raw.dtype)
    shift = below(name + " shift", count, bits).astype(np.uint64)
    signed = raw.view(np.dtype(f"i{bits // 8}")).astype(np.int64)
    small = (signed >> shift.astype(np.int64)).astype(raw.dtype)
    return np.where(below(name + " which", count, 3) == 0, raw, small).astype(raw.dtype)


def operands(name: str, kinds: tuple[str, ...], count: int) -> list[np.ndarray]:
    """Arrays of `count` operands: combinations of edges first, then random values."""
    made = [typed(f"{name} {i}", count, kind) for i, kind in enumerate(kinds)]
    tables = []
    for kind in kinds:
        if kind in ("f16x2", "bf16x2"):
            one = edges(kind[:-2]).astype(np.uint32)
            tables.append(one | (np.roll(one, 1) << np.uint32(16)))
        elif kind in ("e4m3x2", "e5m2x2"):
            tables.append((np.arange(256, dtype=np.uint16) << np.uint16(8)) | np.arange(256, dtype=np.uint16)[::-1])
        else:
            tables.append(edges(kind))
    if len(kinds) == 1:
        size = min(len(tables[0]), count)
        made[0][:size] = tables[0][:size]
        return made
    take = min(5 * count // 8, len(tables[0]) * len(tables[1]))
    if take == len(tables[0]) * len(tables[1]):
        first, second = np.divmod(np.arange(take), len(tables[1]))
        picks = [first, second]
    else:
        picks = [below(f"{name} pick {i}", take, len(table)) for i, table in enumerate(tables[:2])]
    picks += [below(f"{name} pick {i + 2}", take, len(table)) for i, table in enumerate(tables[2:])]
    for array, table, pick in zip(made, tables, picks, strict=True):
        array[:take] = table[pick]
    if len(kinds) == 3 and kinds[0] in ("f32", "f64", "f16") and len(set(kinds)) == 1:
        # Sums that cancel the product: only a fused one keeps its low bits.
        dtype = np.dtype({"f16": "f2", "f32": "f4", "f64": "f8"}[kinds[0]])
        with np.errstate(all="ignore"):
            product = made[0].view(dtype) * made[1].view(dtype)
        cancel = np.arange(count) >= 7 * count // 8
        made[2][cancel] = (-product[cancel]).view(made[2].dtype)
    return made
