"""Kernels with one mistake each, for the tests of error messages. Formatting of this file is part of the tests."""

# ruff: noqa
# fmt: off

import tilemlir.language as T

D = T.dynamic("M")


@T.prim_func
def gemm_shape(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((128, 32), "float16")
        b = T.alloc_shared((128, 32), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.gemm(a, b, c)


@T.prim_func
def gemm_dtype(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        a = T.alloc_shared((128, 32), "float16")
        b = T.alloc_shared((32, 128), "float32")
        c = T.alloc_fragment((128, 128), "float32")
        T.gemm(a, b, c)


@T.prim_func
def rank(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A[bx] = 1.0


@T.prim_func
def rank3(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        for i in T.Parallel(64):
            A[i, 0] = A[i, 0, 0]


@T.prim_func
def undefined(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A_shared = T.alloc_shared((64, 64), "float16")
        T.copy(A, A_shard)


@T.prim_func
def undefined_op(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A_shared = T.aloc_shared((64, 64), "float16")


@T.prim_func
def symbolic(A: T.Tensor((D,64),"float16")):
    with T.Kernel(1) as bx:
        A_shared = T.alloc_shared((D, 64), "float16")


@T.prim_func
def dtype(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A_shared = T.alloc_shared((64, 64), "float17")


@T.prim_func
def try_(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        try:
            A[0, 0] = 1
        except Exception:
            pass


@T.prim_func
def walrus(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A[0, (n := 3)] = 1


@T.prim_func
def while_true(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        while True:
            A[0, 0] = 1


@T.prim_func
def nested_parallel(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        for i in T.Parallel(64):
            for j in T.Parallel(64):
                A[i, j] = 1


@T.prim_func
def copy_in_parallel(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64), "float16")
        for i in T.Parallel(64):
            T.copy(A, s)


@T.prim_func
def copy_shape(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((32, 32), "float16")
        T.copy(A, s)


@T.prim_func
def slice_shape(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((32, 32), "float16")
        T.copy(A[0:32, 0:64], s)


@T.prim_func
def oob(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((32, 32), "float16")
        s[32, 0] = 1


@T.prim_func
def in_front(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A[-65, 0] = 1


@T.prim_func
def slice_oob(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((32, 32), "float16")
        T.copy(A[0, 0], s[16:48, :])


@T.prim_func
def outside(A: T.Tensor((64,64),"float16")):
    s = T.alloc_shared((32, 32), "float16")
    with T.Kernel(1) as bx:
        pass


@T.prim_func
def nested_kernel(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        with T.Kernel(1) as by:
            A[0, 0] = 1


@T.prim_func
def float_index(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        A[bx / 2, 0] = 1


@T.prim_func
def float_grid(A: T.Tensor((64,64),"float16")):
    with T.Kernel(64 / 32) as bx:
        A[bx, 0] = 1


@T.prim_func
def threads(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1, threads=2048) as bx:
        A[bx, 0] = 1


@T.prim_func
def loop_arity(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        for i, j in T.Parallel(64):
            A[i, j] = 1


@T.prim_func
def kernel_arity(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1, 2, 3) as (bx, by):
        A[bx, by] = 1


@T.prim_func
def wrong_call(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64))


@T.prim_func
def wrong_keyword(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64), "float16")
        T.copy(A, s, swizle=True)


@T.prim_func
def not_available(A: T.Tensor((64,64),"float16")):
    with T.Kernel(1) as bx:
        b = T.alloc_tmem((128, 64), "float32")


@T.prim_func
def rebind_kind(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        x = 0
        for i in range(4):
            x = x + A[i, 0]


@T.prim_func
def rebind_buffer(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64), "float16")
        t = T.alloc_shared((64, 64), "float16")
        if n > 0:
            s = t


@T.prim_func
def loop_local(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        for i in range(4):
            x = i
        A[0, 0] = x


@T.prim_func
def carried(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        total = 0.0
        for i in T.Parallel(64):
            total += A[i, 0]
        A[0, 0] = total


@T.prim_func
def break_parallel(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        for i in T.Parallel(64):
            if i > n:
                break
            A[i, 0] = 1


@T.prim_func
def return_in_if(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        if n > 0:
            return
        A[0, 0] = 1


@T.prim_func
def list_index(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        A[0, 0] = [1, 2, 3][n]


@T.prim_func
def buffer_arith(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_fragment((64, 64), "float16")
        s = s * 2.0


@T.prim_func
def buffer_aug(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_fragment((64, 64), "float16")
        s *= 2.0


@T.prim_func
def matmul_op(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_fragment((64, 64), "float16")
        t = s @ s


@T.prim_func
def reduce_shape(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_fragment((64, 32), "float16")
        m = T.alloc_fragment((32,), "float16")
        T.reduce_max(s, m, dim=1)


@T.prim_func
def atomic_fragment(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_fragment((64, 32), "float16")
        T.atomic_add(s[0, 0], 1.0)


@T.prim_func
def helper_raises(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        A[0, 0] = int("x")


@T.prim_func
def helper_if(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        A[0, 0] = plain_helper(n)


def plain_helper(n):
    return 1 if n > 0 else 2


@T.prim_func
def assertion(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        assert A.shape[0] % 48 == 0, "rows must be a multiple of 48"


@T.prim_func
def assertion_rt(A: T.Tensor((64,64),"float16"), n: T.int32):
    with T.Kernel(1) as bx:
        assert n > 0


@T.prim_func
def declared(A, n: T.int32):
    with T.Kernel(1) as bx:
        pass


@T.prim_func
def declared2(A: "whatever", n: T.int32):
    with T.Kernel(1) as bx:
        pass


@T.prim_func
def unsourced(A: T.Tensor((D*2, 64), "float16")):
    with T.Kernel(D) as bx:
        A[bx, 0] = 1


@T.prim_func
def store_slice(A: T.Tensor((64, 64), "float16")):
    with T.Kernel(1) as bx:
        A[0, :] = 1


@T.prim_func
def literal(A: T.Tensor((64, 64), "uint8")):
    with T.Kernel(1) as bx:
        A[0, 0] = 300


@T.prim_func
def layout(A: T.Tensor((64, 64), "float16")):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64), "float16")
        T.annotate_layout({s: lambda i, j: i})


@T.prim_func
def fstring(A: T.Tensor((64, 64), "float16"), n: T.int32):
    with T.Kernel(1) as bx:
        T.print(f"n = {n}")


@T.prim_func
def host_if(A: T.Tensor((D, 64), "float16")):
    if D > 5:
        x = 1
    with T.Kernel(1) as bx:
        pass


@T.prim_func
def dyn_slice(A: T.Tensor((64, 64), "float16"), n: T.int32):
    with T.Kernel(1) as bx:
        s = T.alloc_shared((64, 64), "float16")
        T.copy(A[0:n, 0:64], s)


@T.prim_func
def iterate(A: T.Tensor((64, 64), "float16"), n: T.int32):
    with T.Kernel(1) as bx:
        for row in A:
            pass


@T.prim_func
def conflict(A: T.Tensor((64, 64), "float32"), R: T.Tensor((64,), "float32")):
    with T.Kernel(1) as bx:
        for i, j in T.Parallel(64, 64):
            R[i] += A[i, j]


@T.prim_func
def no_kernel(A: T.Tensor((64, 64), "float16"), n: T.int32):
    pass


@T.prim_func
def too_long(A: T.Tensor((4, 2**31 - 1), "uint8"), B: T.Tensor((4, 2**31), "uint8")):
    with T.Kernel(1) as bx:
        B[0, 0] = A[0, 0]


@T.prim_func
def long_view(A: T.Tensor((2**16, 2**16), "uint8")):
    with T.Kernel(1) as bx:
        B = T.reshape(A, (2**32,))
        B[0] = 1


@T.prim_func
def workspace_size(A: T.Tensor((64,64),"float16")):
    with T.Kernel(4) as bx:
        scratch = T.alloc_global((bx + 1, 64), "float16")
        scratch[0, 0] = A[0, 0]


@T.prim_func
def workspace_zeros(A: T.Tensor((64,64),"float16")):
    scratch = T.alloc_global((4, 64), "float16", zero="twice")
    with T.Kernel(4) as bx:
        scratch[0, 0] = A[0, 0]


@T.prim_func
def workspace_type(A: T.Tensor((64,64),"float16"), x: T.float32):
    scratch = T.alloc_global((x, 64), "float16")
    with T.Kernel(4) as bx:
        scratch[0, 0] = A[0, 0]


@T.prim_func
def tiles_worker(A: T.Tensor((64,),"float16")):
    with T.Kernel(8) as bx:
        for i, in T.Persistent([64], 4, bx, dynamic=True):
            A[i] = 0


@T.prim_func
def tiles_cluster(A: T.Tensor((64,),"float16")):
    with T.Kernel(8, cluster_dims=2) as bx:
        for i, in T.Persistent([64], 8, bx, dynamic=True):
            A[i] = 0


@T.prim_func
def tiles_nested(A: T.Tensor((64,),"float16")):
    with T.Kernel(8) as bx:
        for k in T.serial(4):
            for i, in T.Persistent([64], 8, bx, dynamic=True):
                A[i] = k


@T.prim_func
def tiles_break(A: T.Tensor((64,),"float16")):
    with T.Kernel(8) as bx:
        for i, in T.Persistent([64], 8, bx, dynamic=True):
            if i > 32:
                break
            A[i] = 0


@T.prim_func
def tiles_order(A: T.Tensor((8, 8),"float16")):
    with T.Kernel(8) as bx:
        for i, j in T.Persistent([8, 8], 8, bx, order=(0, ~0)):
            A[i, j] = 0


@T.prim_func
def tiles_turns(A: T.Tensor((64,),"float16")):
    with T.Kernel(8) as bx:
        for i, in T.Persistent([64], 8, bx, dynamic=True, ping_pong=True):
            A[i] = 0


@T.prim_func
def tiles_dynamic(A: T.Tensor((64,),"float16"), n: T.int32):
    with T.Kernel(8) as bx:
        for i, in T.Persistent([64], 8, bx, dynamic=n):
            A[i] = 0


@T.prim_func
def tiles_stages(A: T.Tensor((64,),"float16")):
    with T.Kernel(8) as bx:
        for i, in T.Persistent([64], 8, bx, num_stages=-1):
            A[i] = 0
