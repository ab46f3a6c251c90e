"""tile.reduce on the CPU: widths that are no powers of two, both dimensions, clear, NaN, integer kinds."""
# ruff: noqa: E501  (lines of IR text)

import numpy as np
import pytest
from harness import Kernel, check_guards, guarded
from programs import kernel

SIZES = [1, 3, 48, 96, 100, 127, 192, 257]


def program(kind, rows, columns, dim, *, element="f32", out=None, keep=False, flags="clear", seed=None):
    out = out or element
    kept = columns if dim == 0 else rows
    shape = f"{kept}" if not keep else (f"1x{kept}" if dim == 0 else f"{kept}x1")
    box = shape.replace("x", ", ")
    at = "%z" if not keep else "%z, %z"
    attributes = ", ".join([f"dim = {dim} : i64", *([flags] if flags else [])])
    start = ""
    if seed is not None:
        signless = out.replace("ui", "i")
        start = f"%seed = arith.constant {seed} : {signless}\n    tile.fill %r, %seed : !tile.buffer<{shape}x{out}, fragment>, {signless}"
    return kernel(
        f"%A: memref<{rows}x{columns}x{element}>, %B: memref<{shape}x{out}>",
        f"""
    %s = tile.alloc : !tile.buffer<{rows}x{columns}x{element}, fragment>
    %r = tile.alloc : !tile.buffer<{shape}x{out}, fragment>
    {start}
    tile.copy %A[%z, %z] [{rows}, {columns}] to %s[%z, %z] [{rows}, {columns}] : memref<{rows}x{columns}x{element}> to !tile.buffer<{rows}x{columns}x{element}, fragment>
    tile.reduce {kind} %s, %r {{{attributes}}} : !tile.buffer<{rows}x{columns}x{element}, fragment>, !tile.buffer<{shape}x{out}, fragment>
    tile.copy %r[{at}] [{box}] to %B[{at}] [{box}] : !tile.buffer<{shape}x{out}, fragment> to memref<{shape}x{out}>
""",
    )


REFERENCES = {
    "sum": np.sum, "max": np.max, "min": np.min,
    "abssum": lambda x, axis: np.sum(np.abs(x), axis=axis), "absmax": lambda x, axis: np.max(np.abs(x), axis=axis),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [0, 1])
def test_float_kinds(size, dim):
    shape = (size, 40) if dim == 0 else (40, size)
    a = np.random.default_rng().integers(-100, 100, shape).astype(np.float32)
    for keep, (kind, reference) in zip([False, True, False, True, False], REFERENCES.items(), strict=True):
        expected = reference(a, axis=dim)
        b = guarded(np.expand_dims(expected, dim).shape if keep else expected.shape, np.float32, 0xFF)
        Kernel(program(kind, *shape, dim, keep=keep))(a, b)
        check_guards(b)
        assert np.array_equal(b.reshape(-1), expected)


@pytest.mark.parametrize("size", [3, 100, 257])
def test_integer_kinds(size):
    rng = np.random.default_rng()
    a = rng.integers(-(2**31), 2**31, (20, size), dtype=np.int32)
    references = {
        "sum": lambda x: np.sum(x, axis=1, dtype=np.int32), "max": lambda x: x.max(1), "min": lambda x: x.min(1),
        "bitand": lambda x: np.bitwise_and.reduce(x, 1), "bitor": lambda x: np.bitwise_or.reduce(x, 1),
        "bitxor": lambda x: np.bitwise_xor.reduce(x, 1),
    }  # fmt: skip
    for kind, reference in references.items():
        b = guarded((20,), np.int32, 0xFF)
        Kernel(program(kind, 20, size, 1, element="i32"))(a, b)
        assert np.array_equal(b, reference(a)), kind
    u = rng.integers(0, 256, (20, size), dtype=np.uint8)
    for kind, reference in {"max": u.max(1), "min": u.min(1)}.items():
        b = guarded((20,), np.uint8)
        Kernel(program(kind, 20, size, 1, element="ui8"))(u, b)
        assert np.array_equal(b, reference), kind
    b = guarded((20,), np.int32)
    Kernel(program("sum", 20, size, 1, element="ui8", out="i32"))(u, b)
    assert np.array_equal(b, u.sum(1, dtype=np.int32))


@pytest.mark.parametrize("dim", [0, 1])
def test_without_clear(dim):
    a = np.random.default_rng().integers(-9, 9, (33, 33)).astype(np.float32)
    for kind, seed, expected in [
        ("sum", 1000, a.sum(dim) + 1000), ("max", 5, np.maximum(a.max(dim), 5)), ("min", -5, np.minimum(a.min(dim), -5)),
        ("absmax", -20, np.maximum(np.abs(a).max(dim), 20)), ("abssum", 3, np.abs(a).sum(dim) + 3),
    ]:  # fmt: skip
        b = guarded((33,), np.float32, 0xFF)
        Kernel(program(kind, 33, 33, dim, flags="", seed=f"{float(seed)}"))(a, b)
        assert np.array_equal(b, expected), kind


@pytest.mark.parametrize("dim", [0, 1])
def test_nan(dim):
    a = np.random.default_rng().standard_normal((50, 50)).astype(np.float32)
    a[3, 7], a[9, 9], a[:, 20], a[21, :] = np.nan, np.inf, np.nan, -np.inf
    for flags, reference in [("clear", np.fmax), ("clear, nan_propagate", np.maximum)]:
        b = guarded((50,), np.float32, 0)
        Kernel(program("max", 50, 50, dim, flags=flags))(a, b)
        expected = reference.reduce(a, dim)
        if flags == "clear":
            expected = np.where(np.isnan(expected), -np.inf, expected)
        assert np.array_equal(b, expected, equal_nan=True)


def test_f16_sums_are_rounded_once():
    a = np.random.default_rng().standard_normal((17, 300)).astype(np.float16)
    b = guarded((17,), np.float16, 0xFF)
    Kernel(program("sum", 17, 300, 1, element="f16"))(a, b)
    expected = a.astype(np.float64).sum(1)
    assert (np.abs(b - expected) <= np.spacing(np.abs(expected).astype(np.float16)) * 0.501 + 1e-5).all()
