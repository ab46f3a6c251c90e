"""Whole kernels: what the tracer emits for programs of the usual kind."""

from __future__ import annotations

import re

import pytest
import tilemlir.language as T
from frontend_support import lines_of, operations, text_of
from tilemlir.frontend import trace


def matmul(M, N, K, block_M=128, block_N=128, block_K=32, dtype="float16", stages=3):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return kernel


def test_gemm_operations():
    traced = trace(matmul(1024, 1024, 1024))
    assert operations(traced) == [
        "func.func", "tile.kernel", "tile.alloc", "tile.alloc", "tile.alloc", "tile.fill", "tile.pipelined",
        "arith.muli", "arith.muli", "tile.copy", "arith.muli", "arith.muli", "tile.copy", "tile.gemm",
        "arith.muli", "arith.muli", "tile.copy", "func.return",
    ]  # fmt: skip
    assert traced.name == "kernel"
    assert [argument.name for argument in traced.arguments] == ["A", "B", "C"]
    assert traced.outputs == ()


def test_gemm_text():
    text = text_of(matmul(1000, 777, 555))
    assert 'tile.kernel "kernel" grid(%c7_i32, %c8_i32) threads(128)' in text
    assert '%A_shared = tile.alloc "A_shared" : <128x32xf16, shared>' in text
    assert "tile.pipelined %c0_i32 to %c18_i32 stages(3)" in text
    assert "[128, 32] to %A_shared[%c0_i32, %c0_i32] [128, 32] : memref<1000x555xf16> to" in text
    assert 'tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<1000>, #tile.expr<555>]' in text


def test_dynamic_sizes():
    M, N = T.dynamic("M, N")
    traced = trace(matmul(M, N, 512))
    text = str(traced.module)
    assert "memref<?x512xf16>" in text and "memref<512x?xf16>" in text
    assert 'shape = [#tile.expr<symbol("M")>, #tile.expr<512>]' in text
    assert traced.symbols == {"M": (0, 0), "N": (1, 1)}
    assert text.count("memref.dim") == 2
    assert lines_of(matmul(M, N, 512), "arith.ceildivsi")
    # Both sizes are read in the host part, before the kernel.
    assert text.index("memref.dim") < text.index("tile.kernel")


def test_symbolic_expression_extents():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 64), "float32"), B: T.Tensor((M * 2 + 1, 64), "float32")):
        with T.Kernel(T.ceildiv(M, 64)) as bx:
            tile = T.alloc_shared((64, 64), "float32")
            T.copy(A[bx * 64, 0], tile)
            T.copy(tile, B[bx * 64, 0])

    assert 'shape = [#tile.expr<add(mul(symbol("M"), 2), 1)>, #tile.expr<64>]' in text_of(kernel)


def test_several_kernels_and_workspace():
    @T.prim_func
    def kernel(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        partial = T.alloc_global((4, 64), "float32", zero=True)
        with T.Kernel(4, threads=64) as bx:
            for i in T.Parallel(64):
                partial[bx, i] = A[bx * 64 + i]
        with T.Kernel(1, threads=64) as bx:
            for i in T.Parallel(64):
                B[i] = partial[0, i]

    text = text_of(kernel)
    assert 'tile.workspace() {name = "partial", zero} : memref<4x64xf32>' in text
    assert 'tile.kernel "kernel" ' in text and 'tile.kernel "kernel_1" ' in text


def test_workspace_of_dynamic_size_inside_of_the_kernel():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 64), "float32")):
        with T.Kernel(M) as bx:
            scratch = T.alloc_global((M, 64), "float32")
            for i in T.Parallel(64):
                scratch[bx, i] = A[bx, i]

    text = text_of(kernel)
    assert text.index("tile.workspace") < text.index("tile.kernel")


def test_workspace_whose_size_is_computed_on_the_host():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M,), "float32"), n: T.int32):
        workers = T.num_sms()
        parts = T.alloc_global((workers, n + 1, T.ceildiv(M, 64)), "float32")
        with T.Kernel(workers) as bx:
            parts[bx, n, 0] = A[0]

    text = text_of(kernel)
    assert re.search(r'tile.workspace\(%\w+, %\w+, %\w+\) {name = "parts"} : memref<\?x\?x\?xf32>', text)


def test_kernel_options():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 3, 4, threads=(32, 4), cluster_dims=(2, 1, 1)) as (bx, by, bz):
            T.use_swizzle(panel_size=10, order="column")
            T.annotate_min_blocks_per_sm(2)
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            A[tx, ty] = T.get_thread_binding(2)
            assert T.get_thread_extents() == (32, 4, 1)

    text = text_of(kernel)
    assert "threads(128)" in text
    for part in (
        "cluster = array<i64: 2, 1, 1>", "thread_shape = array<i64: 32, 4>", "raster = #tile.raster<10, column>",
        "min_blocks_per_sm = 2 : i64", "tile.thread_id 0", "tile.thread_id 1",
    ):  # fmt: skip
        assert part in text, part


