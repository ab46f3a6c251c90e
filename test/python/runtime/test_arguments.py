"""What a launch refuses: every message in full, and nothing launched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_support import CLibrary, tensor, vector_add_plan
from tilemlir import errors
from tilemlir.runtime import LoadedKernel

ml_dtypes = pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")

DTYPES = [
    ("f16", torch.float16, np.float16),
    ("bf16", torch.bfloat16, ml_dtypes.bfloat16),
    ("f32", torch.float32, np.float32),
    ("tf32", torch.float32, np.float32),
    ("f64", torch.float64, np.float64),
    ("f8e4m3fn", torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn),
    ("f8e5m2", torch.float8_e5m2, ml_dtypes.float8_e5m2),
    ("i8", torch.int8, np.int8),
    ("i16", torch.int16, np.int16),
    ("i32", torch.int32, np.int32),
    ("i64", torch.int64, np.int64),
    ("u8", torch.uint8, np.uint8),
    ("u16", torch.uint16, np.uint16),
    ("u32", torch.uint32, np.uint32),
    ("u64", torch.uint64, np.uint64),
    ("bool", torch.bool, np.bool_),
]


def _nothing(arguments: list[dict[str, Any]], **fields: Any) -> LoadedKernel:
    """A kernel named "k" that takes arguments and launches an empty grid: whatever is refused, is refused before."""
    plan = {
        "version": 1,
        "target": "cpu",
        "name": "k",
        "arguments": arguments,
        "launches": [{"kernel": "nothing", "grid": [0], "threads": 1, "parameters": []}],
        **fields,
    }
    return LoadedKernel(plan, {"nothing": 1})


def _refusal(kernel: LoadedKernel, *args: Any, **kwargs: Any) -> tuple[str, str]:
    with pytest.raises(errors.TileError) as caught:
        kernel(*args, **kwargs)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize(("name", "torch_type", "numpy_type"), DTYPES)
def test_each_dtype_is_taken_from_both_frameworks(name: str, torch_type: Any, numpy_type: Any) -> None:
    kernel = _nothing([tensor("x", [3], name), tensor("y", [3], name, access="write")], outputs=[1])
    from_torch = kernel(torch.zeros(3, dtype=torch_type))
    assert from_torch.dtype == torch_type and from_torch.shape == (3,)
    from_numpy = kernel(np.zeros(3, dtype=numpy_type))
    assert from_numpy.dtype == numpy_type and from_numpy.shape == (3,)
    for other, other_torch, other_numpy in DTYPES:
        if other_torch is not torch_type:
            assert _refusal(kernel, torch.zeros(3, dtype=other_torch))[0] == "dtype", other
            assert _refusal(kernel, np.zeros(3, dtype=other_numpy))[0] == "dtype", other


def test_dtype_text() -> None:
    kernel = _nothing([tensor("x", [3], "f16")])
    assert _refusal(kernel, torch.zeros(3, dtype=torch.bfloat16)) == (
        "dtype",
        "argument 'x' of kernel 'k' has dtype bfloat16, expected float16. "
        "Convert it with x.to(torch.float16) or x.astype('float16').",
    )
    assert "has dtype complex64, expected float16" in _refusal(kernel, np.zeros(3, np.complex64))[1]
    assert "has dtype float8_e4m3fnuz," in _refusal(kernel, torch.zeros(3, dtype=torch.float8_e4m3fnuz))[1]


def test_count_and_names() -> None:
    kernel = _nothing([tensor("a", [1]), tensor("b", [1]), tensor("c", [1], access="write")], outputs=[2])
    x = np.zeros(1, np.float32)
    assert _refusal(kernel, x) == (
        "argument-count",
        "kernel 'k' takes 2 argument(s) (a, b), got 1. Leave out the outputs (c): the call allocates and returns them.",
    )
    assert _refusal(kernel, x, x, x)[1].startswith("kernel 'k' takes 2 argument(s) (a, b), got 3.")
    assert _refusal(kernel, x, d=x) == ("unknown-argument", "kernel 'k' has no argument named 'd'")
    assert _refusal(kernel, x, a=x) == ("argument-twice", "kernel 'k' got argument 'a' by position and by name")
    assert _refusal(kernel, x, c=x) == (
        "output-passed",
        "argument 'c' of kernel 'k' is an output. Leave it out: the call allocates and returns it.",
    )
    assert _refusal(kernel, a=x)[0] == "argument-count"


def test_not_a_tensor() -> None:
    kernel = _nothing([tensor("a", [1])])
    for value, name in ((1.5, "float"), ([1.0], "list"), ("x", "str"), (object(), "object")):
        assert _refusal(kernel, value) == (
            "not-a-tensor",
            f"argument 'a' of kernel 'k' must be a tensor, got {name}. "
            "Pass a torch tensor, a NumPy array, or an object with __dlpack__.",
        )
    assert _refusal(kernel, None) == (
        "none-argument",
        "argument 'a' of kernel 'k' is None, but the kernel uses it. Pass a tensor.",
    )


def test_tensors_without_plain_memory() -> None:
    kernel = _nothing([tensor("a", [2, 2])])
    code, text = _refusal(kernel, torch.eye(2).to_sparse())
    assert code == "unreadable-tensor"
    assert text.startswith("argument 'a' of kernel 'k' is a torch.Tensor whose memory cannot be read: ")
    code, text = _refusal(kernel, np.zeros((2, 2), ">f4"))
    assert text == (
        "argument 'a' of kernel 'k' is a numpy.ndarray whose memory cannot be read: its bytes are in the other byte "
        "order. Pass a dense tensor with plain memory."
    )
    record = np.zeros((2, 2), np.dtype([("x", "f4"), ("y", "i1")]))
    assert "its strides are not whole elements" in _refusal(kernel, record["x"])[1]


def test_lazily_negated_views() -> None:
    kernel = _nothing([tensor("a", [["dim", 0, 0]], strided=True, strides=[["stride", 0, 0]]), tensor("b", [1])])
    values = torch.complex(torch.ones(4), torch.ones(4)).conj()
    kernel(values.real, torch.zeros(1))
    for arguments in ((values.imag, torch.zeros(1)), (torch.zeros(4), values[:1].imag)):
        code, text = _refusal(kernel, *arguments)
        assert code == "unreadable-tensor" and "it is negated lazily; call .resolve_neg(). Pass" in text
    kernel(values.imag.resolve_neg(), values[:1].imag.contiguous().resolve_neg())


def test_without_torch_s_exchange_interface(c_kernels: CLibrary) -> None:
    """torch before 2.10 is read through Python; it gives the same results and refusals."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch
