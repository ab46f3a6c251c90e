"""Kernels of single operations in unusual forms: register operands, chained gemms, conversions, reductions, atomics."""

import tilemlir.language as T


def register_gemm(m, n, k, which, dtype, threads, clear_accumulator=False, trips=1):
    """One operand of a gemm in registers, then on through shared memory; the accumulator begins at 7."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), dtype), b: T.Tensor((k, n), dtype), c: T.Tensor((m, n), "float32"),
               d: T.Tensor((m, k) if which == "a" else (k, n), dtype)):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            shape = (m, k) if which == "a" else (k, n)
            held = T.alloc_fragment(shape, dtype)
            other = T.alloc_shared((k, n) if which == "a" else (m, k), dtype)
            through = T.alloc_shared(shape, dtype)
            acc = T.alloc_fragment((m, n), "float32")
            T.copy(a if which == "a" else b, held)
            T.copy(b if which == "a" else a, other)
            T.fill(acc, 7)
            for _ in range(trips):
                if which == "a":
                    T.gemm(held, other, acc, clear_accum=clear_accumulator)
                else:
                    T.gemm(other, held, acc, clear_accum=clear_accumulator)
            T.copy(held, through)
            T.copy(through, d)
            T.copy(acc, c)

    return kernel


def chained_gemms(size, threads=128):
    """S = Q K^T, then V = S^T O with S rounded to float16."""

    @T.prim_func
    def kernel(q: T.Tensor((size, size), "float16"), k: T.Tensor((size, size), "float16"),
               o: T.Tensor((size, size), "float16"), v: T.Tensor((size, size), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            q_tile = T.alloc_shared((size, size), "float16")
            k_tile = T.alloc_shared((size, size), "float16")
            o_tile = T.alloc_shared((size, size), "float16")
            s_tile = T.alloc_shared((size, size), "float16")
            scores = T.alloc_fragment((size, size), "float32")
            acc = T.alloc_fragment((size, size), "float32")
            T.copy(q, q_tile)
            T.copy(k, k_tile)
            T.copy(o, o_tile)
            T.clear(scores)
            T.gemm(q_tile, k_tile, scores, transpose_B=True)
            T.copy(scores, s_tile)
            T.clear(acc)
            T.gemm(s_tile, o_tile, acc, transpose_A=True)
            T.copy(acc, v)

    return kernel


def sliced_operands(m, n, k, cut):
    """A gemm by slices of shared operands whose rows are longer than a swizzle's panel."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            acc = T.alloc_fragment((m, n), "float32")
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.clear(acc)
            for part in T.unroll(k // cut):
                T.gemm(a_tile[:, part * cut : (part + 1) * cut], b_tile[part * cut : (part + 1) * cut, :], acc)
            T.copy(acc, c)

    return kernel


def fragment_conversion(m, n, k):
    """A gemm's accumulator of one warp arrangement as another gemm's register operand: fragments change layout."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), w: T.Tensor((n, n), "float16"),
               x: T.Tensor((m, n), "float32"), c: T.Tensor((m, n), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            a_tile = T.alloc_shared((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            w_tile = T.alloc_shared((n, n), "float16")
            first = T.alloc_fragment((m, n), "float32")
            half = T.alloc_fragment((m, n), "float16")
            second = T.alloc_fragment((m, n), "float32")
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.copy(w, w_tile)
            T.clear(first)
            T.gemm(a_tile, b_tile, first, policy=T.GemmWarpPolicy.FullCol)
            T.copy(first, x)
            T.copy(first, half)
            T.clear(second)
            T.gemm(half, w_tile, second, policy=T.GemmWarpPolicy.FullRow)
            T.copy(second, c)

    return kernel


def sum_of_two_arrangements(m, n, k, threads, kept):
    """Two products with warps along M and along N, added: one changes layout while ``kept`` bytes are in use."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), x: T.Tensor((kept // 128, 128), "int8"),
               c: T.Tensor((m, n), "float32"), y: T.Tensor((kept // 128, 128), "int8")):  # fmt: skip
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_shared((kept // 128, 128), "int8")
            a_tile = T.alloc_shared((m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            first = T.alloc_fragment((m, n), "float32")
            second = T.alloc_fragment((m, n), "float32")
            T.copy(x, held)
            T.copy(a, a_tile)
            T.copy(b, b_tile)
            T.gemm(a_tile, b_tile, first, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
            T.gemm(a_tile, b_tile, second, policy=T.GemmWarpPolicy.FullCol, clear_accum=True)
            for i, j in T.Parallel(m, n):
                first[i, j] += second[i, j]
            T.gemm(a_tile, b_tile, first, policy=T.GemmWarpPolicy.FullRow)
            T.copy(first, c)
            T.copy(held, y)

    return kernel


def row_and_column_sums(m, n, threads=128):
    """Both sums of one fragment, each used along the other dimension: vectors change layout."""

    @T.prim_func
    def kernel(x: T.Tensor((m, n), "float32"), y: T.Tensor((m, n), "float32"), z: T.Tensor((n, m), "float32")):
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment((m, n), "float32")
            turned = T.alloc_fragment((n, m), "float32")
            rows = T.alloc_fragment((m,), "float32")
            columns = T.alloc_fragment((n,), "float32")
            T.copy(x, held)
            T.reduce_sum(held, rows, dim=1)
            T.reduce_sum(held, columns, dim=0)
            for i, j in T.Parallel(m, n):
                held[i, j] = rows[i] + columns[j]
            for j, i in T.Parallel(n, m):
                turned[j, i] = rows[i] - columns[j]
            T.copy(held, y)
            T.copy(turned, z)

    return kernel


def rounded_product(m, n, k, block_m=64):
    """A gemm's accumulator rounded to float16 into shared memory, and from there out in whole rows."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(m // block_m, threads=128) as by:
            a_tile = T.alloc_shared((block_m, k), "float16")
            b_tile = T.alloc_shared((k, n), "float16")
            c_tile = T.alloc_shared((block_m, n), "float16")
            acc = T.alloc_fragment((block_m, n), "float32")
            half = T.alloc_fragment((block_m, n), "float16")
            T.copy(a[by * block_m, 0], a_tile)
            T.copy(b, b_tile)
            T.clear(acc)
            T.gemm(a_tile, b_tile, acc)
            T.copy(acc, half)
            T.copy(half, c_tile)
            T.copy(c_tile, c[by * block_m, 0])

    return kernel


def cast_matrix(rows, columns, source, dest, space):
    """Element types change in a copy."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), source), y: T.Tensor((rows, columns), dest)):
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_shared((rows, columns), source) if space == "shared" else T.alloc_fragment((rows, columns), source)  # noqa: E501  # fmt: skip
            result = T.alloc_fragment((rows, columns), dest)
            T.copy(x, held)
            T.copy(held, result)
            T.copy(result, y)

    return kernel


REDUCTIONS = {"sum": T.reduce_sum, "max": T.reduce_max, "min": T.reduce_min, "absmax": T.reduce_absmax}


def accumulated_reduction(kind, source, dest, seed, tiles=3, rows=32, columns=96, nan_propagate=False):
    """Reduces tile after tile into one result that begins at ``seed``."""
    reduction = REDUCTIONS[kind]
    options = {"nan_propagate": True} if nan_propagate else {}

    @T.prim_func
    def kernel(x: T.Tensor((tiles * rows, columns), "float32"), y: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_shared((rows, columns), "float32") if source == "shared" else T.alloc_fragment((rows, columns), "float32")  # noqa: E501  # fmt: skip
            result = T.alloc_shared((rows,), "float32") if dest == "shared" else T.alloc_fragment((rows,), "float32")
            T.fill(result, seed)
            for step in range(tiles):
                T.copy(x[step * rows, 0], held)
                reduction(held, result, dim=1, clear=False, **options)
            T.copy(result, y)

    return kernel


def kept_dimension(rows, columns, kind, dim, threads):
    """A reduction whose result keeps a dimension of extent 1."""
    shape = (rows, 1) if dim == 1 else (1, columns)
    reduction = REDUCTIONS[kind]

    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), y: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment((rows, columns), "float32")
            result = T.alloc_fragment(shape, "float32")
            T.copy(x, held)
            reduction(held, result, dim=dim)
            T.copy(result, y)

    return kernel


def parallel_extents(shape, threads=128):
    """A loop of any extents that fills a fragment, and a serial loop that changes it."""

    @T.prim_func
    def kernel(y: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment(shape, "float32")
            if len(shape) == 1:
                for i in T.Parallel(*shape):
                    held[i] = i * 3
                for step in T.serial(4):
                    for i in T.Parallel(*shape):
                        held[i] = held[i] * 2 + step
            else:
                for i, j in T.Parallel(*shape):
                    held[i, j] = i * 100 + j
                for step in T.serial(4):
                    for i, j in T.Parallel(*shape):
                        held[i, j] = held[i, j] * 2 + step
            T.copy(held, y)

    return kernel


def neighbours(size, shift, threads=128):
    """Each element from another one of the same fragment, which another thread may hold."""

    @T.prim_func
    def kernel(x: T.Tensor((size,), "float32"), y: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            held = T.alloc_fragment((size,), "float32")
            T.copy(x, held)
            for i in T.Parallel(size):
                y[i] = held[(i + shift) % size]

    return kernel


def vectors_along_a_tile(rows, width, space):
    """x c along columns, x + r along rows, and r + c, with vectors in registers, shared or global memory."""

    @T.prim_func
    def kernel(x: T.Tensor((rows, width), "float32"), r: T.Tensor((rows,), "float32"), c: T.Tensor((width,), "float32"),
               y: T.Tensor((3, rows, width), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            held = T.alloc_fragment((rows, width), "float32")
            fr, fc = r, c
            if space == "shared":
                fr = T.alloc_shared((rows,), "float32")
                fc = T.alloc_shared((width,), "float32")
            elif space == "fragment":
                fr = T.alloc_fragment((rows,), "float32")
                fc = T.alloc_fragment((width,), "float32")
            if space != "global":
                T.copy(r, fr)
                T.copy(c, fc)
            T.copy(x, held)
            for i, j in T.Parallel(rows, width):
                y[0, i, j] = held[i, j] * fc[j]
            for i, j in T.Parallel(rows, width):
                y[1, i, j] = held[i, j] + fr[i]
            for i, j in T.Parallel(rows, width):
                y[2, i, j] = fr[i] + fc[j]

    return kernel


def atomic_forms(blocks, size, source, dest):
    """Adds tiles into a tensor: to every element, to every second, at an odd offset, and a literal."""

    @T.prim_func
    def kernel(x: T.Tensor((blocks, size), source), y: T.Tensor((size,), dest), halves: T.Tensor((size // 2,), dest),
               shifted: T.Tensor((size,), dest), count: T.Tensor((1,), dest)):  # fmt: skip
        with T.Kernel(blocks, threads=128) as block:
            held = T.alloc_fragment((size,), source)
            T.copy(x[block, 0], held)
            T.atomic_add(y[0], held)
            for i in T.Parallel(size):
                T.atomic_add(halves[i // 2], held[i])
            for i in T.Parallel(size):
                T.atomic_add(shifted[i + 3], held[i])
            for _ in T.Parallel(1):
                T.atomic_add(count[0], 42.0)

    return kernel


def atomic_extrema(blocks, size, dtype):
    @T.prim_func
    def kernel(x: T.Tensor((blocks, size), dtype), high: T.Tensor((size,), dtype), low: T.Tensor((size,), dtype)):
        with T.Kernel(blocks, threads=64) as block:
            for i in T.Parallel(size):
                T.atomic_max(high[i], x[block, i])
            for i in T.Parallel(size):
                T.atomic_min(low[i], x[block, i])
            for i in T.Parallel(size):
                T.atomic_max(high[i], 3)

    return kernel


def histogram(size, bins, dtype):
    """Counts in shared memory, added to the result once per block."""

    @T.prim_func
    def kernel(x: T.Tensor((size,), "int32"), y: T.Tensor((bins,), dtype)):
        with T.Kernel(T.ceildiv(size, 256), threads=128) as block:
            counts = T.alloc_shared((bins,), dtype)
            T.clear(counts)
            for i in T.Parallel(256):
                if block * 256 + i < size:
                    T.atomic_add(counts[x[block * 256 + i]], 1)
            for i in T.Parallel(bins):
                T.atomic_add(y[i], counts[i])

    return kernel
