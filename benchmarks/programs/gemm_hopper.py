"""GEMM programs for Hopper (sm_90a), and the configuration of each shape.

``C[m, n] = A[m, k] @ B``, where B is ``[k, n]`` (layout ``"kn"``) or ``[n, k]`` (``"nk"``, as a linear layer keeps its
weight). ``configuration(m, n, k, layout, dtype)`` names the program for a shape and its parameters.

* ``tile_matmul``: one block per tile of C. ``swap`` makes B the operand of 64-row blocks (C^T = B^T A^T), so that tiles
  may be as narrow along M as 8: what few rows of A (decoding) and grids that fill the chip exactly once need.
* ``split_matmul``: several blocks per tile, each with a slice of K, which exchange partial sums through a workspace.
* ``persistent_matmul``: one block per multiprocessor, each of which walks over tiles of C.
"""

from __future__ import annotations

import tilemlir.language as T


def operand_shapes(m, n, k, layout):
    """Shapes of A and B."""
    if layout not in ("kn", "nk"):
        raise ValueError(f"layout must be 'kn' or 'nk', not {layout!r}")
    return (m, k), (k, n) if layout == "kn" else (n, k)


def result_type(dtype, out_dtype):
    """Element type of C: that of the operands, float16 for 8-bit operands."""
    return out_dtype or ("float16" if dtype.startswith("float8") else dtype)


def tile_matmul(
    m,
    n,
    k,
    layout="kn",
    dtype="float16",
    block_m=128,
    block_n=128,
    block_k=64,
    num_stages=6,
    threads=256,
    swap=False,
    rows_first=True,
    cluster=(1, 1),
    evict_a=None,
    evict_b=None,
    blocks_per_sm=1,
    out_dtype=None,
):
    """One block per tile of C.

    ``swap`` computes the transposed tile; ``rows_first`` makes neighbouring blocks follow each other along M;
    ``cluster`` is the number of blocks of a cluster along M and along N; ``evict_a`` and ``evict_b`` are L2 eviction
    policies; ``blocks_per_sm`` blocks must fit a multiprocessor.
    """
    a_shape, b_shape = operand_shapes(m, n, k, layout)
    out_dtype = result_type(dtype, out_dtype)
    kn = layout == "kn"
    tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
    dims = list(cluster)
    if not rows_first:
        tiles.reverse()
        dims.reverse()
    clustered = dims if max(dims) > 1 else None

    @T.prim_func
    def kernel(a: T.Tensor(a_shape, dtype), b: T.Tensor(b_shape, dtype), c: T.Tensor((m, n), out_dtype)):
        with T.Kernel(*tiles, threads=threads, cluster_dims=clustered) as (x, y):
            row, column = (x, y) if rows_first else (y, x)
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_k, block_n) if kn else (block_n, block_k), dtype)
            sums = T.alloc_fragment((block_n, block_m) if swap else (block_m, block_n), "float32")
            if blocks_per_sm > 1:
                T.annotate_min_blocks_per_sm(blocks_per_sm)
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                if kn:
                    T.copy(b[step * block_k, column * block_n], b_tile, eviction_policy=evict_b)
                else:
                    T.copy(b[column * block_n, step * block_k], b_tile, eviction_policy=evict_b)
                T.copy(a[row * block_m, step * block_k], a_tile, eviction_policy=evict_a)
                if swap:
                    T.gemm(b_tile, a_tile, sums, transpose_A=kn, transpose_B=True)
                else:
                    T.gemm(a_tile, b_tile, sums, transpose_B=not kn)
            if swap:
                c_tile = T.alloc_shared((block_m, block_n), out_dtype)
                for j, i in T.Parallel(block_n, block_m):
                    c_tile[i, j] = sums[j, i]
                T.copy(c_tile, c[row * block_m, column * block_n])
            else:
                T.copy(sums, c[row * block_m, column * block_n])

    return kernel


