"""Kernels whose copies TMA can do, of every rank and element type: shared by test/python and test/gpu."""

import tilemlir.language as T


def copy_rows(rows, columns, block, dtype, load_at=(0, 0), store_at=(0, 0), threads=128, **options):
    """Moves an array tile by tile through shared memory: from ``a[y + load_at]`` to ``b[y + store_at]``.

    Args:
        rows: extent of the first dimension; a ``T.dynamic`` symbol or an integer.
        columns: extent of the second one.
        block: rows and columns of the tile.
        dtype: element type.
        load_at: distance in elements between a tile's place in the grid and where it is read.
        store_at: the same of where it is written.
        threads: of a block.
        options: further arguments of both copies.
    """
    y_block, x_block = block

    @T.prim_func
    def kernel(a: T.Tensor((rows, columns), dtype), b: T.Tensor((rows, columns), dtype)):
        with T.Kernel(T.ceildiv(columns, x_block), T.ceildiv(rows, y_block), threads=threads) as (bx, by):
            tile = T.alloc_shared((y_block, x_block), dtype)
            y, x = by * y_block, bx * x_block
            T.copy(
                a[y + load_at[0] : y + load_at[0] + y_block, x + load_at[1] : x + load_at[1] + x_block], tile, **options
            )
            T.copy(
                tile,
                b[y + store_at[0] : y + store_at[0] + y_block, x + store_at[1] : x + store_at[1] + x_block],
                **options,
            )

    return kernel


def copy_multiples(rows, columns, block, dtype, divisor):
    """``copy_rows`` of an array whose columns are a multiple of ``divisor``, as the program promises."""
    y_block, x_block = block

    @T.prim_func
    def kernel(a: T.Tensor((rows, columns), dtype), b: T.Tensor((rows, columns), dtype)):
        T.assume(columns % divisor == 0)
        with T.Kernel(T.ceildiv(columns, x_block), T.ceildiv(rows, y_block), threads=128) as (bx, by):
            tile = T.alloc_shared((y_block, x_block), dtype)
            T.copy(a[by * y_block, bx * x_block], tile)
            T.copy(tile, b[by * y_block, bx * x_block])

    return kernel


def copy_vector(size, block, dtype, load_at=0, store_at=0):
    """One dimension: tiles of ``block`` elements, read and written at a distance from their place."""

    @T.prim_func
    def kernel(a: T.Tensor((size,), dtype), b: T.Tensor((size,), dtype)):
        with T.Kernel(T.ceildiv(size, block), threads=128) as bx:
            tile = T.alloc_shared((block,), dtype)
            x = bx * block
            T.copy(a[x + load_at : x + load_at + block], tile)
            T.copy(tile, b[x + store_at : x + store_at + block])

    return kernel


def copy_boxes(shape, block, dtype):
    """Three to five dimensions, a box per block; the grid is over the flattened box positions."""
    rank = len(shape)
    counts = [-(-extent // size) for extent, size in zip(shape, block, strict=True)]
    total = 1
    for count in counts:
        total *= count

    if rank == 3:

        @T.prim_func
        def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, dtype)):
            with T.Kernel(total, threads=128) as n:
                tile = T.alloc_shared(block, dtype)
                x = n % counts[2] * block[2]
                y = n // counts[2] % counts[1] * block[1]
                z = n // (counts[2] * counts[1]) * block[0]
                T.copy(a[z : z + block[0], y : y + block[1], x : x + block[2]], tile)
                T.copy(tile, b[z : z + block[0], y : y + block[1], x : x + block[2]])

        return kernel
    if rank == 4:

        @T.prim_func
        def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, dtype)):
            with T.Kernel(total, threads=128) as n:
                tile = T.alloc_shared(block, dtype)
                x = n % counts[3] * block[3]
                y = n // counts[3] % counts[2] * block[2]
                z = n // (counts[3] * counts[2]) % counts[1] * block[1]
                w = n // (counts[3] * counts[2] * counts[1]) * block[0]
                T.copy(a[w : w + block[0], z : z + block[1], y : y + block[2], x : x + block[3]], tile)
                T.copy(tile, b[w : w + block[0], z : z + block[1], y : y + block[2], x : x + block[3]])

        return kernel

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, dtype)):
        with T.Kernel(total, threads=128) as n:
            tile = T.alloc_shared(block, dtype)
            x = n % counts[4] * block[4]
            y = n // counts[4] % counts[3] * block[3]
            z = n // (counts[4] * counts[3]) % counts[2] * block[2]
            w = n // (counts[4] * counts[3] * counts[2]) % counts[1] * block[1]
            v = n // (counts[4] * counts[3] * counts[2] * counts[1]) * block[0]
            T.copy(
                a[v : v + block[0], w : w + block[1], z : z + block[2], y : y + block[3], x : x + block[4]],
                tile,
            )
            T.copy(
                tile,
                b[v : v + block[0], w : w + block[1], z : z + block[2], y : y + block[3], x : x + block[4]],
            )

    return kernel


def copy_head(batch, length, heads, width, block, dtype):
    """Slices of extent 1 become coordinates: one head of one batch at a time, rows of a tile along the sequence."""

    @T.prim_func
    def kernel(a: T.Tensor((batch, length, heads, width), dtype), b: T.Tensor((batch, heads, length, width), dtype)):
        with T.Kernel(T.ceildiv(length, block), heads, batch, threads=128) as (bx, by, bz):
            tile = T.alloc_shared((block, width), dtype)
            T.copy(a[bz, bx * block : (bx + 1) * block, by, 0:width], tile)
            T.copy(tile, b[bz, by, bx * block : (bx + 1) * block, 0:width])

    return kernel


def sum_tiles(count, rows, columns, dtype, stages):
    """Adds tiles of a stack: loads in a loop, with or without stages, and a store at the end."""

    @T.prim_func
    def kernel(a: T.Tensor((count, rows, columns), dtype), b: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, 64), threads=128) as by:
            tile = T.alloc_shared((64, columns), dtype)
            result = T.alloc_shared((64, columns), "float32")
            total = T.alloc_fragment((64, columns), "float32")
            T.clear(total)
            for k in T.Pipelined(count, num_stages=stages):
                T.copy(a[k, by * 64 : by * 64 + 64, 0:columns], tile)
                for i, j in T.Parallel(64, columns):
                    total[i, j] += T.cast(tile[i, j], "float32")
            T.copy(total, result)
            T.copy(result, b[by * 64 : by * 64 + 64, 0:columns])

    return kernel


def scale_in_place(tiles, columns, dtype):
    """One buffer that TMA fills, threads change, and TMA stores, in a loop: hand-overs need fences and waits."""

    @T.prim_func
    def kernel(a: T.Tensor((tiles * 64, columns), dtype), b: T.Tensor((tiles * 64, columns), dtype)):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((64, columns), dtype)
            for k in T.serial(tiles):
                T.copy(a[k * 64 : k * 64 + 64, 0:columns], tile)
                for i, j in T.Parallel(64, columns):
                    tile[i, j] = tile[i, j] * T.cast(k + 1, dtype)
                T.copy(tile, b[k * 64 : k * 64 + 64, 0:columns])

    return kernel
