"""What a simulation tells besides outputs: prints, assertions, bank conflicts, guards that ask for another version."""

import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir import errors
from tilemlir.simulator import Settings, banks, simulate


@T.prim_func
def doubled(a: T.Tensor((64,), "float32"), b: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=32) as block:
        for i in T.Parallel(32):
            b[block * 32 + i] = 2 * a[block * 32 + i]
        if T.get_thread_binding() == 3:
            T.print(a[block * 32 + 3], msg="value ")


@T.prim_func
def asserting(a: T.Tensor((64,), "float32"), b: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=32) as block:
        T.device_assert(block < 1, "too many blocks")
        for i in T.Parallel(32):
            b[block * 32 + i] = a[block * 32 + i]


@T.prim_func
def transposed(a: T.Tensor((32, 32), "float32"), b: T.Tensor((32, 32), "float32")):
    with T.Kernel(1, threads=32):
        tile_ = T.alloc_shared((32, 32), "float32")
        T.copy(a, tile_)
        for i, j in T.Parallel(32, 32):
            b[i, j] = tile_[j, i]


def test_prints_appear(capsys):
    kernel = tile.compile(doubled, out_idx=[1], target="sm_80")
    a = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(kernel.simulate(a), 2 * a)
    lines = sorted(capsys.readouterr().out.splitlines())
    assert [line.split()[-1] for line in lines] == ["3.000000", "35.000000"]


def printing(dtype, shape, place):
    allocate = {"shared": T.alloc_shared, "fragment": T.alloc_fragment}[place]

    @T.prim_func
    def show(a: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=64):
            held = allocate(shape, dtype)
            own = T.alloc_local((2,), dtype)
            T.copy(a, held)
            T.print(held, msg="100% held")
            own[0] = a[(1,) * len(shape)]
            own[1] = own[0]
            if T.get_thread_binding() == 5:
                T.print(own)

    return show


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("place", ["shared", "fragment"])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (8,)),
        ("float16", (4, 4)),
        ("float64", (6,)),
        ("int64", (2, 3)),
        ("int8", (2, 2, 4)),
        ("uint32", (5,)),
    ],
)
def test_buffers_are_printed(capsys, target, place, dtype, shape):
    kernel = tile.compile(printing(dtype, shape, place), target=target)
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    kernel.simulate(a)
    lines = capsys.readouterr().out.splitlines()
    own = [line for line in lines if line.startswith("own")]
    assert [float(line.split()[-1]) for line in own] == [a[(1,) * len(shape)]] * 2
    held = [line for line in lines if line.startswith("100% held")]
    assert sorted(float(line.split()[-1]) for line in held) == sorted(a.ravel().tolist())


def test_assertions_stop_the_run():
    kernel = tile.compile(asserting, out_idx=[1], target="sm_90a")
    with pytest.raises(errors.TileAssertionError, match="too many blocks"):
        kernel.simulate(np.zeros(64, np.float32))


def test_bank_conflicts_are_counted():
    kernel = tile.compile(transposed, out_idx=[1], target="sm_80")
    a = np.random.default_rng().standard_normal((32, 32), dtype=np.float32)
    result = simulate(kernel, a, settings=Settings(bank_conflicts=True))
    np.testing.assert_array_equal(result.outputs, a.T)
    assert all(one.wavefronts > one.ideal and one.location.line for one in result.report.bank_conflicts)
    assert ("bank conflicts" in str(result.report)) == bool(result.report.bank_conflicts)


@pytest.mark.parametrize(
    ("offsets", "size", "taken", "ideal"),
    [
        (np.arange(32) * 4, 4, 1, 1),
        (np.arange(32) * 8, 4, 2, 1),
        (np.arange(32) * 128, 4, 32, 1),
        (np.zeros(32, np.int64), 4, 1, 1),
        (np.arange(32) * 16, 16, 4, 4),
        (np.arange(32) * 128, 16, 32, 4),
    ],
)
def test_passes_over_the_banks(offsets, size, taken, ideal):
    assert banks.passes(offsets, size) == (taken, ideal)


def test_misaligned_and_overlapping_arguments_take_another_version():
    kernel = tile.compile(doubled, target="sm_80")
    memory = np.arange(65, dtype=np.float32)
    out = np.full(64, np.nan, np.float32)
    kernel.simulate(memory[1:], out)
    np.testing.assert_array_equal(out, 2 * memory[1:])
    both = np.arange(64, dtype=np.float32)
    kernel.simulate(both, both)
    np.testing.assert_array_equal(both, 2 * np.arange(64))


def test_bytes_around_an_output_stay_as_they_are():
    kernel = tile.compile(doubled, target="sm_90a")
    memory = np.full(128, np.nan, np.float32)
    kernel.simulate(np.ones(64, np.float32), memory[32:96])
    assert np.isnan(memory[:32]).all() and np.isnan(memory[96:]).all()
    assert (memory[32:96] == 2).all()