def split_matmul(
    m,
    n,
    k,
    layout="kn",
    dtype="float16",
    block_m=128,
    block_n=128,
    block_k=64,
    num_stages=6,
    threads=256,
    splits=2,
    rows_first=True,
    evict_a=None,
    evict_b=None,
    out_dtype=None,
):
    """``splits`` blocks per tile of C, each with a slice of K, whose partial sums meet in a workspace.

    Every block writes what others finish, waits until all blocks of its tile have, and finishes ``block_n // splits``
    columns, adding in a fixed order. All blocks have to run at the same time. The counters are zero before and after
    each call: the last block that leaves a tile resets them.
    """
    a_shape, b_shape = operand_shapes(m, n, k, layout)
    out_dtype = result_type(dtype, out_dtype)
    kn = layout == "kn"
    rows, columns = T.ceildiv(m, block_m), T.ceildiv(n, block_n)
    tiles = [rows, columns] if rows_first else [columns, rows]
    steps = T.ceildiv(T.ceildiv(k, block_k), splits)
    part = block_n // splits
    if part * splits != block_n:
        raise ValueError(f"{block_n} columns cannot be divided among {splits} blocks")

    @T.prim_func
    def kernel(a: T.Tensor(a_shape, dtype), b: T.Tensor(b_shape, dtype), c: T.Tensor((m, n), out_dtype)):
        T.assume(T.num_sms() >= rows * columns * splits)
        partial = T.alloc_global((*tiles, splits, splits, block_m, part), "float32")
        counters = T.alloc_global((*tiles, 2), "int32", zero="once")
        with T.Kernel(*tiles, splits, threads=threads) as (x, y, split):
            row, column = (x, y) if rows_first else (y, x)
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_k, block_n) if kn else (block_n, block_k), dtype)
            sums = T.alloc_fragment((block_m, block_n), "float32")
            own = T.alloc_fragment((block_m, part), "float32")
            T.clear(sums)
            for step in T.Pipelined(steps, num_stages=num_stages):
                at = (split * steps + step) * block_k
                T.copy(a[row * block_m, at], a_tile, eviction_policy=evict_a)
                if kn:
                    T.copy(b[at, column * block_n], b_tile, eviction_policy=evict_b)
                else:
                    T.copy(b[column * block_n, at], b_tile, eviction_policy=evict_b)
                T.gemm(a_tile, b_tile, sums, transpose_B=not kn)
            for other in list(range(splits)):
                if split == other:
                    for i, j in T.Parallel(block_m, part):
                        own[i, j] = sums[i, other * part + j]
                else:
                    T.copy(sums[:, other * part : (other + 1) * part], partial[x, y, other, split, :, :])
            T.sync_threads()
            if T.get_thread_binding() == 0:
                T.atomic_add(counters[x, y, 0], 1, memory_order="release")
                while T.atomic_load(counters[x, y, 0], "acquire") < splits:
                    pass
                if T.atomic_add(counters[x, y, 1], 1, return_prev=True) == splits - 1:
                    T.atomic_store(counters[x, y, 0], 0, "relaxed")
                    T.atomic_store(counters[x, y, 1], 0, "relaxed")
            T.sync_threads()
            for other in list(range(1, splits)):
                source = (split + other) % splits
                for i, j in T.Parallel(block_m, part):
                    own[i, j] += partial[x, y, split, source, i, j]
            T.copy(own, c[row * block_m, column * block_n + split * part])

    return kernel


