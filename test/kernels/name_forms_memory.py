"""Forms of declarations, buffers, copies, fills, views and layouts."""

from __future__ import annotations

import tilemlir.language as T
import torch
from name_forms import HOPPER, Case, form, numbers
from tilemlir.layout import make_swizzled_layout

# Declarations of tensors.


def declared(make, shape=(48, 40), dtype="float32"):
    """A copy through a fragment of a tensor declared by ``make``."""
    x = numbers(shape, dtype, 0 if dtype.startswith("u") or dtype == "bool" else -4)

    @T.prim_func
    def kernel(a: make(shape, dtype), b: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_fragment(shape, dtype)
            T.copy(a, tile)
            T.copy(tile, b)

    return Case(kernel, [x], [x])


form("Tensor", 'T.Tensor((M, K), "float16")')(lambda: declared(T.Tensor, dtype="float16"))
form("Tensor", "T.Tensor[[M, K], T.float16]")(lambda: declared(lambda s, d: T.Tensor[list(s), d], dtype="float16"))
form("Tensor", "T.Tensor[(M, K), dtype]")(lambda: declared(lambda s, d: T.Tensor[s, d]))
form("Tensor", "T.Tensor([M, K], torch.float32)")(lambda: declared(lambda s, d: T.Tensor(list(s), getattr(torch, d))))
form("Tensor", "T.Tensor((N,), dtype), one dimension")(lambda: declared(T.Tensor, (100,)))
form("Tensor", "five dimensions")(lambda: declared(T.Tensor, (2, 3, 2, 4, 8)))
form("Tensor", "T.Buffer, the older name")(lambda: declared(T.Buffer))
for _dtype in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8_e4m3fn", "float8_e5m2",
):  # fmt: skip
    form("Tensor", f"elements of {_dtype}")(lambda d=_dtype: declared(T.Tensor, (16, 24), d))


@form("Tensor", "extents that are arithmetic on T.dynamic sizes")
def _():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(a: T.Tensor((n, 2), "float32"), b: T.Tensor((n * 2 + 1,), "float32")):
        with T.Kernel(T.ceildiv(n * 2 + 1, 64), threads=64) as block:
            for i in T.Parallel(64):
                at = block * 64 + i
                if at < n * 2:
                    b[at] = a[at // 2, at % 2]
                else:
                    b[at] = -1

    x = numbers((37, 2))
    return Case(kernel, [x], [torch.cat([x.reshape(-1), torch.tensor([-1.0])])])


@form("StridedTensor", "T.StridedTensor((M, K), (stride, 1), dtype)")
def _():
    stride = T.dynamic("stride")

    @T.prim_func
    def kernel(a: T.StridedTensor((16, 8), (stride, 1), "float32"), b: T.Tensor((16, 8), "float32")):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((16, 8), "float32")
            T.copy(a, tile)
            T.copy(tile, b)

    x = numbers((16, 20))
    return Case(kernel, [x[:, 3:11]], [x[:, 3:11].contiguous()])


def parameters(kind, value, dtype):
    @T.prim_func
    def kernel(n: kind, b: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(8):
                b[i] = n + i

    return Case(kernel, [value], [(torch.arange(8) + value).to(getattr(torch, dtype))])


form("int32", "a scalar parameter: n: T.int32")(lambda: parameters(T.int32, -7, "int32"))
form("float32", "a scalar parameter: x: T.float32")(lambda: parameters(T.float32, 2.5, "float32"))
form("int64", "a scalar parameter: n: T.int64")(lambda: parameters(T.int64, 5_000_000_000, "int64"))

# Buffers.


def staged(first, second, dtype="float32", shape=(32, 48), out=None, **options):
    """From a tensor through two buffers to a tensor."""
    x = numbers(shape, dtype, 0 if dtype.startswith("u") or dtype == "bool" else -4)
    out = out or dtype

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, out)):
        with T.Kernel(1, threads=128) as _:
            one = first(shape, dtype)
            two = second(shape, out)
            T.copy(a, one, **options)
            T.copy(one, two)
            T.copy(two, b)

    return Case(kernel, [x], [x.to(getattr(torch, out))])


