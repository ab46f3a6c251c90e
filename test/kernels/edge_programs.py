"""Kernels at the edges of tensors: values outside, odd offsets, tails, strides, overlaps, offsets past 32 bits."""

import tilemlir.language as T


def filled_outside(rows, columns, tile, dtype, value, space):
    """Copies a tensor into a larger tile with a value for what lies outside, and writes the whole tile."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), dtype), y: T.Tensor(tile, dtype)):
        with T.Kernel(1, threads=128) as _:
            T.annotate_safe_value({x: value})
            held = T.alloc_shared(tile, dtype) if space == "shared" else T.alloc_fragment(tile, dtype)
            T.copy(x[0, 0], held)
            T.copy(held, y)

    return kernel


def filled_outside_in_pipeline(rows, columns, trips, dtype, value, stages):
    """Tiles of 32 x 32 along the columns, past their end, each written out; loads run ahead."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), dtype), y: T.Tensor((32, trips * 32), dtype)):
        with T.Kernel(1, threads=128) as _:
            T.annotate_safe_value({x: value})
            tile = T.alloc_shared((32, 32), dtype)
            for step in T.Pipelined(trips, num_stages=stages):
                T.copy(x[0, step * 32], tile)
                T.copy(tile, y[0, step * 32])

    return kernel


def column_window(dtype, offset, store, tile=(32, 32), width=96, space="shared"):
    """A tile at any column of a wider tensor. ``offset``: a number, or None for an argument of the launch."""
    rows, columns = tile

    if offset is None:

        @T.prim_func
        def kernel(x: T.Tensor(tile if store else (rows, width), dtype), at: T.int32,
                   y: T.Tensor((rows, width) if store else tile, dtype)):  # fmt: skip
            with T.Kernel(1, threads=128) as _:
                held = T.alloc_shared(tile, dtype) if space == "shared" else T.alloc_fragment(tile, dtype)
                if store:
                    T.copy(x, held)
                    T.copy(held, y[0:rows, at : at + columns])
                else:
                    T.copy(x[0:rows, at : at + columns], held)
                    T.copy(held, y)

        return kernel

    @T.prim_func
    def fixed(x: T.Tensor(tile if store else (rows, width), dtype),
              y: T.Tensor((rows, width) if store else tile, dtype)):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_shared(tile, dtype) if space == "shared" else T.alloc_fragment(tile, dtype)
            if store:
                T.copy(x, held)
                T.copy(held, y[0:rows, offset : offset + columns])
            else:
                T.copy(x[0:rows, offset : offset + columns], held)
                T.copy(held, y)

    return fixed


def vector_copy(length, dtype, tile=128, space="shared", scale=1):
    """A vector by tiles of which the last is partial; ``length`` None: known at launch."""
    n = T.dynamic("n") if length is None else length

    @T.prim_func
    def kernel(x: T.Tensor((n,), dtype), y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, tile), threads=64) as block:
            held = T.alloc_shared((tile,), dtype) if space == "shared" else T.alloc_fragment((tile,), dtype)
            T.copy(x[block * tile], held)
            if scale != 1:
                for i in T.Parallel(tile):
                    held[i] *= scale
            T.copy(held, y[block * tile])

    return kernel


def matrix_copy(rows, columns, dtype, tile=(64, 64), scale=1, space="shared"):
    """A matrix by tiles, scaled; None in place of an extent: known at launch."""
    m = T.dynamic("m") if rows is None else rows
    n = T.dynamic("n") if columns is None else columns

    @T.prim_func
    def kernel(x: T.Tensor((m, n), dtype), y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, tile[1]), T.ceildiv(m, tile[0]), threads=128) as (bx, by):
            held = T.alloc_shared(tile, dtype) if space == "shared" else T.alloc_fragment(tile, dtype)
            T.copy(x[by * tile[0], bx * tile[1]], held)
            if scale != 1:
                for i, j in T.Parallel(*tile):
                    held[i, j] *= scale
            T.copy(held, y[by * tile[0], bx * tile[1]])

    return kernel


