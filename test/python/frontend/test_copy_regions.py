"""Element-form copies: which region an element names, and when that is an error."""

from __future__ import annotations

import re

import pytest
import tilemlir.language as T
from frontend_support import error_of, text_of
from tilemlir.frontend import regions
from tilemlir.frontend.values import Scalar
from tilemlir.language.dtypes import int32


def index(multiple=1, bare=False, constant=None):
    return Scalar(None, int32, multiple=multiple, bare=bare, constant=constant)


BARE = index(bare=True)
SUM = index()


@pytest.mark.parametrize(
    ("start", "extent", "expected"),
    [
        (0, 64, regions.YES), (128, 64, regions.YES), (3, 64, regions.NO), (3, 1, regions.YES),
        (index(multiple=64), 64, regions.YES), (index(multiple=128), 64, regions.YES),
        (index(multiple=0, constant=0), 64, regions.YES), (index(multiple=32), 64, regions.MAYBE),
        (BARE, 64, regions.NO), (BARE, 1, regions.YES), (SUM, 64, regions.MAYBE),
        (index(multiple=5, constant=5), 64, regions.NO),
        (T.dynamic("M"), 64, regions.NO), (T.dynamic("M") * 2 - 3, 64, regions.MAYBE),
    ],
)  # fmt: skip
def test_classes(start, extent, expected):
    assert regions.classify(start, extent) == expected


def dims(indices, shape, tile):
    return [match.dims for match in regions.matches(indices, shape, tile)]


def test_matches():
    tile = index(multiple=64)
    assert dims((BARE, tile, BARE, 0), (2, 512, 8, 64), (64, 64)) == [(1, 3)]
    # A sum with an unknown term is possible, but a certain multiple is preferred.
    assert dims((SUM, tile, BARE, 0), (2, 512, 8, 64), (64, 64)) == [(1, 3)]
    assert dims((BARE, SUM, BARE, 0), (2, 512, 8, 64), (64, 64)) == [(1, 3)]
    # Equal in form: the one that fits wins.
    assert dims((0, tile, 0), (8, 512, 64), (64, 64)) == [(1, 2)]
    # Equal in form and fit: not decided.
    assert dims((0, tile, 0), (64, 512, 64), (64, 64)) == [(0, 1), (0, 2), (1, 2)]
    # One that takes more of the run-time multiples does not lose for being shorter than a tile.
    assert dims((0, tile, tile), (64, 512, 512), (64, 64)) == [(0, 1), (0, 2), (1, 2)]
    assert dims((0, tile, tile), (8, 512, 512), (64, 64)) == [(1, 2)]
    assert dims((0, tile, tile), (64, 512, 40), (64, 64)) == [(0, 1), (1, 2)]
    assert dims((0, tile), (64, 40), (64,)) == [(0,), (1,)]
    # Launch-time extents fit whatever they are.
    assert dims((0, 0), (T.dynamic("M"), T.dynamic("N")), (64,)) == [(0,), (1,)]
    # Every choice has a bare index.
    assert dims((BARE, BARE, 0), (8, 512, 64), (64, 64)) == []
    # Order is kept: the tile is never transposed.
    assert dims((0, tile), (64, 4096), (64,)) == [(0,), (1,)]
    assert dims((BARE, 0, tile), (8, 16, 4096), (16, 64)) == [(1, 2)]


def copy_kernel(shape, tile, place, out=False):
    @T.prim_func
    def kernel(A: T.Tensor(shape, "float16"), I: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(4, 5, 6) as (bx, by, bz):
            s = T.alloc_shared(tile, "float16")
            for k in T.serial(4):
                if out:
                    T.copy(s, place(A, bx, by, bz, k, n, I))
                else:
                    T.copy(place(A, bx, by, bz, k, n, I), s)

    return kernel


def region_of(*arguments, **keywords):
    """Sizes on the side of the tensor."""
    line = next(line for line in text_of(copy_kernel(*arguments, **keywords)).splitlines() if "tile.copy" in line)
    side = line.split(" to ")[1 if keywords.get("out") else 0]
    return [int(part) for part in re.search(r"\] \[([\d, ]+)\]", side)[1].split(",")]


def test_attention_program():
    shape = (2, 1024, 8, 64)
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, bx * 64, by, 0]) == [1, 64, 1, 64]
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, k * 64, by, 0]) == [1, 64, 1, 64]
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, bx * 64, by, 0], out=True) == [1, 64, 1, 64]
    # heads before rows, grouped heads, a row offset that is loaded
    heads_first = (2, 8, 1024, 64)
    assert region_of(heads_first, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, by // 2, bx * 64, 0]) == [1, 1, 64, 64]
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, I[bz] + k * 64, by, 0]) == [1, 64, 1, 64]
    # every block size
    for block in (16, 32, 48, 128):
        region = region_of(shape, (block, 64), lambda A, bx, by, bz, k, n, I, b=block: A[bz, bx * b, by, 0])
        assert region == [1, block, 1, 64]


def test_same_rank_needs_no_rule():
    assert region_of((512, 512), (64, 32), lambda A, bx, by, bz, k, n, I: A[n, bx + 3]) == [64, 32]
    assert region_of((1, 512, 512), (1, 64, 32), lambda A, bx, by, bz, k, n, I: A[bz, n, bx + 3]) == [1, 64, 32]


