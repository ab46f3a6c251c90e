"""The passes up to tile-optimize-conversions do not change what a kernel computes: run on the CPU after each stage.

Inputs are small integers, so that every order of summation gives the same result and comparisons are exact.
"""
# ruff: noqa: E501  (lines of IR text)

from collections.abc import Sequence

import numpy as np
import pytest
from harness import Kernel, check_guards, guarded

PASSES = [
    "tile-canonicalize-kernel",
    "tile-map-blocks",
    "tile-raise-loops",
    "tile-analyze-bounds",
    "tile-verify-uniformity",
    "tile-select-instructions",
    "tile-assign-layouts",
    "tile-optimize-conversions",
]
# Stages at which the IR differs in kind: as written, in normal form, with layouts, with conversions in their form.
STAGES = [0, 5, 7, 8]


def program(arguments: str, body: str, threads: int, grid: tuple[int, int] = (1, 1), attributes: str = "") -> str:
    return f"""
module attributes {{tile.target = #tile.target<"sm_80">}} {{
func.func @program({arguments}) {{
  %gx = arith.constant {grid[0]} : i32
  %gy = arith.constant {grid[1]} : i32
  tile.kernel "kernel" grid(%gx, %gy) threads({threads}) {attributes} {{
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
{body}
  }}
  return
}}
}}
"""


def fragment(shape: str, dtype: str = "f32") -> str:
    return f"!tile.buffer<{shape}x{dtype}, fragment>"


def shared(shape: str, dtype: str = "f32") -> str:
    return f"!tile.buffer<{shape}x{dtype}, shared>"


def integers(rng: np.random.Generator, *shape: int, dtype: type = np.float32) -> np.ndarray:
    return rng.integers(-4, 5, shape).astype(dtype)


