"""Products by warp groups (wgmma) on sm_90a: types, layouts of operands, tile shapes, feeds of the accumulator."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch

pytestmark = pytest.mark.gpu

TARGET = {"kind": "cuda", "arch": "sm_90a"}
E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"


@pytest.fixture(autouse=True)
def hopper():
    """Only on a device that runs sm_90a code."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("wgmma exists on compute capability 9.0 only")


def compile_wgmma(program):
    """Compiles and checks that the tensor cores are used through wgmma."""
    kernel = programs.compile_for(program, TARGET)
    source = kernel.get_kernel_source()
    assert "wgmma.mma_async" in source
    assert "mma.sync" not in source
    return kernel


def random_operand(shape, dtype):
    if dtype == "int8":
        return torch.randint(-128, 128, shape, dtype=torch.int8)
    return torch.randn(shape).to(getattr(torch, dtype))


def error(result, reference):
    result, reference = result.double(), reference.double()
    assert bool(torch.isfinite(result).all())
    return float((result - reference).norm() / reference.norm().clamp_min(1e-30))


def check_gemm(m, n, k, limit, transpose_a=False, transpose_b=False, dtype="float16", out="float16", **arguments):
    kernel = compile_wgmma(
        programs.gemm(m, n, k, transpose_a=transpose_a, transpose_b=transpose_b, dtype=dtype, out=out, **arguments)
    )
    a = random_operand((k, m) if transpose_a else (m, k), dtype)
    b = random_operand((n, k) if transpose_b else (k, n), dtype)
    (c,) = programs.run(kernel, [a, b], [((m, n), getattr(torch, out))])
    left, right = (a.T if transpose_a else a).double(), (b.T if transpose_b else b).double()
    if out == "int32":
        assert torch.equal(c.double(), left @ right)
    else:
        assert error(c, left @ right) < limit


@pytest.mark.parametrize("columns", list(range(8, 257, 8)))
@pytest.mark.parametrize("transpose_b", [False, True])
def test_every_number_of_columns(columns, transpose_b):
    check_gemm(64, columns, 96, 1e-3, block=(64, columns, 32), transpose_b=transpose_b, stages=2)


