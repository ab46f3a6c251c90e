"""Forms of kernels, loops, hints, debugging aids and the explicit layer."""

from __future__ import annotations

import tilemlir as tile
import tilemlir.language as T
import torch
from name_forms import GPU, HOPPER, Case, form, numbers

# Kernels.


def numbered(*grid, **options):
    """Every thread of a launch writes its place."""
    threads = options.get("threads", 128)
    count = threads if isinstance(threads, int) else torch.Size(threads).numel()
    grid3 = (*grid, 1, 1)[:3] if grid else (1, 1, 1)
    total = grid3[0] * grid3[1] * grid3[2]

    @T.prim_func
    def kernel(b: T.Tensor((total, count), "int32")):
        with T.Kernel(*grid, **options):
            x, y, z = (*T.get_block_bindings(), 0, 0)[:3]
            at = (z * grid3[1] + y) * grid3[0] + x
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            tz = T.get_thread_binding(2)
            thread = (tz * T.get_thread_extent(1) + ty) * T.get_thread_extent(0) + tx
            b[at, thread] = at * 1000 + thread

    return Case(kernel, [], [(torch.arange(total)[:, None] * 1000 + torch.arange(count)).to(torch.int32)])


form("Kernel", "T.Kernel(n) as bx: 128 threads")(lambda: numbered(5))
form("Kernel", "T.Kernel(x, y, threads=64)")(lambda: numbered(3, 2, threads=64))
form("Kernel", "T.Kernel(x, y, z, threads=256)")(lambda: numbered(2, 3, 2, threads=256))
form("Kernel", "threads=(32, 4)")(lambda: numbered(2, threads=(32, 4)))
form("Kernel", "threads=[16, 2, 3]")(lambda: numbered(2, threads=[16, 2, 3]))
form("Kernel", "threads=384")(lambda: numbered(2, threads=384))
form("Kernel", "T.Kernel(1) without as")(lambda: _without_as())
form("ClusterKernel", "T.ClusterKernel(4, cluster_dims=2, threads=64)", HOPPER)(lambda: _cluster(True))
form("Kernel", "cluster_dims=(2, 1, 1)", HOPPER)(lambda: _cluster(False))


@form("block_rank_in_cluster", "T.block_rank_in_cluster()", ("cpu", "sm_90a"))
def _():
    @T.prim_func
    def kernel(b: T.Tensor((4, 6), "int32")):
        with T.Kernel(6, 4, threads=32, cluster_dims=(2, 2)) as (x, y):
            for _ in T.Parallel(1):
                b[y, x] = T.block_rank_in_cluster()

    y, x = torch.arange(4)[:, None], torch.arange(6)[None]
    return Case(kernel, [], [(y % 2 * 2 + x % 2).to(torch.int32)])


def _without_as():
    @T.prim_func
    def kernel(b: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            T.fill(b, 3)

    return Case(kernel, [], [torch.full((4,), 3.0)])


def _cluster(named):
    @T.prim_func
    def kernel(b: T.Tensor((4,), "int32")):
        with (
            T.ClusterKernel(4, cluster_dims=2, threads=64) if named else T.Kernel(4, cluster_dims=(2, 1, 1), threads=64)
        ) as block:
            for _ in T.Parallel(1):
                b[block] = block

    return Case(kernel, [], [torch.arange(4, dtype=torch.int32)])


@form("Kernel", "several kernels in one function")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((100,), "float32"), b: T.Tensor((100,), "float32")):
        with T.Kernel(2, threads=64) as block:
            for i in T.Parallel(50):
                b[block * 50 + i] = a[block * 50 + i] * 2
        with T.Kernel(4, threads=32) as block:
            for i in T.Parallel(25):
                b[block * 25 + i] += 1

    x = numbers((100,))
    return Case(kernel, [x], [x * 2 + 1])


@form("get_thread_binding", "T.get_thread_binding(), T.get_thread_bindings()")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            bindings = T.get_thread_bindings()
            b[tx] = bindings[0] + T.get_lane_idx() + T.get_warp_idx() * 32

    return Case(kernel, [], [torch.arange(64, dtype=torch.int32) * 2])


@form("prim_func", "@T.prim_func with a scalar and a launch-time size")
def _():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n,), "float32"), factor: T.float32, b: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
            for i in T.Parallel(64):
                b[block * 64 + i] = a[block * 64 + i] * factor

    x = numbers((77,))
    return Case(kernel, [x, 3.0], [x * 3])


