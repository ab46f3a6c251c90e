"""Kernels of the explicit layer with one mistake each. Formatting of this file is part of the tests."""

# ruff: noqa
# fmt: off

import tilemlir.language as T


@T.prim_func
def group_of_threads(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=192) as bx:
        with T.ws(0):
            A[0] = 0


@T.prim_func
def group_number(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=256) as bx:
        with T.ws(2):
            A[0] = 0


@T.prim_func
def group_gap(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=384) as bx:
        with T.ws(0, 2):
            A[0] = 0


@T.prim_func
def group_none(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=128) as bx:
        with T.ws():
            A[0] = 0


@T.prim_func
def group_nested(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=256) as bx:
        with T.ws(0):
            with T.ws(0):
                A[0] = 0


@T.prim_func
def group_on_host(A: T.Tensor((64,), "float16")):
    with T.ws(0):
        pass
    with T.Kernel(1) as bx:
        A[0] = 0


@T.prim_func
def group_in_parallel(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        for i in T.Parallel(64):
            with T.ws(0):
                A[i] = 0


@T.prim_func
def group_named(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        with T.ws(0) as g:
            A[0] = 0


@T.prim_func
def group_break(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        for i in T.serial(4):
            with T.ws(0):
                break


@T.prim_func
def shared_fragment(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=256) as bx:
        c = T.alloc_fragment((64,), "float16")
        T.clear(c)
        with T.ws(0):
            T.copy(c, A)


@T.prim_func
def arrivals(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        bars = T.alloc_barrier([128, 0])


@T.prim_func
def barrier_in_loop(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        for i in T.serial(4):
            bar = T.alloc_barrier(1)


@T.prim_func
def barrier_index(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        bars = T.alloc_barrier([128] * 2)
        T.barrier_arrive(bars[2])


@T.prim_func
def barrier_by_thread(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        bars = T.alloc_barrier([128] * 2)
        tx = T.get_thread_binding()
        T.barrier_arrive(bars[tx // 64])


@T.prim_func
def barrier_of_row(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        bars = T.alloc_barrier([128] * 2)
        T.barrier_arrive(bars)


@T.prim_func
def no_barrier(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64,), "float16")
        T.mbarrier_arrive(s)


@T.prim_func
def parity(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        bar = T.alloc_barrier(1)
        T.mbarrier_wait_parity(bar, 2)


@T.prim_func
def load_without_barrier(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64,), "float16")
        T.tma_copy(A, s)


@T.prim_func
def store_with_barrier(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64,), "float16")
        bar = T.alloc_barrier(1)
        T.tma_copy(s, A, barrier=bar)


@T.prim_func
def tma_fragment(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        f = T.alloc_fragment((64,), "float16")
        bar = T.alloc_barrier(1)
        T.tma_copy(A, f, barrier=bar)


@T.prim_func
def tma_converts(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64,), "float32")
        bar = T.alloc_barrier(1)
        T.tma_copy(A, s, barrier=bar)


@T.prim_func
def tma_by_thread(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64,), "float16")
        bar = T.alloc_barrier(1)
        if T.get_thread_binding() == 0:
            T.tma_copy(A, s, barrier=bar)


@T.prim_func
def named_number(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        T.named_barrier_sync(16, 128)


@T.prim_func
def named_count(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        T.named_barrier_arrive(1, 100)


@T.prim_func
def registers(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        T.set_max_nreg(100, 1)


@T.prim_func
def product_operand(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_fragment((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.wgmma_gemm(a, b, c)
        T.wait_wgmma(0)


@T.prim_func
def product_tile(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((32, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((32, 64), "float32")
        T.wgmma_gemm(a, b, c)
        T.wait_wgmma(0)


@T.prim_func
def product_type(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((64, 32), "float32")
        b = T.alloc_shared((32, 64), "float32")
        c = T.alloc_fragment((64, 64), "float32")
        T.wgmma_gemm(a, b, c)
        T.wait_wgmma(0)


@T.prim_func
def product_major(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((64, 32), "int8")
        b = T.alloc_shared((32, 64), "int8")
        c = T.alloc_fragment((64, 64), "int32")
        T.wgmma_gemm(a, b, c)
        T.wait_wgmma(0)


@T.prim_func
def product_forgotten(A: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=256) as bx:
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        with T.ws(0):
            T.wgmma_gemm(a, b, c)
        with T.ws(1):
            T.wait_wgmma(0)


@T.prim_func
def ptx_register(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_local((1,), "int8")
        T.ptx("mov.b32 $0, $1;", s[0], outputs="int32")


@T.prim_func
def ptx_fragment(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        f = T.alloc_fragment((64,), "float16")
        T.ptx("// $0", f)


@T.prim_func
def election(A: T.Tensor((64,), "float16")):
    with T.Kernel(1) as bx:
        if T.shuffle_elect(48):
            A[0] = 0