@pytest.mark.parametrize("block_k", [16, 32, 48, 64, 80, 96, 128, 192])
@pytest.mark.parametrize("transposes", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layouts_and_depths(block_k, transposes, dtype):
    # K does not divide: the last step multiplies zeros.
    ta, tb = transposes
    limit = 1e-3 if dtype == "float16" else 2.5e-3
    check_gemm(192, 160, 200, limit, block=(64, 96, block_k), transpose_a=ta, transpose_b=tb, dtype=dtype, out=dtype,
               stages=2)  # fmt: skip


@pytest.mark.parametrize("block_k", [32, 64, 128, 160])
@pytest.mark.parametrize("accum", ["float32", "float16"])
@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_float8(dtype, accum, block_k):
    limit = 2e-3 if accum == "float32" else 2e-2
    check_gemm(128, 72, 192, limit, block=(64, 72, block_k), transpose_b=True, dtype=dtype, out="float32", accum=accum)


@pytest.mark.parametrize("columns", [8, 16, 24, 40, 64, 80, 256])
@pytest.mark.parametrize("block_k", [32, 64, 128])
def test_int8(block_k, columns):
    check_gemm(64, columns, 200, 0, block=(64, columns, block_k), transpose_b=True, dtype="int8", out="int32",
               accum="int32")  # fmt: skip


@pytest.mark.parametrize("columns", [8, 72, 128, 256])
def test_float16_sums(columns):
    check_gemm(128, columns, 64, 5e-3, block=(128, columns, 64), accum="float16")


@pytest.mark.parametrize("threads", [128, 256, 384])
@pytest.mark.parametrize("policy", [T.GemmWarpPolicy.Square, T.GemmWarpPolicy.FullRow, T.GemmWarpPolicy.FullCol])
@pytest.mark.parametrize(
    "block", [(64, 8, 32), (64, 96, 64), (128, 128, 64), (192, 96, 64), (128, 256, 64), (384, 48, 32), (64, 384, 32)]
)
@pytest.mark.parametrize("transpose_b", [False, True])
def test_warp_groups(block, policy, threads, transpose_b):
    check_gemm(400, 300, 136, 1e-3, block=block, policy=policy, threads=threads, transpose_b=transpose_b)


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("k", [0, 8, 64, 72, 128, 320])
def test_trip_counts(stages, k):
    if k == 0:
        kernel = programs.compile_for(programs.gemm(64, 64, 0, block=(64, 64, 64), stages=stages), TARGET)
        (c,) = programs.run(
            kernel, [np.zeros((64, 0), np.float16), np.zeros((0, 64), np.float16)], [((64, 64), torch.float16)]
        )
        assert not bool(c.any())
        return
    check_gemm(200, 136, k, 1e-3, block=(128, 128, 64), stages=stages)


def test_a_in_registers():
    m, n, k = 128, 96, 64

    @T.prim_func
    def program(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=256):
            a_tile = T.alloc_fragment((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            acc = T.alloc_fragment((m, n), "float32")
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            for i, j in T.Parallel(m, k):
                a_tile[i, j] = a_tile[i, j] * 2
            T.gemm(a_tile, b_tile, acc, clear_accum=True)
            T.copy(acc, c)

    kernel = compile_wgmma(program)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    assert error(c, 2 * a.double() @ b.double()) < 1e-3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", E4M3, "int8"])
def test_registers_of_every_type(dtype):
    m, n, k = 64, 64, 128
    out = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def program(a: T.Tensor((m, k), dtype), b: T.Tensor((n, k), dtype), c: T.Tensor((m, n), out)):
        with T.Kernel(1, threads=128):
            a_tile = T.alloc_fragment((m, k), dtype)
            b_tile = T.alloc_shared((n, k), dtype)
            acc = T.alloc_fragment((m, n), out)
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.clear(acc)
            T.gemm(a_tile, b_tile, acc, transpose_B=True)
            T.copy(acc, c)

    kernel = compile_wgmma(program)
    a, b = random_operand((m, k), dtype), random_operand((n, k), dtype)
    (c,) = programs.run(kernel, [a, b], [((m, n), getattr(torch, out))])
    assert error(c, a.double() @ b.double().T) < 1e-3


@pytest.mark.parametrize(("columns", "threads"), [(48, 128), (176, 128), (128, 256)])
def test_rows_of_the_accumulator(columns, threads):
    """Reductions over quads, statistics of rows, and element loops that mix both."""
    m, n, k = 128, columns, 64

    @T.prim_func
    def program(
        a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32"),
        top: T.Tensor((m,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads):
            a_tile = T.alloc_shared((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            acc = T.alloc_fragment((m, n), "float32")
            largest = T.alloc_fragment((m,), "float32")
            total = T.alloc_fragment((m,), "float32")
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.gemm(a_tile, b_tile, acc, clear_accum=True)
            T.reduce_max(acc, largest, dim=1)
            for i, j in T.Parallel(m, n):
                acc[i, j] = T.exp(acc[i, j] - largest[i])
            T.reduce_sum(acc, total, dim=1)
            for i, j in T.Parallel(m, n):
                acc[i, j] = acc[i, j] / total[i]
            T.copy(acc, c)
            T.copy(largest, top)

    kernel = compile_wgmma(program)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    c, top = programs.run(kernel, [a, b], [((m, n), torch.float32), ((m,), torch.float32)])
    product = a.double() @ b.double()
    assert error(top, product.max(dim=1).values) < 1e-4
    assert error(c, torch.softmax(product, dim=1)) < 1e-3


def test_parts_of_a_buffer():
    """Slots that the program indexes itself, and parts of rows."""
    m, n, k = 64, 64, 64

    @T.prim_func
    def program(a: T.Tensor((2, m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=128):
            a_tile = T.alloc_shared((2, m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            acc = T.alloc_fragment((m, n), "float32")
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.clear(acc)
            for slot in range(2):
                T.gemm(a_tile[slot, 0:m, 0:32], b_tile[0:32, 0:n], acc)
                T.gemm(a_tile[slot, 0:m, 32:64], b_tile[32:64, 0:n], acc)
            T.copy(acc, c)

    kernel = compile_wgmma(program)
    a, b = torch.randn(2, m, k).half(), torch.randn(k, n).half()
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    assert error(c, (a[0].double() + a[1].double()) @ b.double()) < 1e-3


@pytest.mark.parametrize("block_m", [64, 128])
def test_attention(block_m):
    """Two products, the second with A in registers computed from the first."""
    kernel = compile_wgmma(programs.causal_attention(1, 2, 256, 64, block_m=block_m, block_n=64))
    q, key, value = (torch.randn(1, 256, 2, 64).half() for _ in range(3))
    (out,) = programs.run(kernel, [q, key, value], [((1, 256, 2, 64), torch.float16)])
    reference = torch.nn.functional.scaled_dot_product_attention(
        *(x.double().transpose(1, 2) for x in (q, key, value)), is_causal=True
    )
    assert error(out, reference.transpose(1, 2)) < 2e-3


@pytest.mark.parametrize("block", [(64, 64, 8), (64, 128, 16), (128, 96, 32), (128, 128, 32)])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 128), (100, 72, 88), (333, 260, 4)])
def test_float32(m, n, k, block):
    """TMA rounds the operands to tf32: the result is that of rounded operands, up to the order of summation."""
    kernel = compile_wgmma(programs.gemm(m, n, k, transpose_b=True, dtype="float32", out="float32", block=block))
    a, b = random_operand((m, k), "float32"), random_operand((n, k), "float32")
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])

    def rounded(x):
        bits = x.numpy().view(np.uint32)
        nearest_even = (bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)
        return torch.from_numpy(nearest_even.astype(np.uint32).view(np.float32)).double()

    assert error(c, rounded(a) @ rounded(b).T) < 1e-5
    assert error(c, a.double() @ b.double().T) < 1e-3