@form("macro", "buffers, scalars, T.Ref, and a returned value")
def _():
    @T.macro
    def bump(counter: T.Ref, amount):
        counter += amount

    @T.macro
    def scaled(values, i, factor):
        result = values[i] * factor
        return result

    @T.prim_func
    def kernel(a: T.Tensor((32,), "float32"), b: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", init=1.0)
            bump(total, 2.0)
            bump(total, scaled(a, tx, 4.0))
            b[tx] = total

    x = numbers((32,))
    return Case(kernel, [x], [x * 4 + 3])


@form("dynamic", 'T.dynamic("m, n"): several sizes at once')
def _():
    m, n = T.dynamic("m, n")

    @T.prim_func
    def kernel(a: T.Tensor((m, n), "float32"), b: T.Tensor((n, m), "float32")):
        with T.Kernel(T.ceildiv(n, 16), T.ceildiv(m, 16), threads=64) as (bx, by):
            for i, j in T.Parallel(16, 16):
                if by * 16 + i < m and bx * 16 + j < n:
                    b[bx * 16 + j, by * 16 + i] = a[by * 16 + i, bx * 16 + j]

    x = numbers((37, 21))
    return Case(kernel, [x], [x.T.contiguous()])


@form("symbolic", 'T.symbolic("n"), the older name of T.dynamic')
def _():
    n = T.symbolic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n,), "int32"), b: T.Tensor((n,), "int32")):
        with T.Kernel(n, threads=32) as block:
            for _ in T.Parallel(1):
                b[block] = a[block] + n

    x = numbers((9,), "int32")
    return Case(kernel, [x], [x + 9])


# Kernels under @tile.jit.


@form("empty", 'T.empty((M, N), "float32"): an output that the call makes')
def _():
    return _eager(lambda m, n: T.empty((m, n), "float32"))


@form("empty", "T.empty([M, N], dtype=T.float32)")
def _():
    return _eager(lambda m, n: T.empty([m, n], dtype=T.float32))


@form("empty", "T.empty(M, N, dtype=dtype)")
def _():
    return _eager(lambda m, n: T.empty(m, n, dtype="float32"))


@form("const", 'M, N = T.const("M, N"): sizes that are compiled in')
def _():
    return _eager(lambda m, n: T.empty((m, n), "float32"))


@form("const", "kernel.compile(M=12, N=20): compiled before there are tensors")
def _():
    return _eager(lambda m, n: T.empty((m, n), "float32"), lambda scale: scale.compile(m=12, n=20))


def _eager(make, compiled=lambda scale: scale):
    def scaled(target):
        @tile.jit(target=target)
        def scale(x):
            m, n = T.const("m, n")
            x: T.Tensor[[m, n], T.float32]
            y = make(m, n)
            with T.Kernel(m, threads=32) as row:
                for j in T.Parallel(n):
                    y[row, j] = x[row, j] * 2
            return y

        return compiled(scale)

    x = numbers((12, 20))
    return Case(None, [x], [x * 2], jit=scaled)


# Loops.


def serial_case(make, values):
    expected = [0] * 16
    for place, value in enumerate(values):
        expected[value % 16] += place + 1

    @T.prim_func
    def kernel(b: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=32) as _:
            tile_b = T.alloc_shared((16,), "int32")
            T.clear(tile_b)
            count = T.alloc_var("int32", init=0)
            for i in make():
                count += 1
                if T.get_thread_binding() == 0:
                    tile_b[i % 16] += count
            T.copy(tile_b, b)

    return Case(kernel, [], [torch.tensor(expected, dtype=torch.int32)])


form("serial", "T.serial(n)")(lambda: serial_case(lambda: T.serial(10), range(10)))
form("serial", "T.serial(start, stop)")(lambda: serial_case(lambda: T.serial(3, 9), range(3, 9)))
form("serial", "T.serial(start, stop, step)")(lambda: serial_case(lambda: T.serial(1, 14, 3), range(1, 14, 3)))
form("serial", "T.Serial(n)")(lambda: serial_case(lambda: T.Serial(7), range(7)))
form("serial", "range(n)")(lambda: serial_case(lambda: range(7), range(7)))
form("unroll", "T.unroll(n)")(lambda: serial_case(lambda: T.unroll(5), range(5)))
form("unroll", "T.unroll(start, stop, step)")(lambda: serial_case(lambda: T.unroll(2, 11, 4), range(2, 11, 4)))
form("unroll", "explicit=True")(lambda: serial_case(lambda: T.unroll(5, explicit=True), range(5)))
form("unroll", "unroll_factor=2")(lambda: serial_case(lambda: T.unroll(6, unroll_factor=2), range(6)))
form("unroll", "T.Unroll(n)")(lambda: serial_case(lambda: T.Unroll(4), range(4)))
form("vectorized", "T.Vectorized(n)")(lambda: serial_case(lambda: T.Vectorized(4), range(4)))


