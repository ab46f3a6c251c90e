"""Which 8-bit float types a target has: on NVIDIA GPUs and CPUs e4m3fn and e5m2."""

from __future__ import annotations

from typing import Any

from .dtypes import DType, float8_e4m3fn, float8_e5m2


def determine_fp8_type(fp8_format: str = "e4m3") -> DType:
    """The element type of ``fp8_format``, ``"e4m3"`` or ``"e5m2"``.

    Raises:
        ValueError: for another format.
    """
    types = {"e4m3": float8_e4m3fn, "e5m2": float8_e5m2}
    if fp8_format not in types:
        raise ValueError(f"the 8-bit float formats are e4m3 and e5m2; found {fp8_format!r}")
    return types[fp8_format]


def determine_torch_fp8_type(fp8_format: str = "e4m3") -> Any:
    """The torch dtype of :func:`determine_fp8_type` of ``fp8_format``."""
    import torch

    return getattr(torch, determine_fp8_type(fp8_format).name)
