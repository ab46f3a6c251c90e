"""Test cases over tma_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import kernel_programs as programs
import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
import tma_programs
import torch

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "bool": torch.bool,
}


def compile_for(program, target, path="tma"):
    """Compiles, and on Hopper checks that every copy between a tensor and shared memory took ``path``."""
    kernel = programs.compile_for(program, target)
    if not kernel.target.is_cpu and kernel.target.arch == "sm_90a" and path:
        paths = [one["path"] for one in kernel.explain().operations if one["op"].startswith("copy")]
        assert path in paths, kernel.explain().operations
    return kernel


def random(shape, dtype):
    """Random bits that are no NaN in any float type (NaN payloads need not survive)."""
    count = int(np.prod(shape)) * dtype.itemsize
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    data = torch.from_numpy(np.random.default_rng().integers(0, 64, count, dtype=np.uint8))
    return data.view(dtype).reshape(shape) if dtype != torch.bool else (data % 2).bool().reshape(shape)


def check_same(result, reference):
    assert result.shape == reference.shape
    assert result.numel() == 0 or torch.equal(
        result.contiguous().view(torch.uint8), reference.contiguous().view(torch.uint8)
    )


def shifted(array, load_at, store_at, dtype):
    """What a copy with distances leaves: zero where it read outside, ones bits where it did not write."""
    rows, columns = array.shape
    expected = torch.full((rows * columns * dtype.itemsize,), 0xFF, dtype=torch.uint8).view(dtype)
    expected = expected.reshape(rows, columns).clone()
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    sy, sx = y - store_at[0] + load_at[0], x - store_at[1] + load_at[1]
    written = (y >= store_at[0]) & (x >= store_at[1])
    inside = written & (sy >= 0) & (sy < rows) & (sx >= 0) & (sx < columns)
    raw, source = expected.view(torch.uint8), array.contiguous().view(torch.uint8)
    raw = raw.reshape(rows, columns, -1)
    source = source.reshape(rows, columns, -1)
    raw[written] = 0
    raw[inside] = source[sy[inside], sx[inside]]
    return raw.reshape(rows, -1).view(dtype).reshape(rows, columns)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_types(target, name):
    dtype = DTYPES[name]
    columns = 1024 // dtype.itemsize // 4
    kernel = compile_for(tma_programs.copy_rows(100, columns, (32, columns // 2), name), target)
    a = random((100, columns), dtype)
    (b,) = programs.run(kernel, [a], [((100, columns), dtype)])
    check_same(b, a)


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("name", ["float16", "float32", "uint8"])
def test_any_offset(target, name, offset):
    dtype = DTYPES[name]
    rows, columns = 70, 128
    a = random((rows, columns), dtype)
    for load_at, store_at in [((0, offset), (0, 0)), ((0, 0), (0, offset)), ((offset, offset), (offset, 0)),
                              ((-offset, -offset), (0, 0))]:  # fmt: skip
        kernel = compile_for(
            tma_programs.copy_rows(rows, columns, (32, 64), name, load_at=load_at, store_at=store_at), target
        )
        (b,) = programs.run(kernel, [a], [((rows, columns), dtype)])
        check_same(b, shifted(a, load_at, store_at, dtype))


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ((1, 64), (64, 64)),
        ((65, 72), (64, 64)),
        ((127, 200), (64, 128)),
        ((300, 64), (256, 64)),
        ((600, 32), (384, 32)),
        ((64, 1024), (16, 512)),
        ((40, 264), (8, 264)),
        ((33, 48), (16, 48)),
        ((64, 16), (64, 16)),
    ],
)
def test_tails(target, shape, block):
    for name in ("float16", "float32"):
        dtype = DTYPES[name]
        kernel = compile_for(tma_programs.copy_rows(*shape, block, name), target)
        a = random(shape, dtype)
        (b,) = programs.run(kernel, [a], [(shape, dtype)])
        check_same(b, a)


@pytest.mark.parametrize(
    ("shape", "block", "load_at", "store_at", "boxes"),
    [
        # Rows in whole panels: one box has them all, also over the end, and in front of the beginning.
        ((70, 256), (32, 128), (0, 0), (0, 0), (1, 1)),
        ((70, 320), (32, 192), (0, 0), (0, 0), (1, 1)),
        ((70, 320), (32, 128), (-1, -64), (0, 0), (1, 1)),
        ((70, 320), (32, 128), (0, 192), (3, 64), (1, 1)),
        ((300, 128), (256, 128), (0, 0), (0, 0), (1, 1)),
        # What a map in panels would go on reading, or writing, in the next row.
        ((70, 200), (32, 128), (0, 0), (0, 0), (2, 2)),
        ((70, 320), (32, 128), (0, 8), (0, 0), (2, 1)),
        ((70, 320), (32, 128), (0, 0), (0, 16), (1, 2)),
        # More rows than a box has: panels do not follow each other box by box.
        ((400, 128), (384, 128), (0, 0), (0, 0), (4, 4)),
    ],
)
def test_panels(target, shape, block, load_at, store_at, boxes):
    program = tma_programs.copy_rows(*shape, block, "float16", load_at=load_at, store_at=store_at)
    kernel = compile_for(program, target)
    if not kernel.target.is_cpu and kernel.target.arch == "sm_90a":
        reasons = [one["reason"] for one in kernel.explain().operations if one["op"].startswith("copy")]
        for reason, count in zip(reasons, boxes, strict=True):
            assert f" of {count} box" in reason, reasons
            assert ("a box per panel" in reason) == (count > 1), reasons
    a = random(shape, torch.float16)
    (b,) = programs.run(kernel, [a], [(shape, torch.float16)])
    check_same(b, shifted(a, load_at, store_at, torch.float16))


@pytest.mark.parametrize(("width", "dtype"), [(128, "float16"), (192, "bfloat16"), (256, "int8"), (96, "float32")])
def test_panels_of_heads(target, width, dtype):
    # Four dimensions and the panels are all that a map has.
    kernel = compile_for(tma_programs.copy_head(2, 70, 3, width, 32, dtype), target)
    if not kernel.target.is_cpu and kernel.target.arch == "sm_90a":
        assert all("of 1 box" in one["reason"] for one in kernel.explain().operations if one["op"].startswith("copy"))
    a = random((2, 70, 3, width), DTYPES[dtype])
    (b,) = programs.run(kernel, [a], [((2, 3, 70, width), DTYPES[dtype])])
    check_same(b, a.permute(0, 2, 1, 3))


def test_panels_of_assumed_columns(target):
    kernel = compile_for(tma_programs.copy_multiples(T.dynamic("m"), T.dynamic("n"), (32, 128), "float16", 64), target)
    if not kernel.target.is_cpu and kernel.target.arch == "sm_90a":
        assert all("of 1 box" in one["reason"] for one in kernel.explain().operations if one["op"].startswith("copy"))
    for shape in [(70, 256), (1, 64), (33, 320), (0, 128)]:
        a = random(shape, torch.float16)
        (b,) = programs.run(kernel, [a], [(shape, torch.float16)])
        check_same(b, a)


@pytest.mark.parametrize("size", [1, 7, 100, 1000, 4096, 4099])
@pytest.mark.parametrize(("load_at", "store_at"), [(0, 0), (1, 0), (0, 3), (5, 7)])
def test_vectors(target, size, load_at, store_at):
    # Boxes start at 16 bytes along the innermost dimension, and stores end there; other copies take other instructions.
    loads, stores = load_at % 4 == 0, store_at % 4 == 0 and size % 4 == 0
    path = "tma" if loads or stores else None
    kernel = compile_for(tma_programs.copy_vector(size, 1024, "float32", load_at, store_at), target, path)
    a = random((size,), torch.float32)
    (b,) = programs.run(kernel, [a], [((size,), torch.float32)])
    check_same(b, shifted(a[None], (0, load_at), (0, store_at), torch.float32)[0])


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ((5, 20, 64), (2, 8, 64)),
        ((5, 20, 136), (4, 16, 64)),
        ((3, 5, 9, 64), (2, 2, 4, 64)),
        ((2, 3, 5, 9, 64), (1, 2, 2, 4, 64)),
        ((3, 1, 3, 4, 128), (2, 1, 2, 2, 128)),
    ],
)
def test_ranks(target, shape, block):
    kernel = compile_for(tma_programs.copy_boxes(shape, block, "float16"), target)
    a = random(shape, torch.float16)
    (b,) = programs.run(kernel, [a], [(shape, torch.float16)])
    check_same(b, a)


@pytest.mark.parametrize("length", [64, 100])
def test_slices(target, length):
    shape = (2, length, 3, 64)
    kernel = compile_for(tma_programs.copy_head(*shape, 64, "bfloat16"), target)
    a = random(shape, torch.bfloat16)
    (b,) = programs.run(kernel, [a], [((2, 3, length, 64), torch.bfloat16)])
    check_same(b, a.permute(0, 2, 1, 3))


def test_dynamic_shapes(target):
    kernel = compile_for(tma_programs.copy_rows(T.dynamic("m"), T.dynamic("n"), (32, 64), "float16"), target)
    # Pitches that are no multiple of 16 bytes take the variant without TMA.
    for shape in [(32, 64), (100, 72), (1, 8), (77, 200), (50, 67), (3, 1), (0, 64), (64, 1000)]:
        a = random(shape, torch.float16)
        (b,) = programs.run(kernel, [a], [(shape, torch.float16)])
        check_same(b, a)


def test_unaligned_pitch(target):
    kernel = compile_for(tma_programs.copy_rows(70, 67, (32, 64), "float16"), target, path=None)
    a = random((70, 67), torch.float16)
    (b,) = programs.run(kernel, [a], [((70, 67), torch.float16)])
    check_same(b, a)


@pytest.mark.parametrize("offset", [1, 2, 3, 7])
def test_unaligned_base(target, offset):
    kernel = compile_for(tma_programs.copy_rows(70, 64, (32, 64), "float16"), target)
    memory = random((70 * 64 + 8,), torch.float16)
    device = kernel.target.device
    a = memory.to(device)[offset : offset + 70 * 64].view(70, 64)
    b = torch.full_like(a, float("nan"))
    kernel(a, b)
    check_same(b.cpu(), a.cpu())


def test_disabled_and_hinted(target):
    a = random((70, 128), torch.float16)
    for options in ({"disable_tma": True}, {"eviction_policy": "evict_first"}, {"eviction_policy": "evict_last"}):
        program = tma_programs.copy_rows(70, 128, (32, 64), "float16", **options)
        kernel = compile_for(program, target, path="cp_async" if "disable_tma" in options else "tma")
        (b,) = programs.run(kernel, [a], [((70, 128), torch.float16)])
        check_same(b, a)
    kernel = tile.compile(
        tma_programs.copy_rows(70, 128, (32, 64), "float16"), target=target, pass_configs={"tl.disable_tma_lower": True}
    )
    (b,) = programs.run(kernel, [a], [((70, 128), torch.float16)])
    check_same(b, a)


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 9])
def test_loads_in_loops(target, count, stages):
    # The last width has two panels in each slot.
    for columns in (64, 128):
        kernel = compile_for(tma_programs.sum_tiles(count, 100, columns, "float16", stages), target)
        a = torch.randint(-8, 8, (count, 100, columns)).half()
        (b,) = programs.run(kernel, [a], [((100, columns), torch.float32)])
        check_same(b, a.float().sum(0))


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_threads_between_load_and_store(target, tiles):
    kernel = compile_for(tma_programs.scale_in_place(tiles, 64, "float32"), target)
    a = torch.randint(-8, 8, (tiles * 64, 64)).float()
    (b,) = programs.run(kernel, [a], [((tiles * 64, 64), torch.float32)])
    check_same(b, a * (torch.arange(tiles) + 1).repeat_interleave(64)[:, None])
