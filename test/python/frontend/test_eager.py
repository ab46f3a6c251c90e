"""Kernels of `@tile.jit`: sizes from the tensors of a call, outputs by `T.empty`, compile-time parameters."""

from __future__ import annotations

import pytest
import tilemlir.language as T
from frontend_support import check_error, error_of, operations
from tilemlir.frontend import FrontendError, TensorSpec, trace


def matmul(A, B, block_M: int = 64, block_N: int = 64, block_K: int = 32, dtype=T.float16, accum=T.float32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], dtype]
    B: T.Tensor[[K, N], dtype]
    C = T.empty([M, N], dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), accum)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def test_constant_sizes_come_from_the_call():
    traced = trace(matmul, (TensorSpec((256, 96), "float16"), TensorSpec((96, 128), T.float16)), {"block_M": 32})
    text = str(traced.module)
    assert "%arg0: memref<256x96xf16>" in text and "%arg2: memref<256x128xf16>" in text
    assert "!tile.buffer<32x32xf16, shared>" in text
    assert "tile.outputs = array<i64: 2>" in text
    assert traced.outputs == (2,)
    assert traced.constants == {"M": 256, "K": 96, "N": 128}
    assert [argument.name for argument in traced.arguments] == ["A", "B", "C"]
    assert traced.arguments[0].specialized == ("M", "K")
    assert traced.arguments[2].output


def test_sizes_that_disagree():
    error = error_of(matmul, TensorSpec((256, 96), "float16"), TensorSpec((64, 128), "float16"))
    assert error.code == "declaration"
    assert error.message == "dimension 0 of the argument B has the wrong extent"
    assert error.found == "a tensor of shape (64, 128)"
    assert error.allowed == "K = 96"


def test_wrong_dtype_and_rank():
    assert error_of(matmul, TensorSpec((256, 96), "float32"), TensorSpec((96, 8), "float16")).code == "dtype"
    assert error_of(matmul, TensorSpec((256,), "float16"), TensorSpec((96, 8), "float16")).code == "rank"


def test_dynamic_sizes_and_scalars():
    M = T.dynamic("M")

    def kernel(A: T.Tensor((M, 64), "float32"), n: T.int32, block: int = 32):
        out = T.empty(M, 64)
        other = T.empty((M,), dtype="int32")
        with T.Kernel(T.ceildiv(M, block)) as bx:
            for i in T.Parallel(block):
                other[bx * block + i] = n
            for i, j in T.Parallel(block, 64):
                out[bx * block + i, j] = A[bx * block + i, j]
        return other, out

    traced = trace(kernel, (TensorSpec((77, 64), "float32"), 3))
    assert traced.outputs == (3, 2)
    assert traced.symbols == {"M": (0, 0)}
    assert [argument.kind for argument in traced.arguments] == ["tensor", "scalar", "tensor", "tensor"]


def test_outputs_must_be_returned():
    def kernel(A: T.Tensor((64,), "float32")):
        B = T.empty((64,))
        with T.Kernel(1) as bx:
            B[0] = A[0]

    assert error_of(kernel, TensorSpec((64,), "float32")).message == "the output B is not returned"


def test_only_outputs_can_be_returned():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            A[0] = 1.0
        return A

    check_error(
        kernel,
        """
FILE:LINE: error: only tensors made by T.empty can be returned [output]
 LINE | return A
      | ^^^^^^^^
  found: A: 64 float32 in global memory
  fix: return the output: C = T.empty((M, N), dtype) ... return C
""",
        TensorSpec((64,), "float32"),
    )


def test_undeclared_tensor():
    def kernel(A):
        with T.Kernel(1) as bx:
            pass

    assert error_of(kernel, TensorSpec((64,), "float32")).message == "the tensor parameter A is never declared"


def test_optional_tensor():
    def kernel(A: T.Tensor((8,), "float32"), bias=None):
        if bias is not None:
            bias: T.Tensor((8,), "float32")
        out = T.empty((8,))
        with T.Kernel(1) as bx:
            for i in T.Parallel(8):
                out[i] = A[i]
                if bias is not None:
                    out[i] = A[i] + bias[i]
        return out

    spec = TensorSpec((8,), "float32")
    assert operations(trace(kernel, (spec,))).count("arith.addf") == 0
    assert operations(trace(kernel, (spec, spec))).count("arith.addf") == 1


@pytest.mark.parametrize("rows", [1, 1000])
def test_constants_are_python_integers(rows):
    seen = []

    def kernel(A):
        M = T.const("M")
        A: T.Tensor[[M], T.float32]
        seen.append((M, M // 2 + 1, f"{M}", [M for _ in range(2)]))
        with T.Kernel(M) as bx:
            A[bx] = 1.0

    trace(kernel, (TensorSpec((rows,), "float32"),))
    assert seen == [(rows, rows // 2 + 1, str(rows), [rows, rows])]


def scaled(x, factor: int = 2):
    m, n = T.const("m, n")
    x: T.Tensor[[m, n], T.float32]
    y = T.empty((m, n), "float32")
    with T.Kernel(m, threads=32) as row:
        for j in T.Parallel(n):
            y[row, j] = x[row, j] * factor
    return y


def test_sizes_by_name():
    """Without tensors, the sizes are given by name."""
    traced = trace(scaled, (), {"factor": 7}, constants={"m": 3, "n": 4})
    assert traced.constants == {"m": 3, "n": 4}
    assert [one.shape for one in traced.arguments] == [(3, 4), (3, 4)]


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"m": 3}, "the size n has no value: there are no tensors to read it from"),
        ({"m": 3, "n": 4, "k": 5}, "scaled has no parameter and no T.const size of the name k"),
    ],
)
def test_wrong_sizes_by_name(constants, message):
    with pytest.raises(FrontendError, match=message):
        trace(scaled, (), {}, constants=constants)
