"""Copies and fills on the CPU: every edge of a tensor, safe values, conversions, strides, views."""
# ruff: noqa: E501  (lines of IR text)

import numpy as np
import pytest
from harness import Kernel, check_guards, decode_as, encode_as, guarded
from programs import kernel


def through_tile(rows, columns, tile, element="f32", out=None, attributes="", kind="copy"):
    """Copies a tensor tile by tile to shared memory and on to an output of the tiled (rounded up) size."""
    tile_m, tile_n = tile
    padded = (-(-rows // tile_m) * tile_m, -(-columns // tile_n) * tile_n)
    out = out or element
    grid = f"{padded[1] // tile_n}, {padded[0] // tile_m}"
    waits = (
        "tile.async_commit\n    tile.async_wait {pending = 0 : i64}\n    tile.sync_threads" if "async" in kind else ""
    )
    body = f"""
    %tm = arith.constant {tile_m} : i32
    %tn = arith.constant {tile_n} : i32
    %y = arith.muli %by, %tm : i32
    %x = arith.muli %bx, %tn : i32
    %s = tile.alloc : !tile.buffer<{tile_m}x{tile_n}x{element}, shared>
    tile.{kind} %A[%y, %x] [{tile_m}, {tile_n}] to %s[%z, %z] [{tile_m}, {tile_n}] {attributes} : memref<{rows}x{columns}x{element}> to !tile.buffer<{tile_m}x{tile_n}x{element}, shared>
    {waits}
    tile.copy %s[%z, %z] [{tile_m}, {tile_n}] to %B[%y, %x] [{tile_m}, {tile_n}] : !tile.buffer<{tile_m}x{tile_n}x{element}, shared> to memref<{padded[0]}x{padded[1]}x{out}>
"""
    arguments = f"%A: memref<{rows}x{columns}x{element}>, %B: memref<{padded[0]}x{padded[1]}x{out}>"
    return kernel(arguments, body, grid, indices="%bx: i32, %by: i32"), padded


@pytest.mark.parametrize("kind", ["copy", "copy_async"])
@pytest.mark.parametrize("size", [(1000, 777), (128, 64), (1, 555), (130, 1), (3, 3)])
def test_reads_outside_give_zero(size, kind):
    text, padded = through_tile(*size, (128, 64), "f16", kind=kind)
    rng = np.random.default_rng()
    a = rng.standard_normal(size).astype(np.float16)
    b = guarded(padded, np.float16, 0xFF)
    Kernel(text)(a, b, workers=2)
    check_guards(b)
    expected = np.zeros(padded, np.float16)
    expected[: size[0], : size[1]] = a
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("safe", ["-99", "7"])
def test_safe_value(safe):
    text, padded = through_tile(60, 60, (64, 64), "i32", attributes=f"{{safe = {safe} : i32}}")
    a = np.random.default_rng().integers(-1000, 1000, (60, 60), dtype=np.int32)
    b = guarded(padded, np.int32, 0xFF)
    Kernel(text)(a, b)
    expected = np.full(padded, int(safe), np.int32)
    expected[:60, :60] = a
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("offset", [(-5, -3), (-5, 0), (0, -3), (2, 1), (7, 9), (-40, 0), (30, 30)])
def test_writes_outside_are_dropped(offset):
    body = f"""
    %dy = arith.constant {offset[0]} : i32
    %dx = arith.constant {offset[1]} : i32
    %s = tile.alloc : !tile.buffer<16x24xf32, shared>
    tile.copy %A[%z, %z] [16, 24] to %s[%z, %z] [16, 24] : memref<16x24xf32> to !tile.buffer<16x24xf32, shared>
    tile.copy %s[%z, %z] [16, 24] to %B[%dy, %dx] [16, 24] : !tile.buffer<16x24xf32, shared> to memref<20x26xf32>
"""
    a = np.random.default_rng().standard_normal((16, 24)).astype(np.float32)
    b = guarded((20, 26), np.float32, 0)
    Kernel(kernel("%A: memref<16x24xf32>, %B: memref<20x26xf32>", body))(a, b)
    check_guards(b)
    expected = np.zeros((20, 26), np.float32)
    for i in range(16):
        for j in range(24):
            if 0 <= i + offset[0] < 20 and 0 <= j + offset[1] < 26:
                expected[i + offset[0], j + offset[1]] = a[i, j]
    assert np.array_equal(b, expected)


def test_lower_rank_tile_and_tensor_to_tensor():
    """A plane of a 4-D tensor by unit dimensions, an outside plane, and a copy without a buffer."""
    body = """
    %two = arith.constant 2 : i32
    %nine = arith.constant 9 : i32
    %s = tile.alloc : !tile.buffer<8x16xf32, shared>
    tile.copy %A[%two, %z, %two, %z] [1, 8, 1, 16] to %s[%z, %z] [8, 16] : memref<3x5x4x12xf32> to !tile.buffer<8x16xf32, shared>
    tile.copy %s[%z, %z] [8, 16] to %B[%z, %z, %z] [1, 8, 16] : !tile.buffer<8x16xf32, shared> to memref<3x8x16xf32>
    %one = arith.constant 1 : i32
    tile.copy %A[%nine, %z, %two, %z] [1, 8, 1, 16] to %s[%z, %z] [8, 16] {safe = 5.0 : f32} : memref<3x5x4x12xf32> to !tile.buffer<8x16xf32, shared>
    tile.copy %s[%z, %z] [8, 16] to %B[%one, %z, %z] [1, 8, 16] : !tile.buffer<8x16xf32, shared> to memref<3x8x16xf32>
    tile.copy %A[%z, %z, %one, %z] [1, 8, 1, 16] to %B[%two, %z, %z] [1, 8, 16] : memref<3x5x4x12xf32> to memref<3x8x16xf32>
"""
    a = np.random.default_rng().standard_normal((3, 5, 4, 12)).astype(np.float32)
    b = guarded((3, 8, 16), np.float32, 0xFF)
    Kernel(kernel("%A: memref<3x5x4x12xf32>, %B: memref<3x8x16xf32>", body))(a, b)
    expected = np.zeros((3, 8, 16), np.float32)
    expected[0, :5, :12] = a[2, :, 2]
    expected[1] = 5
    expected[2, :5, :12] = a[0, :, 1]
    assert np.array_equal(b, expected)


def test_strided_tensor():
    text = """
func.func @strided(%A: memref<?x?xf32, strided<[?, ?]>>, %B: memref<?x?xf32, strided<[?, ?]>>) {
  %one = arith.constant 1 : i32
  tile.kernel "strided" grid(%one) threads(32) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %s = tile.alloc : !tile.buffer<16x16xf32, shared>
    tile.copy %A[%z, %z] [16, 16] to %s[%z, %z] [16, 16] : memref<?x?xf32, strided<[?, ?]>> to !tile.buffer<16x16xf32, shared>
    tile.copy %s[%z, %z] [16, 16] to %B[%z, %z] [16, 16] : !tile.buffer<16x16xf32, shared> to memref<?x?xf32, strided<[?, ?]>>
  }
  return
}
"""
    program = Kernel(text)
    rng = np.random.default_rng()
    base = rng.standard_normal((40, 60)).astype(np.float32)
    for view in (base[1:14:2, 3:50:5], base.T[5:17, 2:10], base[::-1, ::-1][3:12, 4:9], base[:10, :10]):
        target = np.zeros((50, 50), np.float32)
        out = target[2 : 2 + view.shape[0], 1 : 1 + 3 * view.shape[1] : 3]
        program(view, out)
        assert np.array_equal(out, view)
        assert np.count_nonzero(target) == np.count_nonzero(view)


@pytest.mark.parametrize(
    "pair", [("f32", "f16"), ("f16", "f32"), ("f32", "i8"), ("i32", "f32"), ("ui8", "f32"), ("f64", "f32")]
)
def test_conversions(pair):
    names = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32, "ui8": np.uint8, "f64": np.float64}
    text, _ = through_tile(40, 48, (8, 16), pair[0], out=pair[1])
    a = (np.random.default_rng().standard_normal((40, 48)) * 50).astype(np.int8).astype(names[pair[0]])
    b = guarded((40, 48), names[pair[1]], 0xFF)
    Kernel(text)(a, b)
    assert np.array_equal(b, a.astype(names[pair[1]]))


@pytest.mark.parametrize("dtype", ["bf16", "f8E4M3FN", "f8E5M2"])
def test_small_float_copies(dtype):
    rng = np.random.default_rng()
    a = (rng.standard_normal((40, 48)) * 10).astype(np.float32)
    text, _ = through_tile(40, 48, (8, 16), "f32", out=dtype)
    b = guarded((40, 48), np.uint16 if dtype == "bf16" else np.uint8, 0xFF)
    Kernel(text)(a, b)
    assert np.array_equal(b, encode_as(a, dtype))
    text, _ = through_tile(40, 48, (8, 16), dtype, out="f32")
    c = guarded((40, 48), np.float32, 0xFF)
    Kernel(text)(b, c)
    assert np.array_equal(c, decode_as(b, dtype))


def test_views():
    """Slots, reshapes with and without strides, bitcasts, and fills of parts."""
    body = """
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %four = arith.constant 4 : i32
    %fz = arith.constant 0.0 : f32
    %a = tile.alloc : !tile.buffer<3x8x16xf32, shared>
    tile.fill %a, %fz : !tile.buffer<3x8x16xf32, shared>, f32
    %slot = tile.subview %a[%two, %z, %z] [1, 8, 16] : !tile.buffer<3x8x16xf32, shared> to !tile.buffer<8x16xf32, shared>
    tile.copy %A[%z, %z] [8, 16] to %slot[%z, %z] [8, 16] : memref<8x16xf32> to !tile.buffer<8x16xf32, shared>
    %flat = tile.reshape %slot : !tile.buffer<8x16xf32, shared> to !tile.buffer<128xf32, shared>
    tile.copy %flat[%z] [128] to %B[%z] [128] : !tile.buffer<128xf32, shared> to memref<128xf32>
    %part = tile.subview %slot[%two, %four] [4, 8] : !tile.buffer<8x16xf32, shared> to !tile.buffer<4x8xf32, shared>
    %odd = tile.reshape %part : !tile.buffer<4x8xf32, shared> to !tile.buffer<2x16xf32, shared>
    tile.copy %odd[%z, %z] [2, 16] to %C[%z, %z] [2, 16] : !tile.buffer<2x16xf32, shared> to memref<2x16xf32>
    %row = tile.subview %odd[%one, %two] [1, 12] : !tile.buffer<2x16xf32, shared> to !tile.buffer<12xf32, shared>
    tile.copy %row[%z] [12] to %D[%z] [12] : !tile.buffer<12xf32, shared> to memref<12xf32>
    %halves = tile.bitcast %row : !tile.buffer<12xf32, shared> to !tile.buffer<24xi16, shared>
    tile.copy %halves[%z] [24] to %E[%z] [24] : !tile.buffer<24xi16, shared> to memref<24xi16>
    %bytes = tile.bitcast %slot : !tile.buffer<8x16xf32, shared> to !tile.buffer<8x64xui8, shared>
    tile.copy %bytes[%z, %z] [8, 64] to %F[%z, %z] [8, 64] : !tile.buffer<8x64xui8, shared> to memref<8x64xui8>
    %nine = arith.constant 9.0 : f32
    tile.fill %part, %nine : !tile.buffer<4x8xf32, shared>, f32
    tile.copy %a[%z, %z, %z] [3, 8, 16] to %G[%z, %z, %z] [3, 8, 16] : !tile.buffer<3x8x16xf32, shared> to memref<3x8x16xf32>
"""
    arguments = (
        "%A: memref<8x16xf32>, %B: memref<128xf32>, %C: memref<2x16xf32>, %D: memref<12xf32>, %E: memref<24xi16>, "
        "%F: memref<8x64xui8>, %G: memref<3x8x16xf32>"
    )
    a = np.random.default_rng().standard_normal((8, 16)).astype(np.float32)
    b, c, d = guarded((128,), np.float32), guarded((2, 16), np.float32), guarded((12,), np.float32)
    e, f, g = guarded((24,), np.int16), guarded((8, 64), np.uint8), guarded((3, 8, 16), np.float32)
    Kernel(kernel(arguments, body))(a, b, c, d, e, f, g)
    odd = a[2:6, 4:12].reshape(2, 16)
    assert np.array_equal(b, a.reshape(-1))
    assert np.array_equal(c, odd)
    assert np.array_equal(d, odd[1, 2:14])
    assert np.array_equal(e, np.ascontiguousarray(odd[1, 2:14]).view(np.int16))
    assert np.array_equal(f, a.view(np.uint8))
    expected = np.zeros((3, 8, 16), np.float32)
    expected[2] = a
    expected[2, 2:6, 4:12] = 9
    assert np.array_equal(g, expected)