def test_unit_dimensions_of_the_tile_do_not_matter():
    assert region_of((4, 512, 64), (1, 1, 64, 64), lambda A, bx, by, bz, k, n, I: A[bz, bx * 64, 0]) == [1, 64, 64]
    assert region_of((4, 512, 64, 3), (1, 64), lambda A, bx, by, bz, k, n, I: A[bz, bx, 0, by]) == [1, 1, 64, 1]


def test_vectors():
    assert region_of((4, 512), (64,), lambda A, bx, by, bz, k, n, I: A[bz, bx * 64]) == [1, 64]
    assert region_of((512, 4), (64,), lambda A, bx, by, bz, k, n, I: A[bx * 64, by]) == [64, 1]


def test_slices():
    shape = (2, 1024, 8, 64)
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, bx * 64 : (bx + 1) * 64, by, :]) == [
        1,
        64,
        1,
        64,
    ]
    assert region_of(shape, (64, 64), lambda A, bx, by, bz, k, n, I: A[bz, n : n + 64, by, 0:64]) == [1, 64, 1, 64]
    assert region_of(shape, (8, 64), lambda A, bx, by, bz, k, n, I: A[bz, n]) == [1, 1, 8, 64]
    assert region_of(shape, (8, 64), lambda A, bx, by, bz, k, n, I: A[bz, n, ...]) == [1, 1, 8, 64]
    assert region_of((512, 512), (64, 32), lambda A, bx, by, bz, k, n, I: A[-64:, 480:]) == [64, 32]


def test_open_slices_of_launch_time_extents():
    M = T.dynamic("M")
    assert region_of((M, 4, 64), (32, 64), lambda A, bx, by, bz, k, n, I: A[n:, bz, :]) == [32, 1, 64]


def test_slice_ends_read_one_variable_once():
    @T.prim_func
    def kernel(A: T.Tensor((512,), "float16")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((64,), "float16")
            v = T.alloc_var("int32", init=0)
            T.copy(A[v : v + 64], s)

    assert text_of(kernel).count("tile.load") == 1


def test_views_of_views():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as bx:
            ring = T.alloc_shared((3, 64, 64), "float16")
            C = T.alloc_fragment((64, 64), "float32")
            stage = ring[bx % 3]
            T.copy(A, stage)
            T.copy(A[0:32, 0:64], stage[32:64, :])
            T.clear(ring[0, :, 0:32])
            T.gemm(ring[1, :, :], ring[2], C)
            flat = T.reshape(ring, (3, 4096))
            words = T.view(flat, dtype="int32")
            assert words.shape == (3, 2048) and flat.shape == (3, 4096)
            T.fill(words, 0)

    text = text_of(kernel)
    assert text.count("tile.subview") == 3
    assert "to !tile.buffer<3x2048xi32, shared>" in text or "to <3x2048xi32, shared>" in text


def test_ambiguous_copy_shows_the_slice_form():
    error = error_of(copy_kernel((64, 512, 64), (64, 64), lambda A, bx, by, bz, k, n, I: A[0, bx * 64, 0]))
    assert error.code == "ambiguous-copy"
    assert error.message == "it is not clear which dimensions of A this T.copy means"
    assert "[0, 1] or [0, 2] or [1, 2]" in error.found
    assert error.fix == "write the region as a slice, for example A[0:64, i1 : i1 + 64, 0]"


def test_short_dimension_does_not_change_the_meaning():
    """A plane, and tiles in it: not the planes 0 to 63 because a row is shorter than a tile."""
    error = error_of(copy_kernel((64, 100, 40), (64, 64), lambda A, bx, by, bz, k, n, I: A[0, bx * 64, by * 64]))
    assert error.code == "ambiguous-copy"
    assert "[0, 1] or [1, 2] of A" in error.found
    assert error.fix == "write the region as a slice, for example A[0, i1 : i1 + 64, i2 : i2 + 64]"


def test_no_possible_dimension():
    @T.prim_func
    def kernel(A: T.Tensor((8, 512, 64), "float16"), n: T.int32):
        with T.Kernel(4, 5) as (bx, by):
            s = T.alloc_shared((64, 64), "float16")
            T.copy(A[bx, n, 0], s)

    error = error_of(kernel)
    assert error.message == "no dimensions of A can hold the tile of this T.copy"
    assert error.fix == "write the region as a slice, for example A[bx, n : n + 64, 0:64]"


def test_scalar_copies_are_stores():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float16"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            v = T.alloc_var("float32")
            for i in T.Parallel(8):
                T.copy(A[i], B[i])
            T.copy(A[0], v)

    text = text_of(kernel)
    assert "tile.copy" not in text and text.count("tile.store") == 2


def test_negative_indices():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float16"), B: T.Tensor((M, 64), "float16")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((64,), "float16")
            A[-1, -64] = A[-8, 63]
            B[-1, 0] = A[0, 0]
            T.copy(B[-1, :], s)

    text = text_of(kernel)
    assert "%arg0[%c7_i32, %c0_i32]" in text and "%arg0[%c0_i32, %c63_i32]" in text
    assert text.count("memref.dim") == 1 and text.count("arith.addi") == 2


def test_copy_options():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((64, 64), "float16")
            T.copy(
                A, s, coalesced_width=8, disable_tma=True, eviction_policy="evict_last", prefer_instruction="cp_async"
            )

    line = next(line for line in text_of(kernel).splitlines() if "tile.copy" in line)
    for part in ("coalesced_width = 8", "disable_tma", "evict_last", "cp_async"):
        assert part in line
