"""The language package by itself: names, types, sizes, and what happens outside of kernels."""

from __future__ import annotations

import inspect
import math

import numpy
import pytest
import tilemlir.language as T
from tilemlir.language import dtypes, unavailable
from tilemlir.layout import make_full_bank_swizzled_layout, make_linear_layout, make_swizzled_layout


def public_functions():
    for name in T.__all__:
        value = getattr(T, name)
        if inspect.isfunction(value):
            yield name, value


def test_every_public_name_exists_and_is_documented():
    for name in T.__all__:
        value = getattr(T, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert value.__doc__, name


def test_every_function_is_typed():
    for name, function in public_functions():
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}({parameter.name})"


@pytest.mark.parametrize(
    "call",
    [
        lambda: T.copy(1, 2),
        lambda: T.gemm(1, 2, 3),
        lambda: T.alloc_shared((8,), "float16"),
        lambda: T.clear(1),
        lambda: T.get_thread_binding(),
        lambda: T.Kernel(1),
        lambda: T.const("M"),
        lambda: T.reduce_sum(1, 2),
        lambda: list(T.Parallel(8)),
        lambda: list(T.Pipelined(8)),
    ],
)
def test_kernel_operations_outside_of_a_kernel(call):
    with pytest.raises(T.OutsideKernelError, match="has a meaning only inside of a kernel"):
        call()


def test_text_of_the_error():
    with pytest.raises(T.OutsideKernelError) as caught:
        T.copy(1, 2)
    assert str(caught.value) == (
        "T.copy has a meaning only inside of a kernel: call it in a function decorated with @T.prim_func or @T.macro "
        "(or in the kernel of @tile.jit), which is traced when it is compiled"
    )


def test_kernel_functions_cannot_be_called():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        pass

    with pytest.raises(T.OutsideKernelError, match=r"compile it with tilemlir\.compile\(kernel, out_idx=\.\.\.\)"):
        kernel()
    assert kernel.name == "kernel" and repr(kernel).startswith("<T.prim_func ")
    with pytest.raises(TypeError, match=r"@T\.prim_func decorates a function"):
        T.prim_func(3)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float", "float32"), ("half", "float16"), ("f16", "float16"), ("bf16", "bfloat16"), (float, "float32"),
        (int, "int32"), (bool, "bool"), (T.int8, "int8"), (numpy.float16, "float16"), (numpy.dtype("int64"), "int64"),
        (numpy.bool_, "bool"), ("float8_e4m3", "float8_e4m3fn"), ("torch.float16", "float16"), ("uint", "uint32"),
    ],
)  # fmt: skip
def test_dtypes(given, expected):
    assert T.dtype(given) == expected
    assert T.dtype(given).name == expected


def test_torch_dtypes():
    torch = pytest.importorskip("torch")
    for name in dtypes.names():
        if name != "tfloat32":
            assert T.dtype(getattr(torch, name)) is T.dtype(name)
            assert T.dtype(name) == getattr(torch, name)
            assert T.dtype(name).as_torch() is getattr(torch, name)


def test_dtype_comparisons_and_numbers():
    assert T.float16 == "float16" and T.float16 != "float32" and T.float16 != 16
    assert {T.float16: 1}[T.dtype("half")] == 1
    assert T.bool.bytes == 1 and T.float8_e5m2.itemsize == 1 and T.int64.bytes == 8
    assert T.float32(3) == 3.0 and isinstance(T.float32(3), float) and T.int32(3.7) == 3
    assert T.max_value("int8") == 127 and T.min_value("uint8") == 0 and T.min_value("int8") == -128
    assert T.max_value("float16") == 65504.0
    assert T.max_value("bfloat16") == numpy.array([0x7F7F0000], "uint32").view("float32")[0]
    assert T.max_value("float64") == numpy.finfo("float64").max
    assert T.max_value("float8_e4m3fn") == 448.0 and T.max_value("float8_e5m2") == 57344.0
    with pytest.raises(T.DTypeError, match="int32 has no infinity"):
        T.infinity("int32")


def test_unknown_dtypes():
    with pytest.raises(T.DTypeError, match="'float17' is not an element type; allowed are bool, int8"):
        T.dtype("float17")
    with pytest.raises(T.DTypeError, match="the element type int4 is not available yet"):
        T.dtype("int4")


