"""Control flow, atomics, parallel loops, dynamic sizes, workspaces and several launches on the CPU."""
# ruff: noqa: E501  (lines of IR text)

import numpy as np
import pytest
from harness import Kernel, check_guards, decode_as, encode_as, guarded
from programs import elementwise, kernel


@pytest.mark.parametrize("count", [0, 1, 255, 256, 1000, 100003])
def test_elementwise_tails(count):
    program = Kernel(elementwise("%r = arith.mulf %x0, %x1 : f32", ["f32", "f32"], "f32"))
    rng = np.random.default_rng()
    x, y = rng.standard_normal(count).astype(np.float32), rng.standard_normal(count).astype(np.float32)
    out = guarded((count,), np.float32, 0xFF)
    program(x, y, out, workers=2)
    check_guards(out)
    assert np.array_equal(out, x * y)


def test_parallel_with_shifts_gathers_and_safe_values():
    """Reads left and right of a tensor, a gather by an index tensor, and division and remainder of indices."""
    body = """
    %one = arith.constant 1 : i32
    %seven = arith.constant 7 : i32
    %n = arith.constant 90 : i32
    tile.parallel [128] {
    ^bb1(%i: i32):
      %left = arith.subi %i, %one : i32
      %right = arith.addi %i, %one : i32
      %a = tile.load %A[%left] {safe = 3.0 : f32} : memref<90xf32> -> f32
      %b = tile.load %A[%right] : memref<90xf32> -> f32
      %at = tile.load %I[%i] : memref<128xi32> -> i32
      %c = tile.load %A[%at] {safe = -1.0 : f32} : memref<90xf32> -> f32
      %q = arith.floordivsi %i, %seven : i32
      %m = arith.remsi %i, %seven : i32
      %d = tile.load %D[%q, %m] : memref<19x7xf32> -> f32
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %abcd = arith.addf %abc, %d : f32
      tile.store %abcd, %B[%i] : f32, memref<100xf32>
    }
"""
    rng = np.random.default_rng()
    a = rng.integers(-9, 9, 90).astype(np.float32)
    index = rng.integers(-20, 120, 128, dtype=np.int32)
    d = rng.integers(-9, 9, (19, 7)).astype(np.float32)
    b = guarded((100,), np.float32, 0xFF)
    Kernel(kernel("%A: memref<90xf32>, %I: memref<128xi32>, %D: memref<19x7xf32>, %B: memref<100xf32>", body))(
        a, index, d, b
    )
    check_guards(b)

    def read(at, safe):
        return np.where((at >= 0) & (at < 90), a[np.clip(at, 0, 89)], safe)

    i = np.arange(128)
    expected = read(i - 1, 3) + read(i + 1, 0) + read(index, -1) + d[i // 7, i % 7]
    assert np.array_equal(b, expected[:100].astype(np.float32))


def test_dynamic_extents_and_branches_in_parallel():
    body = """
    %n = tile.load %N[%z] : memref<1xi32> -> i32
    tile.parallel [%n, 5] {
    ^bb1(%i: i32, %j: i32):
      %even = arith.andi %i, %one : i32
      %is_even = arith.cmpi eq, %even, %z : i32
      %v = scf.if %is_even -> (f32) {
        %x = tile.load %A[%i, %j] : memref<40x5xf32> -> f32
        scf.yield %x : f32
      } else {
        %c = arith.constant 2.5 : f32
        scf.yield %c : f32
      }
      tile.store %v, %B[%i, %j] : f32, memref<40x5xf32>
    }
"""
    body = "    %one = arith.constant 1 : i32\n" + body
    program = Kernel(kernel("%N: memref<1xi32>, %A: memref<40x5xf32>, %B: memref<40x5xf32>", body))
    a = np.random.default_rng().standard_normal((40, 5)).astype(np.float32)
    for n in (0, -3, 1, 17, 40, 64):
        b = guarded((40, 5), np.float32, 0)
        program(np.array([n], np.int32), a, b)
        check_guards(b)
        expected = np.where(np.arange(40)[:, None] % 2 == 0, a, 2.5).astype(np.float32)
        expected[max(n, 0) :] = 0
        assert np.array_equal(b, expected)


def test_while_if_and_break():
    """Collatz lengths: a while loop on a variable, with a nested conditional and an early exit."""
    body = """
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %limit = arith.constant 50 : i32
    tile.parallel [200] {
    ^bb1(%i: i32):
      %start = arith.addi %i, %one : i32
      %r:2 = scf.while (%x = %start, %n = %z) : (i32, i32) -> (i32, i32) {
        %not_one = arith.cmpi ne, %x, %one : i32
        %below = arith.cmpi slt, %n, %limit : i32
        %go = arith.andi %not_one, %below : i1
        scf.condition(%go) %x, %n : i32, i32
      } do {
      ^bb2(%x: i32, %n: i32):
        %bit = arith.andi %x, %one : i32
        %odd = arith.cmpi ne, %bit, %z : i32
        %y = scf.if %odd -> (i32) {
          %t = arith.muli %x, %three : i32
          %u = arith.addi %t, %one : i32
          scf.yield %u : i32
        } else {
          %h = arith.divsi %x, %two : i32
          scf.yield %h : i32
        }
        %m = arith.addi %n, %one : i32
        scf.yield %y, %m : i32, i32
      }
      tile.store %r#1, %B[%i] : i32, memref<200xi32>
    }
"""
    b = guarded((200,), np.int32, 0xFF)
    Kernel(kernel("%B: memref<200xi32>", body))(b)

    def length(x):
        n = 0
        while x != 1 and n < 50:
            x, n = (3 * x + 1 if x % 2 else x // 2), n + 1
        return n

    assert b.tolist() == [length(i + 1) for i in range(200)]


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i32", "i64", "ui8"])
def test_atomic_add_from_many_blocks(dtype):
    """Forty blocks on two threads add small integers to the same elements; the ragged end is dropped."""
    signless = dtype.removeprefix("u")
    value = "arith.uitofp" if "f" in dtype else "arith.trunci"
    cast = {"i32": "%v = arith.addi %w, %z : i32", "i64": "%v = arith.extui %w : i32 to i64"}.get(
        dtype, f"%v = {value} %w : i32 to {signless}"
    )
    body = f"""
    %three = arith.constant 3 : i32
    tile.parallel [128] {{
    ^bb1(%i: i32):
      %w = arith.andi %i, %three : i32
      {cast}
      tile.atomic add %v, %B[%i] : {signless}, memref<100x{dtype}>
    }}
"""
    names = {
        "f32": np.float32,
        "f64": np.float64,
        "f16": np.float16,
        "bf16": np.uint16,
        "i32": np.int32,
        "i64": np.int64,
        "ui8": np.uint8,
    }
    b = guarded((100,), names[dtype], 0)
    Kernel(kernel(f"%B: memref<100x{dtype}>", body, "40"))(b, workers=2)
    check_guards(b)
    actual = decode_as(b, "bf16") if dtype == "bf16" else b
    assert np.array_equal(actual, (np.arange(100) % 4 * 40).astype(actual.dtype))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32", "ui32"])
@pytest.mark.parametrize("kind", ["max", "min", "exchange"])
def test_atomic_kinds(dtype, kind):
    signless = dtype.removeprefix("u")
    flags = "{is_unsigned}" if dtype.startswith("u") else ""
    body = f"""
    tile.parallel [500] {{
    ^bb1(%i: i32):
      %v = tile.load %A[%i] : memref<500x{dtype}> -> {signless}
      %old = tile.atomic {kind} %v, %B[%z] {flags} : {signless}, memref<1x{dtype}> -> {signless}
      tile.store %old, %C[%i] : {signless}, memref<500x{dtype}>
    }}
"""
    rng = np.random.default_rng()
    if dtype == "f32":
        a = rng.standard_normal(500).astype(np.float32)
    elif dtype == "bf16":
        a = encode_as(rng.standard_normal(500), "bf16")
    else:
        a = rng.integers(0, 2**32, 500, dtype=np.uint32).view(np.int32 if dtype == "i32" else np.uint32)
    b, c = guarded((1,), a.dtype, 0), guarded((500,), a.dtype, 0xFF)
    Kernel(kernel(f"%A: memref<500x{dtype}>, %B: memref<1x{dtype}>, %C: memref<500x{dtype}>", body))(a, b, c)
    values = decode_as(a, "bf16") if dtype == "bf16" else a
    final = (decode_as(b, "bf16") if dtype == "bf16" else b)[0]
    if kind == "exchange":
        assert sorted([*c.tolist(), b[0]]) == sorted([*a.tolist(), 0])
    else:
        assert final == (max(values.max(), 0) if kind == "max" else min(values.min(), 0))


@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_atomic_bits_and_shared_memory(kind):
    body = f"""
    %s = tile.alloc : !tile.buffer<4xi32, shared>
    %three = arith.constant 3 : i32
    %start = arith.constant 12345 : i32
    tile.fill %s, %start : !tile.buffer<4xi32, shared>, i32
    tile.parallel [64] {{
    ^bb1(%i: i32):
      %v = tile.load %A[%i] : memref<64xi32> -> i32
      %at = arith.andi %i, %three : i32
      tile.atomic {kind} %v, %s[%at] : i32, !tile.buffer<4xi32, shared>
      tile.atomic {kind} %v, %B[%at] : i32, memref<4xi32>
    }}
    tile.copy %s[%z] [4] to %C[%z] [4] : !tile.buffer<4xi32, shared> to memref<4xi32>
"""
    a = np.random.default_rng().integers(-(2**31), 2**31, 64, dtype=np.int32)
    b, c = guarded((4,), np.int32), guarded((4,), np.int32)
    b[:] = 12345
    Kernel(kernel("%A: memref<64xi32>, %B: memref<4xi32>, %C: memref<4xi32>", body))(a, b, c)
    function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind]
    expected = function(function.reduce(a.reshape(16, 4), 0), 12345)
    assert np.array_equal(b, expected) and np.array_equal(c, expected)


def test_workspace_and_two_launches():
    """Row sums through a workspace of dynamic size, then a second kernel; a zeroed workspace is zero at every call."""
    text = """
func.func @two(%A: memref<?x16xf32>, %B: memref<?xf32>, %scale: f32, %flag: i1) {
  %c0 = arith.constant 0 : index
  %d = memref.dim %A, %c0 : memref<?x16xf32>
  %m = arith.index_cast %d : index to i32
  %w = tile.workspace(%m) {zero} : memref<?xf32>
  %twice = arith.addf %scale, %scale : f32
  tile.kernel "sums" grid(%m) threads(32) {
  ^bb0(%bx: i32):
    tile.parallel [16] {
    ^bb1(%i: i32):
      %v = tile.load %A[%bx, %i] : memref<?x16xf32> -> f32
      tile.atomic add %v, %w[%bx] : f32, memref<?xf32>
    }
  }
  tile.kernel "scaled" grid(%m) threads(32) {
  ^bb0(%bx: i32):
    %v = tile.load %w[%bx] : memref<?xf32> -> f32
    %s = arith.mulf %v, %twice : f32
    %r = arith.select %flag, %s, %v : f32
    tile.store %r, %B[%bx] : f32, memref<?xf32>
  }
  return
}
"""
    program = Kernel(text)
    for m, flag in [(1, True), (37, False), (0, True), (100, True)]:
        a = np.random.default_rng().integers(-9, 9, (m, 16)).astype(np.float32)
        b = guarded((m,), np.float32, 0xFF)
        program(a, b, 1.5, flag)
        check_guards(b)
        assert np.array_equal(b, a.sum(1) * (3 if flag else 1))


def test_more_than_two_to_the_31_elements():
    """Linear offsets are 64 bits wide."""
    rows, columns = 2**16 + 3, 2**15
    text = kernel(
        f"%A: memref<{rows}x{columns}xi8>",
        f"""
    %last = arith.constant {columns - 64} : i32
    %v = arith.constant 7 : i8
    %s = tile.alloc : !tile.buffer<1x64xi8, shared>
    tile.fill %s, %v : !tile.buffer<1x64xi8, shared>, i8
    tile.copy %s[%z, %z] [1, 64] to %A[%bx, %last] [1, 64] : !tile.buffer<1x64xi8, shared> to memref<{rows}x{columns}xi8>
    tile.parallel [8] {{
    ^bb1(%i: i32):
      tile.store %v, %A[%bx, %i] : i8, memref<{rows}x{columns}xi8>
    }}
""",
        str(rows),
    )
    a = np.zeros((rows, columns), np.int8)
    Kernel(text)(a, workers=2)
    for row in (0, 1, 2**16 - 1, 2**16, 2**16 + 1, rows - 1):
        assert (a[row, :8] == 7).all() and (a[row, -64:] == 7).all() and not a[row, 8:-64].any()
    assert (a[:, :8] == 7).all() and (a[:, -64:] == 7).all()
