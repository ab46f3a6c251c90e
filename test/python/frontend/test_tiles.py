"""Tile operations: gemm, reductions, fills, atomics, printing, promises."""

from __future__ import annotations

import pytest
import tilemlir.language as T
from frontend_support import error_of, lines_of, operations, text_of
from tilemlir.frontend import FrontendWarning, trace


def test_gemm_flags():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((1, 32, 64), "uint8")
            b = T.alloc_shared((48, 32), "int8")
            c = T.alloc_fragment((64, 48), "int32")
            T.gemm(
                a, b, c, transpose_A=True, transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=True, k_pack=1
            )
            f = T.alloc_fragment((16, 8), "float32")
            g = T.alloc_shared((8, 8), "float32")
            T.gemm(f, g, f, precision="ieee", policy=T.GemmWarpPolicy.FullCol)

    first, second = lines_of(kernel, "tile.gemm")
    for part in ("transpose_a", "transpose_b", "clear_accum", "a_unsigned", "policy = full_row"):
        assert part in first.replace("#tile<warp_policy full_row>", "full_row"), first
    assert "b_unsigned" not in first
    assert "ieee" in second and "full_col" in second


def test_gemm_of_slices():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            ring = T.alloc_shared((2, 64, 64), "float16")
            c = T.alloc_fragment((64, 32), "float32")
            T.gemm(ring[0, :, :], ring[1, :, 0:32], c)

    assert operations(trace(kernel)).count("tile.subview") == 2


@pytest.mark.parametrize("kind", ["sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor"])
def test_reductions(kind):
    dtype = "int32" if kind.startswith("bit") else "float32"

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype)):
        with T.Kernel(1) as bx:
            s = T.alloc_fragment((8, 16), dtype)
            r = T.alloc_fragment((8,), dtype)
            k = T.alloc_shared((1, 16), dtype)
            getattr(T, f"reduce_{kind}")(s, r)
            getattr(T, f"reduce_{kind}")(s, k, dim=0, clear=False)
            T.reduce(s, r, kind, dim=1, clear=True)

    first, second, third = lines_of(kernel, "tile.reduce")
    assert kind in first and "dim = 1" in first and "clear" in first
    assert "dim = 0" in second and "clear" not in second
    assert first == third


def test_reduction_of_a_vector():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            s = T.alloc_fragment((16,), "float32")
            r = T.alloc_fragment((1,), "float32")
            T.reduce_max(s, r, dim=0, nan_propagate=True)

    assert "nan_propagate" in lines_of(kernel, "tile.reduce")[0]


def test_fills():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((64, 32), "float16"), B: T.Tensor((M,), "int32")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((64, 32), "float16")
            v = T.alloc_var("int32")
            T.fill(s, 1)
            T.clear(s[0:8, :])
            T.clear(v)
            T.fill(A, 2.5)
            T.fill(A[8:16, 0:32], -T.infinity("float16"))
            T.clear(B)

    names = operations(trace(kernel))
    assert names.count("tile.fill") == 2 and names.count("tile.parallel") == 3
    text = text_of(kernel)
    assert "tile.parallel [64, 32]" in text and "tile.parallel [8, 32]" in text
    assert "arith.constant 1.000000e+00 : f16" in text


