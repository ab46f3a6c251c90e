"""Control flow: loops, conditions, break and continue, rebinding, choices."""

from __future__ import annotations

import warnings

import pytest
import tilemlir.language as T
from frontend_support import operations, text_of
from tilemlir.frontend import FrontendWarning, trace


def test_range_is_a_serial_loop_and_lists_unroll():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            for i in range(4):
                A[i] = i
            for i in [5, 6]:
                A[i] = i
            for i, value in enumerate((1, 2)):
                A[i] = value
            for i in T.unroll(8):
                A[i] = 1
            for i in T.vectorized(8):
                A[i] = 2
            for i in T.serial(2, 10, 2):
                A[i] = 3

    names = operations(trace(kernel))
    assert names.count("scf.for") == 4
    assert names.count("tile.store") == 8
    text = text_of(kernel)
    assert "tile.loop_hint = #tile.loop_hint<unroll" in text and "tile.loop_hint = #tile.loop_hint<vectorized" in text


def test_reverse_range():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            for i in range(7, -1, -2):
                A[i] = i

    text = text_of(kernel)
    assert "scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32" in text.replace("%arg2", "%arg1")
    assert "arith.subi %c7_i32" in text


def test_grid():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32")):
        with T.Kernel(1) as bx:
            for i, j in T.grid(4, 8):
                A[i, j] = i + j

    assert operations(trace(kernel)).count("scf.for") == 2


def test_run_time_if_else():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            if n > 3:
                A[0] = 1
            elif n > 2:
                A[0] = 2
            else:
                A[0] = 3

    assert operations(trace(kernel)).count("scf.if") == 2


def test_compile_time_if():
    def make(flag, extra):
        @T.prim_func
        def kernel(A: T.Tensor((64,), "int32")):
            with T.Kernel(1) as bx:
                if flag and extra is not None:
                    A[0] = 1
                else:
                    A[0], A[1] = 2, 3

        return kernel

    assert operations(trace(make(True, 1))).count("tile.store") == 1
    assert operations(trace(make(True, None))).count("tile.store") == 2


def test_rebinding_makes_a_variable():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), O: T.Tensor((1,), "float32")):
        with T.Kernel(1) as bx:
            total = 0.0
            for i in range(64):
                total = total + A[i]
            total += 1.0
            O[0] = total

    text = text_of(kernel)
    assert 'tile.alloc "total" : <f32, local>' in text
    assert text.count("!tile.buffer<f32, local>") == 4  # first value, read and write in the loop, read after it


def test_name_of_both_branches():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1) as bx:
            if n > 0:
                value = A[0]
                unused = 1
            else:
                value = 2.0
                unused = 2
            A[1] = value

    text = text_of(kernel)
    assert 'tile.alloc "value" : <f32, local>' in text and "unused" not in text
    assert text.index('tile.alloc "value"') < text.index("scf.if")


def test_alloc_var():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            v = T.alloc_var("int32", init=3)
            w = v
            v = v + 1
            v += 2
            v[0] = v[0] * 2
            if n > 0:
                v = 5
            A[w] = v

    text = text_of(kernel)
    assert text.count("tile.alloc") == 1
    assert text.count("tile.store") == 6


def test_swap_reads_before_writing():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            A[0], A[1] = A[1], A[0]

    assert [name for name in operations(trace(kernel)) if name in ("tile.load", "tile.store")] == [
        "tile.load", "tile.load", "tile.store", "tile.store",
    ]  # fmt: skip


def test_chained_store():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                A[i] = B[i] = 2

    assert operations(trace(kernel)).count("tile.store") == 2


def test_while():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            n = 10
            while n > 1 and A[n] > 0:
                n = n // 2
            A[0] = n

    names = operations(trace(kernel))
    assert names.count("scf.while") == 1 and names.count("scf.condition") == 1


def test_break_and_continue_guard_what_follows():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            for i in range(64):
                if A[i] < 0:
                    break
                if A[i] == 0:
                    continue
                A[i] = 7
            A[0] = 1

    text = text_of(kernel)
    assert 'tile.alloc "loop_stopped" : <i1, local>' in text
    assert 'tile.alloc "iteration_skipped" : <i1, local>' in text
    # guard of the whole body, of what follows break, of what follows continue, and the two conditions
    assert text.count("scf.if") == 5


def test_while_with_break():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            n = 0
            while n < 64:
                if A[n] == 3:
                    break
                n += 1
            A[0] = n

    text = text_of(kernel)
    condition = text[text.index("scf.while") : text.index("scf.condition")]
    assert "arith.xori" in condition and "arith.andi" in condition


def test_break_in_a_pipelined_loop_is_serial_with_a_warning():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), n: T.int32):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((8, 64), "float16")
            for k in T.Pipelined(8, num_stages=2):
                if k == n:
                    break
                T.copy(A[k * 8, 0], tile)

    with pytest.warns(FrontendWarning, match="break in T.Pipelined makes the loop serial: num_stages=2 has no effect"):
        traced = trace(kernel)
    assert "stages(0)" in str(traced.module)
    assert len(traced.warnings) == 1


