"""Programs that the fuzzer, or a review, found wrong, cut down to what mattered."""

import tilemlir.language as T


def overwritten_tile(stages, dtype="float16"):
    """A tile is loaded, and filled before anybody has read it."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 32), dtype), b: T.Tensor((16, 32), dtype), c: T.Tensor((64, 16), "float32")):
        with T.Kernel(1, threads=64) as _:
            a_tile = T.alloc_shared((64, 16), dtype)
            b_tile = T.alloc_shared((16, 16), dtype)
            acc = T.alloc_fragment((64, 16), "float32")
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(a[0, k * 16], a_tile)
                T.copy(b[0, k * 16], b_tile)
                T.fill(a_tile, 2.0)
                T.gemm(a_tile, b_tile, acc, transpose_B=True)
            T.copy(acc, c)

    return kernel


def tile_overwritten_by_elements(stages):
    """A tile is loaded ahead, and partly overwritten by a parallel loop that reads a tensor."""

    @T.prim_func
    def kernel(a: T.Tensor((3, 128), "float64"), x: T.Tensor((128,), "float64"), y: T.Tensor((128,), "float64")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((128,), "float64")
            acc = T.alloc_fragment((128,), "float64")
            T.clear(acc)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(a[k, 0], tile)
                for i in T.Parallel(100):
                    tile[i] = x[i]
                for i in T.Parallel(128):
                    acc[i] += tile[i]
            T.copy(acc, y)

    return kernel


def loaded_again(stages):
    """A loop inside of a pipelined one loads a tile again and again; the last one counts."""

    @T.prim_func
    def kernel(a: T.Tensor((3, 4, 64, 16), "float32"), y: T.Tensor((64, 16), "float32")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((64, 16), "float32")
            acc = T.alloc_fragment((64, 16), "float32")
            T.clear(acc)
            for k in T.Pipelined(3, num_stages=stages):
                for j in T.serial(4):
                    T.copy(a[k, j, 0:64, 0:16], tile)
                for p, q in T.Parallel(64, 16):
                    acc[p, q] += tile[p, q]
            T.copy(acc, y)

    return kernel


def loads_without_reads(unrolled):
    """Nobody reads a tile between its loads."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 96), "float32"), y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((64, 32), "float32")
            if unrolled:
                for k in T.unroll(3):
                    T.copy(a[0, k * 32], tile)
            else:
                for k in T.serial(3):
                    T.copy(a[0, k * 32], tile)
            T.copy(tile, y)

    return kernel


def loads_without_reads_beside_a_ring():
    """The same in the consumers of a kernel with a producer role."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 128), "float16"), b: T.Tensor((128, 64), "float16"), w: T.Tensor((64, 96), "float16"),
               c: T.Tensor((64, 64), "float32"), y: T.Tensor((64, 32), "float16")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            w_tile = T.alloc_shared((64, 32), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            for k in T.unroll(3):
                T.copy(w[0, k * 32], w_tile)
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(a[0, k * 32], a_tile)
                T.copy(b[k * 32, 0], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c)
            T.copy(w_tile, y)

    return kernel


def through_shared_memory(steps, stages):
    """Tiles from one tensor to another, through shared memory."""

    @T.prim_func
    def kernel(a: T.Tensor((64, steps * 32), "float64"), y: T.Tensor((64, steps * 32), "float64")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((64, 32), "float64")
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(a[0, k * 32], tile)
                T.copy(tile, y[0, k * 32])

    return kernel


def loop_in_loop(stages, inner):
    """A pipelined loop in another one, which also loads ahead: the order of a step counts the operations in it."""

    @T.prim_func
    def kernel(a: T.Tensor((80, 64), "float16"), b: T.Tensor((64, 48), "float16"), d: T.Tensor((64, 96), "float32"),
               c: T.Tensor((80, 48), "float32"), e: T.Tensor((64, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((80, 16), "float16")
            b_tile = T.alloc_shared((16, 48), "float16")
            d_tile = T.alloc_shared((64, 32), "float32")
            acc = T.alloc_fragment((80, 48), "float32")
            total = T.alloc_fragment((64, 32), "float32")
            T.clear(total)
            for i in T.Pipelined(3, num_stages=stages):
                T.clear(acc)
                for k in T.Pipelined(4, num_stages=inner):
                    T.copy(a[0, k * 16], a_tile)
                    T.copy(b[k * 16, 0], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                T.copy(d[0, i * 32], d_tile)
                for p, q in T.Parallel(64, 32):
                    total[p, q] += d_tile[p, q]
            T.copy(acc, c)
            T.copy(total, e)

    return kernel


def repeated_scan(rows, columns, dim):
    """A running sum of a running sum: both loops share a variable."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "int32"), y: T.Tensor((rows, columns), "int32")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((rows, columns), "int32")
            T.copy(x, tile)
            for _ in T.unroll(2):
                T.cumsum(tile, dim=dim)
            T.copy(tile, y)

    return kernel


