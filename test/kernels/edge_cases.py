"""Test cases over edge_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import edge_programs as edges
import kernel_programs as programs
import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
import torch
from tilemlir.frontend import FrontendError

generator = np.random.default_rng()
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def numbers(shape, dtype):
    """Small whole numbers, exact in every type."""
    return torch.from_numpy(generator.integers(-9, 10, shape)).to(getattr(torch, dtype))


def same(result, reference):
    """Bit for bit, so that unwritten NaNs compare."""
    bits = BITS[result.element_size()]
    assert result.shape == reference.shape
    assert torch.equal(result.cpu().view(bits), reference.cpu().to(result.dtype).view(bits))


# A value that is no power of two, a negative one, infinity; and none, which means zero.
@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int32", -99), ("float16", -99.0), ("float32", -99.0), ("float16", "-inf"), ("float32", "-inf"), ("bfloat16", 7)],
)
@pytest.mark.parametrize("shape", [(60, 60), (1, 64), (64, 3), (5, 57)])
def test_value_outside(target, dtype, value, space, shape):
    value = -T.infinity(dtype) if value == "-inf" else value
    kernel = programs.compile_for(edges.filled_outside(*shape, (64, 64), dtype, value, space), target)
    x = numbers(shape, dtype)
    (y,) = programs.run(kernel, [x], [((64, 64), x.dtype)])
    reference = torch.full((64, 64), float(value)).to(x.dtype)
    reference[: shape[0], : shape[1]] = x
    same(y, reference)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(("dtype", "value"), [("float16", "-inf"), ("int32", -99), ("float32", 1.5)])
def test_value_outside_in_a_pipeline(target, dtype, value, stages):
    value = -T.infinity(dtype) if value == "-inf" else value
    kernel = programs.compile_for(edges.filled_outside_in_pipeline(30, 70, 4, dtype, value, stages), target)
    x = numbers((30, 70), dtype)
    (y,) = programs.run(kernel, [x], [((32, 128), x.dtype)])
    reference = torch.full((32, 128), float(value)).to(x.dtype)
    reference[:30, :70] = x
    same(y, reference)


OFFSETS = [("int32", offset) for offset in (0, 1, 3, 4, 5)] + [("float16", offset) for offset in (1, 7, 8)]


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(("dtype", "offset"), OFFSETS)
def test_constant_column_offset(target, dtype, offset, store, space):
    check_window(
        programs.compile_for(edges.column_window(dtype, offset, store, space=space), target), dtype, offset, store
    )


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "float16", "uint8"])
def test_launch_time_column_offset(target, dtype, store, space):
    kernel = programs.compile_for(edges.column_window(dtype, None, store, space=space), target)
    for offset in (0, 1, 3, 4, 5, 7, 8, 16, 64, 65, 90, 96, 1000, -1, -8, -31, -32):
        check_window(kernel, dtype, offset, store, launch_time=True)


def check_window(kernel, dtype, offset, store, launch_time=False, tile=(32, 32), width=96):
    rows, columns = tile
    x = torch.from_numpy(generator.integers(0, 10, tile if store else (rows, width))).to(getattr(torch, dtype))
    shape = (rows, width) if store else tile
    (y,) = programs.run(kernel, [x, offset] if launch_time else [x], [(shape, x.dtype)])
    first, last = max(offset, 0), min(offset + columns, width)
    if store:
        # What is not written keeps its bits.
        reference = torch.full((rows * width * x.element_size(),), 0xFF, dtype=torch.uint8).view(x.dtype).view(shape)
        if first < last:
            reference[:, first:last] = x[:, first - offset : last - offset]
    else:
        reference = torch.zeros(tile, dtype=x.dtype)
        if first < last:
            reference[:, first - offset : last - offset] = x[:, first:last]
    same(y, reference)


LENGTHS = [1, 7, 100, 1001]


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["float16", "uint8"])
def test_vector_tail(target, length, space, dtype):
    kernel = programs.compile_for(edges.vector_copy(length, dtype, space=space), target)
    x = torch.from_numpy(generator.integers(0, 100, length)).to(getattr(torch, dtype))
    (y,) = programs.run(kernel, [x], [((length,), x.dtype)])
    same(y, x)


@pytest.mark.parametrize("space", ["shared", "fragment"])
def test_vector_tail_of_launch_time_length(target, space):
    kernel = programs.compile_for(edges.vector_copy(None, "float16", space=space, scale=2), target)
    for length in [0, *LENGTHS, 128, 129]:
        x = numbers((length,), "float16")
        (y,) = programs.run(kernel, [x], [((length,), x.dtype)])
        same(y, x * 2)


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
def test_rows_that_are_not_whole_vectors(target, dtype, space):
    """One kernel for every size: rows of any number of bytes, so that their alignment changes from row to row."""
    kernel = programs.compile_for(edges.matrix_copy(None, None, dtype, space=space), target)
    for shape in [(64, 64), (3, 65), (65, 7), (70, 1), (1, 1), (9, 136), (0, 5), (5, 0)]:
        x = torch.from_numpy(generator.integers(0, 100, shape)).to(getattr(torch, dtype))
        (y,) = programs.run(kernel, [x], [(shape, x.dtype)])
        same(y, x)


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 8])
def test_misaligned_base(target, shift):
    """Views into memory that begin off a 16-byte line take the version for unaligned tensors."""
    m, n, k = 70, 48, 40
    kernel = programs.compile_for(programs.gemm(m, n, k, block=(64, 32, 32), stages=2), target)
    device = programs.device_of(kernel)

    def shifted(rows, columns):
        memory = torch.randn(rows * columns + 16, device=device).half()
        return memory[shift : shift + rows * columns].view(rows, columns)

    a, b = shifted(m, k), shifted(k, n)
    memory = torch.full((m * n + 16,), float("nan"), device=device, dtype=torch.float16)
    c = memory[shift : shift + m * n].view(m, n)
    kernel(a, b, c)
    reference = a.double() @ b.double()
    assert float((c.double() - reference).norm() / reference.norm()) < 1e-3
    assert bool(memory[:shift].isnan().all()) and bool(memory[shift + m * n :].isnan().all())


@pytest.mark.parametrize("shift", [1, 3, 128, 129])
@pytest.mark.parametrize(("stages", "space"), [(0, "shared"), (1, "shared"), (3, "shared"), (2, "fragment")])
def test_overlapping_arguments(target, shift, stages, space):
    """The output begins ``shift`` elements after the input in the same memory: statements still happen in order."""
    steps, size = 6, 128
    kernel = programs.compile_for(edges.running_product(steps, size, stages, space), target)
    device = programs.device_of(kernel)
    apart = numbers((steps * size,), "float32")
    (y,) = programs.run(kernel, [apart], [((steps * size,), torch.float32)])
    same(y, apart * 2)

    memory = numbers((steps * size + shift,), "float32").to(device)
    reference = memory.cpu().clone()
    for step in range(steps):
        held = reference[step * size : (step + 1) * size].clone()
        reference[step * size + shift : (step + 1) * size + shift] = held * 2
    kernel(memory[: steps * size], memory[shift:])
    same(memory, reference)
    # In place, and the input after the output.
    memory = numbers((steps * size,), "float32").to(device)
    reference = memory.cpu() * 2
    kernel(memory, memory)
    same(memory, reference)
    memory = numbers((steps * size + shift,), "float32").to(device)
    reference = memory.cpu().clone()
    reference[: steps * size] = memory.cpu()[shift:] * 2
    if shift % size == 0:
        kernel(memory[shift:], memory[: steps * size])
        same(memory, reference)


def test_strided_views(target):
    kernel = programs.compile_for(edges.strided_scale(), target)
    device = programs.device_of(kernel)
    base = numbers((90, 110), "float16").to(device)
    views = [
        base,
        base.T,
        base[::2, 1::3],
        base[1:70, 5:100],
        base.T[3:50:2, 7:60],
        base[:1],
        base[:, :1],
        base[5:6, 3:90:29],
    ]
    for x in views:
        for step in (1, 2):
            memory = torch.full((150, 250), float("nan"), device=device, dtype=torch.float16)
            y = memory[1 : 1 + x.shape[0], 2 : 2 + step * x.shape[1] : step]
            kernel(x, y)
            same(y.contiguous(), (x * 3).contiguous())
            assert int(memory.isnan().sum()) == memory.numel() - x.numel()


def test_strided_operands(target):
    m, n, k = 70, 90, 50
    kernel = programs.compile_for(edges.strided_gemm(m, n, k), target)
    device = programs.device_of(kernel)
    a = torch.randn(k, m, device=device).half().T
    b = torch.randn(k, 2 * n, device=device).half()[:, ::2]
    c = torch.full((n, m), float("nan"), device=device).T
    kernel(a, b, c)
    reference = a.double() @ b.double()
    assert float((c.double() - reference).norm() / reference.norm()) < 1e-3


def test_view_without_strides_is_refused(target):
    kernel = programs.compile_for(edges.matrix_copy(64, 64, "float32"), target)
    device = programs.device_of(kernel)
    x, y = torch.randn(64, 128, device=device), torch.full((64, 64), float("nan"), device=device)
    with pytest.raises(tile.errors.TileValueError, match="contiguous"):
        kernel(x[:, ::2], y)
    assert bool(y.isnan().all())
    kernel(x[:, ::2].contiguous(), y)
    same(y, x[:, ::2].contiguous())


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("shape", [(2, 64, 3, 32), (1, 50, 2, 24), (2, 1, 5, 7)])
def test_element_form_of_planes(target, space, shape):
    kernel = programs.compile_for(edges.head_planes(*shape, space=space), target)
    x = numbers(shape, "float16")
    batch, seq, heads, dim = shape
    (y,) = programs.run(kernel, [x], [((batch, heads, seq, dim), torch.float16)])
    same(y, x.permute(0, 2, 1, 3).contiguous())


@pytest.mark.parametrize("length", [64, 100, 3])
def test_element_form_of_vectors(target, length):
    kernel = programs.compile_for(edges.grouped_rows(6, 3, length), target)
    x = numbers((2, length), "float32")
    (y,) = programs.run(kernel, [x], [((6, length), torch.float32)])
    same(y, x.repeat_interleave(3, 0))


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gather(target, index):
    """Rows outside give zero, also where the index does not fit into 32 bits."""
    rows, columns, picks = 50, 40, [0, 49, 7, 7, 50, -1, 2**31 - 1]
    if index == "int64":
        picks += [2**32, 2**32 + 3, -(2**40), 2**63 - 1]
    kernel = programs.compile_for(edges.gather_rows(rows, columns, len(picks), "float32", index), target)
    x = numbers((rows, columns), "float32")
    (y,) = programs.run(
        kernel, [x, torch.tensor(picks, dtype=getattr(torch, index))], [((len(picks), columns), x.dtype)]
    )
    reference = torch.stack([x[pick] if 0 <= pick < rows else torch.zeros(columns) for pick in picks])
    same(y, reference)


def test_dimension_of_two_to_the_31_is_refused(target):
    """Sizes along one dimension stay below 2^31: said when compiling, or by the launch before anything is read."""
    with pytest.raises(FrontendError, match="2147487744 elements"):
        programs.compile_for(edges.vector_copy(2**31 + 4096, "uint8"), target)
    kernel = programs.compile_for(edges.vector_copy(None, "uint8"), target)
    # Memory that is never touched.
    x = torch.empty(2**31 + 4096, dtype=torch.uint8, device=programs.device_of(kernel))
    with pytest.raises(tile.errors.TileValueError, match="2147487744 elements along dimension 0"):
        kernel(x, x)
