"""Kernels about what each thread does for itself: local buffers, scalar reads of fragments, views, double precision."""

import tilemlir.language as T


def private_copies(threads, rows):
    """Each thread copies four elements to its own buffer, doubles them, and copies them to another place."""

    @T.prim_func
    def kernel(a: T.Tensor((rows, threads * 4), "float32"), b: T.Tensor((rows, threads * 4), "float32")):
        with T.Kernel(rows, threads=threads) as bx:
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float32")
            T.copy(a[bx, tx * 4 : tx * 4 + 4], mine)
            for i in T.serial(4):
                mine[i] = mine[i] * 2
            # Under a condition that differs between threads, too.
            if tx % 3 != 1:
                T.copy(mine, b[bx, (threads - 1 - tx) * 4 : (threads - tx) * 4])
            else:
                T.clear(mine)
                T.copy(mine, b[bx, (threads - 1 - tx) * 4 : (threads - tx) * 4])

    return kernel


def exchanged_copies(threads, dtype):
    """Neighbours exchange their elements through shared memory, without an explicit barrier."""

    @T.prim_func
    def kernel(a: T.Tensor((threads, 4), "float32"), b: T.Tensor((threads, 4), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), dtype)
            shared = T.alloc_shared((threads, 4), dtype)
            neighbour = (tx + 1) % threads
            T.copy(a[tx, 0:4], mine)
            T.copy(mine, shared[tx, 0:4])
            T.copy(shared[neighbour, 0:4], mine)
            T.copy(mine, b[tx, 0:4])

    return kernel


def fragment_to_threads(threads, columns):
    """Scalar code reads any element of a fragment, under any condition; each thread copies a part of one."""

    @T.prim_func
    def kernel(
        a: T.Tensor((16, columns), "float32"), b: T.Tensor((threads,), "float32"), c: T.Tensor((threads, 8), "float32")
    ):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            tile = T.alloc_fragment((16, columns), "float32")
            mine = T.alloc_local((8,), "float32")
            T.copy(a, tile)
            for i, j in T.Parallel(16, columns):
                tile[i, j] = tile[i, j] + 1
            if tx % 2 == 0:
                b[tx] = tile[tx % 16, tx % columns]
            else:
                b[tx] = tile[3, 5] + tile[15, columns - 1]
            if tx < threads - 3:
                T.copy(tile[tx % 16, 0:8], mine)
            else:
                T.fill(mine, 7.0)
            T.copy(mine, c[tx, 0:8])

    return kernel


def fragment_from_threads(threads):
    """All threads copy the same values from their own buffers into a fragment."""

    @T.prim_func
    def kernel(a: T.Tensor((64,), "float32"), b: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            every = T.alloc_local((64,), "float32")
            tile = T.alloc_fragment((64,), "float32")
            T.copy(a, every)
            every[3] = every[3] + every[4]
            T.copy(every, tile)
            for i in T.Parallel(64):
                tile[i] = tile[i] * 2
            T.copy(tile, b)

    return kernel


def narrow_view(rows, columns, threads):
    """A shared tile of float32 is taken apart and put together as float16 halves and as bytes."""

    @T.prim_func
    def kernel(
        a: T.Tensor((rows, columns), "float32"),
        halves: T.Tensor((rows, columns * 2), "uint16"),
        swapped: T.Tensor((rows, columns), "float32"),
        total: T.Tensor((rows, columns), "int32"),
    ):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((rows, columns), "float32")
            other = T.alloc_shared((rows, columns), "float32")
            words = T.view(tile, (rows, columns * 2), dtype="uint16")
            other_words = T.view(other, (rows, columns * 2), dtype="uint16")
            octets = T.view(other, (rows * columns, 4), dtype="uint8")
            T.copy(a, tile)
            T.copy(words, halves)
            for i, j in T.Parallel(rows, columns * 2):
                other_words[i, j] = words[i, (j // 2) * 2 + 1 - j % 2]
            T.copy(other, swapped)
            for i, j in T.Parallel(rows, columns):
                total[i, j] = (
                    octets[i * columns + j, 0].astype("int32")
                    + octets[i * columns + j, 1].astype("int32")
                    + octets[i * columns + j, 2].astype("int32")
                    + octets[i * columns + j, 3].astype("int32")
                )

    return kernel


def iteration_views(rows, threads):
    """Views whose place or shape depends on the iteration of a parallel loop."""

    @T.prim_func
    def kernel(
        a: T.Tensor((rows, 32), "float32"), b: T.Tensor((rows, 32), "float32"), c: T.Tensor((rows, 16), "uint16")
    ):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((rows, 32), "float32")
            T.copy(a, tile)
            for i, j in T.Parallel(rows, 32):
                square = T.reshape(tile[i, 0:32], (4, 8))
                b[i, j] = square[j % 4, j // 4]
            for i, j in T.Parallel(rows, 16):
                words = T.view(tile[i, 8:16], (16,), dtype="uint16")
                c[i, j] = words[15 - j]

    return kernel


def local_views(threads):
    """A thread's own buffer seen as other types."""

    @T.prim_func
    def kernel(
        a: T.Tensor((threads, 4), "float32"), b: T.Tensor((threads, 16), "uint8"), c: T.Tensor((threads, 2), "int64")
    ):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float32")
            octets = T.view(mine, (16,), dtype="uint8")
            wide = T.view(mine, (2,), dtype="int64")
            T.copy(a[tx, 0:4], mine)
            for i in T.serial(16):
                b[tx, i] = octets[i]
            octets[5] = octets[4]
            for i in T.serial(2):
                c[tx, i] = wide[i]

    return kernel


def double_function(n, function):
    """``function`` of every element, in double precision."""

    @T.prim_func
    def kernel(x: T.Tensor((n,), "float64"), y: T.Tensor((n,), "float64")):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                y[bx * 256 + i] = function(x[bx * 256 + i])

    return kernel


def double_power(n):
    @T.prim_func
    def kernel(x: T.Tensor((n,), "float64"), e: T.Tensor((n,), "float64"), y: T.Tensor((n,), "float64")):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                y[bx * 256 + i] = T.pow(x[bx * 256 + i], e[bx * 256 + i])

    return kernel
