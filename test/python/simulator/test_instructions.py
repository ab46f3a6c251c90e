"""Register instructions of the simulator against NumPy, on random operands and on the edges of their ranges."""

import numpy as np
import pytest
from ptx_runs import elementwise, run
from tilemlir import errors

generator = np.random.default_rng()


def integers(dtype):
    info = np.iinfo(dtype)
    edges = np.array([0, 1, info.max, info.min, info.max - 1], dtype)
    values = generator.integers(info.min, info.max, 32, dtype=dtype, endpoint=True)
    values[: len(edges)] = generator.permutation(edges)
    return values


def floats(dtype, scale=8.0):
    return (generator.standard_normal(32) * scale).astype(dtype)


def wrapped(values, dtype):
    """Python integers modulo the width of a dtype."""
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = np.array([int(value) % (1 << bits) for value in values], f"u{bits // 8}")
    return unsigned.view(dtype)


INTEGER = {
    "add.s32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.s32": lambda a, b: a * b,
    "mul.hi.s32": lambda a, b: a * b >> 32,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "min.s32": min,
    "max.s32": max,
    "add.sat.s32": lambda a, b: min(max(a + b, -(2**31)), 2**31 - 1),
}


@pytest.mark.parametrize("name", INTEGER)
def test_integer(name):
    a, b = integers(np.int32), integers(np.int32)
    expected = wrapped([INTEGER[name](int(x), int(y)) for x, y in zip(a, b, strict=True)], np.int32)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0}, {1};", np.int32, a, b), expected)


WIDE = {
    "mul.wide.s32": (np.int32, np.int64, lambda a, b: a * b),
    "mul.wide.u32": (np.uint32, np.uint64, lambda a, b: a * b),
    "add.s64": (np.int64, np.int64, lambda a, b: a + b),
    "mul.lo.s64": (np.int64, np.int64, lambda a, b: a * b),
    "mul.hi.u64": (np.uint64, np.uint64, lambda a, b: a * b >> 64),
    "mul.hi.u32": (np.uint32, np.uint32, lambda a, b: a * b >> 32),
    "min.u64": (np.uint64, np.uint64, min),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_integer(name):
    source, result, function = WIDE[name]
    a, b = integers(source), integers(source)
    expected = wrapped([function(int(x), int(y)) for x, y in zip(a, b, strict=True)], result)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0}, {1};", result, a, b), expected)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_division(dtype):
    kind = ("s" if dtype[0] == "i" else "u") + dtype[-2:]
    a, b = integers(dtype), integers(dtype)
    b[b == 0] = 3
    b[(b == -1) if dtype[0] == "i" else (b == 0)] = 7
    quotient = [
        int(np.sign(float(x)) * np.sign(float(y))) * (abs(int(x)) // abs(int(y))) for x, y in zip(a, b, strict=True)
    ]
    np.testing.assert_array_equal(
        elementwise(f"div.{kind} {{d}}, {{0}}, {{1}};", dtype, a, b), np.array(quotient, dtype)
    )
    rest = [int(x) - q * int(y) for x, y, q in zip(a, b, quotient, strict=True)]
    np.testing.assert_array_equal(elementwise(f"rem.{kind} {{d}}, {{0}}, {{1}};", dtype, a, b), np.array(rest, dtype))


@pytest.mark.parametrize(("name", "signed", "left"), [("shl.b32", 0, 1), ("shr.u32", 0, 0), ("shr.s32", 1, 0)])
def test_shifts_clamp_their_amount(name, signed, left):
    a, b = integers(np.int32 if signed else np.uint32), generator.integers(0, 40, 32, dtype=np.uint32)
    expected = [int(x) << min(int(n), 32) if left else int(x) >> min(int(n), 32) for x, n in zip(a, b, strict=True)]
    np.testing.assert_array_equal(elementwise(name + " {d}, {0}, {1};", a.dtype, a, b), wrapped(expected, a.dtype))


BITS = {
    "popc.b32": lambda x: bin(x).count("1"),
    "clz.b32": lambda x: 32 - x.bit_length(),
    "brev.b32": lambda x: int(f"{x:032b}"[::-1], 2),
    "bfind.u32": lambda x: x.bit_length() - 1,
    "not.b32": lambda x: ~x,
}


@pytest.mark.parametrize("name", BITS)
def test_bits(name):
    a = integers(np.uint32)
    expected = wrapped([BITS[name](int(x)) for x in a], np.uint32)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0};", np.uint32, a), expected)


