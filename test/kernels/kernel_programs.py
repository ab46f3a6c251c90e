"""Kernels that run on every target, and how to run them: shared by test/python/api and test/gpu."""

import numpy as np
import tilemlir as tile
import tilemlir.language as T

GUARD = 512  # elements before and after an output


def device_of(kernel):
    """torch's name of the device that a kernel runs on."""
    return kernel.target.device


def run(kernel, inputs, outputs):
    """Calls a kernel with NumPy inputs; returns outputs that were NaN-filled, or filled with ones bits, and guarded.

    Args:
        kernel: compiled without ``out_idx``; outputs follow the inputs.
        inputs: NumPy arrays, numbers, or torch tensors (CPU) for types that NumPy lacks.
        outputs: (shape, torch dtype) per output.
    """
    import torch

    device = device_of(kernel)
    arguments = []
    for value in inputs:
        if isinstance(value, np.ndarray):
            value = torch.from_numpy(value)
        arguments.append(value.to(device) if isinstance(value, torch.Tensor) else value)
    results, memories = [], []
    for shape, dtype in outputs:
        count = int(np.prod(shape, dtype=np.int64))
        memory = torch.full(((count + 2 * GUARD) * dtype.itemsize,), 0xFF, dtype=torch.uint8, device=device).view(dtype)
        memories.append(memory)
        results.append(memory[GUARD : GUARD + count].view(shape))
    kernel(*arguments, *results)
    if device == "cuda":
        torch.cuda.synchronize()
    for memory in memories:
        raw = memory.view(torch.uint8).cpu()
        size = memory.element_size() * GUARD
        assert bool((raw[:size] == 0xFF).all()), "bytes before an output were written"
        assert bool((raw[-size:] == 0xFF).all()), "bytes after an output were written"
    return [result.cpu() for result in results]


def gemm(m, n, k, block=(128, 128, 32), stages=3, threads=128, dtype="float16", out="float16", accum="float32",
         transpose_a=False, transpose_b=False, policy=None, precision=None):  # fmt: skip
    block_m, block_n, block_k = block
    policy = policy or T.GemmWarpPolicy.Square

    @T.prim_func
    def kernel(
        a: T.Tensor((k, m) if transpose_a else (m, k), dtype),
        b: T.Tensor((n, k) if transpose_b else (k, n), dtype),
        c: T.Tensor((m, n), out),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            a_tile = T.alloc_shared((block_k, block_m) if transpose_a else (block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_n, block_k) if transpose_b else (block_k, block_n), dtype)
            acc = T.alloc_fragment((block_m, block_n), accum)
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                if transpose_a:
                    T.copy(a[step * block_k, by * block_m], a_tile)
                else:
                    T.copy(a[by * block_m, step * block_k], a_tile)
                if transpose_b:
                    T.copy(b[bx * block_n, step * block_k], b_tile)
                else:
                    T.copy(b[step * block_k, bx * block_n], b_tile)
                if precision is None:
                    T.gemm(a_tile, b_tile, acc, transpose_A=transpose_a, transpose_B=transpose_b, policy=policy)
                else:
                    T.gemm(a_tile, b_tile, acc, transpose_A=transpose_a, transpose_B=transpose_b, precision=precision)
            T.copy(acc, c[by * block_m, bx * block_n])

    return kernel


def dynamic_gemm(n, k):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(a[by * 64, step * 32], a_tile)
                T.copy(b[step * 32, bx * 64], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[by * 64, bx * 64])

    return kernel


def causal_attention(batch, heads, seq, dim, block_m=64, block_n=64, stages=2):
    scale = dim**-0.5 * 1.44269504
    shape = (batch, seq, heads, dim)

    @T.prim_func
    def kernel(q: T.Tensor(shape, "float16"), k: T.Tensor(shape, "float16"), v: T.Tensor(shape, "float16"),
               out: T.Tensor(shape, "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(seq, block_m), heads, batch, threads=128) as (bx, by, bz):
            q_tile = T.alloc_shared((block_m, dim), "float16")
            k_tile = T.alloc_shared((block_n, dim), "float16")
            v_tile = T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), "float16")
            acc = T.alloc_fragment((block_m, dim), "float32")
            top = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(q[bz, bx * block_m, by, 0], q_tile)
            T.clear(acc)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv((bx + 1) * block_m, block_n), num_stages=stages):
                T.copy(k[bz, step * block_n, by, 0], k_tile)
                T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.if_then_else(
                        bx * block_m + i >= step * block_n + j, scores[i, j] * scale, -T.infinity("float32")
                    )
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_m, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                for i, j in T.Parallel(block_m, dim):
                    acc[i, j] *= T.exp2(before[i] - top[i])
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(before[i] - top[i])
                T.reduce_sum(weights, total, dim=1, clear=False)
                T.copy(v[bz, step * block_n, by, 0], v_tile)
                T.gemm(weights, v_tile, acc)
            for i, j in T.Parallel(block_m, dim):
                acc[i, j] /= total[i]
            T.copy(acc, out[bz, bx * block_m, by, 0])

    return kernel