def test_swizzle_can_be_switched_off():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 3) as (bx, by):
            T.use_swizzle(10, enable=False)
            T.use_swizzle(panel_size=0, enable=False)
            A[bx, by] = 1.0

    assert "raster" not in text_of(kernel)


def test_strided_tensor():
    S = T.dynamic("S")

    @T.prim_func
    def kernel(A: T.StridedTensor((64, 64), (S, 1), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((64, 64), "float16")
            T.copy(A, tile)
            T.copy(tile, B)

    text = text_of(kernel)
    assert "memref<64x64xf16, strided<[?, 1]>>" in text
    assert 'strides = [#tile.expr<symbol("S")>, #tile.expr<1>], alignment = 2' in text


def test_scalar_arguments():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), n: T.int32, scale: T.float32, flag: bool, big: T.uint64):
        with T.Kernel(1, threads=64) as bx:
            for i in T.Parallel(64):
                if flag:
                    if i < n:
                        A[i] = A[i] * scale + T.cast(big, "float32")

    text = text_of(kernel)
    for part in ('"n", scalar', "%arg1: i32", "%arg2: f32", "%arg3: i1", "%arg4: i64", "arith.uitofp"):
        assert part in text, part


@pytest.mark.parametrize("annotation", ["call", "subscript", "tuple", "buffer"])
def test_tensor_forms(annotation):
    form = {
        "call": T.Tensor((8, 4), "float16"),
        "subscript": T.Tensor[[8, 4], "float16"],
        "tuple": T.Tensor[(8, 4), T.float16],
        "buffer": T.Buffer((8, 4), "half"),
    }[annotation]

    @T.prim_func
    def kernel(A: form):
        with T.Kernel(1) as bx:
            A[0, 0] = 1.0

    assert "memref<8x4xf16>" in text_of(kernel)


def test_unsigned_storage():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "uint8"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(8):
                B[i] = A[i] >> 4

    text = text_of(kernel)
    assert "memref<8xui8> -> i8" in text
    assert "arith.extui" in text


def test_annotate_layout():
    from tilemlir.intrinsics import make_mma_swizzle_layout
    from tilemlir.layout import make_linear_layout, make_swizzled_layout

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as bx:
            first = T.alloc_shared((64, 64), "float16")
            second = T.alloc_shared((64, 32), "float16")
            third = T.alloc_shared((64, 8), "float16")
            T.annotate_layout(
                {
                    first: make_mma_swizzle_layout(first),
                    second: make_swizzled_layout(second),
                    third: make_linear_layout(third),
                }
            )
            T.copy(A, first)

    text = text_of(kernel)
    widest = "#tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>"
    assert f"tile.annotate_layout %first : <64x64xf16, shared>, {widest}" in text
    assert "panel = 32, swizzle = 64" in text
    assert "panel = 8, swizzle = 0" in text


def test_layout_functions():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((64, 64), "float16")
            T.annotate_layout({tile: T.Layout(tile.shape, lambda i, j: i * 64 + ((j // 8) ^ (i % 8)) * 8 + j % 8)})
            T.copy(A, tile)

    assert "panel = 64, swizzle = 128" in text_of(kernel)


def test_safe_value_reaches_earlier_and_later_reads():
    @T.prim_func
    def kernel(A: T.Tensor((60, 60), "int32"), B: T.Tensor((64, 64), "int32")):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((64, 64), "int32")
            T.copy(A, tile)
            T.annotate_safe_value({A: -99})
            T.copy(A, tile)
            B[0, 0] = A[1, 1]
            T.copy(tile, B)

    text = text_of(kernel)
    assert text.count("safe = -99 : i32") == 3
    assert "[64, 64] to %tile" in text  # the tile decides the extents, the edge of the tensor clips


def test_persistent():
    @T.prim_func
    def kernel(A: T.Tensor((1024, 1024), "float16"), B: T.Tensor((1024, 1024), "float16")):
        with T.Kernel(T.num_sms(), threads=128) as block:
            tile = T.alloc_shared((128, 128), "float16")
            for by, bx in T.Persistent([8, 8], T.num_sms(), block):
                T.copy(A[by * 128, bx * 128], tile)
                T.copy(tile, B[by * 128, bx * 128])

    text = text_of(kernel)
    assert "tile.sm_count" in text and "scf.for" in text


def test_empty_module_attributes():
    traced = trace(
        matmul(128, 128, 128), target="sm_80", options={"fast_math": True, "alignment": 8, "ptxas_options": ["-v"]}
    )
    text = str(traced.module)
    assert 'tile.target = #tile.target<"sm_80">' in text
    assert 'tile.options = #tile.options<{alignment = 8 : i64, fast_math = true, ptxas_options = ["-v"]}>' in text