def test_sizes():
    M, N = T.dynamic("M, N")
    assert str(T.ceildiv(M, 128) * N + 3) == "((ceildiv(M, 128) * N) + 3)"
    assert (M + 0) is M and M * 1 is M and (M - M) != 0
    assert T.ceildiv(M, 64).text() == 'ceildiv(symbol("M"), 64)'
    assert (M * 2 + N).symbols() == {"M", "N"}
    assert (T.max(M, 4) - M % 3).evaluate({"M": 11}) == 9
    assert T.dynamic("M") == M and hash(T.dynamic("M")) == hash(M)
    assert T.dynamic(["a", "b"])[1].name == "b" and T.symbolic("K").name == "K"
    with pytest.raises(TypeError, match="has no truth value"):
        bool(M)
    with pytest.raises(TypeError, match="known only at launch"):
        range(M)
    with pytest.raises(ValueError, match="takes one or more names"):
        T.dynamic("3M")
    with pytest.raises(TypeError, match="sizes, which are integers"):
        T.dynamic("M", "float32")


def test_tensor_declarations():
    M = T.dynamic("M")
    assert T.Tensor((4, M), "float16").shape == (4, M)
    assert T.Tensor[[4, M], "float16"] == T.Tensor((4, M), "float16")
    assert T.Tensor(8).shape == (8,) and T.Tensor(8).dtype == "float32"
    assert T.Tensor[8, 4].shape == (8, 4)
    assert T.StridedTensor((4, 8), (M, 1), "int8").strides == (M, 1)
    with pytest.raises(ValueError, match="one stride per dimension"):
        T.StridedTensor((4, 8), (1,), "int8")
    with pytest.raises(ValueError, match="negative extent -1"):
        T.Tensor((-1,), "int8")
    with pytest.raises(TypeError, match=r"extents are integers or T\.dynamic sizes"):
        T.Tensor((1.5,), "int8")


def test_functions_of_numbers():
    assert T.ceildiv(10, 4) == 3 and T.cdiv(-10, 4) == -2 and T.align_up(10, 8) == 16
    assert T.floordiv(-7, 2) == -4 and T.floormod(-7, 2) == 1
    assert T.truncdiv(-7, 2) == -3 and T.truncmod(-7, 2) == -1
    assert T.exp2(10) == 1024.0 and T.log2(8) == 3.0 and T.log(0) == -math.inf and math.isnan(T.sqrt(-1))
    assert T.rsqrt(4) == 0.5 and T.rsqrt(0) == math.inf and T.exp(1e6) == math.inf
    assert T.round(2.5) == 3.0 and T.round(-2.5) == -3.0 and T.nearbyint(2.5) == 2.0 and T.trunc(-2.5) == -2.0
    assert T.max(1, 2, 3) == 3 and T.min(math.nan, 2.0) == 2.0 and T.clamp(9, 0, 6) == 6
    assert T.if_then_else(True, 1, 2) == 1 and T.Select(0, 1, 2) == 2
    assert T.reinterpret(1.0, "int32") == 0x3F800000 and T.reinterpret("float32", 0x3F800000) == 1.0
    assert T.shift_right(-8, 1) == -4 and T.bitwise_xor(6, 3) == 5 and T.popcount(255) == 8
    assert T.isnan(math.nan) and T.isinf(-math.inf) and T.isfinite(0)


def test_unavailable_names_say_so():
    for name in unavailable.REASONS:
        with pytest.raises(T.NotAvailableError, match=f"T.{name}: "):
            getattr(T, name)()
    with pytest.raises(AttributeError, match="has no attribute 'aloc_shared'"):
        T.aloc_shared  # noqa: B018


class Tile:
    """Something with a shape and a type."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def test_layouts():
    assert make_swizzled_layout(Tile((64, 64), "float16")).swizzle == 128
    assert make_swizzled_layout(Tile((64, 128), "float16")).panel == 64
    assert make_swizzled_layout(Tile((64, 32), "float16")).swizzle == 64
    assert make_swizzled_layout(Tile((64, 48), "float16")).swizzle == 32
    assert make_swizzled_layout(Tile((64, 24), "float16")).swizzle == 0
    assert make_swizzled_layout(Tile((64, 64), "int8")).swizzle == 64
    assert make_linear_layout(Tile((3, 64, 24), "float32")).order == (2, 1, 0)
    with pytest.raises(ValueError, match="rows of a multiple of 128 bytes"):
        make_full_bank_swizzled_layout(Tile((64, 32), "float16"))
    layout = make_swizzled_layout(Tile((64, 64), "float16"))
    assert layout.attribute_text() == "#tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>"
