"""What the fuzzer found, on the CPU and in the simulator, whose checks for races are part of the test."""

import found_programs as programs
import numpy as np
import pytest
import tilemlir as tile
from tilemlir.errors import TileTypeError, TileValueError

torch = pytest.importorskip("torch")

TARGETS = ["cpu", "sm_80", "sm_90a"]
generator = np.random.default_rng()


@pytest.fixture(params=TARGETS)
def run(request):
    """Compiles a program for a target, calls it with inputs, and returns its outputs, which begin as ones bits."""

    def call(program, inputs, outputs):
        target = "cpu" if request.param == "cpu" else {"kind": "simulator", "arch": request.param}
        kernel = tile.compile(program, target=target)
        results = []
        for shape, dtype in outputs:
            memory = torch.full((int(np.prod(shape)) * dtype.itemsize,), 0xFF, dtype=torch.uint8)
            results.append(memory.view(dtype).reshape(shape))
        kernel(*[torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in inputs], *results)
        return [one.to(torch.float64).numpy() for one in results]

    return call


def whole(*shape, dtype=np.float32):
    return generator.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_overwritten_tile(run, stages):
    a, b = whole(64, 32, dtype=np.float16), whole(16, 32, dtype=np.float16)
    (c,) = run(programs.overwritten_tile(stages), [a, b], [((64, 16), torch.float32)])
    np.testing.assert_array_equal(c, np.broadcast_to(2 * b.astype(np.float64).sum(axis=1), (64, 16)))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_tile_overwritten_by_elements(run, stages):
    a, x = whole(3, 128, dtype=np.float64), whole(128, dtype=np.float64)
    (y,) = run(programs.tile_overwritten_by_elements(stages), [a, x], [((128,), torch.float64)])
    np.testing.assert_array_equal(y, np.where(np.arange(128) < 100, 3 * x, a.sum(axis=0)))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_loaded_again(run, stages):
    a = whole(3, 4, 64, 16)
    (y,) = run(programs.loaded_again(stages), [a], [((64, 16), torch.float32)])
    np.testing.assert_array_equal(y, a[:, 3].sum(axis=0))


@pytest.mark.parametrize("unrolled", [False, True])
def test_loads_without_reads(run, unrolled):
    a = whole(64, 96)
    (y,) = run(programs.loads_without_reads(unrolled), [a], [((64, 32), torch.float32)])
    np.testing.assert_array_equal(y, a[:, 64:])


def test_loads_without_reads_beside_a_ring(run):
    a, b, w = whole(64, 128, dtype=np.float16), whole(128, 64, dtype=np.float16), whole(64, 96, dtype=np.float16)
    outputs = [((64, 64), torch.float32), ((64, 32), torch.float16)]
    c, y = run(programs.loads_without_reads_beside_a_ring(), [a, b, w], outputs)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
    np.testing.assert_array_equal(y, w[:, 64:])


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_through_shared_memory(run, steps, stages):
    a = whole(64, steps * 32, dtype=np.float64)
    (y,) = run(programs.through_shared_memory(steps, stages), [a], [(a.shape, torch.float64)])
    np.testing.assert_array_equal(y, a)


@pytest.mark.parametrize("inner", [0, 1, 2, 4])
@pytest.mark.parametrize("stages", [2, 3])
def test_loop_in_loop(run, stages, inner):
    a, b, d = whole(80, 64, dtype=np.float16), whole(64, 48, dtype=np.float16), whole(64, 96)
    outputs = [((80, 48), torch.float32), ((64, 32), torch.float32)]
    c, e = run(programs.loop_in_loop(stages, inner), [a, b, d], outputs)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
    np.testing.assert_array_equal(e, d.reshape(64, 3, 32).sum(axis=1))


@pytest.mark.parametrize(("rows", "columns", "dim"), [(16, 17, 1), (3, 40, 1), (17, 130, 0), (1, 9, 1)])
def test_repeated_scan(run, rows, columns, dim):
    x = whole(rows, columns, dtype=np.int32)
    (y,) = run(programs.repeated_scan(rows, columns, dim), [x], [((rows, columns), torch.int32)])
    np.testing.assert_array_equal(y, x.cumsum(axis=dim).cumsum(axis=dim))


