"""bfloat16, fp8 and tf32 as NumPy arrays of their bits.

Formats: PTX ISA, "Alternate Floating-Point Data Formats"; e4m3 has no infinities and NaN at 0x7f/0xff, e5m2 is IEEE.
"""

from __future__ import annotations

import functools

import numpy as np

__all__ = ["bf16_to_f32", "f32_to_bf16", "f32_to_fp8", "f32_to_tf32", "fp8_to_f32", "truncate_tf32"]


def bf16_to_f32(bits: np.ndarray) -> np.ndarray:
    """float32 values of bfloat16 `bits` (uint16)."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(value: np.ndarray, mode: str = "rn") -> np.ndarray:
    """bfloat16 bits of float32 values.

    Args:
        value: float32.
        mode: `rn` (to nearest even), `rna` (to nearest, ties away) or `rz`.
    """
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    if mode == "rz":
        rounded = bits >> np.uint32(16)
    elif mode == "rna":
        rounded = (bits + np.uint32(0x8000)) >> np.uint32(16)
    else:
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(nan, np.uint32(0x7FFF), rounded).astype(np.uint16)


def f32_to_tf32(value: np.ndarray, mode: str = "rna") -> np.ndarray:
    """float32 values with 10 bits of mantissa, as uint32 bits.

    Args:
        value: float32.
        mode: `rna` (to nearest, ties away), `rn` or `rz`.
    """
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    if mode == "rz":
        rounded = bits
    elif mode == "rn":
        rounded = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    else:
        rounded = bits + np.uint32(0x1000)
    return np.where(special, bits, rounded & np.uint32(0xFFFFE000)).astype(np.uint32)


def truncate_tf32(bits: np.ndarray) -> np.ndarray:
    """What tensor cores read of tf32 operands (uint32 `bits`): the low 13 bits are ignored; as float32."""
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


@functools.cache
def _decode_table(kind: str) -> np.ndarray:
    exponent_bits, mantissa_bits, bias = (4, 3, 7) if kind == "e4m3" else (5, 2, 15)
    values = np.zeros(256, np.float32)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = code & ((1 << mantissa_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        if kind == "e4m3" and top and mantissa == 7:
            value = float("nan")
        elif kind == "e5m2" and top:
            value = float("nan") if mantissa else float("inf")
        elif exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        values[code] = sign * value
    return values


def fp8_to_f32(bits: np.ndarray, kind: str) -> np.ndarray:
    """float32 values of fp8 `bits` (uint8) of a kind, `e4m3` or `e5m2`."""
    values: np.ndarray = _decode_table(kind)[bits]
    return values


def f32_to_fp8(value: np.ndarray, kind: str) -> np.ndarray:
    """fp8 bits of float values, to nearest even, saturating to the largest finite value (`.satfinite`).

    Args:
        value: float32 or float64.
        kind: `e4m3` or `e5m2`.
    """
    table = _decode_table(kind)[:128]
    finite = np.isfinite(table)
    grid = table[finite].astype(np.float64)  # ascending codes are ascending values
    magnitude = np.abs(np.asarray(value, np.float64))
    high = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
    low = high - 1
    up, down = grid[high] - magnitude, magnitude - grid[low]
    pick = np.where((up < down) | ((up == down) & (high % 2 == 0)), high, low)
    pick = np.where(magnitude >= grid[-1], len(grid) - 1, pick)
    code = np.where(np.isnan(value), 0x7F, pick) | np.where(np.signbit(value) & ~np.isnan(value), 0x80, 0)
    return code.astype(np.uint8)