form("alloc_shared", "T.alloc_shared((M, N), dtype)")(lambda: staged(T.alloc_shared, T.alloc_fragment))
form("alloc_shared", 'scope="shared"')(
    lambda: staged(lambda s, d: T.alloc_shared(s, d, scope="shared"), T.alloc_fragment)
)
form("alloc_shared", "T.alloc_shared([M, N], T.float16)")(
    lambda: staged(lambda s, d: T.alloc_shared(list(s), d), T.alloc_fragment, T.float16.name)
)
form("alloc_shared", "four dimensions")(lambda: staged(T.alloc_shared, T.alloc_shared, shape=(2, 3, 8, 16)))
form("alloc_fragment", "T.alloc_fragment((M, N), dtype)")(lambda: staged(T.alloc_fragment, T.alloc_fragment))
form("alloc_fragment", "T.alloc_fragment([N], dtype)")(
    lambda: staged(lambda s, d: T.alloc_fragment(list(s), d), T.alloc_fragment, shape=(200,))
)
form("alloc_fragment", "three dimensions")(lambda: staged(T.alloc_fragment, T.alloc_fragment, shape=(3, 5, 16)))
form("alloc_fragment", "sizes that no power of two divides")(
    lambda: staged(T.alloc_fragment, T.alloc_fragment, shape=(7, 33))
)
form("alloc_global", "T.alloc_global(shape, dtype): a workspace between two kernels")(lambda: _workspace())


def _workspace():
    x = numbers((300,))

    @T.prim_func
    def kernel(a: T.Tensor((300,), "float32"), b: T.Tensor((300,), "float32")):
        scratch = T.alloc_global((300,), "float32")
        with T.Kernel(3, threads=64) as block:
            for i in T.Parallel(100):
                scratch[block * 100 + i] = a[block * 100 + i] * 2
        with T.Kernel(3, threads=64) as block:
            for i in T.Parallel(100):
                b[block * 100 + i] = scratch[299 - block * 100 - i]

    return Case(kernel, [x], [(x * 2).flip(0)])


@form("alloc_local", "T.alloc_local((N,), dtype): each thread's own array")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64, 4), "float32"), b: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float32")
            for i in T.vectorized(4):
                mine[i] = a[tx, i]
            total = T.alloc_var("float32")
            total = 0.0
            for i in T.serial(4):
                total += mine[i]
            b[tx] = total

    x = numbers((64, 4))
    return Case(kernel, [x], [x.sum(1)])


@form("alloc_local", "T.alloc_local([1], dtype): an accumulator, cleared by T.clear")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64, 4), "float16"), b: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            total = T.alloc_local([1], "float32")
            T.clear(total)
            for i in T.serial(4):
                total[0] += T.cast(a[tx, i], "float32")
            b[tx] = total[0]

    x = numbers((64, 4), "float16")
    return Case(kernel, [x], [x.float().sum(1)])