def test_fields_of_bits():
    a, b = integers(np.uint32), integers(np.uint32)
    extracted = elementwise("bfe.u32 {d}, {0}, 5, 9;", np.uint32, a)
    np.testing.assert_array_equal(extracted, (a >> 5) & 0x1FF)
    signed = elementwise("bfe.s32 {d}, {0}, 20, 8;", np.int32, a.view(np.int32))
    np.testing.assert_array_equal(signed, ((a >> 20) & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32))
    inserted = elementwise("bfi.b32 {d}, {0}, {1}, 4, 8;", np.uint32, a, b)
    np.testing.assert_array_equal(inserted, (b & ~np.uint32(0xFF0)) | ((a & 0xFF) << 4))
    permuted = elementwise("prmt.b32 {d}, {0}, {1}, 0x5410;", np.uint32, a, b)
    np.testing.assert_array_equal(permuted, (a & 0xFFFF) | (b << 16))
    signs = elementwise("prmt.b32 {d}, {0}, {1}, 0xba98;", np.uint32, a, b)
    np.testing.assert_array_equal(signs.view(np.uint8), np.where(a.view(np.uint8) & 0x80, 0xFF, 0))
    chosen = elementwise("lop3.b32 {d}, {0}, {1}, {0}, 0x3c;", np.uint32, a, b)
    np.testing.assert_array_equal(chosen, a ^ b)
    funnel = elementwise("shf.l.wrap.b32 {d}, {0}, {1}, 11;", np.uint32, a, b)
    np.testing.assert_array_equal(funnel, (b << 11) | (a >> 21))


FLOAT = {
    "add.rn.f32": lambda a, b: a + b,
    "sub.f32": lambda a, b: a - b,
    "mul.rn.f32": lambda a, b: a * b,
    "div.rn.f32": lambda a, b: a / b,
    "min.f32": np.fmin,
    "max.NaN.f32": np.maximum,
    "add.f16": lambda a, b: a + b,
    "mul.f16": lambda a, b: a * b,
    "add.f64": lambda a, b: a + b,
    "div.rn.f64": lambda a, b: a / b,
}


@pytest.mark.parametrize("name", FLOAT)
def test_float(name):
    dtype = "float" + name[-2:]
    a, b = floats(dtype), floats(dtype)
    a[:3], b[1:4] = np.nan, np.inf
    with np.errstate(all="ignore"):
        expected = FLOAT[name](a, b).astype(dtype)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0}, {1};", dtype, a, b), expected)


def test_fused_products_round_once():
    a, b, c = floats(np.float32), floats(np.float32), floats(np.float32)
    # The product's low bits decide.
    a[0], b[0], c[0] = 1 + 2.0**-12, 1 + 2.0**-12, -1
    exact = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
    np.testing.assert_array_equal(
        elementwise("fma.rn.f32 {d}, {0}, {1}, {2};", np.float32, a, b, c), exact.astype(np.float32)
    )
    x, y, z = floats(np.float64), floats(np.float64), floats(np.float64)
    x[0], y[0], z[0] = 1 + 2.0**-30, 1 - 2.0**-30, -1
    result = elementwise("fma.rn.f64 {d}, {0}, {1}, {2};", np.float64, x, y, z)
    assert result[0] == -(2.0**-60)