def check(text: str, inputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    """Runs the program after each stage on inputs and fresh outputs, which come last."""
    for stage in STAGES:
        outputs = [guarded(value.shape, value.dtype, 0xFF) for value in expected]
        Kernel(text, PASSES[:stage])(*inputs, *outputs)
        for output, value in zip(outputs, expected, strict=True):
            check_guards(output)
            np.testing.assert_array_equal(output, value, err_msg=f"after {PASSES[:stage][-1:]}")


@pytest.mark.parametrize("threads", [100, 256])
@pytest.mark.parametrize(("rows", "columns"), [(24, 40), (7, 13), (100, 127), (1, 257)])
def test_vectors_beside_tiles_and_reductions(rows: int, columns: int, threads: int) -> None:
    x, c, r = fragment(f"{rows}x{columns}"), fragment(str(columns)), fragment(str(rows))
    body = f"""
    %one = arith.constant 1.0 : f32
    %x = tile.alloc "x" : {x}
    %c = tile.alloc "c" : {c}
    %r = tile.alloc "r" : {r}
    %q = tile.alloc "q" : {c}
    %t = tile.alloc "t" : {fragment(f"{columns}x{rows}")}
    tile.copy %X[%c0, %c0] [{rows}, {columns}] to %x[%c0, %c0] [{rows}, {columns}] : memref<{rows}x{columns}xf32> to {x}
    tile.copy %C[%c0] [{columns}] to %c[%c0] [{columns}] : memref<{columns}xf32> to {c}
    tile.parallel [{rows}, {columns}] {{
    ^bb0(%i: i32, %j: i32):
      %a = tile.load %x[%i, %j] : {x} -> f32
      %b = tile.load %c[%j] : {c} -> f32
      %d = arith.mulf %a, %b : f32
      tile.store %d, %x[%i, %j] : f32, {x}
    }}
    tile.fill %r, %one : {r}, f32
    tile.reduce sum %x, %r {{dim = 1 : i64}} : {x}, {r}
    tile.reduce max %x, %q {{dim = 0 : i64, clear}} : {x}, {c}
    tile.parallel [{rows}, {columns}] {{
    ^bb0(%i: i32, %j: i32):
      %a = tile.load %r[%i] : {r} -> f32
      %b = tile.load %q[%j] : {c} -> f32
      %d = arith.addf %a, %b : f32
      tile.store %d, %t[%j, %i] : f32, {fragment(f"{columns}x{rows}")}
    }}
    tile.copy %t[%c0, %c0] [{columns}, {rows}] to %T[%c0, %c0] [{columns}, {rows}] : {fragment(f"{columns}x{rows}")} to memref<{columns}x{rows}xf32>
"""
    rng = np.random.default_rng()
    tile, vector = integers(rng, rows, columns), integers(rng, columns)
    product = tile * vector
    expected = (1 + product.sum(1))[None, :] + product.max(0)[:, None]
    arguments = f"%X: memref<{rows}x{columns}xf32>, %C: memref<{columns}xf32>, %T: memref<{columns}x{rows}xf32>"
    check(program(arguments, body, threads), [tile, vector], [expected.astype(np.float32)])


@pytest.mark.parametrize("threads", [64, 100])
def test_extents_shifts_gathers_and_scalar_reads(threads: int) -> None:
    """A short loop, a longer one, reads at i // 2 and (i + 1) % n, a shifted write, one element by scalar code."""
    x = fragment("256")
    body = f"""
    %x = tile.alloc "x" : {x}
    %n = arith.constant 256 : i32
    %c16 = arith.constant 16 : i32
    tile.parallel [256] {{
    ^bb0(%i: i32):
      %a = tile.load %V[%i] : memref<256xf32> -> f32
      tile.store %a, %x[%i] : f32, {x}
    }}
    tile.parallel [100] {{
    ^bb0(%i: i32):
      %a = tile.load %x[%i] : {x} -> f32
      %b = arith.addf %a, %a : f32
      tile.store %b, %x[%i] : f32, {x}
    }}
    tile.parallel [256] {{
    ^bb0(%i: i32):
      %p = arith.addi %i, %c1 : i32
      %m = arith.remsi %p, %n : i32
      %h = arith.divsi %i, %c2 : i32
      %a = tile.load %x[%m] : {x} -> f32
      %b = tile.load %x[%h] : {x} -> f32
      %d = arith.subf %a, %b : f32
      tile.store %d, %W[%i] : f32, memref<256xf32>
    }}
    tile.parallel [128] {{
    ^bb0(%i: i32):
      %p = arith.addi %i, %c16 : i32
      %a = tile.load %V[%i] : memref<256xf32> -> f32
      tile.store %a, %x[%p] : f32, {x}
    }}
    %element = tile.load %x[%c16] : {x} -> f32
    tile.parallel [256] {{
    ^bb0(%i: i32):
      %a = tile.load %x[%i] : {x} -> f32
      %b = arith.addf %a, %element : f32
      tile.store %b, %U[%i] : f32, memref<256xf32>
    }}
"""
    v = integers(np.random.default_rng(), 256)
    x_value = v.copy()
    x_value[:100] *= 2
    i = np.arange(256)
    w = x_value[(i + 1) % 256] - x_value[i // 2]
    x_value[16:144] = v[:128]
    arguments = "%V: memref<256xf32>, %W: memref<256xf32>, %U: memref<256xf32>"
    check(program(arguments, body, threads), [v], [w, x_value + x_value[16]])


@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 48, 32), (24, 40, 20)])
@pytest.mark.parametrize("space", ["shared", "fragment"])
def test_gemm_operands(m: int, n: int, k: int, space: str, transpose_a: bool, transpose_b: bool) -> None:
    """Operand A in shared memory or registers, accumulators in both, sizes with and without a matrix instruction."""
    a_shape = f"{k}x{m}" if transpose_a else f"{m}x{k}"
    b_shape = f"{n}x{k}" if transpose_b else f"{k}x{n}"
    a, b = f"!tile.buffer<{a_shape}xf16, {space}>", shared(b_shape, "f16")
    c, s = fragment(f"{m}x{n}"), shared(f"{m}x{n}")
    a_box, b_box = a_shape.replace("x", ", "), b_shape.replace("x", ", ")
    flags = ", ".join(["transpose_a"] * transpose_a + ["transpose_b"] * transpose_b)
    body = f"""
    %a = tile.alloc "a" : {a}
    %b = tile.alloc "b" : {b}
    %c = tile.alloc "c" : {c}
    %s = tile.alloc "s" : {s}
    tile.copy %A[%c0, %c0] [{a_box}] to %a[%c0, %c0] [{a_box}] : memref<{a_shape}xf16> to {a}
    tile.copy %B[%c0, %c0] [{b_box}] to %b[%c0, %c0] [{b_box}] : memref<{b_shape}xf16> to {b}
    tile.copy %C[%c0, %c0] [{m}, {n}] to %s[%c0, %c0] [{m}, {n}] : memref<{m}x{n}xf32> to {s}
    tile.gemm %a, %b, %c {{{flags + ", " if flags else ""}clear_accum}} : {a}, {b}, {c}
    tile.gemm %a, %b, %s {{{flags}}} : {a}, {b}, {s}
    tile.parallel [{m}, {n}] {{
    ^bb0(%i: i32, %j: i32):
      %u = tile.load %c[%i, %j] : {c} -> f32
      %v = tile.load %s[%i, %j] : {s} -> f32
      %w = arith.addf %u, %v : f32
      tile.store %w, %D[%i, %j] : f32, memref<{m}x{n}xf32>
    }}
"""
    rng = np.random.default_rng()
    a_value = integers(rng, *map(int, a_shape.split("x")), dtype=np.float16)
    b_value = integers(rng, *map(int, b_shape.split("x")), dtype=np.float16)
    c_value = integers(rng, m, n)
    left = (a_value.T if transpose_a else a_value).astype(np.float32)
    right = (b_value.T if transpose_b else b_value).astype(np.float32)
    arguments = (
        f"%A: memref<{a_shape}xf16>, %B: memref<{b_shape}xf16>, %C: memref<{m}x{n}xf32>, %D: memref<{m}x{n}xf32>"
    )
    check(program(arguments, body, 128), [a_value, b_value, c_value], [2 * (left @ right) + c_value])


