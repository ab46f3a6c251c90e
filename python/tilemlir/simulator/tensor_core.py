"""Sums of products as tensor cores make them, to the last bit.

Found on an H200 (compute capability 9.0) with test/calibration, where recorded results of every type keep it so:

* One instruction sums all its products and the accumulator at once (K = 16 halves, 8 tf32, 32 bytes of fp8). A product
  has the sum of its factors' exponents, whether or not its significand carries. The largest exponent of all terms gives
  the last bit that is kept: 25 bits below it, for fp8 in wgmma 13. Every term is cut off there (rounded towards zero),
  and their sum is exact.
* Sums in f32 are rounded towards zero, those of fp8 in wgmma to 13 bits of fraction; sums in f16 to nearest even.
  Overflow gives infinity, a sum of zero +0.
* mma.sync of fp8 has no instruction of its own on 9.0: it becomes two products of halves, of the pairs of bytes with
  k mod 4 < 2 and of the others, and a float32 addition of the accumulator.
* f64 sums by fused multiply-adds in the order of k, integers are exact.

"FTTN: Feature-Targeted Testing for Numerical Properties of NVIDIA & AMD Matrix Accelerators" (Li et al., 2024) and its
predecessors describe such experiments for older devices.
"""

from __future__ import annotations

import numpy as np

__all__ = ["multiply_add"]

#: Least exponents of normal numbers; below, exponents do not fall any further.
_LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}
_KEPT, _KEPT_FP8 = 25, 13
_FP8 = ("e4m3", "e5m2")
_ABSENT = -2000


def _exponents(values: np.ndarray, least: int) -> np.ndarray:
    """Exponents of float64 values as their own format has them; zeros are below everything."""
    bits = np.ascontiguousarray(values).view(np.int64)
    found = ((bits >> 52) & 2047) - 1023
    np.clip(found, least, 300, out=found)  # infinities must not scale numbers out of float64
    found[values == 0] = _ABSENT
    return found


def _sum(a: np.ndarray, b: np.ndarray, c: np.ndarray | None, a_kind: str, b_kind: str, kept: int) -> np.ndarray:
    """The exact sum of the cut terms.

    Args:
        a: (M, K).
        b: (K, N).
        c: (M, N), or None for zero.
        a_kind, b_kind: formats that limit exponents from below.
        kept: bits below the largest exponent.
    """
    left = _exponents(a, _LEAST[a_kind]).T[:, :, None]
    right = _exponents(b, _LEAST[b_kind])[:, None, :]
    largest = (left + right).max(axis=0)
    if c is not None:
        np.maximum(largest, _exponents(c, _LEAST["f32"]), out=largest)
    # Terms of which all are zero have no largest exponent.
    np.clip(largest, -400, 700, out=largest)
    unit = np.ldexp(1.0, largest - kept)
    scale = np.ldexp(1.0, kept - largest)
    # (K, M, N): sums over the first dimension are additions of whole planes.
    terms = np.ascontiguousarray(a.T)[:, :, None] * b[:, None, :]
    terms *= scale
    np.trunc(terms, out=terms)
    total = terms.sum(axis=0)
    if c is not None:
        total += np.trunc(c * scale)
    result: np.ndarray = total * unit
    return result


def _towards_zero(sums: np.ndarray, fraction: int) -> np.ndarray:
    """float32 values of float64 sums with a number of bits of fraction, rounded towards zero; overflow is infinite."""
    mask = np.int64(-1) << np.int64(52 - fraction)
    cut = (np.ascontiguousarray(sums).view(np.int64) & mask).view(np.float64)
    cut = np.where(np.isnan(sums), sums, cut)
    small = np.abs(cut) < 2.0**-126
    if small.any():
        cut = np.where(small, np.trunc(cut * 2.0**149) * 2.0**-149, cut)
    result: np.ndarray = cut.astype(np.float32)
    result += np.float32(0)  # -0 becomes +0
    return result


def multiply_add(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None, a_kind: str, b_kind: str, sum_kind: str, warpgroup: bool
) -> np.ndarray:
    """a @ b + c for floating-point types, as one instruction gives it.

    Args:
        a: float64 (M, K), values of its type.
        b: float64 (K, N).
        c: float64 (M, N), or None for no accumulator.
        a_kind, b_kind, sum_kind: types.
        warpgroup: wgmma, not mma.sync.

    Returns:
        (M, N) in float32, float16 or float64, as `sum_kind` says.
    """
    if sum_kind == "f64":
        from tilemlir.simulator.arithmetic import fma_f64

        total = np.zeros((a.shape[0], b.shape[1])) if c is None else c
        for k in range(a.shape[1]):
            left, right, total = np.broadcast_arrays(a[:, k, None], b[k], total)
            total = fma_f64(left, right, total)
        return total
    if a_kind in _FP8 and not warpgroup:
        halves: np.ndarray | None = None
        pairs = np.arange(a.shape[1]) % 4 < 2
        for chosen in (pairs, ~pairs):
            part = _sum(a[:, chosen], b[chosen], halves, "f16", "f16", _KEPT)
            halves = _towards_zero(part, 23).astype(np.float64)
        assert halves is not None
        sums = halves.astype(np.float32)
        if c is not None:
            sums = sums + c.astype(np.float32)
        return sums if sum_kind == "f32" else sums.astype(np.float16)
    fp8 = a_kind in _FP8
    total = _sum(a, b, c, a_kind, b_kind, _KEPT_FP8 if fp8 else _KEPT)
    if sum_kind == "f16":
        return total.astype(np.float16) + np.float16(0)
    return _towards_zero(total, 13 if fp8 else 23)