def test_flush_to_zero():
    a, b = np.full(32, 1e-38, np.float32), np.full(32, 0.5, np.float32)
    assert not elementwise("mul.ftz.f32 {d}, {0}, {1};", np.float32, a, b).any()
    assert elementwise("mul.f32 {d}, {0}, {1};", np.float32, a, b).all()


APPROXIMATE = {"ex2.approx.ftz.f32": np.exp2, "lg2.approx.f32": np.log2, "rcp.approx.f32": lambda x: 1 / x,
               "sqrt.rn.f32": np.sqrt, "rsqrt.approx.f32": lambda x: 1 / np.sqrt(x),
               "tanh.approx.f32": np.tanh}  # fmt: skip


@pytest.mark.parametrize("name", APPROXIMATE)
def test_functions(name):
    a = np.abs(floats(np.float32)) + np.float32(0.1)
    expected = APPROXIMATE[name](a.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0};", np.float32, a), expected)


def test_pairs_of_halves():
    a, b = (floats(np.float32).repeat(2).astype(np.float16) for _ in range(2))
    words = elementwise("add.rn.f16x2 {d}, {0}, {1};", np.uint32, a.view(np.uint32), b.view(np.uint32))
    np.testing.assert_array_equal(words.view(np.float16), a + b)
    negated = elementwise("neg.f16x2 {d}, {0};", np.uint32, a.view(np.uint32))
    np.testing.assert_array_equal(negated.view(np.float16), -a)


CONVERSIONS = {
    "cvt.rn.f16.f32": (np.float32, np.float16, lambda x: x.astype(np.float16)),
    "cvt.f32.f16": (np.float16, np.float32, lambda x: x.astype(np.float32)),
    "cvt.rn.f32.s32": (np.int32, np.float32, lambda x: x.astype(np.float32)),
    "cvt.rzi.s32.f32": (np.float32, np.int32, lambda x: np.trunc(x).astype(np.int32)),
    "cvt.rmi.s32.f32": (np.float32, np.int32, lambda x: np.floor(x).astype(np.int32)),
    "cvt.rni.f32.f32": (np.float32, np.float32, np.rint),
    "cvt.rn.f64.s64": (np.int64, np.float64, lambda x: x.astype(np.float64)),
    "cvt.u64.u32": (np.uint32, np.uint64, lambda x: x.astype(np.uint64)),
    "cvt.s64.s32": (np.int32, np.int64, lambda x: x.astype(np.int64)),
    "cvt.u32.u64": (np.uint64, np.uint32, lambda x: x.astype(np.uint32)),
    "cvt.s32.s8": (np.int32, np.int32, lambda x: x.astype(np.int8).astype(np.int32)),
    "cvt.sat.s8.s32": (np.int32, np.int32, lambda x: np.clip(x, -128, 127)),
    "cvt.sat.f32.f32": (np.float32, np.float32, lambda x: np.clip(x, 0, 1)),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name):
    source, result, function = CONVERSIONS[name]
    a = integers(source) if np.dtype(source).kind in "iu" else floats(source)
    np.testing.assert_array_equal(elementwise(name + " {d}, {0};", result, a), function(a))


def test_conversions_clamp():
    a = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 0.5, 1.5, -0.5] * 4, np.float32)
    got = elementwise("cvt.rni.s32.f32 {d}, {0};", np.int32, a)
    np.testing.assert_array_equal(got[:8], [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 2, 0])
    got = elementwise("cvt.rzi.u64.f32 {d}, {0};", np.uint64, a)
    assert got[:6].tolist() == [2**63, 2**64 - 1, 0, 3000000000 - 3000000000 % 256, 0, 0]


