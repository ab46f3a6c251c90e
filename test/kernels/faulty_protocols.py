"""Programs that order their threads themselves, wrongly: for the text of errors of the protocol verifier."""

import tilemlir.language as T


@T.prim_func
def nobody_begins(A: T.Tensor((128,), "int32")):
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((128,), "int32")
        with T.ws(0):
            for _ in T.serial(3):
                T.named_barrier_sync(1, 256)
                T.clear(s)
                T.named_barrier_arrive(2, 256)
        with T.ws(1):
            for _ in T.serial(3):
                T.named_barrier_sync(2, 256)
                T.clear(s)
                T.named_barrier_arrive(1, 256)
        T.copy(s, A)


@T.prim_func
def turn_too_early(A: T.Tensor((128,), "int32")):
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((128,), "int32")
        with T.ws(0):
            for _ in T.serial(3):
                T.named_barrier_arrive(2, 256)
                T.clear(s)
                T.named_barrier_sync(1, 256)
        with T.ws(1):
            for _ in T.serial(3):
                T.named_barrier_sync(2, 256)
                T.copy(s, A)
                T.named_barrier_arrive(1, 256)


@T.prim_func
def silent_warps(A: T.Tensor((512, 64), "float16")):
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((2, 64, 64), "float16")
        full = T.alloc_barrier([1] * 2)
        empty = T.alloc_barrier([128] * 2)
        with T.ws(1):
            for step in T.serial(8):
                T.mbarrier_wait_parity(empty[step % 2], ((step // 2) % 2) ^ 1)
                T.tma_copy(A[step * 64, 0], s[step % 2, :, :], barrier=full[step % 2])
                if T.shuffle_elect(128):
                    T.mbarrier_arrive(full[step % 2])
        with T.ws(0):
            for step in T.serial(8):
                T.mbarrier_wait_parity(full[step % 2], (step // 2) % 2)
                T.mbarrier_arrive(empty[step % 2])