def small_float_casts(source, dest):
    """Integers and truth values as 8-bit floats, by way of a float that holds them exactly."""

    @T.prim_func
    def kernel(x: T.Tensor((256,), source), y: T.Tensor((256,), dest)):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(256):
                y[i] = T.cast(T.cast(x[i], "float32"), dest)

    return kernel


def small_float_reduction(kind, dtype, dim, clear):
    """A reduction of 8- or 16-bit floats across warps."""
    reduction = {"sum": T.reduce_sum, "max": T.reduce_max, "min": T.reduce_min, "absmax": T.reduce_absmax,
                 "abssum": T.reduce_abssum}[kind]  # fmt: skip

    @T.prim_func
    def kernel(x: T.Tensor((40, 96), dtype), y: T.Tensor((40 if dim == 1 else 96,), dtype)):
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_fragment((40, 96), dtype)
            result = T.alloc_fragment((40 if dim == 1 else 96,), dtype)
            T.copy(x, held)
            T.fill(result, 2.0)
            reduction(held, result, dim=dim, clear=clear)
            T.copy(result, y)

    return kernel


def partly_written(stages):
    """A loop that loads ahead writes a part of a tile, which is read whole behind it."""

    @T.prim_func
    def kernel(a: T.Tensor((8, 4), "int32"), y: T.Tensor((17, 64), "int32")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((17, 64), "int32")
            T.fill(tile, 7)
            for k in T.Pipelined(3, num_stages=stages):
                for p, q in T.Parallel(5, 35):
                    tile[p, q] = a[k, 1] + q
            T.copy(tile, y)

    return kernel


def partly_written_product(stages):
    """The same with a copy to a part of a tile, which a product reads in each step."""

    @T.prim_func
    def kernel(a: T.Tensor((32, 96), "float16"), b: T.Tensor((32, 32), "float16"), c: T.Tensor((64, 32), "float32"),
               y: T.Tensor((64, 32), "float16")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 32), "float16")
            acc = T.alloc_fragment((64, 32), "float32")
            T.copy(b, b_tile)
            T.fill(a_tile, 1)
            T.clear(acc)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(a[0, k * 32], a_tile[16:48, 0:32])
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c)
            T.copy(a_tile, y)

    return kernel