def tiles_ahead(stops):
    """Tiles with stages, of which one is left out, alone or with all that follow."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), n: T.int32):
        with T.Kernel(4) as bx:
            tile = T.alloc_shared((8, 64), "float16")
            for k in T.Persistent([8], 4, bx, num_stages=2):
                if k == n:
                    if stops:
                        break
                    else:
                        continue
                T.copy(A[k * 8, 0], tile)

    return kernel


def test_stages_of_tiles():
    """One iteration of a pipelined loop around a tile, which ``continue`` stays in."""
    text = text_of(tiles_ahead(stops=False))
    assert text.index("scf.for") < text.index("tile.pipelined %c0_i32 to %c1_i32 stages(2)") < text.index("tile.copy")


def test_stages_of_tiles_have_no_effect_with_break():
    with pytest.warns(FrontendWarning, match="break in T.Persistent: num_stages=2 has no effect"):
        text = text_of(tiles_ahead(stops=True))
    assert "tile.pipelined" not in text
    assert "tile.copy" in text


def test_stages_of_tiles_have_no_effect_on_explicit_work():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(4) as bx:
            tile = T.alloc_shared((8, 64), "float16")
            done = T.alloc_barrier(1)
            for k in T.Persistent([8], 4, bx, num_stages=1):
                T.copy(A[k * 8, 0], tile)
                T.barrier_arrive(done)

    with pytest.warns(FrontendWarning, match="T.Persistent orders its asynchronous work itself: num_stages=1 has no"):
        text = text_of(kernel)
    assert "tile.pipelined" not in text
    assert text.index("scf.for") < text.index("tile.barrier_arrive")


def test_compile_time_break_keeps_the_pipeline():
    def make(early):
        @T.prim_func
        def kernel(A: T.Tensor((64, 64), "float16")):
            with T.Kernel(1) as bx:
                tile = T.alloc_shared((8, 64), "float16")
                for k in T.Pipelined(8, num_stages=2):
                    if early:
                        break
                    T.copy(A[k * 8, 0], tile)

        return kernel

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "stages(2)" in text_of(make(False))


def test_break_of_an_unrolled_loop():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            for i in (1, 2, 3):
                if n == i:
                    break
                A[i] = i
            for i in (1, 2, 3):
                if i == 2:
                    break
                A[i] = i
            for i in (1, 2, 3):
                if i == 2:
                    continue
                A[i] = i

    names = operations(trace(kernel))
    assert names.count("tile.alloc") == 1
    text = text_of(kernel)
    assert text.count("scf.if") == 3 + 3 + 2  # conditions, what follows them, and the later two iterations


def test_ternary_of_safe_reads_is_a_select():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            tile = T.alloc_fragment((64,), "float32")
            for i in T.Parallel(64):
                tile[i] = tile[i] * 2.0 if i > 3 else 0.0
                tile[i] = T.if_then_else(A[i] > 0, A[i], -T.infinity("float32"))

    names = operations(trace(kernel))
    assert names.count("arith.select") == 2 and "scf.if" not in names


def test_ternary_guards_unsafe_reads():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                A[i] = tile[i - 1] if i > 0 else 0.0
                if i > 0 and tile[i - 1] > 0:
                    A[i] = 1.0

    names = operations(trace(kernel))
    assert names.count("scf.if") == 3 and "arith.select" not in names


def test_chained_comparison_and_logic():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                if 2 <= i < n and not (i == 5 or i in (7, 9)):
                    A[i] = 1

    names = operations(trace(kernel))
    assert names.count("arith.cmpi") == 5
    assert names.count("arith.andi") == 2 and names.count("arith.ori") == 2 and names.count("arith.xori") == 1


def test_parallel_temporaries():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            x = 3
            for i in T.Parallel(64):
                x = A[i] * 2.0
                y = x + 1.0
                A[i] = y
            for i in T.Parallel(64):
                z = T.alloc_var("float32", init=0.0)
                for j in T.serial(4):
                    z = z + A[j]
                A[i] = z

    text = text_of(kernel)
    assert text.count("tile.alloc") == 1
    # Storage of a variable is allocated outside of the loop.
    assert text.index('tile.alloc "z"') < text.rindex("tile.parallel")


def test_dynamic_parallel_extent():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), n: T.int32):
        with T.Kernel(1) as bx:
            for i, j in T.Parallel(n, 64):
                A[i, j] = 1.0

    assert "tile.parallel [%arg1, 64]" in text_of(kernel)


def test_comprehensions_lambdas_and_dictionaries():
    table = {"scale": 2.0, "names": ["a", "b"]}

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            scales = [table["scale"] * k for k in range(3) if k != 1]
            double = lambda x: x * 2.0  # noqa: E731
            first, *others = scales
            for i, scale in enumerate(others):
                A[i] = double(A[i]) + scale + first
            assert len(table["names"]) == 2 and isinstance(first, float)
            total = sum(A[i] for i in (0, 1, 2))
            A[7] = total

    text = text_of(kernel)
    assert text.count("tile.load") == 4


def test_helper_functions_of_plain_python():
    def blend(a, b):
        return a * 0.5 + T.max(b, 0.0)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            A[0] = blend(A[1], A[2])

    assert operations(trace(kernel))[-4:] == ["arith.maxnumf", "arith.addf", "tile.store", "func.return"]


def test_stores_that_iterations_may_share():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), R: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32")):
        with T.Kernel(4) as bx:
            scale = A[bx, 0]
            for i, j in T.Parallel(64, 64):
                R[bx] = 1.0  # every iteration writes the same value
                R[bx] = scale
                R[bx] = scale * 2.0 + bx
                R[i] = i * 2
                R[I[j]] = A[i, j]  # may be a permutation
                if i == 0:
                    R[j] = A[i, j]
                A[i, j % 64] = R[i]
            for i, j in T.Parallel(64, 1):
                R[i] = A[i, j]

    assert operations(trace(kernel)).count("tile.store") == 8