def reduce_rows(rows, columns, kind, threads=128, dim=1, space="fragment"):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), y: T.Tensor((rows if dim == 1 else columns,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            tile_x = T.alloc_shared((rows, columns), "float32") if space == "shared" else T.alloc_fragment((rows, columns), "float32")  # noqa: E501  # fmt: skip
            result = T.alloc_fragment((rows if dim == 1 else columns,), "float32")
            T.copy(x, tile_x)
            if kind == "sum":
                T.reduce_sum(tile_x, result, dim=dim)
            elif kind == "max":
                T.reduce_max(tile_x, result, dim=dim)
            else:
                T.reduce_absmax(tile_x, result, dim=dim)
            T.copy(result, y)

    return kernel


def broadcast(rows, width, threads=128):
    @T.prim_func
    def kernel(x: T.Tensor((rows, width), "float32"), r: T.Tensor((rows,), "float32"), c: T.Tensor((width,), "float32"),
               y: T.Tensor((rows, width), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            f = T.alloc_fragment((rows, width), "float32")
            fr = T.alloc_fragment((rows,), "float32")
            fc = T.alloc_fragment((width,), "float32")
            T.copy(x, f)
            T.copy(r, fr)
            T.copy(c, fc)
            for i, j in T.Parallel(rows, width):
                f[i, j] = f[i, j] * fc[j] + fr[i]
            T.copy(f, y)

    return kernel


def gated(blocks, stages):
    @T.prim_func
    def kernel(x: T.Tensor((blocks * 32, 16), "bfloat16"), flag: T.Tensor((blocks,), "int32"),
               y: T.Tensor((32, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            tile_x = T.alloc_shared((32, 16), "bfloat16")
            acc = T.alloc_fragment((32, 16), "float32")
            T.clear(acc)
            for b in T.Pipelined(blocks, num_stages=stages):
                if flag[b] != 0:
                    T.copy(x[b * 32, 0], tile_x)
                    for i, j in T.Parallel(32, 16):
                        acc[i, j] += tile_x[i, j]
            T.copy(acc, y)

    return kernel


def partial_loops(first, second, size, threads=128):
    """Two loops of different extents on one fragment."""

    @T.prim_func
    def kernel(y: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            f = T.alloc_fragment((size,), "float32")
            T.fill(f, 1)
            for i in T.Parallel(first):
                f[i] = i
            for i in T.Parallel(second):
                f[i] = f[i] + 100
            for i in T.Parallel(size):
                y[i] = f[i]

    return kernel


def atomic_sum(count, size, dtype):
    @T.prim_func
    def kernel(x: T.Tensor((count, size), "float32"), y: T.Tensor((size,), dtype)):
        with T.Kernel(count, threads=128) as b:
            f = T.alloc_fragment((size,), "float32")
            T.copy(x[b, 0], f)
            for i in T.Parallel(size):
                T.atomic_add(y[i], f[i])

    return kernel


def register_operand(m, n, k, threads=128):
    """A from registers into a gemm, and then on to shared memory and out."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32"),
               d: T.Tensor((m, k), "float16")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            fa = T.alloc_fragment((m, k), "float16")
            sb = T.alloc_shared((k, n), "float16")
            sa = T.alloc_shared((m, k), "float16")
            acc = T.alloc_fragment((m, n), "float32")
            T.copy(a, fa)
            T.copy(b, sb)
            T.clear(acc)
            T.gemm(fa, sb, acc)
            T.copy(fa, sa)
            T.copy(sa, d)
            T.copy(acc, c)

    return kernel


def compile_for(program, target):
    """Compiles without outputs, so that the caller controls their memory."""
    return tile.compile(program, target=target)