def test_small_floats():
    import torch

    a, b = floats(np.float32), floats(np.float32)
    words = elementwise("cvt.rn.bf16x2.f32 {d}, {0}, {1};", np.uint32, a, b).view(np.uint16).reshape(32, 2)
    for half, values in ((1, a), (0, b)):  # the first operand is the upper half
        expected = torch.from_numpy(values).bfloat16().view(torch.int16).numpy().view(np.uint16)
        np.testing.assert_array_equal(words[:, half], expected)
    a[:4] = [448, 1000, -0.001, np.nan]
    for kind, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        codes = elementwise(f"cvt.rn.satfinite.{kind}x2.f32 {{d}}, {{0}}, {{1}};", np.uint16, a, b).view(np.uint8)
        limit = float(torch.finfo(dtype).max)
        expected = torch.from_numpy(np.clip(a, -limit, limit)).to(dtype).view(torch.uint8).numpy()
        np.testing.assert_array_equal(codes[1::2] & 0x7F, expected & 0x7F)
        back = elementwise(f"cvt.rn.f16x2.{kind}x2 {{d}}, {{0}};", np.uint32, codes.view(np.uint16)).view(np.float16)
        np.testing.assert_array_equal(back, torch.from_numpy(codes.copy()).view(dtype).half().numpy())


def test_comparisons():
    a, b = floats(np.float32, 1), floats(np.float32, 1)
    a[:2] = np.nan
    b[3] = a[3]
    for name, function in (("lt", np.less), ("ge", np.greater_equal), ("equ", lambda x, y: (x == y) | np.isnan(x)),
                           ("neu", np.not_equal), ("nan", lambda x, y: np.isnan(x))):  # fmt: skip
        text = f"setp.{name}.f32 %p1, {{0}}, {{1}}; selp.b32 {{d}}, 1, 0, %p1;"
        np.testing.assert_array_equal(elementwise(text, np.uint32, a, b), function(a, b).astype(np.uint32))
    x, y = integers(np.int32), integers(np.int32)
    text = "setp.lo.u32 %p1, {0}, {1}; setp.gt.and.s32 %p2|%p3, {0}, 0, %p1; selp.b32 {d}, 1, 0, %p3;"
    expected = (x <= 0) & (x.view(np.uint32) < y.view(np.uint32))
    np.testing.assert_array_equal(elementwise(text, np.uint32, x, y), expected.astype(np.uint32))


def test_shuffles_and_votes():
    a = integers(np.uint32)
    lane = np.arange(32)
    for form, source in (("bfly.b32 {d}, {0}, 5, 31, -1", lane ^ 5), ("idx.b32 {d}, {0}, 7, 31, -1", lane * 0 + 7),
                         ("down.b32 {d}, {0}, 3, 31, -1", np.where(lane < 29, lane + 3, lane)),
                         ("up.b32 {d}, {0}, 2, 0, -1", np.where(lane >= 2, lane - 2, lane)),
                         ("idx.b32 {d}, {0}, 1, 0x181f, -1", lane // 8 * 8 + 1)):  # fmt: skip
        np.testing.assert_array_equal(elementwise(f"shfl.sync.{form};", np.uint32, a), a[source])
    text = "setp.gt.s32 %p1, {0}, 0; vote.sync.ballot.b32 {d}, %p1, -1;"
    ballot = sum(1 << int(i) for i in lane if a.view(np.int32)[i] > 0)
    assert elementwise(text, np.uint32, a).tolist() == [ballot] * 32
    assert elementwise("redux.sync.max.u32 {d}, {0}, -1;", np.uint32, a).tolist() == [int(a.max())] * 32


def test_an_unknown_instruction_is_named_with_its_line():
    with pytest.raises(errors.TileRuntimeError, match=r"PTX line \d+: 'frobnicate.b32' is not simulated"):
        run("frobnicate.b32 %r1, %r2;", [np.zeros(32, np.uint32)])
    with pytest.raises(errors.TileRuntimeError, match=r"'add.weird.s32' is not simulated: unknown modifier .weird"):
        run("add.weird.s32 %r1, %r2, %r3;", [np.zeros(32, np.uint32)])
