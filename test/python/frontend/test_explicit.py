"""The explicit layer in the IR: warp groups, barriers, copies by TMA, products in flight, registers, inline PTX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tilemlir.language as T
from frontend_support import lines_of, operations, text_of
from tilemlir.frontend import trace
from tilemlir.language.context import OutsideKernelError


def body_of(function, *names):
    """The lines of the kernel from the first that holds one of ``names``, with constants named by value."""
    lines = [line.strip() for line in text_of(function).splitlines()]
    start = next(i for i, line in enumerate(lines) if any(name in line for name in names))
    return "\n".join(line for line in lines[start:] if "arith.constant" not in line and line not in ("}", "return"))


SQUARE = (256, 256)


@T.prim_func
def specialized(
    A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
):
    with T.Kernel(2, 2, threads=256) as (bx, by):
        a = T.alloc_shared((2, 128, 64), "float16")
        b = T.alloc_shared((2, 64, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        full = T.alloc_barrier([1] * 2)
        empty = T.alloc_barrier([128] * 2)
        with T.ws(1):
            T.set_max_nreg(24, 0)
            for k in T.serial(4):
                T.mbarrier_wait_parity(empty[k % 2], ((k // 2) & 1) ^ 1)
                T.tma_copy(A[by * 128, k * 64], a[k % 2, :, :], barrier=full[k % 2])
                T.tma_copy(B[k * 64, bx * 128], b[k % 2, :, :], barrier=full[k % 2], eviction_policy="evict_last")
                if T.shuffle_elect(128):
                    T.barrier_arrive(full[k % 2])
        with T.ws(0):
            T.set_max_nreg(240, 1)
            T.clear(c)
            for k in T.serial(4):
                T.barrier_wait(full[k % 2], (k // 2) & 1)
                T.wgmma_gemm(a[k % 2, :, :], b[k % 2, :, :], c)
                T.wait_wgmma(0)
                T.mbarrier_arrive(empty[k % 2])
            T.copy(c, C[by * 128, bx * 128])


def test_specialized_gemm():
    """The whole kernel, constants left out; the expected text is in a file of its own."""
    expected = Path(__file__).with_name("specialized_gemm.mlir.expected").read_text()
    assert body_of(specialized, "%full = tile.alloc") == expected.strip("\n")


def test_groups():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=512) as bx:
            for i in range(2):
                with T.ws(1, 2):
                    A[i] = 1
                with T.WarpSpecialize(3):
                    A[i] = 2

    assert lines_of(kernel, "tile.warp_specialize") == [
        "tile.warp_specialize [#tile.role<user, first = 4, warps = 8>] {",
        "tile.warp_specialize [#tile.role<user, first = 12, warps = 4>] {",
    ]


def test_a_group_rebinds_an_outer_scalar():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=256) as bx:
            x = 1
            with T.ws(0):
                x = 2
            A[0] = x

    assert "local" in lines_of(kernel, "tile.alloc")[0]
    names = operations(trace(kernel))
    assert names[names.index("tile.warp_specialize") + 1] == "tile.store"
    assert names[-3:-1] == ["tile.load", "tile.store"]


def test_groups_in_a_macro():
    @T.macro
    def copy_by(group, src, dst):
        with T.ws(group):
            part = T.alloc_fragment((64,), "float16")
            T.copy(src, part)
            T.copy(part, dst)

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=256) as bx:
            copy_by(0, A, B)
            copy_by(1, B, A)

    roles = lines_of(kernel, "tile.warp_specialize")
    assert [re.findall(r"first = (\d+)", role) for role in roles] == [["0"], ["4"]]


def test_barriers_are_initialised_together_and_first():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            T.copy(A, A)
            one = T.alloc_barrier(arrive_count=3)
            row = T.alloc_barrier([1, 1, 128])
            T.barrier_arrive(one)
            T.barrier_arrive(row[-1])

    names = operations(trace(kernel))
    start = names.index("tile.alloc")
    assert names[start : start + 8] == [
        "tile.alloc", "tile.barrier_init", "tile.alloc", "tile.subview", "tile.barrier_init", "tile.subview",
        "tile.barrier_init", "tile.sync_threads",
    ]  # fmt: skip
    assert [re.search(r"arrivals = (\d+)", line).group(1) for line in lines_of(kernel, "tile.barrier_init")] == [
        "3", "1", "128",
    ]  # fmt: skip
    assert [re.search(r"\[(%c\d)", line).group(1) for line in lines_of(kernel, "tile.barrier_arrive")] == ["%c0", "%c2"]


def test_parity_of_any_integer():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16"), n: T.int32):
        with T.Kernel(1) as bx:
            bar = T.alloc_barrier(1)
            T.barrier_wait(bar, 1)
            T.barrier_wait(bar, n)
            for k in T.serial(n):
                T.barrier_wait(bar, k % 2)
                T.barrier_wait(bar, k % 3 == 0)

    parities = [re.search(r"\], (%\w+)", line).group(1) for line in lines_of(kernel, "tile.barrier_wait")]
    text = text_of(kernel)
    made = [re.search(rf"{re.escape(value)} = (\S+)", text).group(1) for value in parities]
    assert made == ["arith.constant", "arith.andi", "arith.remui", "arith.extui"]


def test_expected_bytes():
    """One thread for all; under a condition on the thread, the threads that it admits."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16"), n: T.int32):
        with T.Kernel(1) as bx:
            bar = T.alloc_barrier(1)
            T.mbarrier_expect_tx(bar, 64)
            T.mbarrier_arrive_expect_tx(bar, 128)
            if n > 2:
                T.mbarrier_expect_tx(bar, 192)
            if T.shuffle_elect(0):
                T.mbarrier_arrive_expect_tx(bar, 256)
            if T.get_thread_binding() == 0:
                T.mbarrier_expect_tx(bar, 320)

    assert [re.search(r"bytes = (\d+)", line).group(1) for line in lines_of(kernel, "tile.barrier_expect_tx")] == [
        "64", "192",
    ]  # fmt: skip
    (arrive,) = lines_of(kernel, "tile.barrier_arrive")
    assert "single {expect = 128 : i64}" in arrive
    first, second = lines_of(kernel, "tile.thread_expect_tx")
    assert "{arrive, bytes = 256 : i64}" in first and "{bytes = 320 : i64}" in second


