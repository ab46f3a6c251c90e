"""Helpers for tests of kernels, under the names that TileLang's test programs import."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "main",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_cuda_compute_version_ge",
    "requires_cuda_compute_version_le",
    "set_random_seed",
    "torch_assert_close",
]

F = TypeVar("F", bound=Callable[..., Any])


def main() -> None:
    """Runs the tests of the calling file with pytest and exits with its status."""
    import inspect
    import sys

    import pytest

    caller = inspect.stack()[1].filename
    sys.exit(pytest.main([caller, *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    """Seeds Python, NumPy and, when it is installed, torch."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(seed)


def torch_assert_close(
    actual: Any,
    expected: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
) -> None:
    """Checks two torch tensors, allowing a small share of elements to differ more.

    Args:
        actual: result.
        expected: reference of the same shape.
        rtol: relative tolerance of an element.
        atol: absolute tolerance of an element.
        max_mismatched_ratio: share of elements that may exceed the tolerance. Elements that are not finite must agree.

    Raises:
        AssertionError: with the share of mismatches and the worst element.
    """
    import torch

    if actual.shape != expected.shape:
        raise AssertionError(f"shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}")
    left, right = actual.double(), expected.double()
    wrong = ~torch.isclose(left, right, rtol=rtol, atol=atol, equal_nan=True)
    if bool((wrong & ~(left.isfinite() & right.isfinite())).any()):
        raise AssertionError("infinities or NaNs differ")
    count = int(wrong.sum())
    if count > max_mismatched_ratio * actual.numel():
        worst = int((left - right).abs().argmax())
        raise AssertionError(
            f"{count} of {actual.numel()} elements differ (allowed {max_mismatched_ratio:.2%}); the worst is element "
            f"{worst}: {left.flatten()[worst].item()} instead of {right.flatten()[worst].item()}"
        )


def _capability() -> int:
    from tilemlir.runtime import cuda

    if cuda.device_count() == 0:
        return 0
    major, minor = cuda.device_properties(0).compute_capability
    return 10 * major + minor


def _skip_unless(condition: Callable[[], bool], reason: str) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        import pytest

        marked: F = pytest.mark.skipif(not condition(), reason=reason)(function)
        return marked

    return decorate


def requires_cuda(function: F) -> F:
    """Skips a test on machines without a CUDA device."""
    return _skip_unless(lambda: _capability() > 0, "needs a CUDA device")(function)


def requires_cuda_compute_version_ge(major: int, minor: int = 0) -> Callable[[F], F]:
    """Skips a test unless the device has at least compute capability ``major.minor``."""
    return _skip_unless(lambda: _capability() >= 10 * major + minor, f"needs compute capability >= {major}.{minor}")


def requires_cuda_compute_version_le(major: int, minor: int = 0) -> Callable[[F], F]:
    """Skips a test unless there is a device with at most compute capability ``major.minor``."""
    return _skip_unless(lambda: 0 < _capability() <= 10 * major + minor, f"needs compute capability <= {major}.{minor}")


def requires_cuda_compute_version(major: int, minor: int = 0) -> Callable[[F], F]:
    """Skips a test unless the device has exactly compute capability ``major.minor``."""
    return _skip_unless(lambda: _capability() == 10 * major + minor, f"needs compute capability {major}.{minor}")