@form("vectorized", "for v in T.vectorized(8): B[tx, v] = A[tx, v]")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((32, 8), "float16"), b: T.Tensor((32, 8), "float16")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            for v in T.vectorized(8):
                b[tx, v] = a[tx, v]

    x = numbers((32, 8), "float16")
    return Case(kernel, [x], [x])


def parallel_case(*extents, n=None, **options):
    shape = extents

    @T.prim_func
    def kernel(a: T.Tensor(shape, "float32"), b: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment(shape, "float32")
            T.copy(a, x)
            if len(shape) == 1:
                for i in T.Parallel(*extents, **options):
                    x[i] = x[i] * 2 + i
            elif len(shape) == 2:
                for i, j in T.Parallel(*extents, **options):
                    x[i, j] = x[i, j] * 2 + i
            elif len(shape) == 3:
                for i, j, k in T.Parallel(*extents, **options):
                    x[i, j, k] = x[i, j, k] * 2 + i
            else:
                for i, j, k, m in T.Parallel(*extents, **options):
                    x[i, j, k, m] = x[i, j, k, m] * 2 + i
            T.copy(x, b)

    x = numbers(shape)
    return Case(kernel, [x], [x * 2 + torch.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))])


form("Parallel", "for i in T.Parallel(n)")(lambda: parallel_case(100))
form("Parallel", "for i, j in T.Parallel(m, n)")(lambda: parallel_case(24, 40))
form("Parallel", "three dimensions")(lambda: parallel_case(3, 5, 16))
form("Parallel", "four dimensions")(lambda: parallel_case(2, 3, 4, 8))
form("Parallel", "coalesced_width=4")(lambda: parallel_case(24, 40, coalesced_width=4))
form("Parallel", "prefer_async=False")(lambda: parallel_case(24, 40, prefer_async=False))


@form("Parallel", "an extent known at run time")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64,), "float32"), n: T.int32, b: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(n):
                b[i] = a[i]
            for i in T.Parallel(64 - n):
                b[n + i] = -1

    x = numbers((64,))
    expected = x.clone()
    expected[41:] = -1
    return Case(kernel, [x, 41], [expected])


