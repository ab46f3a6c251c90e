"""Edges of tensors on the GPU, and tensors of more than 2^31 elements."""

import edge_programs as edges
import kernel_programs as programs
import pytest
from edge_cases import *  # noqa: F403

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param


def gibibytes(count):
    """Skips where the device has less free memory."""
    torch.cuda.empty_cache()
    if torch.cuda.mem_get_info()[0] < count << 30:
        pytest.skip(f"needs {count} GiB of device memory")


def ramp(shape, dtype):
    """Values that differ between neighbours and between rows, made without a copy in a wider type."""
    x = torch.empty(shape, dtype=dtype, device="cuda").view(-1)
    part = 1 << 26
    for begin in range(0, x.numel(), part):
        end = min(begin + part, x.numel())
        x[begin:end] = (torch.arange(begin, end, device="cuda") * 7 % 251).to(dtype)
    return x.view(shape)


PLACES = (0, 2**30, 2**31 - 32, 2**31, 2**32 - 32, 2**32)


def check_large(x, y, scale):
    """Everything, and by itself what lies where 32-bit offsets of elements and of bytes end."""
    x, y = x.view(-1), y.view(-1)
    for place in PLACES:
        part = slice(min(place, x.numel() - 64), min(place + 64, x.numel()))
        assert torch.equal(y[part], x[part] * scale)
    part = 1 << 28
    for begin in range(0, x.numel(), part):
        assert torch.equal(y[begin : begin + part], x[begin : begin + part] * scale)


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("dtype", "scale"), [("uint8", 1), ("float16", 2)])
def test_matrix_of_more_than_two_to_the_31_elements(target, dtype, scale, dynamic, space):
    gibibytes(12)
    rows, columns = 2**16 + 1, 2**15
    extents = (None, None) if dynamic else (rows, columns)
    kernel = programs.compile_for(edges.matrix_copy(*extents, dtype, tile=(64, 128), scale=scale, space=space), target)
    x = ramp((rows, columns), getattr(torch, dtype))
    y = torch.empty_like(x).view(torch.uint8).fill_(0xFF).view(x.dtype)
    kernel(x, y)
    check_large(x, y, scale)


@pytest.mark.parametrize("dynamic", [False, True])
def test_longest_vector(target, dynamic):
    """One dimension may have 2^31 - 1 elements; byte offsets are twice as large."""
    gibibytes(12)
    length = 2**31 - 1
    kernel = programs.compile_for(edges.vector_copy(None if dynamic else length, "float16", tile=1024, scale=2), target)
    x = ramp((length,), torch.float16)
    y = torch.full_like(x, float("nan"))
    kernel(x, y)
    check_large(x, y, 2)


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gather_past_two_to_the_31(target, index):
    gibibytes(6)
    rows, columns = 2**16 + 1, 2**15
    picks = [0, 2**16, 2**16 - 1, 5]
    kernel = programs.compile_for(edges.gather_rows(rows, columns, len(picks), "uint8", index), target)
    x = ramp((rows, columns), torch.uint8)
    y = torch.empty(len(picks), columns, dtype=torch.uint8, device="cuda")
    kernel(x, torch.tensor(picks, dtype=getattr(torch, index), device="cuda"), y)
    assert torch.equal(y, x[picks])