def pending_product():
    """The explicit layer: one product stays in flight, the one before is waited for."""

    @T.prim_func
    def kernel(a: T.Tensor((128, 256), "float16"), b: T.Tensor((256, 128), "float16"),
               c: T.Tensor((128, 128), "float32")):  # fmt: skip
        with T.Kernel(1, threads=256) as _:
            a_tile = T.alloc_shared((2, 128, 64), "float16")
            b_tile = T.alloc_shared((2, 64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            full, empty = T.alloc_barrier([4] * 2), T.alloc_barrier([128] * 2)
            with T.ws(1):
                for k in T.serial(4):
                    T.mbarrier_wait_parity(empty[k % 2], ((k // 2) % 2) ^ 1)
                    T.tma_copy(a[0, k * 64], a_tile[k % 2, :, :], barrier=full[k % 2])
                    T.tma_copy(b[k * 64, 0], b_tile[k % 2, :, :], barrier=full[k % 2])
                    if T.shuffle_elect(32):  # one thread of each warp, so that none of them stays behind
                        T.mbarrier_arrive(full[k % 2])
            with T.ws(0):
                T.clear(acc)
                for k in T.serial(4):
                    T.mbarrier_wait_parity(full[k % 2], (k // 2) % 2)
                    T.wgmma_gemm(a_tile[k % 2, :, :], b_tile[k % 2, :, :], acc)
                    T.wait_wgmma(1)
                    if k > 0:
                        T.mbarrier_arrive(empty[(k - 1) % 2])
                T.wait_wgmma(0)
                T.copy(acc, c)

    return kernel


def loads_in_flight(stages, threads, dtype="float64"):
    """A product by multiply-adds whose last loads are in flight when the slot is given back: they come late, because
    those of many warps with bank conflicts are in front of them."""

    @T.prim_func
    def kernel(a: T.Tensor((32, 96), dtype), b: T.Tensor((64, 96), dtype), c: T.Tensor((32, 64), dtype)):
        with T.Kernel(1, threads=threads) as _:
            a_tile = T.alloc_shared((32, 8), dtype)
            b_tile = T.alloc_shared((64, 8), dtype)
            acc = T.alloc_fragment((32, 64), dtype)
            T.clear(acc)
            for k in T.Pipelined(12, num_stages=stages):
                T.copy(a[0, k * 8], a_tile)
                T.copy(b[0, k * 8], b_tile)
                T.gemm(a_tile, b_tile, acc, transpose_B=True, precision="ieee")
            T.copy(acc, c)

    return kernel


def elements_read_and_written(count, threads):
    """Elementwise loops that read shared memory which they write, with more threads than there are elements."""

    @T.prim_func
    def kernel(a: T.Tensor((count,), "float32"), b: T.Tensor((count,), "float32"), x: T.Tensor((count,), "float32"),
               y: T.Tensor((count,), "float32"), z: T.Tensor((1,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            tile = T.alloc_shared((count,), "float32")
            held = T.alloc_fragment((count,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(a, tile)
            for i in T.Parallel(count):
                tile[i] = b[i] - tile[i]
                held[i] = tile[i] * 2.0
            for i in T.Parallel(count):
                held[i] += tile[i]
                tile[i] = tile[i] + held[i]
            T.reduce_sum(held, total, dim=0)
            T.copy(tile, x)
            T.copy(held, y)
            T.copy(total, z)

    return kernel


def halves_of_a_fragment(count, threads):
    """One loop changes two halves of a fragment, which lie with other threads than its iterations."""

    @T.prim_func
    def kernel(a: T.Tensor((2 * count,), "float32"), y: T.Tensor((2 * count,), "float32"),
               z: T.Tensor((1,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment((2 * count,), "float32")
            sums = T.alloc_fragment((count,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(a, held)
            for i in T.Parallel(count):
                held[i] += 1.0
                held[i + count] *= 2.0
                sums[i] = held[i] + held[i + count]
            T.reduce_sum(sums, total, dim=0)
            T.copy(held, y)
            T.copy(total, z)

    return kernel


def updated_in_place(count, threads):
    """A loop over a tensor in global memory that it changes, and a fragment of which threads have replicas."""

    @T.prim_func
    def kernel(a: T.Tensor((count,), "float32"), x: T.Tensor((count,), "float32"), z: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment((count,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(a, x)
            for i in T.Parallel(count):
                x[i] = x[i] * 3.0
                held[i] = x[i] + 1.0
            T.reduce_sum(held, total, dim=0)
            T.copy(total, z)

    return kernel


def conditions_between_loops(stages):
    """Loops in branches, whose conditions and bounds depend on the index of the block in several ways."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 128), "float16"), b: T.Tensor((128, 64), "float16"), flags: T.Tensor((3,), "int32"),
               c: T.Tensor((3, 64, 64), "float32")):  # fmt: skip
        with T.Kernel(3, threads=128) as block:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            if flags[block] != 0:
                for k in T.Pipelined(block + 2, num_stages=stages):
                    T.copy(a[0, k * 32], a_tile)
                    T.copy(b[k * 32, 0], b_tile)
                    T.gemm(a_tile, b_tile, acc)
            if block % 2 == 0:
                if block > 1:
                    T.copy(a[0, 0], a_tile)
                    T.copy(b[0, 0], b_tile)
                    T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[block, 0, 0])

    return kernel


def one_row_in_a_ring(stages):
    """A producer of many threads loads parts of a tensor of one row, whose width is no multiple of anything."""

    @T.prim_func
    def kernel(a: T.Tensor((8, 64), "float8_e4m3fn"), b: T.Tensor((1, 9), "float8_e4m3fn"),
               c: T.Tensor((2, 32, 8), "float32")):  # fmt: skip
        with T.Kernel(2, threads=256) as block:
            a_tile = T.alloc_shared((8, 32), "float8_e4m3fn")
            b_tile = T.alloc_shared((8, 8), "float8_e4m3fn")
            acc = T.alloc_fragment((32, 8), "float32")
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(a[0, k * 32], a_tile)
                T.copy(b[0, block * 8], b_tile)
                T.gemm(a_tile, b_tile, acc, transpose_A=True)
            T.copy(acc, c[block, 0, 0])

    return kernel


def loop_in_the_consumer(stages):
    """A ring's loop with a loop inside that only consumers run; before it a condition on what gives its trips."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 128), "float16"), b: T.Tensor((128, 64), "float16"), x: T.Tensor((64, 64), "float32"),
               n: T.int32, c: T.Tensor((3, 64, 64), "float32")):  # fmt: skip
        with T.Kernel(3, threads=128) as block:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            shared = T.alloc_shared((64, 64), "float32")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            if block > 1:
                T.copy(x, shared)
                T.copy(shared, acc)
            for k in T.Pipelined(block + 2, num_stages=stages):
                T.copy(a[0, k * 32], a_tile)
                T.copy(b[k * 32, 0], b_tile)
                T.gemm(a_tile, b_tile, acc)
                for _ in T.serial(n):
                    for p, q in T.Parallel(64, 64):
                        shared[p, q] = acc[q, p] * -1.0
                    T.copy(shared, acc)
            T.copy(acc, c[block, 0, 0])

    return kernel


def product_in_place(dtype, transposed):
    """The accumulator of a product is its operand A, too: all of that is read before the results are written."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 64), dtype), b: T.Tensor((64, 64), dtype), c: T.Tensor((64, 64), dtype)):
        with T.Kernel(1, threads=128) as _:
            acc = T.alloc_fragment((64, 64), dtype)
            other = T.alloc_shared((64, 64), dtype)
            T.copy(a, acc)
            T.copy(b, other)
            T.gemm(acc, other, acc, transpose_A=transposed, precision="ieee")
            T.copy(acc, c)

    return kernel


def without_effect():
    """A kernel that stores nothing."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n, 8), "float32"), b: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 32), threads=64) as bx:
            rows = T.alloc_shared((32, 8), "float32")
            sums = T.alloc_fragment((32,), "float32")
            T.copy(a[bx * 32, 0], rows)
            T.reduce_sum(rows, sums, dim=1)
            for i in T.unroll(0):
                T.copy(b[bx * 32 + i : bx * 32 + i + 32], sums)

    return kernel


def product_of_zeros(dtype, columns):
    """Most of the operand in registers is known to be outside of its tensor when the kernel is compiled."""

    @T.prim_func
    def kernel(a: T.Tensor((32, columns), dtype), b: T.Tensor((64, 96), dtype), c: T.Tensor((32, 96), "float32")):
        with T.Kernel(1, threads=128) as _:
            left = T.alloc_fragment((32, 64), dtype)
            right = T.alloc_shared((64, 96), dtype)
            acc = T.alloc_fragment((32, 96), "float32")
            T.copy(a[0:32, 0:64], left)
            T.copy(b, right)
            T.gemm(left, right, acc, clear_accum=True)
            T.copy(acc, c)

    return kernel


def constant_indices():
    """Constant indices behind the end of tensors: reads give zero, writes are dropped."""

    @T.prim_func
    def kernel(a: T.Tensor((4, 3, 32), "float32"), b: T.Tensor((2, 32), "float32"), c: T.Tensor((3, 32), "float32")):
        with T.Kernel(1, threads=32) as _:
            row = T.alloc_fragment((32,), "float32")
            shared = T.alloc_shared((32,), "float32")
            T.copy(a[1, 5, 0:32], row)
            T.copy(row, c[0, 0:32])
            T.copy(a[4, 0, 0:32], shared)
            T.copy(shared, c[1, 0:32])
            for i in T.Parallel(32):
                row[i] = a[-1, -1, i] + a[0, 3, i]
            T.copy(row, b[2, 0:32])
            T.copy(row, c[2, 0:32])
            for i in T.Parallel(32):
                b[7, i] = row[i]

    return kernel


def ring_in_a_loop(stages, inner):
    """A ring in the loop of another one, or in a loop without stages."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 192), "float16"), b: T.Tensor((192, 64), "float16"), d: T.Tensor((64, 192), "float16"),
               c: T.Tensor((64, 64), "float32"), e: T.Tensor((64, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            d_tile = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            T.clear(total)
            for i in T.Pipelined(3, num_stages=stages):
                T.copy(d[0, i * 64], d_tile)
                for k in T.Pipelined(2, num_stages=inner):
                    T.copy(a[0, i * 64 + k * 32], a_tile)
                    T.copy(b[i * 64 + k * 32, 0], b_tile)
                    T.gemm(a_tile, b_tile, acc)
                for p, q in T.Parallel(64, 64):
                    total[p, q] += d_tile[p, q]
            T.copy(acc, c)
            T.copy(total, e)

    return kernel


def loaded_in_an_inner_loop(stages, inner):
    """A loop inside of a pipelined one loads a tile, by elements, that is read behind both."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 4), "int8"), y: T.Tensor((64, 32), "int8")):
        with T.Kernel(1, threads=96) as _:
            tile = T.alloc_shared((64, 32), "int8")
            for _i in T.Pipelined(5, num_stages=stages):
                T.copy(a[0:64, 2:34], tile)
                for _k in T.Pipelined(3, num_stages=inner):
                    T.copy(a[0:64, 1:33], tile)
            T.copy(tile, y)

    return kernel


def one_iteration_inside(stages):
    """A pipelined loop of one iteration fills a fragment that the loop around it uses."""

    @T.prim_func
    def kernel(a: T.Tensor((4, 32), "int32"), b: T.Tensor((4, 32), "int32"), x: T.Tensor((4, 32), "int32"),
               y: T.Tensor((4, 32), "int32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_fragment((4, 32), "int32")
            for _ in T.Pipelined(2, num_stages=stages):
                for _ in T.Pipelined(1, num_stages=stages):
                    T.copy(a, held)
                    T.copy(held, x)
                    T.copy(b, held)
                T.copy(held, y)

    return kernel


def masked_behind_a_store():
    """A masked store puts back what another one, under a condition of its own, has overwritten."""

    @T.prim_func
    def kernel(a: T.Tensor((64, 192), "float32"), n: T.int32, c: T.Tensor((64, 192), "float32")):
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_fragment((64, 64), "float32")
            for k in T.serial(3):
                T.copy(a[0, k * 64], held)
                for i, j in T.Parallel(64, 64):
                    x = held[i, j]
                    if x > 0:
                        held[i, j] = -1.0
                    held[i, j] = T.if_then_else(k * 64 + j < n, x, 0.0)
                T.copy(held, c[0, k * 64])

    return kernel


def tiles_from_the_end(rows):
    """Tiles counted from the last row: the first one begins in front of both tensors."""

    @T.prim_func
    def kernel(a: T.Tensor((rows, 64), "float16"), c: T.Tensor((rows, 64), "float16")):
        with T.Kernel(T.ceildiv(rows, 64), threads=128) as tile:
            held = T.alloc_shared((64, 64), "float16")
            doubled = T.alloc_fragment((64, 64), "float16")
            start = rows - (tile + 1) * 64
            T.copy(a[start, 0], held)
            for i, j in T.Parallel(64, 64):
                doubled[i, j] = held[i, j] + held[i, j]
            T.copy(doubled, c[start, 0])

    return kernel
