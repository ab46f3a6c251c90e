"""Kernels about the call itself: several outputs, launch-time sizes, printing and asserting."""

import sys

import tilemlir as tile
import tilemlir.language as T


def product_and_sums(n, k, outputs_first):
    """A B and the row sums of A B, with rows known at launch; outputs declared before or after the inputs."""
    m = T.dynamic("m")
    a_type, b_type = T.Tensor((m, k), "float16"), T.Tensor((k, n), "float16")
    c_type, s_type = T.Tensor((m, n), "float32"), T.Tensor((m,), "float32")

    @T.macro
    def body(a, b, c, sums):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as by:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, n), "float16")
            acc = T.alloc_fragment((64, n), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(a[by * 64, step * 32], a_tile)
                T.copy(b[step * 32, 0], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.reduce_sum(acc, total, dim=1)
            T.copy(acc, c[by * 64, 0])
            T.copy(total, sums[by * 64])

    if outputs_first:

        @T.prim_func
        def kernel(c: c_type, sums: s_type, a: a_type, b: b_type):
            body(a, b, c, sums)

        return kernel

    @T.prim_func
    def kernel_after(a: a_type, b: b_type, c: c_type, sums: s_type):
        body(a, b, c, sums)

    return kernel_after


def scaled(size, factor):
    """y = factor x."""

    @T.prim_func
    def kernel(x: T.Tensor((size,), "float32"), y: T.Tensor((size,), "float32")):
        with T.Kernel(T.ceildiv(size, 64), threads=64) as block:
            held = T.alloc_fragment((64,), "float32")
            T.copy(x[block * 64], held)
            for i in T.Parallel(64):
                held[i] *= factor
            T.copy(held, y[block * 64])

    return kernel


def eager_scale(target):
    """A kernel under ``@tile.jit`` whose size is read at each call."""

    @tile.jit(target=target)
    def scale(x):
        n = T.dynamic("n")
        x: T.Tensor[[n], T.float32]
        y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
            for i in T.Parallel(64):
                y[block * 64 + i] = x[block * 64 + i] * 5
        return y

    return scale


@T.prim_func
def printing(x: T.Tensor((2, 4), "float16"), n: T.int32):
    with T.Kernel(2, threads=32) as block:
        tile_x = T.alloc_shared((1, 4), "float16")
        held = T.alloc_fragment((4,), "int32")
        T.copy(x[block, 0], tile_x)
        for i in T.Parallel(4):
            held[i] = T.cast(tile_x[0, i], "int32") + n
        if block == 1:
            T.print(tile_x, msg="tile: ")
            T.print(held)
            for _ in T.Parallel(1):
                T.print(n, msg="number: ")
            for _ in T.Parallel(1):
                T.print(T.cast(x[block, 0], "float8_e4m3fn"), msg="small: ")
            for _ in T.Parallel(1):
                T.print(T.cast(n, "uint8"), msg="byte: ")
            for _ in T.Parallel(1):
                T.print("100% text")


@T.prim_func
def asserting(x: T.Tensor((50,), "int32"), y: T.Tensor((50,), "int32")):
    """The last threads have no element, and nothing to complain about."""
    with T.Kernel(1, threads=32) as _:
        for i in T.Parallel(50):
            T.device_assert(x[i] > 0, "x must be positive")
            y[i] = x[i] * 2


def compile_for(program, target):
    return tile.compile(program, target=target)


def main(what, target):
    """Runs one kernel for the tests that need a process of their own: its output, or a device that it stops."""
    import torch

    kernel = compile_for({"print": printing, "assert": asserting}[what], target)
    device = kernel.target.device
    if what == "print":
        kernel(torch.arange(8, device=device).half().view(2, 4), -3)
        if device == "cuda":
            torch.cuda.synchronize()
        return
    x = torch.arange(1, 51, dtype=torch.int32, device=device)
    y = torch.zeros_like(x)
    kernel(x, y)
    assert y.tolist() == [2 * i for i in range(1, 51)]
    x[17] = -1
    kernel(x, y)
    if device == "cuda":
        torch.cuda.synchronize()
    print("the assertion was not noticed")


if __name__ == "__main__":
    main(*sys.argv[1:])