@pytest.mark.parametrize("dest", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("source", ["int8", "uint8", "int16"])
def test_small_float_casts(run, source, dest):
    limits = np.iinfo(source)
    x = generator.integers(limits.min, limits.max, 256, dtype=source, endpoint=True)
    (y,) = run(programs.small_float_casts(source, dest), [x], [((256,), getattr(torch, dest))])
    largest = float(torch.finfo(getattr(torch, dest)).max)
    clamped = torch.from_numpy(x.astype(np.float32)).clamp(-largest, largest)
    np.testing.assert_array_equal(y, clamped.to(getattr(torch, dest)).to(torch.float64).numpy())


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "absmax", "abssum"])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16"])
def test_small_float_reduction(run, dtype, kind, dim, clear):
    """Sums are rounded once."""
    x = (whole(40, 96) / 8).astype(np.float64)
    narrow = torch.from_numpy(x).to(torch.float32).to(getattr(torch, dtype))
    shape = (40,) if dim == 1 else (96,)
    program = programs.small_float_reduction(kind, dtype, dim, clear)
    (y,) = run(program, [narrow], [(shape, getattr(torch, dtype))])
    source = np.abs(x) if kind.startswith("abs") else x
    function = {"sum": np.sum, "max": np.max, "min": np.min}[kind.removeprefix("abs")]
    expected = function(source, axis=dim)
    if not clear:
        both = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind.removeprefix("abs")]
        expected = both(expected, 2.0)
    rounded = torch.from_numpy(expected).to(torch.float32).to(getattr(torch, dtype)).to(torch.float64).numpy()
    np.testing.assert_array_equal(y, rounded)


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_partly_written(run, stages):
    a = whole(8, 4, dtype=np.int32)
    (y,) = run(programs.partly_written(stages), [a], [((17, 64), torch.int32)])
    expected = np.full((17, 64), 7)
    expected[:5, :35] = a[2, 1] + np.arange(35)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_partly_written_product(run, stages):
    a, b = whole(32, 96, dtype=np.float16), whole(32, 32, dtype=np.float16)
    outputs = [((64, 32), torch.float32), ((64, 32), torch.float16)]
    c, y = run(programs.partly_written_product(stages), [a, b], outputs)
    tiles = np.ones((3, 64, 32))
    tiles[:, 16:48] = a.reshape(32, 3, 32).transpose(1, 0, 2)
    np.testing.assert_array_equal(c, sum(tile @ b.astype(np.float64) for tile in tiles))
    np.testing.assert_array_equal(y, tiles[2])


def test_pending_product():
    a, b = whole(128, 256, dtype=np.float16), whole(256, 128, dtype=np.float16)
    kernel = tile.compile(programs.pending_product(), target={"kind": "simulator", "arch": "sm_90a"})
    assert "wgmma.wait_group.sync.aligned 1;" in kernel.asm["ptx"]
    c = np.zeros((128, 128), np.float32)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loads_in_flight(run, dtype, stages):
    a, b = whole(32, 96, dtype=dtype), whole(64, 96, dtype=dtype)
    (c,) = run(programs.loads_in_flight(stages, 384, dtype), [a, b], [((32, 64), getattr(torch, dtype))])
    np.testing.assert_array_equal(c, a @ b.T)


@pytest.mark.parametrize(("count", "threads"), [(16, 96), (24, 128), (100, 64)])
def test_elements_read_and_written(run, count, threads):
    a, b = whole(count), whole(count)
    x, y, z = run(
        programs.elements_read_and_written(count, threads),
        [a, b],
        [((count,), torch.float32), ((count,), torch.float32), ((1,), torch.float32)],
    )
    np.testing.assert_array_equal(y, 3 * (b - a))
    np.testing.assert_array_equal(x, 4 * (b - a))
    np.testing.assert_array_equal(z, 3 * (b - a).sum(keepdims=True))


@pytest.mark.parametrize(("count", "threads"), [(8, 64), (64, 32)])
def test_halves_of_a_fragment(run, count, threads):
    a = whole(2 * count)
    outputs = [((2 * count,), torch.float32), ((1,), torch.float32)]
    y, z = run(programs.halves_of_a_fragment(count, threads), [a], outputs)
    expected = np.concatenate([a[:count] + 1, a[count:] * 2])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, expected.sum(keepdims=True))


@pytest.mark.parametrize(("count", "threads"), [(16, 96), (100, 64)])
def test_updated_in_place(run, count, threads):
    a = whole(count)
    x, z = run(programs.updated_in_place(count, threads), [a], [((count,), torch.float32), ((1,), torch.float32)])
    np.testing.assert_array_equal(x, 3 * a)
    np.testing.assert_array_equal(z, (3 * a + 1).sum(keepdims=True))