def test_tma_store():
    @T.prim_func
    def kernel(A: T.Tensor((128, 64), "float16")):
        with T.Kernel(2) as bx:
            s = T.alloc_shared((64, 64), "float16")
            T.clear(s)
            T.fence_proxy_async()
            T.sync_threads()
            T.tma_copy(s, A[bx * 64, 0])
            T.tma_store_wait()
            T.tma_store_arrive()
            T.tma_store_wait(1, read=False)

    names = operations(trace(kernel))
    assert names[names.index("tile.fill") :][:9] == [
        "tile.fill", "tile.fence_proxy", "tile.sync_threads", "arith.muli", "tile.copy_async", "tile.bulk_commit",
        "tile.bulk_wait", "tile.bulk_commit", "tile.bulk_wait",
    ]  # fmt: skip
    assert lines_of(kernel, "tile.bulk_wait") == [
        "tile.bulk_wait {pending = 0 : i64, read}",
        "tile.bulk_wait {pending = 1 : i64}",
    ]


def test_waits_name_what_is_complete():
    """Of two products in flight, a wait that leaves one pending makes the first usable."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((64, 64), "float16")
            p = T.alloc_fragment((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            d = T.alloc_fragment((64, 64), "float32")
            T.wgmma_gemm(a, a, c, transpose_B=True)
            T.wgmma_gemm(p, a, d)
            T.wait_wgmma(1)
            T.warpgroup_wait(0)

    assert lines_of(kernel, "tile.mma_wait") == [
        "tile.mma_wait %c {pending = 1 : i64} : !tile.buffer<64x64xf32, fragment>",
        "tile.mma_wait %c, %p, %d {pending = 0 : i64} : !tile.buffer<64x64xf32, fragment>, "
        "!tile.buffer<64x64xf16, fragment>, !tile.buffer<64x64xf32, fragment>",
    ]


def test_waits_in_loops_leave_what_the_next_iteration_finishes():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=256) as bx:
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            d = T.alloc_fragment((64, 64), "float32")
            with T.ws(0):
                for _ in T.serial(4):
                    T.wait_wgmma(1)
                    T.wgmma_gemm(a, a, c)
                T.wait_wgmma(0)
            with T.ws(1):
                for _ in T.serial(4):
                    T.wgmma_gemm(a, a, d)
                    T.wait_wgmma(0)

    waits = [re.search(r"tile.mma_wait ?(.*) \{", line).group(1) for line in lines_of(kernel, "tile.mma_wait")]
    assert waits == ["", "%c", "%d"]


def test_named_barriers_and_warps():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=256) as bx:
            T.named_barrier_arrive(2, 256)
            T.named_barrier_sync(2, 256)
            T.sync_threads(3, 128)
            T.sync_warp()
            with T.ws(1):
                T.sync_threads(4)
                T.sync_threads()

    assert lines_of(kernel, "tile.named_arrive") == ["tile.named_arrive {count = 256 : i64, id = 2 : i64}"]
    assert lines_of(kernel, "tile.sync_threads") == [
        "tile.sync_threads {count = 256 : i64, id = 2 : i64}",
        "tile.sync_threads {count = 128 : i64, id = 3 : i64}",
        "tile.sync_threads {count = 128 : i64, id = 4 : i64}",
        "tile.sync_threads",
    ]
    assert lines_of(kernel, "tile.warp_sync") == ["tile.warp_sync"]


def test_registers():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            T.annotate_producer_reg_dealloc(40)
            T.annotate_consumer_reg_alloc(232)
            T.dec_max_nreg(24)
            T.inc_max_nreg(240)

    assert "tile.role_registers = array<i64: 40, 232>" in text_of(kernel)
    assert lines_of(kernel, "tile.set_max_registers") == [
        "tile.set_max_registers {count = 24 : i64}",
        "tile.set_max_registers {count = 240 : i64, increase}",
    ]


@pytest.mark.parametrize("name", ["no_set_max_nreg", "disable_warp_group_reg_alloc"])
def test_registers_stay(name):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as bx:
            T.set_max_nreg(24, 0)
            getattr(T, name)()
            T.set_max_nreg(240, 1)

    assert "tile.role_registers = array<i64: 0, 0>" in text_of(kernel)
    assert lines_of(kernel, "tile.set_max_registers") == []


def test_ptx():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((64,), "int32")
            x = T.ptx("add.s32 $0, $1, $2;", bx, 7, outputs="int32")
            y, z = T.ptx("mov.b32 $0, $2; mov.b32 $1, $2;", x, outputs=["int32", "float32"])
            T.ptx("prefetch.global.L2 [$0];", A)
            T.ptx("st.shared.b32 [$0], $1;", s, y)
            A[0] = x + T.cast(z, "int32")

    assert [re.sub(r"%\w+(:\d)?(#\d)?", "%", line) for line in lines_of(kernel, "tile.ptx")] == [
        '% = tile.ptx "add.s32 $0, $1, $2;"(%, %) : (i32, i32) -> i32',
        '% = tile.ptx "mov.b32 $0, $2; mov.b32 $1, $2;"(%) : (i32) -> (i32, f32)',
        'tile.ptx "prefetch.global.L2 [$0];"(%) : (memref<64xi32>) -> ()',
        'tile.ptx "st.shared.b32 [$0], $1;"(%, %) : (!tile.buffer<64xi32, shared>, i32) -> ()',
    ]


def test_dependent_launches_and_clusters():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(4, cluster_dims=(2,)) as bx:
            T.pdl_sync()
            A[bx] = 0
            T.pdl_trigger()

    names = operations(trace(kernel))
    assert names.index("tile.dependency_wait") < names.index("tile.store") < names.index("tile.launch_dependents")
    assert "cluster = array<i64: 2>" in text_of(kernel)


def test_a_loop_that_orders_its_work_is_serial():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=256) as bx:
            bar = T.alloc_barrier(128)
            s = T.alloc_shared((64,), "float16")
            for k in T.Pipelined(64, num_stages=2):
                with T.ws(0):
                    T.copy(A[k, :], s)
                    T.barrier_arrive(bar)

    with pytest.warns(UserWarning, match="orders its asynchronous work itself: num_stages=2 has no effect"):
        traced = trace(kernel)
    assert "stages(0)" in str(traced.module)


def test_outside_of_kernels():
    with pytest.raises(OutsideKernelError, match=r"T\.ws has a meaning only inside of a kernel"):
        T.ws(0)
    with pytest.raises(OutsideKernelError, match=r"T\.alloc_barrier"):
        T.alloc_barrier(1)
