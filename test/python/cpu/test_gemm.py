"""tile.gemm on the CPU: shapes that no tile divides, transposes, element types, accumulators."""
# ruff: noqa: E501  (lines of IR text)

import numpy as np
import pytest
from harness import Kernel, check_guards, decode_as, encode_as, guarded, random_bits
from programs import gemm, kernel


def frobenius(actual, expected):
    return np.linalg.norm(actual - expected) / max(np.linalg.norm(expected), 1e-30)


@pytest.mark.parametrize("shape", [(128, 128, 64), (1000, 777, 555), (1, 33, 7), (129, 1, 65), (5, 300, 1)])
def test_edges_f16(shape):
    m, n, k = shape
    rng = np.random.default_rng()
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    c = guarded((m, n), np.float16, 0xFF)
    Kernel(gemm(m, n, k))(a, b, c, workers=2)
    check_guards(c)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert frobenius(c.astype(np.float64), expected) < 1e-3


def test_dynamic_sizes_and_empty_ones():
    program = Kernel(gemm("?", "?", "?", blocks=(32, 48, 16)))
    rng = np.random.default_rng()
    for m, n, k in [
        (1, 1, 1),
        (31, 47, 15),
        (33, 49, 17),
        (64, 96, 32),
        (100, 7, 70),
        (0, 5, 3),
        (5, 0, 3),
        (40, 60, 0),
    ]:
        a = rng.standard_normal((m, k)).astype(np.float16)
        b = rng.standard_normal((k, n)).astype(np.float16)
        c = guarded((m, n), np.float16, 0xFF)
        program(a, b, c)
        check_guards(c)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        assert np.allclose(c.astype(np.float64), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2"])
def test_transposes_and_types(transpose_a, transpose_b, dtype):
    m, n, k = 70, 90, 75
    rng = np.random.default_rng()
    shape_a, shape_b = ((k, m) if transpose_a else (m, k)), ((n, k) if transpose_b else (k, n))
    wide = "f64" if dtype == "f64" else "f32"
    if dtype in ("f32", "f64"):
        numpy_type = np.float32 if dtype == "f32" else np.float64
        a, b = rng.standard_normal(shape_a).astype(numpy_type), rng.standard_normal(shape_b).astype(numpy_type)
        a_values, b_values = a.astype(np.float64), b.astype(np.float64)
    else:
        a, b = random_bits(rng, shape_a, dtype), random_bits(rng, shape_b, dtype)
        a_values, b_values = decode_as(a, dtype), decode_as(b, dtype)
    c = guarded((m, n), np.float64 if wide == "f64" else np.float32, 0xFF)
    text = gemm(m, n, k, a=dtype, b=dtype, c=wide, accumulator=wide, blocks=(44, 36, 20), transpose_a=transpose_a,
                transpose_b=transpose_b, attributes="precision = #tile<precision ieee>")  # fmt: skip
    Kernel(text)(a, b, c)
    check_guards(c)
    expected = (a_values.T if transpose_a else a_values) @ (b_values.T if transpose_b else b_values)
    assert frobenius(c.astype(np.float64), expected) < (1e-14 if wide == "f64" else 1e-6)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("signs", ["", "a_unsigned", "b_unsigned", "a_unsigned, b_unsigned"])
def test_int8_is_exact(transpose_b, signs):
    m, n, k = 61, 83, 200
    rng = np.random.default_rng()
    a = rng.integers(0, 256, (m, k), dtype=np.uint8)
    b = rng.integers(0, 256, (n, k) if transpose_b else (k, n), dtype=np.uint8)
    c = guarded((m, n), np.int32, 0xFF)
    Kernel(gemm(m, n, k, a="i8", b="i8", c="i32", accumulator="i32", blocks=(32, 32, 32), transpose_b=transpose_b,
                attributes=signs))(a, b, c)  # fmt: skip
    check_guards(c)
    a_values = (a if "a_unsigned" in signs else a.view(np.int8)).astype(np.int64)
    b_values = (b if "b_unsigned" in signs else b.view(np.int8)).astype(np.int64)
    assert np.array_equal(c, a_values @ (b_values.T if transpose_b else b_values))


def test_tf32_rounds_operands():
    rng = np.random.default_rng()
    a, b = rng.standard_normal((64, 40)).astype(np.float32), rng.standard_normal((40, 48)).astype(np.float32)
    # Ties go away from zero; infinities and NaNs stay what they are.
    a.view(np.uint32)[0, :4] = [0x3F801000, 0xBF801000, 0x3F800FFF, 0x3F803000]
    c = guarded((64, 48), np.float32, 0xFF)
    Kernel(gemm(64, 48, 40, a="f32", b="f32", c="f32", blocks=(64, 48, 40)))(a, b, c)

    def rounded(x):
        return ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)

    expected = rounded(a) @ rounded(b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert frobenius(c, expected) < 1e-6 < frobenius(c, exact)
    a[3, 5], a[4, 6] = np.inf, np.nan
    a.view(np.uint32)[5, 7] = 0x7FFFFFFF
    Kernel(gemm(64, 48, 40, a="f32", b="f32", c="f32", blocks=(64, 48, 40)))(a, b, c)
    assert np.isinf(c[3]).all() and np.isnan(c[4]).all() and np.isnan(c[5]).all()


def test_f16_accumulator_is_rounded_after_every_tile():
    rng = np.random.default_rng()
    a, b = rng.standard_normal((32, 64)).astype(np.float16), rng.standard_normal((64, 32)).astype(np.float16)
    c = guarded((32, 32), np.float16, 0xFF)
    Kernel(gemm(32, 32, 64, c="f16", accumulator="f16", blocks=(32, 32, 16)))(a, b, c)
    expected = np.zeros((32, 32), np.float16)
    for k in range(0, 64, 16):
        step = a[:, k : k + 16].astype(np.float32) @ b[k : k + 16].astype(np.float32)
        expected = (expected.astype(np.float32) + step).astype(np.float16)
    difference = np.abs(c.astype(np.float64) - expected.astype(np.float64))
    assert (difference <= np.spacing(np.abs(expected)).astype(np.float64)).all()
    assert (difference == 0).mean() > 0.95


def test_bf16_output_error():
    rng = np.random.default_rng()
    a, b = random_bits(rng, (200, 300), "bf16"), random_bits(rng, (300, 100), "bf16")
    c = guarded((200, 100), np.uint16, 0xFF)
    Kernel(gemm(200, 100, 300, a="bf16", b="bf16", c="bf16"))(a, b, c)
    expected = decode_as(a, "bf16") @ decode_as(b, "bf16")
    assert frobenius(decode_as(c, "bf16"), expected) < 2.5e-3
    once = decode_as(encode_as(expected, "bf16"), "bf16")
    assert frobenius(decode_as(c, "bf16"), expected) < 1.05 * frobenius(once, expected)


@pytest.mark.parametrize("n", [1, 3, 8, 11, 16, 24, 40])
@pytest.mark.parametrize("m", [1, 4, 6, 7, 16])
def test_small_tiles_views_and_clear(m, n):
    """A slot of a larger buffer as operand, a part of the accumulator as C, and clear_accum."""
    k = 9
    body = f"""
    %a = tile.alloc : !tile.buffer<2x{m}x{k}xf32, shared>
    %b = tile.alloc : !tile.buffer<{k}x{n}xf32, shared>
    %c = tile.alloc : !tile.buffer<{m + 1}x{n + 2}xf32, fragment>
    %one = arith.constant 1 : i32
    %seven = arith.constant 7.0 : f32
    tile.fill %c, %seven : !tile.buffer<{m + 1}x{n + 2}xf32, fragment>, f32
    tile.copy %A[%z, %z] [{m}, {k}] to %a[%one, %z, %z] [1, {m}, {k}] : memref<{m}x{k}xf32> to !tile.buffer<2x{m}x{k}xf32, shared>
    tile.copy %B[%z, %z] [{k}, {n}] to %b[%z, %z] [{k}, {n}] : memref<{k}x{n}xf32> to !tile.buffer<{k}x{n}xf32, shared>
    %slot = tile.subview %a[%one, %z, %z] [1, {m}, {k}] : !tile.buffer<2x{m}x{k}xf32, shared> to !tile.buffer<{m}x{k}xf32, shared>
    %part = tile.subview %c[%one, %one] [{m}, {n}] : !tile.buffer<{m + 1}x{n + 2}xf32, fragment> to !tile.buffer<{m}x{n}xf32, fragment>
    tile.gemm %slot, %b, %part {{CLEAR precision = #tile<precision ieee>}} : !tile.buffer<{m}x{k}xf32, shared>, !tile.buffer<{k}x{n}xf32, shared>, !tile.buffer<{m}x{n}xf32, fragment>
    tile.copy %c[%z, %z] [{m + 1}, {n + 2}] to %C[%z, %z] [{m + 1}, {n + 2}] : !tile.buffer<{m + 1}x{n + 2}xf32, fragment> to memref<{m + 1}x{n + 2}xf32>
"""
    rng = np.random.default_rng()
    arguments = f"%A: memref<{m}x{k}xf32>, %B: memref<{k}x{n}xf32>, %C: memref<{m + 1}x{n + 2}xf32>"
    for clear in ("", "clear_accum,"):
        a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
        c = guarded((m + 1, n + 2), np.float32, 0xFF)
        Kernel(kernel(arguments, body.replace("CLEAR", clear)))(a, b, c)
        check_guards(c)
        expected = np.full((m + 1, n + 2), 7.0)
        product = a.astype(np.float64) @ b.astype(np.float64)
        expected[1:, 1 : n + 1] = product if clear else product + 7
        assert np.allclose(c, expected, rtol=1e-5, atol=1e-5)