@pytest.mark.parametrize("threads", [96, 128])
def test_chained_gemms_with_conversions(threads: int) -> None:
    """S = Q K^T is cast, used transposed and as operand B, and kept: three conversions in a loop that runs thrice."""
    m, n, k = 64, 48, 32
    q, key = shared(f"{m}x{k}", "f16"), shared(f"{n}x{k}", "f16")
    s, p = fragment(f"{m}x{n}"), fragment(f"{m}x{n}", "f16")
    dv, e = fragment(f"{n}x{k}"), fragment(f"{k}x{n}")
    body = f"""
    %q = tile.alloc "q" : {q}
    %k = tile.alloc "k" : {key}
    %s = tile.alloc "s" : {s}
    %p = tile.alloc "p" : {p}
    %dv = tile.alloc "dv" : {dv}
    %e = tile.alloc "e" : {e}
    %zero = arith.constant 0.0 : f32
    %c3 = arith.constant 3 : i32
    tile.fill %dv, %zero : {dv}, f32
    tile.copy %Q[%c0, %c0] [{m}, {k}] to %q[%c0, %c0] [{m}, {k}] : memref<{m}x{k}xf16> to {q}
    tile.copy %K[%c0, %c0] [{n}, {k}] to %k[%c0, %c0] [{n}, {k}] : memref<{n}x{k}xf16> to {key}
    tile.pipelined %c0 to %c3 stages(0) {{
    ^bb0(%it: i32):
      tile.gemm %q, %k, %s {{transpose_b, clear_accum}} : {q}, {key}, {s}
      tile.copy %s[%c0, %c0] [{m}, {n}] to %p[%c0, %c0] [{m}, {n}] : {s} to {p}
      tile.gemm %p, %q, %dv {{transpose_a}} : {p}, {q}, {dv}
      tile.gemm %q, %p, %e {{transpose_a, clear_accum}} : {q}, {p}, {e}
      tile.parallel [{n}, {k}] {{
      ^bb0(%i: i32, %j: i32):
        %u = tile.load %dv[%i, %j] : {dv} -> f32
        %v = tile.load %e[%j, %i] : {e} -> f32
        %w = arith.subf %u, %v : f32
        tile.store %w, %dv[%i, %j] : f32, {dv}
      }}
    }}
    tile.copy %p[%c0, %c0] [{m}, {n}] to %P[%c0, %c0] [{m}, {n}] : {p} to memref<{m}x{n}xf16>
    tile.copy %e[%c0, %c0] [{k}, {n}] to %E[%c0, %c0] [{k}, {n}] : {e} to memref<{k}x{n}xf32>
    tile.copy %dv[%c0, %c0] [{n}, {k}] to %D[%c0, %c0] [{n}, {k}] : {dv} to memref<{n}x{k}xf32>
"""
    rng = np.random.default_rng()
    q_value, k_value = integers(rng, m, k, dtype=np.float16), integers(rng, n, k, dtype=np.float16)
    scores = q_value.astype(np.float32) @ k_value.astype(np.float32).T
    e_value = q_value.astype(np.float32).T @ scores
    arguments = f"%Q: memref<{m}x{k}xf16>, %K: memref<{n}x{k}xf16>, %P: memref<{m}x{n}xf16>, %E: memref<{k}x{n}xf32>, %D: memref<{n}x{k}xf32>"
    check(
        program(arguments, body, threads),
        [q_value, k_value],
        [scores.astype(np.float16), e_value, np.zeros((n, k), np.float32)],
    )


