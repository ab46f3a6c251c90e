"""The same kernels after each pass of the tile pipeline give the same numbers on the CPU."""
# ruff: noqa: E501  (lines of IR text)

import numpy as np
import pytest
from harness import Kernel, check_guards, guarded
from programs import elementwise, gemm, kernel
from tilemlir._mlir import ir, passmanager

PIPELINE = [
    "tile-canonicalize-kernel",
    "tile-map-blocks",
    "tile-raise-loops",
    "tile-analyze-bounds",
    "tile-verify-uniformity",
    "tile-select-instructions",
    "tile-assign-layouts",
    "tile-optimize-conversions",
    "tile-plan-pipeline",
    "tile-multibuffer",
]


def first_passes(count):
    """The first passes of the pipeline; skips the test when this build lacks the last of them."""
    passes = PIPELINE[:count]
    with ir.Context():
        for name in passes:
            try:
                passmanager.PassManager.parse(f"builtin.module({name})")
            except ValueError:
                pytest.skip(f"{name} is not registered")
    return passes


def with_target(text):
    """The module for sm_80, as the passes of the GPU see it."""
    return f'module attributes {{tile.target = #tile.target<"sm_80">}} {{\n{text}\n}}'


@pytest.mark.parametrize("count", range(len(PIPELINE) + 1))
@pytest.mark.parametrize("stages", [0, 1, 3])
def test_gemm_after_each_pass(count, stages):
    passes = first_passes(count)
    program = Kernel(with_target(gemm("?", 96, 72, blocks=(64, 64, 32), stages=stages)), passes=passes)
    rng = np.random.default_rng()
    for m in (1, 64, 100):
        a, b = rng.integers(-4, 5, (m, 72)).astype(np.float16), rng.integers(-4, 5, (72, 96)).astype(np.float16)
        c = guarded((m, 96), np.float16, 0xFF)
        program(a, b, c)
        check_guards(c)
        assert np.array_equal(c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("count", range(len(PIPELINE) + 1))
def test_reduction_and_elementwise_after_each_pass(count):
    passes = first_passes(count)
    body = """
    %c32 = arith.constant 32 : i32
    %y = arith.muli %bx, %c32 : i32
    %s = tile.alloc "s" : !tile.buffer<32x48xf32, shared>
    %f = tile.alloc "f" : !tile.buffer<32x48xf32, fragment>
    %r = tile.alloc "r" : !tile.buffer<32xf32, fragment>
    tile.copy %A[%y, %z] [32, 48] to %s[%z, %z] [32, 48] : memref<100x40xf32> to !tile.buffer<32x48xf32, shared>
    tile.copy %s[%z, %z] [32, 48] to %f[%z, %z] [32, 48] : !tile.buffer<32x48xf32, shared> to !tile.buffer<32x48xf32, fragment>
    tile.reduce max %f, %r {dim = 1 : i64, clear} : !tile.buffer<32x48xf32, fragment>, !tile.buffer<32xf32, fragment>
    tile.parallel [32, 48] {
    ^bb1(%i: i32, %j: i32):
      %x = tile.load %f[%i, %j] : !tile.buffer<32x48xf32, fragment> -> f32
      %m = tile.load %r[%i] : !tile.buffer<32xf32, fragment> -> f32
      %d = arith.subf %x, %m : f32
      tile.store %d, %f[%i, %j] : f32, !tile.buffer<32x48xf32, fragment>
    }
    tile.copy %f[%z, %z] [32, 48] to %B[%y, %z] [32, 48] : !tile.buffer<32x48xf32, fragment> to memref<100x40xf32>
"""
    text = with_target(kernel("%A: memref<100x40xf32>, %B: memref<100x40xf32>", body, "4"))
    a = np.random.default_rng().integers(-50, 50, (100, 40)).astype(np.float32)
    b = guarded((100, 40), np.float32, 0xFF)
    Kernel(text, passes=passes)(a, b)
    check_guards(b)
    assert np.array_equal(b, a - np.maximum(a.max(1, keepdims=True), 0))

    program = Kernel(with_target(elementwise("%r = arith.addf %x0, %x1 : f32", ["f32", "f32"], "f32")), passes=passes)
    x, y = (np.random.default_rng().integers(-99, 99, 1000).astype(np.float32) for _ in range(2))
    out = guarded((1000,), np.float32, 0xFF)
    program(x, y, out)
    check_guards(out)
    assert np.array_equal(out, x + y)