@form("Parallel", "if / else, row and column vectors beside a tile, a broadcast store")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((24, 40), "float32"), r: T.Tensor((24,), "float32"), c: T.Tensor((40,), "float32"),
               b: T.Tensor((24, 40), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            x, rows, columns = (
                T.alloc_fragment((24, 40), "float32"),
                T.alloc_fragment((24,), "float32"),
                T.alloc_fragment((40,), "float32"),
            )
            T.copy(a, x)
            T.copy(r, rows)
            T.copy(c, columns)
            for i, j in T.Parallel(24, 40):
                if i > j:
                    x[i, j] = rows[i] + columns[j]
                elif i == j:
                    x[i, j] = 0
                else:
                    x[i, j] = x[i, j] * columns[j]
            T.copy(x, b)

    x, r, c = numbers((24, 40)), numbers((24,)), numbers((40,))
    i, j = torch.arange(24)[:, None], torch.arange(40)[None]
    return Case(kernel, [x, r, c], [torch.where(i > j, r[:, None] + c, torch.where(i == j, 0.0, x * c))])


@form("Parallel", "a serial loop inside")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((24, 8), "float32"), b: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(24):
                total = T.alloc_var("float32", init=0.0)
                for k in T.serial(8):
                    total += a[i, k]
                b[i] = total

    x = numbers((24, 8))
    return Case(kernel, [x], [x.sum(1)])


def pipelined_case(make, steps=5, first=0):
    @T.prim_func
    def kernel(a: T.Tensor((8, 64, 32), "float16"), b: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((64, 32), "float16")
            total = T.alloc_fragment((64, 32), "float32")
            T.clear(total)
            for k in make():
                T.copy(a[k, 0:64, 0:32], x)
                for i, j in T.Parallel(64, 32):
                    total[i, j] += x[i, j] * (k + 1)
            T.copy(total, b)

    x = numbers((8, 64, 32), "float16")
    weights = torch.arange(1, 9).float()
    return Case(kernel, [x], [(x.float() * weights[:, None, None])[first : first + steps].sum(0)])


for _stages in range(6):
    form("Pipelined", f"T.Pipelined(n, num_stages={_stages})")(
        lambda s=_stages: pipelined_case(lambda: T.Pipelined(5, num_stages=s))
    )
form("Pipelined", "T.Pipelined(n)")(lambda: pipelined_case(lambda: T.Pipelined(5)))
form("Pipelined", "T.Pipelined(start, stop, num_stages=2)")(
    lambda: pipelined_case(lambda: T.Pipelined(2, 8, num_stages=2), 6, 2)
)
form("Pipelined", "order=[0, 1], stage=[0, 1], num_stages=2")(
    lambda: pipelined_case(lambda: T.Pipelined(5, num_stages=2, order=[0, 1], stage=[0, 1]))
)
form("Pipelined", "group=[[0], [1]], sync=[]")(
    lambda: pipelined_case(lambda: T.Pipelined(5, num_stages=2, order=[0, 1], stage=[0, 1], group=[[0], [1]], sync=[]))
)


@form("Pipelined", "a trip count known at run time")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((8, 64), "float32"), n: T.int32, b: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_shared((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.clear(total)
            for k in T.Pipelined(n, num_stages=3):
                T.copy(a[k, 0:64], x)
                for i in T.Parallel(64):
                    total[i] += x[i]
            T.copy(total, b)

    x = numbers((8, 64))
    return Case(kernel, [x, 6], [x[:6].sum(0)])


@form("Persistent", "for bx, by in T.Persistent([m, n], workers, block)")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((7, 9), "int32")):
        with T.Kernel(5, threads=32) as block:
            for x, y in T.Persistent([7, 9], 5, block, group_size=4):
                for _ in T.Parallel(1):
                    T.atomic_add(b[x, y], 1)

    return Case(
        kernel, [], [torch.ones((7, 9), dtype=torch.int32)], initial={0: torch.zeros((7, 9), dtype=torch.int32)}
    )


@form("grid", "for i, j in T.grid(m, n)")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((6, 8), "int32")):
        with T.Kernel(1, threads=32) as _:
            if T.get_thread_binding() == 0:
                for i, j in T.grid(6, 8):
                    b[i, j] = i * 10 + j

    return Case(kernel, [], [(torch.arange(6)[:, None] * 10 + torch.arange(8)).to(torch.int32)])


@form("serial", "while, break, continue")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            total = T.alloc_var("int32", init=0)
            step = T.alloc_var("int32", init=0)
            while step < 20:
                step += 1
                if step % 2 == 0:
                    continue
                if step > tx:
                    break
                total += step
            b[tx] = total

    return Case(
        kernel, [], [torch.tensor([sum(s for s in range(1, 20, 2) if s <= t) for t in range(32)], dtype=torch.int32)]
    )


# Hints and debugging aids.


def hinted(hint, **options):
    x = numbers((8 * 64,))

    @T.prim_func
    def kernel(a: T.Tensor((8 * 64,), "float32"), b: T.Tensor((8 * 64,), "float32")):
        with T.Kernel(2, 4, threads=64) as (bx, by):
            hint(a, bx)
            for i in T.Parallel(64):
                b[(by * 2 + bx) * 64 + i] = a[(by * 2 + bx) * 64 + i]

    return Case(kernel, [x], [x])


form("use_swizzle", "T.use_swizzle(10)")(lambda: hinted(lambda a, b: T.use_swizzle(10)))
form("use_swizzle", "T.use_swizzle(panel_size=2, enable=True)")(
    lambda: hinted(lambda a, b: T.use_swizzle(panel_size=2, enable=True))
)
form("use_swizzle", 'order="column"')(lambda: hinted(lambda a, b: T.use_swizzle(2, order="column")))
form("use_swizzle", "enable=False")(lambda: hinted(lambda a, b: T.use_swizzle(2, enable=False)))
form("assume", "T.assume(condition)")(lambda: hinted(lambda a, b: T.assume(b < 2)))
form("device_assert", "T.device_assert(condition)")(lambda: hinted(lambda a, b: T.device_assert(b < 2)))
form("device_assert", 'T.device_assert(condition, "text")')(lambda: hinted(lambda a, b: T.device_assert(b < 2, "text")))
form("device_assert", "no_stack_info=True")(
    lambda: hinted(lambda a, b: T.device_assert(b >= 0, "text", no_stack_info=True))
)
form("print", "T.print(scalar, msg=text)")(
    lambda: hinted(
        lambda a, b: T.print(b + 0, msg="block "),
    )
)
form("print", 'T.print("text")')(lambda: hinted(lambda a, b: T.print("text")))
form("annotate_min_blocks_per_sm", "T.annotate_min_blocks_per_sm(2)")(
    lambda: hinted(lambda a, b: T.annotate_min_blocks_per_sm(2))
)


@form("print", "T.print(fragment), T.print(shared)")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32) as _:
            x, y = T.alloc_fragment((4,), "float32"), T.alloc_shared((2, 2), "float16")
            T.fill(x, 1)
            T.fill(y, 2)
            T.print(x)
            T.print(y, msg="tile: ")
            T.copy(x, b)

    return Case(kernel, [], [torch.ones(4)])


# The explicit layer.


@form("sync_threads", "T.sync_threads()")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            shared = T.alloc_shared((64,), "int32")
            shared[tx] = tx
            T.sync_threads()
            b[tx] = shared[63 - tx]

    return Case(kernel, [], [torch.arange(63, -1, -1, dtype=torch.int32)])


def specialised(spell, registers):
    """A producer and a consumer warp group with one slot."""
    steps = 4

    @T.prim_func
    def kernel(a: T.Tensor((steps, 64, 64), "float16"), b: T.Tensor((64, 64), "float32")):
        # With two warp groups a thread begins with more registers than it may take.
        with T.Kernel(1, threads=384 if registers == "set" else 256) as _:
            x = T.alloc_shared((2, 64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            full, empty = T.alloc_barrier([4] * 2), T.alloc_barrier([128] * 2)
            if registers == "none":
                T.disable_warp_group_reg_alloc()
            with T.ws(1) if spell == "ws" else T.WarpSpecialize(1):
                if registers == "set":
                    T.set_max_nreg(40, 0)
                for k in T.serial(steps):
                    if spell == "barrier":
                        T.barrier_wait(empty[k % 2], ((k // 2) % 2) ^ 1)
                    else:
                        T.mbarrier_wait_parity(empty[k % 2], ((k // 2) % 2) ^ 1)
                    T.tma_copy(a[k, 0:64, 0:64], x[k % 2, :, :], barrier=full[k % 2])
                    # One of each warp: a warp that did not take part could miss a phase of what it waits for.
                    if T.shuffle_elect(32):
                        if spell == "barrier":
                            T.barrier_arrive(full[k % 2])
                        else:
                            T.mbarrier_arrive(full[k % 2])
            with T.ws(0):
                if registers == "set":
                    T.set_max_nreg(200, 1)
                T.clear(total)
                for k in T.serial(steps):
                    T.mbarrier_wait_parity(full[k % 2], (k // 2) % 2)
                    for i, j in T.Parallel(64, 64):
                        total[i, j] += x[k % 2, i, j]
                    T.mbarrier_arrive(empty[k % 2])
                T.copy(total, b)

    x = numbers((steps, 64, 64), "float16")
    return Case(kernel, [x], [x.float().sum(0)])


form("ws", "with T.ws(0): and with T.ws(1):", HOPPER)(lambda: specialised("ws", ""))
form("alloc_barrier", "T.alloc_barrier([128] * stages), bars[k % stages]", HOPPER)(lambda: specialised("ws", ""))
form("mbarrier_wait_parity", "T.mbarrier_wait_parity(bar, parity)", HOPPER)(lambda: specialised("ws", ""))
form("mbarrier_arrive", "T.mbarrier_arrive(bar)", HOPPER)(lambda: specialised("ws", ""))
form("barrier_wait", "T.barrier_wait(bar, parity)", HOPPER)(lambda: specialised("barrier", ""))
form("barrier_arrive", "T.barrier_arrive(bar)", HOPPER)(lambda: specialised("barrier", ""))
form("set_max_nreg", "T.set_max_nreg(40, 0), T.set_max_nreg(200, 1)", HOPPER)(lambda: specialised("ws", "set"))
form("disable_warp_group_reg_alloc", "T.disable_warp_group_reg_alloc()", HOPPER)(lambda: specialised("ws", "none"))


@form("alloc_barrier", "T.alloc_barrier(arrive_count=1)", HOPPER)
def _():
    @T.prim_func
    def kernel(b: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            bar = T.alloc_barrier(arrive_count=64)
            tx = T.get_thread_binding()
            T.mbarrier_arrive(bar)
            T.mbarrier_wait_parity(bar, 0)
            b[tx] = tx

    return Case(kernel, [], [torch.arange(64, dtype=torch.int32)])


@form("wait_wgmma", "T.wait_wgmma(0)", HOPPER)
def _():
    @T.prim_func
    def kernel(x: T.Tensor((64, 64), "float16"), y: T.Tensor((64, 64), "float16"), z: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(x, a)
            T.copy(y, b)
            T.clear(acc)
            T.fence_proxy_async()
            T.sync_threads()
            T.wgmma_gemm(a, b, acc)
            T.wait_wgmma(0)
            T.copy(acc, z)

    a, b = numbers((64, 64), "float16"), numbers((64, 64), "float16")
    return Case(kernel, [a, b], [a.float() @ b.float()])


@form("ptx", 'T.ptx("add.sat.s32 $0, $1, $2;", x, y, outputs="int32")', GPU)
def _():
    @T.prim_func
    def kernel(a: T.Tensor((32,), "int32"), b: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            b[tx] = T.ptx("add.sat.s32 $0, $1, $2;", a[tx], 1, outputs="int32")

    x = numbers((32,), "int32")
    return Case(kernel, [x], [x + 1])


@form("sync_grid", "T.sync_grid()", GPU)
def _():
    @T.prim_func
    def kernel(b: T.Tensor((2, 32), "int32"), c: T.Tensor((2, 32), "int32")):
        with T.Kernel(2, threads=32) as bx:
            tx = T.get_thread_binding()
            b[bx, tx] = bx * 32 + tx
            T.sync_grid()
            c[bx, tx] = b[1 - bx, tx]

    values = torch.arange(64, dtype=torch.int32).reshape(2, 32)
    return Case(kernel, [], [values, values.flip(0)])


@form("mbarrier_arrive", "T.mbarrier_arrive(bar, cta_id=rank)", HOPPER)
@form("tma_copy", "T.tma_copy(A[y, x], tile, barrier=bar, cluster_mask=0b11)", HOPPER)
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64, 64), "float16"), b: T.Tensor((2, 64, 64), "float16")):
        with T.Kernel(2, threads=128, cluster_dims=2) as bx:
            tile = T.alloc_shared((64, 64), "float16")
            bar = T.alloc_barrier(arrive_count=128)
            T.cluster_sync()
            if bx == 0:
                T.tma_copy(a[0, 0], tile, barrier=bar, cluster_mask=0b11)
            else:
                T.mbarrier_expect_tx(bar, 64 * 64 * 2)
            T.mbarrier_arrive(bar, cta_id=T.block_rank_in_cluster())
            T.mbarrier_wait_parity(bar, 0)
            T.copy(tile, b[bx, 0:64, 0:64])

    a = numbers((64, 64), "float16")
    return Case(kernel, [a], [torch.stack([a, a])])


# Refused, with what to do instead.


def refused(call):
    @T.prim_func
    def kernel(b: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128) as _:
            call(b)

    return Case(kernel, [], [])


for _name, _call, _text in (
    ("call_extern", lambda b: T.call_extern("float32", "f", 1.0), "T.ptx"),
    ("import_source", lambda b: T.import_source("int x;"), "T.ptx"),
    ("alloc_tmem", lambda b: T.alloc_tmem((128, 128), "float32"), "tensor memory"),
    ("tcgen05_gemm", lambda b: T.tcgen05_gemm(b, b, b), "tcgen05"),
    ("alloc_cluster_barrier", lambda b: T.alloc_cluster_barrier([1]), "cluster_dims"),
    ("PersistentTileScheduler", lambda b: T.PersistentTileScheduler(4, 4), "T.Persistent"),
    ("fast_rcp", lambda b: T.fast_rcp(b[0]), "T.ptx"),
    ("warp_reduce_sum", lambda b: T.warp_reduce_sum(b[0]), "T.reduce_"),
    ("tcgen05_mma_arrive", lambda b: T.tcgen05_mma_arrive(b), "tcgen05"),
):
    form(_name, f"T.{_name}(...)", refused=_text)(lambda c=_call: refused(c))
