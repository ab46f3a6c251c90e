"""Test cases over kernel_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir.language as T
import torch

generator = np.random.default_rng()


def half(*shape):
    return generator.standard_normal(shape, dtype=np.float32).astype(np.float16)


def relative(result, reference):
    result, reference = result.double(), torch.as_tensor(reference).double()
    assert bool(torch.isfinite(result).all())
    return float((result - reference).norm() / reference.norm().clamp_min(1e-30))


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(256, 128, 64), (1000, 777, 555), (1, 40, 96), (130, 200, 8)])
def test_gemm(target, shape, stages):
    m, n, k = shape
    kernel = programs.compile_for(programs.gemm(m, n, k, stages=stages), target)
    a, b = half(m, k), half(k, n)
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    assert relative(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-3


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 64, 0), (64, 0, 64)])
def test_gemm_of_nothing(target, shape):
    m, n, k = shape
    kernel = programs.compile_for(programs.gemm(m, n, k, block=(64, 64, 32)), target)
    (c,) = programs.run(kernel, [half(m, k), half(k, n)], [((m, n), torch.float16)])
    assert c.shape == (m, n)
    assert not bool(c.any())


@pytest.mark.parametrize("transposes", [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("dtype", "out", "limit"),
    [("float16", "float16", 1e-3), ("bfloat16", "bfloat16", 2.5e-3), ("float32", "float32", 2e-3)],
)
def test_gemm_transposed(target, transposes, dtype, out, limit):
    m, n, k = 128, 96, 80
    ta, tb = transposes
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(64, 64, 32), dtype=dtype, out=out, transpose_a=ta, transpose_b=tb), target
    )
    a = torch.randn((k, m) if ta else (m, k)).to(getattr(torch, dtype))
    b = torch.randn((n, k) if tb else (k, n)).to(getattr(torch, dtype))
    (c,) = programs.run(kernel, [a, b], [((m, n), getattr(torch, out))])
    left, right = (a.T if ta else a).double(), (b.T if tb else b).double()
    assert relative(c, left @ right) < limit


def test_gemm_ieee_float32(target):
    kernel = programs.compile_for(
        programs.gemm(64, 48, 40, block=(32, 32, 16), dtype="float32", out="float32", precision="ieee"), target
    )
    a, b = torch.randn(64, 40), torch.randn(40, 48)
    (c,) = programs.run(kernel, [a, b], [((64, 48), torch.float32)])
    assert relative(c, a.double() @ b.double()) < 1e-6


@pytest.mark.parametrize("block_k", [8, 16, 32, 64])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_gemm_int8(target, block_k, transpose_b):
    m, n, k = 70, 90, 130
    kernel = programs.compile_for(
        programs.gemm(
            m, n, k, block=(64, 64, block_k), dtype="int8", out="int32", accum="int32", transpose_b=transpose_b
        ),
        target,
    )
    a = generator.integers(-128, 128, (m, k), dtype=np.int8)
    b = generator.integers(-128, 128, (n, k) if transpose_b else (k, n), dtype=np.int8)
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.int32)])
    right = b.T if transpose_b else b
    np.testing.assert_array_equal(c.numpy(), a.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_gemm_fp8(target, dtype):
    m, n, k = 128, 64, 96
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(64, 64, 32), dtype=dtype, out="float32", transpose_b=True), target
    )
    a = torch.randn(m, k).to(getattr(torch, dtype))
    b = torch.randn(n, k).to(getattr(torch, dtype))
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    assert relative(c, a.double() @ b.double().T) < 1e-3


@pytest.mark.parametrize("block_n", [8, 16, 24, 40, 56, 72, 88])
@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("policy", ["Square", "FullRow", "FullCol"])
def test_gemm_widths(target, block_n, threads, policy):
    m, n, k = 128, block_n, 128
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(128, block_n, 64), threads=threads, policy=getattr(T.GemmWarpPolicy, policy)),
        target,
    )
    a, b = half(m, k), half(k, n)
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    assert relative(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-3


def test_gemm_dynamic_rows(target):
    kernel = programs.compile_for(programs.dynamic_gemm(72, 100), target)
    b = half(100, 72)
    for m in (0, 1, 7, 64, 65, 130, 257):
        a = half(m, 100)
        (c,) = programs.run(kernel, [a, b], [((m, 72), torch.float16)])
        assert m == 0 or relative(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-3


@pytest.mark.parametrize("blocks", [(64, 64), (128, 32), (32, 64)])
@pytest.mark.parametrize("sequence", [256, 200])
def test_causal_attention(target, blocks, sequence):
    batch, heads, dim = 1, 2, 64
    kernel = programs.compile_for(programs.causal_attention(batch, heads, sequence, dim, *blocks), target)
    q, k, v = (half(batch, sequence, heads, dim) for _ in range(3))
    (out,) = programs.run(kernel, [q, k, v], [((batch, sequence, heads, dim), torch.float16)])
    scores = np.einsum("bihd,bjhd->bhij", q.astype(np.float64), k.astype(np.float64)) * dim**-0.5
    scores[..., np.triu(np.ones((sequence, sequence), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    assert relative(out, np.einsum("bhij,bjhd->bihd", weights, v.astype(np.float64))) < 2e-3


@pytest.mark.parametrize("columns", [1, 3, 48, 96, 100, 127, 192, 257])
@pytest.mark.parametrize("kind", ["sum", "max", "absmax"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("threads", [64, 128, 256])
def test_reduce(target, columns, kind, dim, threads):
    rows = 20
    x = generator.integers(-50, 50, (rows, columns)).astype(np.float32)
    kernel = programs.compile_for(programs.reduce_rows(rows, columns, kind, threads, dim), target)
    (y,) = programs.run(kernel, [x], [((rows if dim == 1 else columns,), torch.float32)])
    reference = {"sum": x.sum, "max": x.max, "absmax": np.abs(x).max}[kind](dim)
    np.testing.assert_array_equal(y.numpy(), reference)


@pytest.mark.parametrize("width", [24, 40, 48, 96, 100])
def test_broadcast(target, width):
    rows = 33
    x, r, c = (generator.integers(-9, 9, shape).astype(np.float32) for shape in ((rows, width), (rows,), (width,)))
    kernel = programs.compile_for(programs.broadcast(rows, width), target)
    (y,) = programs.run(kernel, [x, r, c], [((rows, width), torch.float32)])
    np.testing.assert_array_equal(y.numpy(), x * c + r[:, None])


@pytest.mark.parametrize("flags", ["00000000", "11111111", "10101010", "10000000", "00000001"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_conditional_loads(target, flags, stages):
    flag = np.array([int(one) for one in flags], np.int32)
    x = torch.from_numpy(generator.integers(-9, 9, (8 * 32, 16)).astype(np.float32))
    kernel = programs.compile_for(programs.gated(8, stages), target)
    (y,) = programs.run(kernel, [x.bfloat16(), flag], [((32, 16), torch.float32)])
    reference = (x.reshape(8, 32, 16) * torch.from_numpy(flag)[:, None, None]).sum(0)
    np.testing.assert_array_equal(y.numpy(), reference.numpy())


@pytest.mark.parametrize(("first", "second"), [(100, 256), (256, 100), (1, 257), (31, 192), (229, 257)])
def test_loops_of_different_extents(target, first, second):
    size = max(first, second)
    kernel = programs.compile_for(programs.partial_loops(first, second, size), target)
    (y,) = programs.run(kernel, [], [((size,), torch.float32)])
    reference = np.where(np.arange(size) < first, np.arange(size), 1) + np.where(np.arange(size) < second, 100, 0)
    np.testing.assert_array_equal(y.numpy(), reference.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_atomic_add(target, dtype):
    x = generator.integers(0, 4, (10, 256)).astype(np.float32)
    kernel = programs.compile_for(programs.atomic_sum(10, 256, dtype), target)
    device = programs.device_of(kernel)
    y = torch.zeros(256, dtype=getattr(torch, dtype), device=device)
    kernel(torch.from_numpy(x).to(device), y)
    np.testing.assert_array_equal(y.float().cpu().numpy(), x.sum(0))


@pytest.mark.parametrize("threads", [128, 256])
def test_register_operand(target, threads):
    m, n, k = 128, 64, 64
    kernel = programs.compile_for(programs.register_operand(m, n, k, threads), target)
    a, b = half(m, k), half(k, n)
    c, d = programs.run(kernel, [a, b], [((m, n), torch.float32), ((m, k), torch.float16)])
    assert relative(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-3
    np.testing.assert_array_equal(d.numpy(), a)