def persistent_matmul(
    m,
    n,
    k,
    layout="kn",
    dtype="float16",
    block_m=128,
    block_n=256,
    block_k=64,
    num_stages=4,
    threads=256,
    panel=8,
    cluster=(1, 1),
    out_dtype=None,
):
    """One block per multiprocessor, each of which walks over tiles of C in groups of ``panel`` rows of tiles.

    ``cluster`` is the number of blocks of a cluster, which work on neighbouring tiles along M and along N.
    """
    a_shape, b_shape = operand_shapes(m, n, k, layout)
    out_dtype = result_type(dtype, out_dtype)
    kn = layout == "kn"
    tiles = [T.ceildiv(m, block_m), T.ceildiv(n, block_n)]
    blocks = cluster[0] * cluster[1]
    clustered = {"cluster_tile": cluster} if blocks > 1 else {}

    @T.prim_func
    def kernel(a: T.Tensor(a_shape, dtype), b: T.Tensor(b_shape, dtype), c: T.Tensor((m, n), out_dtype)):
        with T.Kernel(T.num_sms(), threads=threads, cluster_dims=blocks if blocks > 1 else None) as worker:
            a_tile = T.alloc_shared((block_m, block_k), dtype)
            b_tile = T.alloc_shared((block_k, block_n) if kn else (block_n, block_k), dtype)
            sums = T.alloc_fragment((block_m, block_n), "float32")
            for row, column in T.Persistent(tiles, T.num_sms(), worker, group_size=panel, **clustered):
                T.clear(sums)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=num_stages):
                    T.copy(a[row * block_m, step * block_k], a_tile)
                    if kn:
                        T.copy(b[step * block_k, column * block_n], b_tile)
                    else:
                        T.copy(b[column * block_n, step * block_k], b_tile)
                    T.gemm(a_tile, b_tile, sums, transpose_B=not kn)
                # Nobody reads C here; what is loaded may stay in the cache instead.
                T.copy(sums, c[row * block_m, column * block_n], eviction_policy="evict_first")

    return kernel


#: Blocks of one per multiprocessor that an H200 holds at once.
MULTIPROCESSORS = 132
#: The same for blocks in clusters, by the size of a cluster.
CAPACITY = {1: 132, 2: 132, 4: 120, 8: 112}
#: Shared memory of a block, and of each of two blocks on one multiprocessor, less what barriers take.
ROOM, HALF_ROOM = 232448 - 512, 114688 - 512
#: Threads (consumers) of a tile with so many rows of 64-row blocks.
THREADS = {64: 128, 128: 256, 192: 384, 256: 256}