@pytest.mark.parametrize("threads", [64, 96])
def test_reductions_in_shared_memory_and_parts_of_fragments(threads: int) -> None:
    """Sums from shared to shared add to the old contents; parts of a fragment are filled and exchanged."""
    x, y, half = shared("32x96"), fragment("2x32x96"), fragment("32x96")
    body = f"""
    %x = tile.alloc "x" : {x}
    %r = tile.alloc "r" : {shared("32")}
    %y = tile.alloc "y" : {y}
    %z = tile.alloc "z" : {fragment("16x96")}
    %thousand = arith.constant 1000.0 : f32
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    tile.fill %r, %thousand : {shared("32")}, f32
    scf.for %it = %c0 to %c3 step %c1 : i32 {{
      tile.copy %A[%it, %c0, %c0] [1, 32, 96] to %x[%c0, %c0] [32, 96] : memref<3x32x96xf32> to {x}
      tile.reduce sum %x, %r {{dim = 1 : i64}} : {x}, {shared("32")}
    }}
    tile.copy %r[%c0] [32] to %R[%c0] [32] : {shared("32")} to memref<32xf32>
    %first = tile.subview %y[%c0, %c0, %c0] [1, 32, 96] : {y} to {half}
    %second = tile.subview %y[%c1, %c0, %c0] [1, 32, 96] : {y} to {half}
    tile.copy %A[%c0, %c0, %c0] [1, 32, 96] to %first[%c0, %c0] [32, 96] : memref<3x32x96xf32> to {half}
    tile.copy %A[%c1, %c0, %c0] [1, 32, 96] to %second[%c0, %c0] [32, 96] : memref<3x32x96xf32> to {half}
    tile.copy %second[%c8, %c0] [16, 96] to %z[%c0, %c0] [16, 96] : {half} to {fragment("16x96")}
    tile.copy %z[%c0, %c0] [16, 96] to %first[%c16, %c0] [16, 96] : {fragment("16x96")} to {half}
    tile.copy %y[%c0, %c0, %c0] [2, 32, 96] to %Y[%c0, %c0, %c0] [2, 32, 96] : {y} to memref<2x32x96xf32>
"""
    a = integers(np.random.default_rng(), 3, 32, 96)
    parts = a[:2].copy()
    parts[0, 16:] = a[1, 8:24]
    arguments = "%A: memref<3x32x96xf32>, %R: memref<32xf32>, %Y: memref<2x32x96xf32>"
    check(program(arguments, body, threads), [a], [(1000 + a.sum((0, 2))).astype(np.float32), parts])


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize(("panel", "grid"), [(1, (5, 7)), (3, (5, 7)), (4, (8, 4)), (10, (3, 2))])
def test_every_block_runs_once_in_raster_order(order: str, panel: int, grid: tuple[int, int]) -> None:
    columns, rows = grid
    body = f"""
    %c10 = arith.constant 10 : i32
    %tens = arith.muli %by, %c10 : i32
    %value = arith.addi %tens, %bx : i32
    tile.store %value, %O[%by, %bx] : i32, memref<{rows}x{columns}xi32>
    tile.atomic add %c1, %N[%by, %bx] : i32, memref<{rows}x{columns}xi32>
"""
    text = program(
        f"%N: memref<{rows}x{columns}xi32>, %O: memref<{rows}x{columns}xi32>",
        body,
        1,
        grid,
        f"attributes {{raster = #tile.raster<{panel}, {order}>}}",
    )
    for stage in (2, 5):
        runs = np.zeros((rows, columns), np.int32)
        out = guarded((rows, columns), np.int32, 0xFF)
        Kernel(text, PASSES[:stage])(runs, out)
        check_guards(out)
        np.testing.assert_array_equal(runs, 1)
        np.testing.assert_array_equal(out, 10 * np.arange(rows)[:, None] + np.arange(columns))