del torch.Tensor.__dlpack_c_exchange_api__
from runtime_support import vector_add_plan
from tilemlir import errors
from tilemlir.runtime import LoadedKernel
import ctypes
library = ctypes.CDLL({c_kernels.library._name!r})
address = ctypes.cast(library.vector_add, ctypes.c_void_p).value
kernel = LoadedKernel(vector_add_plan(), {{"vector_add": address}})
a, b = torch.randn(2, 1000).unbind()
assert torch.equal(kernel(a, b), a + b)
assert torch.equal(kernel(torch.nn.Parameter(a), b), a + b)
codes = []
for bad in (a.double(), a[::2], a[None], a[:10], torch.eye(3).to_sparse(), a.to(torch.complex64),
            torch.complex(a, a).conj().imag, torch.zeros(1000, device="meta")):
    try:
        kernel(a, bad)
    except errors.TileError as error:
        codes.append(error.code)
assert codes == ["dtype", "not-contiguous", "rank", "shape", "unreadable-tensor", "unreadable-tensor",
                 "unreadable-tensor", "unreadable-tensor"], codes
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_rank_and_shape() -> None:
    kernel = _nothing(
        [
            tensor("a", [["symbol", 0], 128]),
            tensor("b", [128, ["symbol", 0]]),
            tensor("c", [["mul", ["symbol", 0], 2]]),
        ],
        symbols=[{"name": "M", "source": ["dim", 0, 0]}],
    )
    a, b, c = (np.zeros(shape, np.float32) for shape in ((4, 128), (128, 4), 8))
    kernel(a, b, c)
    assert _refusal(kernel, a[0], b, c) == (
        "rank",
        "argument 'a' of kernel 'k' has 1 dimension(s), shape (128,), expected 2. "
        "Reshape it, or index away the extra dimensions.",
    )
    assert _refusal(kernel, np.zeros((4, 64), np.float32), b, c) == (
        "shape",
        "argument 'a' of kernel 'k' has shape (4, 64): dimension 1 is 64, expected 128",
    )
    assert _refusal(kernel, a, np.zeros((128, 5), np.float32), c) == (
        "shape",
        "argument 'b' of kernel 'k' has shape (128, 5): dimension 1 is 5, expected M = 4 (dimension 0 of 'a')",
    )
    assert _refusal(kernel, a, b, c[:7]) == (
        "shape",
        "argument 'c' of kernel 'k' has shape (7,): dimension 0 is 7, expected (M * 2) = 8",
    )