@pytest.mark.parametrize("flags", [(1, 0, 1), (0, 1, 0)])
@pytest.mark.parametrize("stages", [0, 1, 3])
def test_conditions_between_loops(run, stages, flags):
    a, b = whole(64, 128, dtype=np.float16), whole(128, 64, dtype=np.float16)
    (c,) = run(
        programs.conditions_between_loops(stages), [a, b, np.array(flags, np.int32)], [((3, 64, 64), torch.float32)]
    )
    a, b = a.astype(np.float64), b.astype(np.float64)
    for block, flag in enumerate(flags):
        expected = a[:, : 32 * (block + 2)] @ b[: 32 * (block + 2)] if flag else np.zeros((64, 64))
        if block == 2:
            expected = expected + a[:, :32] @ b[:32]
        np.testing.assert_array_equal(c[block], expected)


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_one_row_in_a_ring(run, stages):
    a, b = (torch.from_numpy(whole(*shape)).to(torch.float8_e4m3fn) for shape in ((8, 64), (1, 9)))
    (c,) = run(programs.one_row_in_a_ring(stages), [a, b], [((2, 32, 8), torch.float32)])
    row = np.zeros(16)
    row[:9] = b.to(torch.float64).numpy()[0]
    columns = a.to(torch.float64).numpy()[0].reshape(2, 32).sum(axis=0)
    np.testing.assert_array_equal(c, columns[None, :, None] * row.reshape(2, 1, 8))


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("stages", [1, 3])
def test_loop_in_the_consumer(run, stages, n):
    a, b, x = whole(64, 128, dtype=np.float16), whole(128, 64, dtype=np.float16), whole(64, 64)
    (c,) = run(programs.loop_in_the_consumer(stages), [a, b, x, n], [((3, 64, 64), torch.float32)])
    a, b = a.astype(np.float64), b.astype(np.float64)
    for block in range(3):
        acc = x.astype(np.float64) if block > 1 else np.zeros((64, 64))
        for k in range(block + 2):
            acc = acc + a[:, 32 * k : 32 * k + 32] @ b[32 * k : 32 * k + 32]
            for _ in range(n):
                acc = -acc.T
        np.testing.assert_array_equal(c[block], acc)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_product_in_place(run, dtype, transposed):
    a, b = whole(64, 64, dtype=dtype), whole(64, 64, dtype=dtype)
    (c,) = run(programs.product_in_place(dtype, transposed), [a, b], [((64, 64), getattr(torch, dtype))])
    np.testing.assert_array_equal(c, a + (a.T if transposed else a) @ b)


@pytest.mark.parametrize("target", TARGETS)
def test_without_effect(target):
    """Every check of the arguments is made, and nothing happens."""
    kernel = tile.compile(
        programs.without_effect(), target="cpu" if target == "cpu" else {"kind": "simulator", "arch": target}
    )
    a, b = torch.ones(100, 8), torch.zeros(100, dtype=torch.int32)
    kernel(a, b)
    assert bool((a == 1).all()) and bool((b == 0).all())
    kernel(a[:0], b[:0])
    with pytest.raises(TileTypeError, match="argument 'a' of kernel 'kernel' has dtype float64, expected float32"):
        kernel(a.double(), b)
    with pytest.raises(TileValueError, match="argument 'b' of kernel 'kernel'"):
        kernel(a, b[1:])


@pytest.mark.parametrize("columns", [4, 20, 36, 52])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_product_of_zeros(run, dtype, columns):
    a, b = whole(32, columns), whole(64, 96)
    operands = [torch.from_numpy(one).to(getattr(torch, dtype)) for one in (a, b)]
    (c,) = run(programs.product_of_zeros(dtype, columns), operands, [((32, 96), torch.float32)])
    np.testing.assert_array_equal(c, a @ b[:columns])


@pytest.mark.filterwarnings("ignore:.*is always outside")
def test_constant_indices(run):
    a = whole(4, 3, 32)
    b, c = run(programs.constant_indices(), [a], [((2, 32), torch.float32), ((3, 32), torch.float32)])
    assert np.isnan(b).all()  # as it was
    np.testing.assert_array_equal(c, [np.zeros(32), np.zeros(32), a[3, 2]])


@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("stages", [0, 1, 2])
def test_ring_in_a_loop(run, stages, inner):
    a, b, d = (whole(*shape, dtype=np.float16) for shape in ((64, 192), (192, 64), (64, 192)))
    outputs = [((64, 64), torch.float32), ((64, 64), torch.float32)]
    c, e = run(programs.ring_in_a_loop(stages, inner), [a, b, d], outputs)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
    np.testing.assert_array_equal(e, d.astype(np.float64).reshape(64, 3, 64).sum(axis=1))


@pytest.mark.parametrize("inner", [0, 1, 2])
@pytest.mark.parametrize("stages", [2, 4])
def test_loaded_in_an_inner_loop(run, stages, inner):
    a = whole(64, 4, dtype=np.int8)
    (y,) = run(programs.loaded_in_an_inner_loop(stages, inner), [a], [((64, 32), torch.int8)])
    expected = np.zeros((64, 32))
    expected[:, :3] = a[:, 1:]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_one_iteration_inside(run, stages):
    a, b = whole(4, 32, dtype=np.int32), whole(4, 32, dtype=np.int32)
    x, y = run(programs.one_iteration_inside(stages), [a, b], [((4, 32), torch.int32)] * 2)
    np.testing.assert_array_equal(x, a)
    np.testing.assert_array_equal(y, b)


@pytest.mark.parametrize("n", [0, 100, 192])
def test_masked_behind_a_store(run, n):
    a = whole(64, 192)
    (c,) = run(programs.masked_behind_a_store(), [a, n], [((64, 192), torch.float32)])
    np.testing.assert_array_equal(c, np.where(np.arange(192) < n, a, 0))


@pytest.mark.parametrize("rows", [40, 100, 128])
def test_tiles_from_the_end(run, rows):
    a = whole(rows, 64, dtype=np.float16)
    (c,) = run(programs.tiles_from_the_end(rows), [a], [((rows, 64), torch.float16)])
    np.testing.assert_array_equal(c, 2 * a)