def gather_rows(rows, columns, picks, dtype, index_dtype):
    """Rows of a matrix whose numbers are read from a tensor."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), dtype), index: T.Tensor((picks,), index_dtype),
               y: T.Tensor((picks, columns), dtype)):  # fmt: skip
        with T.Kernel(picks, threads=128) as block:
            row = index[block]
            for i in T.Parallel(columns):
                y[block, i] = x[row, i]

    return kernel


def running_product(steps, tile=128, stages=3, space="shared"):
    """y = 2 x tile by tile, in one block, with loads ahead where the arguments do not overlap."""

    @T.prim_func
    def kernel(x: T.Tensor((steps * tile,), "float32"), y: T.Tensor((steps * tile,), "float32")):
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_shared((tile,), "float32") if space == "shared" else T.alloc_fragment((tile,), "float32")
            result = T.alloc_fragment((tile,), "float32")
            for step in T.Pipelined(steps, num_stages=stages):
                T.copy(x[step * tile], held)
                for i in T.Parallel(tile):
                    result[i] = held[i] * 2
                T.copy(result, y[step * tile])

    return kernel


def strided_scale(tile=(32, 32)):
    """y = 3 x of matrices with any strides."""
    m, n = T.dynamic("m"), T.dynamic("n")
    xr, xc, yr, yc = (T.dynamic(name) for name in ("xr", "xc", "yr", "yc"))

    @T.prim_func
    def kernel(x: T.StridedTensor((m, n), (xr, xc), "float16"), y: T.StridedTensor((m, n), (yr, yc), "float16")):
        with T.Kernel(T.ceildiv(n, tile[1]), T.ceildiv(m, tile[0]), threads=128) as (bx, by):
            held = T.alloc_shared(tile, "float16")
            T.copy(x[by * tile[0], bx * tile[1]], held)
            for i, j in T.Parallel(*tile):
                held[i, j] *= 3
            T.copy(held, y[by * tile[0], bx * tile[1]])

    return kernel


def strided_gemm(m, n, k):
    """C = A B with any strides of all three."""
    ar, ac, br, bc, cr, cc = (T.dynamic(name) for name in ("ar", "ac", "br", "bc", "cr", "cc"))

    @T.prim_func
    def kernel(a: T.StridedTensor((m, k), (ar, ac), "float16"), b: T.StridedTensor((k, n), (br, bc), "float16"),
               c: T.StridedTensor((m, n), (cr, cc), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a_tile = T.alloc_shared((64, 32), "float16")
            b_tile = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=3):
                T.copy(a[by * 64, step * 32], a_tile)
                T.copy(b[step * 32, bx * 64], b_tile)
                T.gemm(a_tile, b_tile, acc)
            T.copy(acc, c[by * 64, bx * 64])

    return kernel


def head_planes(batch, seq, heads, dim, space="shared"):
    """The element form of a copy: planes of a 4-D tensor, whose tile dimensions are not neighbours."""
    shape = (batch, seq, heads, dim)

    @T.prim_func
    def kernel(x: T.Tensor(shape, "float16"), y: T.Tensor((batch, heads, seq, dim), "float16")):
        with T.Kernel(T.ceildiv(seq, 32), heads, batch, threads=128) as (bx, by, bz):
            held = T.alloc_shared((32, dim), "float16") if space == "shared" else T.alloc_fragment((32, dim), "float16")
            T.copy(x[bz, bx * 32, by, 0], held)
            T.copy(held, y[bz, by, bx * 32, 0])

    return kernel


def grouped_rows(heads, group, length):
    """The element form with a computed head (``head // group``) and a vector tile."""

    @T.prim_func
    def kernel(x: T.Tensor((heads // group, length), "float32"), y: T.Tensor((heads, length), "float32")):
        with T.Kernel(T.ceildiv(length, 64), heads, threads=64) as (bx, head):
            held = T.alloc_fragment((64,), "float32")
            T.copy(x[head // group, bx * 64], held)
            T.copy(held, y[head, bx * 64])

    return kernel