def test_contiguity() -> None:
    kernel = _nothing([tensor("a", [["dim", 0, 0], ["dim", 0, 1]])])
    text = (
        "argument 'a' of kernel 'k' is not contiguous: shape (3, 4) has strides (1, 3) (elements), expected (4, 1). "
        "Pass a.contiguous(), or declare it as T.StridedTensor."
    )
    assert _refusal(kernel, torch.zeros(4, 3).T) == ("not-contiguous", text)
    assert _refusal(kernel, np.zeros((4, 3), np.float32).T) == ("not-contiguous", text)
    # Strides along an extent of one, and those of empty tensors, describe no memory.
    kernel(torch.zeros(8, 4)[::8])
    kernel(torch.zeros(4, 1).T)
    kernel(torch.zeros(4, 0).T)
    kernel(torch.zeros(3, 4)[:, :0])


def test_declared_strides() -> None:
    kernel = _nothing(
        [
            tensor(
                "a",
                [["dim", 0, 0], ["dim", 0, 1]],
                strided=True,
                strides=[["stride", 0, 0], 1],
            )
        ]
    )
    base = torch.zeros(4, 6)
    kernel(base[:, :3])
    kernel(base[:1].T[:, :1])  # one column: the stride of an extent of one is free
    assert _refusal(kernel, base[:, ::2]) == (
        "stride",
        "argument 'a' of kernel 'k' has shape (4, 3) and strides (6, 2) (elements): the stride of dimension 1 is 2, "
        "expected 1",
    )


def test_devices() -> None:
    meta = torch.zeros(1, device="meta")
    assert _refusal(_nothing([tensor("a", [1])]), meta)[0] in ("device", "unreadable-tensor")
    plan = vector_add_plan(target="sm_80")
    kernel = LoadedKernel(plan, {"vector_add": b""})
    assert _refusal(kernel, torch.zeros(1), torch.zeros(1)) == (
        "device",
        "argument 'A' of kernel 'vector_add' is on cpu, but the kernel is compiled for target 'sm_80' and needs cuda "
        "memory. Move it with A.to('cuda'), or compile for the other target.",
    )


def test_read_only_and_misaligned_memory() -> None:
    kernel = _nothing([tensor("a", [4], access="readwrite")])
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert _refusal(kernel, array) == (
        "read-only",
        "argument 'a' of kernel 'k' is read-only, but the kernel writes to it. Pass a writable copy.",
    )
    _nothing([tensor("a", [4])])(array)
    shifted = np.zeros(17, np.uint8)[1:].view(np.float32)
    assert _refusal(kernel, shifted) == (
        "misaligned",
        "argument 'a' of kernel 'k' starts at an address that is no multiple of the 4 bytes of a float32. Pass a copy.",
    )


def test_scalars() -> None:
    kernel = _nothing([{"name": "n", "kind": "scalar", "dtype": "i8"}])
    kernel(127)
    assert _refusal(kernel, 128) == (
        "scalar-range",
        "argument 'n' of kernel 'k' is 128, which does not fit int8 (-128 to 127)",
    )
    assert _refusal(kernel, -(10**30))[1].startswith("argument 'n' of kernel 'k' is -1000000000000000000000000000000,")
    assert _refusal(kernel, 1.0) == (
        "scalar-type",
        "argument 'n' of kernel 'k' must be a number of type int8, got float",
    )
    assert _refusal(kernel, torch.tensor(1)) == (
        "scalar-type",
        "argument 'n' of kernel 'k' must be a number of type int8, got torch.Tensor. "
        "Read the tensor's value first with .item().",
    )
    unsigned = _nothing([{"name": "n", "kind": "scalar", "dtype": "u64"}])
    assert _refusal(unsigned, -1)[1].endswith("does not fit uint64 (0 to 18446744073709551615)")
    assert _refusal(unsigned, 2**64)[0] == "scalar-range"
    floating = _nothing([{"name": "x", "kind": "scalar", "dtype": "f16"}])
    assert _refusal(floating, "1.0")[1] == "argument 'x' of kernel 'k' must be a number of type float16, got str"


def test_pointers() -> None:
    kernel = _nothing([{"name": "p", "kind": "pointer"}])
    kernel(0)
    kernel(torch.zeros(3, dtype=torch.int64))
    with pytest.raises(OverflowError):
        kernel(-1)


def test_guard_error() -> None:
    kernel = _nothing(
        [tensor("a", [["symbol", 0]])],
        symbols=[{"name": "M", "source": ["dim", 0, 0]}],
        guards=[
            {
                "kind": "expr_true",
                "value": ["sub", 1, ["min", 1, ["mod", ["symbol", 0], 8]]],
                "message": "M must be a multiple of 8",
            }
        ],
    )
    kernel(np.zeros(16, np.float32))
    assert _refusal(kernel, np.zeros(12, np.float32)) == (
        "guard",
        "kernel 'k' cannot take these arguments: M must be a multiple of 8 ((1 - min(1, (M % 8))))",
    )


