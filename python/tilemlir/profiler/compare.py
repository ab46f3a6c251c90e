"""Comparing a kernel's results with a reference."""

from __future__ import annotations

from typing import Any

from tilemlir.interop import frameworks

__all__ = ["assert_close", "to_numpy"]


def to_numpy(value: Any) -> Any:
    """A float64 or integer NumPy copy of a tensor or array, exact for every element type of at most 32 bits."""
    import numpy

    torch = frameworks.loaded_torch()
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype.is_floating_point:
            value = value.to(torch.float64)
        return value.numpy()
    array = numpy.asarray(value)
    # ml_dtypes' types are no subtypes of numpy.floating.
    if not (numpy.issubdtype(array.dtype, numpy.integer) or array.dtype == numpy.bool_):
        array = array.astype(numpy.float64)
    return array


def assert_close(
    actual: Any,
    expected: Any,
    rtol: float = 1e-2,
    atol: float = 1e-2,
    max_mismatched_ratio: float = 0.0,
    name: str = "result",
) -> None:
    """Requires ``|actual - expected| <= atol + rtol * |expected|`` for all but a share of the elements.

    Args:
        actual, expected: tensors or arrays of one shape. NaN equals NaN, infinities must agree.
        rtol, atol: relative and absolute tolerance.
        max_mismatched_ratio: share of elements, 0 to 1, that may differ.
        name: what the message calls the value.

    Raises:
        AssertionError: naming shape, share, first and largest difference.
    """
    import numpy

    found, wanted = to_numpy(actual), to_numpy(expected)
    if found.shape != wanted.shape:
        raise AssertionError(f"{name} has shape {found.shape}, expected {wanted.shape}")
    if found.size == 0:
        return
    close = numpy.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    mismatched = int(found.size - numpy.count_nonzero(close))
    if mismatched <= max_mismatched_ratio * found.size:
        return
    first = tuple(int(i) for i in numpy.argwhere(~close)[0])
    with numpy.errstate(invalid="ignore"):
        difference = numpy.abs(found.astype(numpy.float64) - wanted.astype(numpy.float64))
    difference = numpy.where(close, 0.0, numpy.nan_to_num(difference, nan=numpy.inf))
    worst = tuple(int(i) for i in numpy.unravel_index(int(numpy.argmax(difference)), difference.shape))
    raise AssertionError(
        f"{name} differs in {mismatched} of {found.size} elements ({mismatched / found.size:.2%}, allowed "
        f"{max_mismatched_ratio:.2%}) with rtol={rtol}, atol={atol}: first at {first}: {found[first]} against "
        f"{wanted[first]}; largest difference {difference[worst]:.6g} at {worst}"
    )