def test_scalar_atomics():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "uint32")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((8,), "int32")
            for i in T.Parallel(64):
                T.atomic_add(A[i], 42)
                old = T.atomic_add(A[i // 2], 1.5, return_prev=True)
                A[i] = old
                T.atomic_max(B[i], 3, memory_order="release")
                T.atomic_or(s[i % 8], 1)
            T.atomic_store(B[0], T.atomic_load(B[1]))
            T.atomic_addx2(A[4], A[8])
            T.atomic_addx4(A[4], A[8])

    lines = lines_of(kernel, "tile.atomic")
    assert len(lines) == 4 + 2 + 2 + 4
    assert "tile.atomic  add" in lines[0] or "tile.atomic add" in lines[0]
    assert "-> f32" in lines[1]
    assert "is_unsigned" in lines[2] and "release" in lines[2]
    assert "exchange" in lines[5] and "or" in lines[4]


def test_tile_atomics():
    @T.prim_func
    def kernel(C: T.Tensor((4, 128, 128), "float16"), D: T.Tensor((64,), "float32")):
        with T.Kernel(2, 2) as (bx, by):
            acc = T.alloc_fragment((64, 64), "float32")
            row = T.alloc_fragment((64,), "float32")
            T.atomic_add(C[by, bx * 64, 0], acc)
            T.atomic_add(D, row)
            T.atomic_max(C[0, 0:64, 64:128], acc)
            T.atomic_add(D[0:8], 1.0)

    names = operations(trace(kernel))
    assert names.count("tile.parallel") == 4 and names.count("tile.atomic") == 4
    text = text_of(kernel)
    assert "arith.truncf" in text  # float32 tile into a float16 tensor is converted, not reinterpreted


def test_printing_and_assertions():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "uint8"), n: T.int32):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((8,), "int32")
            T.print("hello")
            T.print(s)
            T.print(n + 1)
            T.print(A[bx], msg="first: ")
            T.device_assert(n > 3, "n must be large")
            T.device_assert(n > 4)
            T.device_assert(True)
            T.assume(n % 8 == 0)
            T.sync_threads()
            T.sync_threads(1, 64)

    text = text_of(kernel)
    for part in (
        'tile.print "hello"', 'tile.print "s = " buffer %s', 'tile.print "n + 1 = "', 'tile.print "first: "',
        'tile.assert %', '"n must be large"', "T.device_assert(n > 4)", "tile.assume", "tile.sync_threads {",
    ):  # fmt: skip
        assert part in text, part
    assert operations(trace(kernel)).count("tile.assert") == 2


def test_layout_of_another_buffer():
    from tilemlir.layout import make_swizzled_layout

    @T.prim_func
    def kernel(A: T.Tensor((64,), "uint8")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((8, 64), "float16")
            t = T.alloc_shared((16, 64), "float16")
            T.annotate_layout({s: make_swizzled_layout(t)})

    error = error_of(kernel)
    assert error.code == "layout" and error.message == "the layout was made for another buffer than s"


def test_verifier_messages_are_located():
    """What only the dialect checks comes out at the user's line too."""
    from tilemlir._mlir import ir
    from tilemlir.frontend import FrontendError, verify

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as bx:
            A[0] = 1.0

    traced = trace(kernel)

    def spoil(operation):
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    if inner.operation.name == "tile.kernel":
                        inner.operation.attributes["threads"] = ir.IntegerAttr.get(
                            ir.IntegerType.get_signless(64, traced.module.context), 4096
                        )
                    spoil(inner.operation)

    spoil(traced.module.operation)
    with pytest.raises(FrontendError) as caught:
        verify(traced.module)
    error = caught.value
    assert error.code == "verification"
    assert error.message == "the compiler rejects this operation: kernel a block has 1 to 1024 threads, found 4096"
    assert error.location is not None and error.location.text.strip() == "with T.Kernel(1, threads=64) as bx:"


def test_hints_without_effect():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            T.annotate_l2_hit_ratio({A: 0.5})
            T.annotate_restrict_buffers(A)
            A[0] = 1.0

    with pytest.warns(FrontendWarning, match="T.annotate_l2_hit_ratio has no effect: L2 persistence"):
        traced = trace(kernel)
    assert len(traced.warnings) == 1


def test_constant_index_outside():
    @T.prim_func
    def kernel(A: T.Tensor((8, 4), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1) as bx:
            B[0] = A[-8, 3] + A[8, 0]

    with pytest.warns(FrontendWarning) as caught:
        traced = trace(kernel)
    (text,) = traced.warnings
    assert str(caught[0].message) == text
    expected = "index 8 is always outside of dimension 0 of A: 8x4 float32 in global memory: reads give zero"
    assert text.endswith(expected + ", writes are dropped")