def test_sizes_that_a_launch_cannot_have(c_kernels: CLibrary) -> None:
    argument = tensor("a", [["symbol", 0]])
    symbols = [{"name": "M", "source": ["dim", 0, 0]}]
    small = np.zeros(4, np.float32)

    def launch(**fields: Any) -> dict[str, Any]:
        return {"kernel": "nothing", "grid": [0], "threads": 1, "parameters": [], **fields}

    kernel = _nothing([argument], symbols=symbols, launches=[launch(grid=[["sub", ["symbol", 0], 5]])])
    assert _refusal(kernel, small)[1] == (
        "kernel 'k' would launch -1 = (M - 5) blocks along grid axis 0, allowed are 0 to 2147483647. "
        "Use larger tiles, or put the largest axis first."
    )
    huge = ["mul", ["symbol", 0], 2**30]
    kernel = _nothing([argument], symbols=symbols, launches=[launch(grid=[huge])])
    assert _refusal(kernel, small)[0] == "grid-limit"
    parameter = {"kind": "expr", "dtype": "i32", "value": huge}
    kernel = _nothing([argument], symbols=symbols, launches=[launch(grid=[1], parameters=[parameter])])
    assert _refusal(kernel, small) == (
        "parameter-range",
        "kernel 'k' needs (M * 1073741824) = 4294967296, which does not fit int32. "
        "Sizes along one dimension must stay below 2**31.",
    )
    overflow = ["mul", ["mul", huge, 2**30], 2**30]
    kernel = _nothing([argument], symbols=symbols, launches=[launch(grid=[overflow])])
    assert _refusal(kernel, small)[1] == (
        "kernel 'k' cannot compute its launch: mul of 4611686018427387904 and 1073741824 overflows or divides by zero"
    )
    kernel = _nothing([argument], symbols=symbols, launches=[launch(grid=[["floordiv", 8, ["sub", ["symbol", 0], 4]]])])
    assert "floordiv of 8 and 0" in _refusal(kernel, small)[1]
    output = tensor("out", [["sub", ["symbol", 0], 5]], access="write")
    kernel = _nothing([argument, output], symbols=symbols, outputs=[1])
    assert _refusal(kernel, small)[1] == "output 'out' of kernel 'k' would have size -1 = (M - 5) along dimension 0"
    output = tensor("out", [2, huge], access="write")
    kernel = _nothing([argument, output], symbols=symbols, outputs=[1])
    assert _refusal(kernel, small) == (
        "extent-limit",
        "argument 'out' of kernel 'k' has 4294967296 elements along dimension 1, allowed are fewer than 2**31. "
        "Give the tensor more dimensions: only the number of all elements may be larger.",
    )
    kernel = _nothing([argument], symbols=symbols)
    assert _refusal(kernel, np.broadcast_to(small[:1], 2**31)) == (
        "extent-limit",
        "argument 'a' of kernel 'k' has 2147483648 elements along dimension 0, allowed are fewer than 2**31. "
        "Give the tensor more dimensions: only the number of all elements may be larger.",
    )


def test_size_of_an_absent_tensor() -> None:
    kernel = _nothing(
        [tensor("a", [["symbol", 0]], optional=True), tensor("b", [4])],
        symbols=[{"name": "M", "source": ["dim", 0, 0]}],
    )
    assert _refusal(kernel, None, np.zeros(4, np.float32)) == (
        "unknown-size",
        "size M of kernel 'k' is unknown: it is read from 'a', which is None. "
        "Pass at least one tensor that has this size.",
    )


def test_a_refused_call_leaves_the_kernel_usable_and_outputs_untouched(c_kernels: CLibrary) -> None:
    kernel = LoadedKernel(vector_add_plan(outputs=[]), {"vector_add": c_kernels["vector_add"]})
    a, b, c = torch.ones(10), torch.ones(9), torch.full((10,), float("nan"))
    for _ in range(3):
        assert _refusal(kernel, a, b, c)[0] == "shape"
    assert torch.isnan(c).all()
    kernel(a, torch.ones(10), c)
    assert (c == 2).all()


def test_dlpack_only_objects() -> None:
    class Wrapper:
        """An array of a framework that only speaks DLPack."""

        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    kernel = _nothing([tensor("a", [2, 3])])
    kernel(Wrapper(np.zeros((2, 3), np.float32)))
    assert _refusal(kernel, Wrapper(np.zeros((3, 3), np.float32)))[0] == "shape"
    assert _refusal(kernel, Wrapper(np.zeros((3, 2), np.float32).T))[0] == "not-contiguous"