def stages(rows, columns, panels, room=ROOM, most=13):
    """Stages of ``panels`` times 128 bytes of K that fit ``room`` bytes, for tiles of ``rows`` x ``columns``."""
    return min(most, room // (128 * panels * (rows + columns)))


def configuration(m, n, k, layout, dtype="float16"):
    """Program and parameters for a shape: ``(name of the program, keyword arguments)``.

    ``layout`` and ``dtype`` are as for the programs. The rules count 128-byte pieces of K ("panels"), so that they hold
    for 8- and 16-bit operands.
    """
    panel = 128 if dtype.startswith("float8") else 64
    if m <= 128 and n >= 2048:
        found = few_rows(m, n, panel)
        if found is not None:
            return "tile_matmul", found
    if k >= 64 * panel:
        found = long_k(m, n, panel)
        if found is not None:
            return "split_matmul", found
    found = one_wave(m, n, k, layout, panel)
    if found is not None:
        return "tile_matmul", found
    config = {"block_m": 128, "block_n": 256, "block_k": panel, "num_stages": 4, "threads": 256}
    return "persistent_matmul", config | {"cluster": (2, 1)}


def few_rows(m, n, panel):
    """Up to 128 rows of A: the time is that of reading B once. The chip has to ask for enough of it at the same time
    (about 160 KB per multiprocessor, of at least 64 of them), and nothing else may be evicted for it."""
    common = {"swap": True, "rows_first": False, "evict_b": "evict_first"}

    def narrow(block_m, block_n, panels=1, most=13, blocks=1, cluster=(1, 1)):
        room = ROOM if blocks == 1 else HALF_ROOM
        return dict(
            block_m=block_m,
            block_n=block_n,
            block_k=panels * panel,
            num_stages=stages(block_n, block_m, panels, room, most),
            threads=THREADS[block_n],
            blocks_per_sm=blocks,
            cluster=cluster,
            **common,
        )

    tiles = T.ceildiv(n, 64)
    rows = T.ceildiv(m, 8) * 8
    if m <= 32:
        if tiles <= MULTIPROCESSORS:
            return narrow(rows, 64, panels=2, most=8)
        if tiles <= 2 * MULTIPROCESSORS:
            return narrow(rows, 64, panels=2, blocks=2, cluster=(1, 4))
        if T.ceildiv(n, 256) <= MULTIPROCESSORS:
            return narrow(rows, 256)
        return narrow(rows, 128, blocks=2)
    if m <= 64:
        for block_n in (64, 128, 256):
            if T.ceildiv(n, block_n) <= MULTIPROCESSORS:
                return narrow(rows, block_n, most=12)
        return None
    if 2 * tiles <= CAPACITY[2]:
        return narrow(64, 64, cluster=(2, 1))
    if 2 * T.ceildiv(n, 192) <= CAPACITY[2]:
        return narrow(64, 192, cluster=(2, 1))
    if T.ceildiv(n, 256) <= MULTIPROCESSORS:
        return narrow(rows, 256)
    return None


def long_k(m, n, panel):
    """Few tiles and a long K: slices of it fill the chip."""
    common = {"block_k": panel, "threads": 256, "evict_a": "evict_first", "evict_b": "evict_first"}
    tiles = T.ceildiv(m, 128) * T.ceildiv(n, 64)
    for splits in (8, 4, 2):
        if splits * tiles <= MULTIPROCESSORS:
            return dict(block_m=128, block_n=64, num_stages=9, splits=splits, **common)
    if 2 * T.ceildiv(m, 128) * T.ceildiv(n, 128) <= MULTIPROCESSORS:
        return dict(block_m=128, block_n=128, num_stages=7, splits=2, rows_first=False, **common)
    return None


def one_wave(m, n, k, layout, panel):
    """Tiles that fill the chip once, at the lowest cost of all (see ``cost_of_tile``); None if there are none."""
    pitches = (k, n) if layout == "kn" else (k, k)
    aligned = all(pitch * (128 // panel) % 128 == 0 for pitch in pitches)
    best = None
    for swap in (False, True):
        for wide in THREADS:  # along the operand of 64-row blocks
            for narrow in range(32, 257, 8):
                blocks = wide // (THREADS[wide] // 2)  # of 64 rows per warp group
                most = {384: 160}.get(THREADS[wide], 384 // blocks)
                num_stages = stages(wide, narrow, 1, most=9)
                if narrow > most or num_stages < 4 or (layout == "kn" and not swap and narrow % 64):
                    continue
                block_m, block_n = (narrow, wide) if swap else (wide, narrow)
                tiles = T.ceildiv(m, block_m), T.ceildiv(n, block_n)
                for cluster in ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4), (8, 1), (1, 8)):
                    room = CAPACITY[cluster[0] * cluster[1]]
                    if tiles[0] * tiles[1] > room or tiles[0] % cluster[0] or tiles[1] % cluster[1]:
                        continue
                    # Blocks of a cluster load equal parts of what they share.
                    if block_m % cluster[1] or block_n % cluster[0]:
                        continue
                    cost = cost_of_tile(block_m, block_n, T.ceildiv(k, panel), cluster, aligned)
                    if best is None or cost < best[0]:
                        config = {"block_m": block_m, "block_n": block_n, "block_k": panel, "num_stages": num_stages}
                        config |= {"threads": THREADS[wide], "swap": swap, "rows_first": not swap, "cluster": cluster}
                        best = cost, config
    return best[1] if best else None


def cost_of_tile(block_m, block_n, steps, cluster, aligned):
    """Cycles of a tile, and tie-breaks: a step multiplies 32 elements of the tile per cycle, or loads, at 1.5 cycles
    per row of 128 bytes, twice that where rows begin between cache lines. Of what it shares, a block of a cluster loads
    its part; to start a cluster takes about 1000 cycles more. Rows of C in whole panels are stored best."""
    multiply = block_m * block_n / 32
    load = (1.5 if aligned else 3.0) * (block_m / cluster[1] + block_n / cluster[0])
    start = 1000 if cluster != (1, 1) else 0
    return steps * max(multiply, load) + start, multiply + load, block_n % 64 != 0
