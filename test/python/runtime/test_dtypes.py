"""Element types: names, and the rounding of host numbers to scalar parameters."""

from __future__ import annotations

import numpy as np
import pytest
from tilemlir import _runtime
from tilemlir.interop import dtypes

ml_dtypes = pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("name", FLOATS)
def test_every_bit_pattern_decodes_and_encodes_back(name: str) -> None:
    numpy_type = np.dtype(FLOATS[name])
    width = numpy_type.itemsize * 8
    patterns = np.arange(2**width, dtype=np.uint32) if width <= 8 else None
    if patterns is None:
        patterns = np.random.default_rng().integers(0, 2**width, 4000, dtype=np.uint64)
    unsigned = patterns.astype(f"u{numpy_type.itemsize}")
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = unsigned.view(numpy_type).astype(np.float64)
    for bits, value in zip(unsigned.tolist(), values, strict=True):
        decoded = _runtime.decode_float(name, bits)
        assert decoded == value or (np.isnan(decoded) and np.isnan(value))
        if not np.isnan(value):
            assert _runtime.encode_float(name, float(value)) == bits


@pytest.mark.parametrize("name", FLOATS)
def test_rounding_agrees_with_numpy(name: str) -> None:
    numpy_type = np.dtype(FLOATS[name])
    generator = np.random.default_rng()
    values = np.concatenate(
        [
            generator.standard_normal(2000) * 2.0 ** generator.integers(-30, 18, 2000),
            [0.0, -0.0, 1e-320, 5e-324, 65504.0, 65519.9, 65520.0, 448.0, 463.9, 464.0, 465.0, 57344.0, 61440.0, 1e40],
            [np.inf, -np.inf, np.nan],
        ]
    )
    unsigned = f"u{numpy_type.itemsize}"
    for value in values.tolist():
        # Through float32 first, as ml_dtypes rounds: only where that step is exact.
        with np.errstate(over="ignore"):
            if np.isfinite(value) and float(np.float32(value)) != value and name != "f16":
                value = float(np.float32(value))
            expected = np.array(value, np.float64).astype(numpy_type)
        bits = _runtime.encode_float(name, value)
        if np.isnan(expected.astype(np.float64)):
            assert np.isnan(_runtime.decode_float(name, bits)), value
        else:
            assert bits == int(expected.view(unsigned)), value


def test_names_of_all_spellings() -> None:
    for entry in dtypes.ELEMENT_TYPES:
        assert dtypes.element_type(entry.short) == entry
        if entry.short != "tf32":
            assert dtypes.element_type(entry.long) == entry
            assert dtypes.element_type(dtypes.torch_dtype(entry)) == entry
            assert dtypes.element_type(dtypes.numpy_dtype(entry)) == entry
            assert dtypes.element_type(dtypes.numpy_dtype(entry).type) == entry
    with pytest.raises(TypeError, match="kernels have no element type 'complex64'"):
        dtypes.element_type("complex64")
    with pytest.raises(TypeError, match=r"kernels have no element type torch\.complex64"):
        dtypes.element_type(torch.complex64)
