"""Test cases over operation_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import operation_programs as operations
import pytest
import torch
from tilemlir.frontend import FrontendError

generator = np.random.default_rng()


def numbers(shape, dtype="float32", limit=4):
    """Small whole numbers, whose products and sums are exact."""
    return torch.from_numpy(generator.integers(-limit, limit + 1, shape)).to(getattr(torch, dtype))


def exact(result, reference):
    torch.testing.assert_close(result, reference.to(result.dtype), rtol=0, atol=0)


@pytest.mark.parametrize("clear", [False, True])
@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("which", ["a", "b"])
def test_register_operand_of_a_gemm(target, which, dtype, threads, clear):
    m, n, k = 128, 64, 64
    kernel = programs.compile_for(
        operations.register_gemm(m, n, k, which, dtype, threads, clear_accumulator=clear, trips=2), target
    )
    a, b = numbers((m, k), dtype), numbers((k, n), dtype)
    held = a if which == "a" else b
    c, d = programs.run(kernel, [a, b], [((m, n), torch.float32), (tuple(held.shape), held.dtype)])
    product = a.float() @ b.float()
    exact(c, product if clear else 2 * product + 7)
    exact(d, held)


def test_transposed_result_of_a_gemm(target):
    kernel = programs.compile_for(operations.chained_gemms(64), target)
    q, k, o = (numbers((64, 64), "float16", limit=2) for _ in range(3))
    (v,) = programs.run(kernel, [q, k, o], [((64, 64), torch.float32)])
    exact(v, (q.float() @ k.float().T).T @ o.float())


@pytest.mark.parametrize("transposes", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "float8_e4m3fn", "float8_e5m2"])
def test_transposes_of_every_type(target, dtype, transposes):
    m, n, k = 128, 128, 64
    ta, tb = transposes
    integers = dtype == "int8"
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(128, 128, 64), stages=2, dtype=dtype, out="int32" if integers else "float32",
                      accum="int32" if integers else "float32", transpose_a=ta, transpose_b=tb), target
    )  # fmt: skip
    limit = 120 if integers else 4
    a = numbers((k, m) if ta else (m, k), "int32", limit).to(getattr(torch, dtype))
    b = numbers((n, k) if tb else (k, n), "int32", limit).to(getattr(torch, dtype))
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.int32 if integers else torch.float32)])
    left, right = (a.T if ta else a).double(), (b.T if tb else b).double()
    exact(c, left @ right)


@pytest.mark.parametrize(("k", "cut"), [(128, 64), (128, 32), (192, 96), (96, 16)])
def test_slices_of_operands(target, k, cut):
    m, n = 64, 64
    kernel = programs.compile_for(operations.sliced_operands(m, n, k, cut), target)
    a, b = numbers((m, k), "float16"), numbers((k, n), "float16")
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float32)])
    exact(c, a.float() @ b.float())


@pytest.mark.parametrize("block_k", [8, 16, 32, 64])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float8_e4m3fn", "int8"])
def test_short_steps_of_a_gemm(target, dtype, block_k):
    """Steps along K below what one matrix instruction takes are right, or refused with the smallest step."""
    m, n, k = 64, 48, 72
    integers = dtype == "int8"
    result = "int32" if integers else "float32"
    program = programs.gemm(m, n, k, block=(64, 64, block_k), stages=2, dtype=dtype, out=result, accum=result)
    kernel = programs.compile_for(program, target)
    a = numbers((m, k), "int32").to(getattr(torch, dtype))
    b = numbers((k, n), "int32").to(getattr(torch, dtype))
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.int32 if integers else torch.float32)])
    exact(c, a.double() @ b.double())


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_accumulator_that_no_matrix_instruction_has(target, dtype):
    """Multiply-adds take over; explain() says so."""
    m, n, k = 64, 64, 40
    kernel = programs.compile_for(
        programs.gemm(m, n, k, block=(64, 64, 32), dtype=dtype, out="float16", accum="float16"), target
    )
    assert [one["path"] for one in kernel.explain().operations if one["op"] == "gemm"] == ["fma"]
    a, b = numbers((m, k), dtype), numbers((k, n), dtype)
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    exact(c, a.float() @ b.float())


@pytest.mark.parametrize(("dtype", "accumulator"), [("int8", "float16"), ("int8", "float32"), ("float16", "int32")])
def test_impossible_accumulators_are_refused(target, dtype, accumulator):
    program = programs.gemm(64, 64, 64, block=(64, 64, 32), dtype=dtype, out=accumulator, accum=accumulator)
    with pytest.raises(FrontendError) as caught:
        programs.compile_for(program, target)
    text = str(caught.value)
    assert "kernel_programs.py" in text and "T.gemm(a_tile, b_tile, acc" in text
    assert dtype in text and accumulator in text


PIECES = [(96, 96, 32, 128, 8), (96, 64, 16, 64, 3), (128, 128, 32, 256, 30), (96, 48, 32, 64, 1)]


def check_pieces(target, m, n, k, threads, left):
    """A fragment changes layout in the `left` KiB that the program does not use, fewer than the fragment has."""
    limit = 166912 if "80" in str(target) else 232448
    kept = (limit - 2 * k * (m + n) - left * 1024) // 128 * 128
    kernel = programs.compile_for(operations.sum_of_two_arrangements(m, n, k, threads, kept), target)
    converts = [one["reason"] for one in kernel.explain().operations if one["op"] == "convert"]
    assert all("pieces of" in reason for reason in converts), converts
    assert converts or str(target) == "cpu"
    a, b = numbers((m, k), "float16"), numbers((k, n), "float16")
    x = torch.from_numpy(generator.integers(-99, 99, (kept // 128, 128)).astype("int8"))
    c, y = programs.run(kernel, [a, b, x], [((m, n), torch.float32), (tuple(x.shape), torch.int8)])
    exact(c, 3 * (a.float() @ b.float()))
    exact(y, x)


@pytest.mark.parametrize("sizes", PIECES, ids=str)
def test_fragments_change_layout_in_pieces(target, sizes):
    check_pieces(target, *sizes)


@pytest.mark.parametrize("n", [32, 64])
def test_fragments_change_layout(target, n):
    m, k = 64, 32
    kernel = programs.compile_for(operations.fragment_conversion(m, n, k), target)
    a, b, w = numbers((m, k), "float16", 2), numbers((k, n), "float16", 2), numbers((n, n), "float16", 2)
    x, c = programs.run(kernel, [a, b, w], [((m, n), torch.float32)] * 2)
    first = a.float() @ b.float()
    exact(x, first)
    exact(c, first.half().float() @ w.float())


@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize("shape", [(64, 64), (48, 96), (33, 20)])
def test_vectors_change_layout(target, shape, threads):
    """Inside of one warp values are shuffled; between warps they go through shared memory."""
    m, n = shape
    kernel = programs.compile_for(operations.row_and_column_sums(m, n, threads), target)
    x = numbers((m, n))
    y, z = programs.run(kernel, [x], [((m, n), torch.float32), ((n, m), torch.float32)])
    exact(y, x.sum(1)[:, None] + x.sum(0)[None])
    exact(z, (x.sum(1)[:, None] - x.sum(0)[None]).T)


@pytest.mark.parametrize("n", [16, 48, 64, 128])
def test_rounded_accumulator_through_shared_memory(target, n):
    m, k = 128, 64
    kernel = programs.compile_for(operations.rounded_product(m, n, k), target)
    a, b = numbers((m, k), "float16"), numbers((k, n), "float16")
    (c,) = programs.run(kernel, [a, b], [((m, n), torch.float16)])
    exact(c, (a.float() @ b.float()).half())


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("small", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("wide", ["float32", "float16", "bfloat16"])
def test_every_8_bit_float(target, small, wide, space):
    """All 256 patterns widened, and all values of float16 narrowed: also where the target has no such instruction."""
    patterns = torch.arange(256, dtype=torch.uint8).view(getattr(torch, small)).view(16, 16)
    kernel = programs.compile_for(operations.cast_matrix(16, 16, small, wide, space), target)
    (y,) = programs.run(kernel, [patterns], [((16, 16), getattr(torch, wide))])
    torch.testing.assert_close(y, patterns.float().to(y.dtype), rtol=0, atol=0, equal_nan=True)

    # Values that no format rounds to infinity: what lies beyond saturates here and not in torch.
    values = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.float16).float()
    limit = torch.finfo(getattr(torch, small)).max
    values = values[values.abs() <= limit].to(getattr(torch, wide))
    values = values[: len(values) // 64 * 64].view(-1, 64)
    rows = 64
    kernel = programs.compile_for(operations.cast_matrix(rows, 64, wide, small, space), target)
    for first in range(0, len(values) - rows + 1, rows):
        part = values[first : first + rows].contiguous()
        (y,) = programs.run(kernel, [part], [((rows, 64), getattr(torch, small))])
        assert torch.equal(y.view(torch.uint8), part.float().to(y.dtype).view(torch.uint8))


@pytest.mark.parametrize("source", ["shared", "fragment"])
@pytest.mark.parametrize("dest", ["shared", "fragment"])
@pytest.mark.parametrize(
    ("kind", "seed"), [("sum", 1000), ("max", 5), ("max", -5), ("min", 5), ("min", -5), ("absmax", 5)]
)
def test_reduction_that_continues(target, kind, seed, source, dest):
    kernel = programs.compile_for(operations.accumulated_reduction(kind, source, dest, seed), target)
    x = numbers((3 * 32, 96), limit=9)
    (y,) = programs.run(kernel, [x], [((32,), torch.float32)])
    rows = x.view(3, 32, 96).permute(1, 0, 2).reshape(32, -1)
    seeded = torch.cat([rows, torch.full((32, 1), float(seed))], 1)
    exact(y, {"sum": seeded.sum(1), "max": seeded.amax(1), "min": seeded.amin(1), "absmax": seeded.abs().amax(1)}[kind])


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "absmax"])
@pytest.mark.parametrize("source", ["shared", "fragment"])
def test_nan_in_a_reduction_that_continues(target, kind, source, propagate):
    """A NaN of one tile reaches a sum; maxima and minima ignore it unless they are asked not to."""
    if kind == "sum" and propagate:
        pytest.skip("sums have no such option")
    program = operations.accumulated_reduction(kind, source, "fragment", 1, nan_propagate=propagate)
    kernel = programs.compile_for(program, target)
    x = numbers((3 * 32, 96))
    x[32 + 5, 77] = float("nan")
    (y,) = programs.run(kernel, [x], [((32,), torch.float32)])
    rows = torch.cat([x.view(3, 32, 96).permute(1, 0, 2).reshape(32, -1), torch.ones(32, 1)], 1)
    low, high = rows.nan_to_num(nan=-99), rows.nan_to_num(nan=99)
    reference = {
        "sum": rows.sum(1),
        "max": low.amax(1),
        "min": high.amin(1),
        "absmax": rows.nan_to_num(0).abs().amax(1),
    }[kind]
    if propagate:
        reference[5] = float("nan")
    torch.testing.assert_close(y, reference, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("columns", [1, 48, 127])
@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("kind", ["sum", "min"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("threads", [64, 256])
def test_reduction_that_keeps_its_dimension(target, rows, columns, kind, dim, threads):
    kernel = programs.compile_for(operations.kept_dimension(rows, columns, kind, dim, threads), target)
    x = numbers((rows, columns), limit=50)
    (y,) = programs.run(kernel, [x], [((rows, 1) if dim == 1 else (1, columns), torch.float32)])
    exact(y, x.sum(dim, keepdim=True) if kind == "sum" else x.amin(dim, keepdim=True))


@pytest.mark.parametrize("shape", [(1,), (31,), (100,), (192,), (229,), (257,), (7, 13), (1, 5), (130, 3)])
def test_extents_of_parallel_loops(target, shape):
    kernel = programs.compile_for(operations.parallel_extents(shape), target)
    (y,) = programs.run(kernel, [], [(shape, torch.float32)])
    if len(shape) == 1:
        reference = torch.arange(shape[0]).float() * 3
    else:
        reference = torch.arange(shape[0])[:, None] * 100.0 + torch.arange(shape[1])
    for step in range(4):
        reference = reference * 2 + step
    exact(y, reference)


@pytest.mark.parametrize(("size", "shift"), [(256, 1), (100, 1), (257, 128), (64, 63)])
def test_elements_of_other_threads(target, size, shift):
    kernel = programs.compile_for(operations.neighbours(size, shift), target)
    x = numbers((size,), limit=99)
    (y,) = programs.run(kernel, [x], [((size,), torch.float32)])
    exact(y, x.roll(-shift))


@pytest.mark.parametrize("space", ["fragment", "shared", "global"])
@pytest.mark.parametrize("width", [24, 40, 48, 96, 100])
def test_vectors_along_a_tile(target, width, space):
    rows = 33
    kernel = programs.compile_for(operations.vectors_along_a_tile(rows, width, space), target)
    x, r, c = numbers((rows, width)), numbers((rows,)), numbers((width,))
    (y,) = programs.run(kernel, [x, r, c], [((3, rows, width), torch.float32)])
    exact(y, torch.stack([x * c, x + r[:, None], (r[:, None] + c).expand(rows, width)]))


@pytest.mark.parametrize("dest", ["float16", "bfloat16", "float32", "int32"])
@pytest.mark.parametrize("size", [256, 100, 7])
def test_atomic_forms(target, size, dest):
    """Float tiles into tensors of every type: two values to one place, an odd offset, a tail that lies outside."""
    blocks = 3
    kernel = programs.compile_for(operations.atomic_forms(blocks, size, "float32", dest), target)
    device = programs.device_of(kernel)
    x = torch.from_numpy(generator.integers(0, 4, (blocks, size))).float()
    dtype = getattr(torch, dest)
    y, halves, shifted, count = (torch.zeros(n, dtype=dtype, device=device) for n in (size, size // 2, size, 1))
    kernel(x.to(device), y, halves, shifted, count)
    total = x.sum(0)
    exact(y.cpu(), total)
    exact(halves.cpu(), total[: size // 2 * 2].view(-1, 2).sum(1))
    reference = torch.zeros(size)
    reference[3:] = total[:-3]
    exact(shifted.cpu(), reference)
    assert count.item() == 42 * blocks


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_atomic_extrema(target, dtype):
    blocks, size = 9, 100
    kernel = programs.compile_for(operations.atomic_extrema(blocks, size, dtype), target)
    device = programs.device_of(kernel)
    x = numbers((blocks, size), dtype, limit=50)
    high = torch.full((size,), -60, dtype=x.dtype, device=device)
    low = torch.full((size,), 60, dtype=x.dtype, device=device)
    kernel(x.to(device), high, low)
    exact(high.cpu(), x.amax(0).clamp_min(3))
    exact(low.cpu(), x.amin(0))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("bins", [10, 200])
def test_atomics_in_shared_memory(target, bins, dtype):
    size = 1000
    kernel = programs.compile_for(operations.histogram(size, bins, dtype), target)
    device = programs.device_of(kernel)
    x = torch.from_numpy(generator.integers(0, bins, size).astype(np.int32))
    y = torch.zeros(bins, dtype=getattr(torch, dtype), device=device)
    kernel(x.to(device), y)
    exact(y.cpu(), torch.bincount(x, minlength=bins))