def variable(make):
    @T.prim_func
    def kernel(b: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            count = make()
            for i in T.serial(tx + 1):
                count += i
            b[tx] = count

    return Case(kernel, [], [torch.tensor([i * (i + 1) // 2 + 5 for i in range(32)], dtype=torch.int32)])


form("alloc_var", "T.alloc_var(dtype, init=5)")(lambda: variable(lambda: T.alloc_var("int32", init=5)))
form("alloc_var", "T.alloc_var(dtype, 5)")(lambda: variable(lambda: T.alloc_var(T.int32, 5)))


@form("alloc_var", "T.alloc_var(dtype), assigned under conditions")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((32,), "float16")):
        with T.Kernel(1, threads=32) as _:
            tx = T.get_thread_binding()
            chosen = T.alloc_var("float16")
            if tx % 2 == 0:
                chosen = tx
            else:
                chosen = -1.5
            b[tx] = chosen

    return Case(kernel, [], [torch.tensor([i if i % 2 == 0 else -1.5 for i in range(32)], dtype=torch.float16)])


# Copies.


form("copy", "float32 to float16 between buffers")(lambda: staged(T.alloc_shared, T.alloc_fragment, out="float16"))
form("copy", "int8 to float16")(lambda: staged(T.alloc_shared, T.alloc_fragment, "int8", out="float16"))
form("copy", "fragment to fragment of another type")(lambda: staged(T.alloc_fragment, T.alloc_fragment, out="bfloat16"))
form("copy", "shared to shared")(lambda: staged(T.alloc_shared, T.alloc_shared))
form("copy", "coalesced_width=2")(lambda: staged(T.alloc_shared, T.alloc_fragment, coalesced_width=2))
form("copy", "disable_tma=True")(lambda: staged(T.alloc_shared, T.alloc_fragment, disable_tma=True))
for _policy in ("evict_normal", "evict_first", "evict_last"):
    form("copy", f'eviction_policy="{_policy}"')(
        lambda p=_policy: staged(T.alloc_shared, T.alloc_fragment, eviction_policy=p)
    )
for _path in ("tma", "cp_async", "sync"):
    form("copy", f'prefer_instruction="{_path}"')(
        lambda p=_path: staged(T.alloc_shared, T.alloc_fragment, prefer_instruction=p)
    )
form("copy", 'annotations={"coalesced_width": 4}')(
    lambda: staged(T.alloc_shared, T.alloc_fragment, annotations={"coalesced_width": 4})
)


def blocks(load, store, shape=(2, 70, 3, 48), rows=32, columns=16, dtype="float16"):
    """Tiles of one head; ``load(a, tile, z, y, x, h)`` and ``store`` say how regions are written."""
    batch, length, heads, width = shape
    x = numbers(shape, dtype)

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(width, columns), T.ceildiv(length, rows), batch * heads, threads=64) as (bx, by, bz):
            tile = T.alloc_shared((rows, columns), dtype)
            load(a, tile, bz // heads, by * rows, bx * columns, bz % heads)
            store(b, tile, bz // heads, by * rows, bx * columns, bz % heads)

    return Case(kernel, [x], [x])


@T.macro
def _load_element(a, tile, z, y, x, h):
    T.copy(a[z, y, h, x], tile)


@T.macro
def _load_slice(a, tile, z, y, x, h):
    T.copy(a[z, y : y + 32, h, x : x + 16], tile)


@T.macro
def _store_element(b, tile, z, y, x, h):
    T.copy(tile, b[z, y, h, x])


@T.macro
def _store_slice(b, tile, z, y, x, h):
    T.copy(tile, b[z, y : y + 32, h, x : x + 16])


form("copy", "slices: T.copy(A[z, y:y+32, h, x:x+16], tile)")(lambda: blocks(_load_slice, _store_slice))
form("copy", "elements of tensors of more dimensions: T.copy(A[z, y * 32, h, x * 16], tile)")(lambda: _heads())


def _heads():
    shape = (2, 70, 3, 48)
    x = numbers(shape, "float16")

    @T.prim_func
    def kernel(a: T.Tensor(shape, "float16"), b: T.Tensor(shape, "float16")):
        with T.Kernel(3, 3, 6, threads=64) as (bx, by, bz):
            tile = T.alloc_fragment((32, 16), "float16")
            T.copy(a[bz // 3, by * 32, bz % 3, bx * 16], tile)
            T.copy(tile, b[bz // 3, by * 32, bz % 3, bx * 16])

    return Case(kernel, [x], [x])


@form("copy", "a row of a buffer: T.copy(x, tile[i, :])")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((4, 64), "float32"), b: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, threads=64) as _:
            row = T.alloc_shared((64,), "float32")
            rows = T.alloc_shared((4, 64), "float32")
            for i in T.serial(4):
                T.copy(a[i, 0:64], row)
                T.copy(row, rows[3 - i, :])
            T.copy(rows, b)

    x = numbers((4, 64))
    return Case(kernel, [x], [x.flip(0)])


@form("copy", "a place loaded from a tensor: T.copy(A[table[i], 0:64], tile)")
def _():
    table = torch.randperm(6, dtype=torch.int32)

    @T.prim_func
    def kernel(a: T.Tensor((6, 64), "float32"), index: T.Tensor((6,), "int32"), b: T.Tensor((6, 64), "float32")):
        with T.Kernel(6, threads=64) as block:
            row = T.alloc_shared((64,), "float32")
            T.copy(a[index[block], 0:64], row)
            T.copy(row, b[block, 0:64])

    x = numbers((6, 64))
    return Case(kernel, [x, table], [x[table.long()]])


@form("copy", "tensor to tensor, one tile")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64, 64), "float32"), b: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=64) as block:
            T.copy(a[block * 32 : block * 32 + 32, 0:64], b[block * 32 : block * 32 + 32, 0:64])

    x = numbers((64, 64))
    return Case(kernel, [x], [x])


@form("copy", "scalar to scalar: T.copy(A[i], B[i])")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((32,), "float32"), b: T.Tensor((32,), "float32")):
        with T.Kernel(32, threads=32) as block:
            T.copy(a[block], b[block])

    x = numbers((32,))
    return Case(kernel, [x], [x])


@form("copy", "copies of threads: T.copy(A[tx * 4 : tx * 4 + 4], local)")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((256,), "float16"), b: T.Tensor((256,), "float16")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float16")
            T.copy(a[tx * 4 : tx * 4 + 4], mine)
            T.copy(mine, b[tx * 4 : tx * 4 + 4])

    x = numbers((256,), "float16")
    return Case(kernel, [x], [x])


@form("transpose", "T.transpose(src, dst)")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((32, 48), "float16"), b: T.Tensor((48, 32), "float16")):
        with T.Kernel(1, threads=64) as _:
            tile, turned = T.alloc_shared((32, 48), "float16"), T.alloc_shared((48, 32), "float16")
            T.copy(a, tile)
            T.transpose(tile, turned)
            T.copy(turned, b)

    x = numbers((32, 48), "float16")
    return Case(kernel, [x], [x.T.contiguous()])


# Fills.


def filled(fill, space, expected, dtype="float32", shape=(24, 40)):
    @T.prim_func
    def kernel(b: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment(shape, dtype) if space == "fragment" else T.alloc_shared(shape, dtype)
            fill(tile)
            T.copy(tile, b)

    return Case(kernel, [], [torch.full(shape, expected, dtype=getattr(torch, dtype))])


form("fill", "T.fill(fragment, -T.infinity(dtype))")(
    lambda: filled(lambda t: T.fill(t, -T.infinity("float32")), "fragment", float("-inf"))
)
form("fill", "T.fill(shared, 3)")(lambda: filled(lambda t: T.fill(t, 3), "shared", 3.0, "float16"))
form("fill", "T.fill(mask, True)")(lambda: filled(lambda t: T.fill(t, True), "shared", True, "bool"))
form("clear", "T.clear(fragment)")(lambda: filled(T.clear, "fragment", 0.0))
form("clear", "T.clear(shared), float8_e4m3fn")(lambda: filled(T.clear, "shared", 0.0, "float8_e4m3fn"))


@form("fill", "a tensor, a slice of a tensor, a slice of a buffer")
def _():
    @T.prim_func
    def kernel(b: T.Tensor((16, 16), "float32"), c: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=64) as _:
            T.fill(b, 1)
            T.fill(b[4:8, 0:16], 2)
            tile = T.alloc_shared((16, 16), "float32")
            T.clear(tile)
            T.fill(tile[0:16, 8:16], 5)
            T.copy(tile, c)

    b, c = torch.ones(16, 16), torch.zeros(16, 16)
    b[4:8], c[:, 8:] = 2, 5
    return Case(kernel, [], [b, c])


# Views and layouts.


def viewed(space, view, shape, dtype, expected_shape, out=None):
    x = numbers(shape, dtype)
    out = out or dtype

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(expected_shape, out)):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment(shape, dtype) if space == "fragment" else T.alloc_shared(shape, dtype)
            T.copy(a, tile)
            other = view(tile)
            T.copy(other, b)

    return Case(kernel, [x], [x.view(getattr(torch, out)).reshape(expected_shape)])


form("reshape", "T.reshape(shared, (N, M))")(
    lambda: viewed("shared", lambda t: T.reshape(t, (64, 12)), (24, 32), "float32", (64, 12))
)
form("reshape", "T.reshape(shared, [M * N])")(
    lambda: viewed("shared", lambda t: T.reshape(t, [24 * 32]), (24, 32), "float16", (24 * 32,))
)
form("reshape", "T.reshape(fragment, (A, B, N))")(
    lambda: viewed("fragment", lambda t: T.reshape(t, (4, 6, 32)), (24, 32), "float32", (4, 6, 32))
)
form("reshape", "T.reshape(fragment, [M * N])")(
    lambda: viewed("fragment", lambda t: T.reshape(t, [24 * 32]), (24, 32), "float32", (24 * 32,))
)
form("view", "T.view(shared, (M, 2 * N), dtype)")(
    lambda: viewed("shared", lambda t: T.view(t, (24, 64), dtype="int16"), (24, 32), "int32", (24, 64), "int16")
)
form("view", "T.view(shared, dtype=dtype)")(
    lambda: viewed("shared", lambda t: T.view(t, dtype="int32"), (24, 32), "float32", (24, 32), "int32")
)
form("view", "T.view(fragment, (N, M))")(
    lambda: viewed("fragment", lambda t: T.view(t, (32, 24)), (24, 32), "float32", (32, 24))
)


@form("reshape", "T.reshape(tensor, (M, N))")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((4, 8, 16), "float32"), b: T.Tensor((32, 16), "float32")):
        with T.Kernel(1, threads=64) as _:
            rows = T.reshape(a, (32, 16))
            tile = T.alloc_fragment((32, 16), "float32")
            T.copy(rows, tile)
            T.copy(tile, b)

    x = numbers((4, 8, 16))
    return Case(kernel, [x], [x.reshape(32, 16)])


@form("reshape", "reduction of a reshaped fragment")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((8, 64), "float32"), b: T.Tensor((8, 4), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile, peak = T.alloc_fragment((8, 64), "float32"), T.alloc_fragment((8, 4), "float32")
            T.copy(a, tile)
            T.reduce_absmax(T.reshape(tile, [8, 4, 16]), peak, dim=2)
            T.copy(peak, b)

    x = numbers((8, 64))
    return Case(kernel, [x], [x.view(8, 4, 16).abs().amax(2)])


def laid_out(layout):
    @T.prim_func
    def kernel(a: T.Tensor((64, 64), "float16"), b: T.Tensor((64, 64), "float16"), c: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            left, right = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.annotate_layout({left: layout(left), right: layout(right)})
            T.copy(a, left)
            T.copy(b, right)
            T.gemm(left, right, acc, clear_accum=True)
            T.copy(acc, c)

    a, b = numbers((64, 64), "float16"), numbers((64, 64), "float16")
    return Case(kernel, [a, b], [a.float() @ b.float()])


form("annotate_layout", "{tile: make_swizzled_layout(tile)}")(lambda: laid_out(make_swizzled_layout))
form("annotate_layout", "{tile: T.Layout(tile.shape, lambda i, j: [i, j])}")(
    lambda: laid_out(lambda t: T.Layout((64, 64), lambda i, j: [i, j]))
)
form("Layout", "T.Layout(shape, lambda i, j: [i, j])")(
    lambda: laid_out(lambda t: T.Layout(t.shape, lambda i, j: [i, j]))
)
form("Layout", "T.Layout(shape, lambda i, j: i * 64 + j)")(
    lambda: laid_out(lambda t: T.Layout(t.shape, lambda i, j: i * 64 + j))
)


@form("annotate_safe_value", "{tensor: -1.0}")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((20,), "float32"), b: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            T.annotate_safe_value({a: -1.0})
            tile = T.alloc_fragment((32,), "float32")
            T.copy(a[0:32], tile)
            T.copy(tile, b)

    x = numbers((20,))
    return Case(kernel, [x], [torch.cat([x, -torch.ones(12)])])


@form("tma_copy", "T.tma_copy(tensor[..], shared, barrier=bar)", HOPPER)
def _():
    return _tma(False)


@form("tma_copy", "T.tma_copy(shared, tensor[..]), T.tma_store_wait()", HOPPER)
def _():
    return _tma(True)


def _tma(store):
    @T.prim_func
    def kernel(a: T.Tensor((128, 64), "float16"), b: T.Tensor((128, 64), "float16")):
        with T.Kernel(2, threads=128) as block:
            tile = T.alloc_shared((64, 64), "float16")
            full = T.alloc_barrier(128)
            T.tma_copy(a[block * 64, 0], tile, barrier=full)
            T.mbarrier_arrive(full)
            T.mbarrier_wait_parity(full, 0)
            if store:
                T.fence_proxy_async()
                T.sync_threads()
                T.tma_copy(tile, b[block * 64, 0])
                T.tma_store_wait()
            else:
                T.copy(tile, b[block * 64, 0])

    x = numbers((128, 64), "float16")
    return Case(kernel, [x], [x])


@form("access_ptr", 'T.tma_copy and the like by T.access_ptr(tile, "r")', refused="pass tensors")
def _():
    @T.prim_func
    def kernel(a: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((64,), "float32")
            T.copy(a, tile)
            T.access_ptr(tile, "r")

    return Case(kernel, [], [])
