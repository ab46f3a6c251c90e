"""Forms of matrix products, reductions, scans and atomics."""

from __future__ import annotations

import numpy as np
import tilemlir.language as T
import torch
from name_forms import HOPPER, Case, form, generator, numbers

# Products.


def product(m=64, n=64, k=32, dtype="float16", out="float32", a_space="shared", b_space="shared", threads=128,
            transpose_a=False, transpose_b=False, seed=None, unit=False, **options):  # fmt: skip
    a_shape = (k, m) if transpose_a else (m, k)
    b_shape = (n, k) if transpose_b else (k, n)
    unsigned = dtype.startswith("uint")
    a = numbers(a_shape, dtype, 0 if unsigned else -4)
    b = numbers(b_shape, dtype, 0 if unsigned else -4)
    lead = (1,) if unit else ()

    @T.prim_func
    def kernel(x: T.Tensor(a_shape, dtype), y: T.Tensor(b_shape, dtype), z: T.Tensor((m, n), out)):
        with T.Kernel(1, threads=threads) as _:
            left = T.alloc_shared(lead + a_shape, dtype) if a_space == "shared" else T.alloc_fragment(a_shape, dtype)
            right = T.alloc_shared(lead + b_shape, dtype) if b_space == "shared" else T.alloc_fragment(b_shape, dtype)
            acc = T.alloc_fragment((m, n), out)
            T.copy(x, left)
            T.copy(y, right)
            if seed is not None:
                T.fill(acc, seed)
            T.gemm(
                left,
                right,
                acc,
                **({"transpose_A": True} if transpose_a else {}),
                **({"transpose_B": True} if transpose_b else {}),
                **options,
            )
            T.copy(acc, z)

    left, right = a.double(), b.double()
    expected = (left.T if transpose_a else left) @ (right.T if transpose_b else right) + (seed or 0)
    return Case(kernel, [a, b], [expected.to(getattr(torch, out))])


for _dtype, _out, _k in (
    ("float16", "float32", 32), ("float16", "float16", 32), ("bfloat16", "float32", 32), ("float32", "float32", 32),
    ("float64", "float64", 16), ("int8", "int32", 32), ("uint8", "int32", 32), ("float8_e4m3fn", "float32", 32),
    ("float8_e5m2", "float32", 32),
):  # fmt: skip
    form("gemm", f"{_dtype} operands, {_out} accumulator")(
        lambda d=_dtype, o=_out, k=_k: product(k=k, dtype=d, out=o, transpose_b=True, seed=1)
    )
form("gemm", "T.gemm(A, B, C)")(lambda: product(seed=3))
form("gemm", "transpose_A=True")(lambda: product(transpose_a=True, seed=0))
form("gemm", "transpose_B=True")(lambda: product(transpose_b=True, seed=0))
form("gemm", "transpose_A=True, transpose_B=True")(lambda: product(transpose_a=True, transpose_b=True, seed=0))
form("gemm", "clear_accum=True")(lambda: product(clear_accum=True))
form("gemm", "k_pack=1")(lambda: product(k_pack=1, seed=0))
form("gemm", "A in a fragment")(lambda: product(a_space="fragment", seed=0))
form("gemm", "B in a fragment")(lambda: product(b_space="fragment", seed=0))
form("gemm", "operands with leading unit dimensions")(lambda: product(unit=True, seed=0))
form("gemm", "256 threads, 96 rows")(lambda: product(m=96, n=128, threads=256, seed=0))
form("gemm", 'precision="ieee"')(lambda: product(dtype="float32", precision="ieee", seed=0))
form("GemmWarpPolicy", "policy=T.GemmWarpPolicy.Square")(lambda: product(m=128, policy=T.GemmWarpPolicy.Square, seed=0))
form("GemmWarpPolicy", "policy=T.GemmWarpPolicy.FullRow")(
    lambda: product(m=128, policy=T.GemmWarpPolicy.FullRow, seed=0)
)
form("GemmWarpPolicy", "policy=T.GemmWarpPolicy.FullCol")(
    lambda: product(m=128, policy=T.GemmWarpPolicy.FullCol, seed=0)
)
form("GemmWarpPolicy", "FullRow with 256 threads on 64 rows")(
    lambda: product(m=64, n=128, threads=256, policy=T.GemmWarpPolicy.FullRow, seed=0)
)


@form("gemm", "slices of operands: T.gemm(A[:, 0:16], B[0:16, :], C)")
def _():
    @T.prim_func
    def kernel(x: T.Tensor((64, 64), "float16"), y: T.Tensor((64, 64), "float16"), z: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(x, a)
            T.copy(y, b)
            T.clear(acc)
            for part in T.unroll(4):
                T.gemm(a[:, part * 16 : part * 16 + 16], b[part * 16 : part * 16 + 16, :], acc)
            T.copy(acc, z)

    a, b = numbers((64, 64), "float16"), numbers((64, 64), "float16")
    return Case(kernel, [a, b], [a.float() @ b.float()])


@form("gemm", "a slot of a buffer: T.gemm(A[s, :, :], B[s, :, :], C), s at run time")
def _():
    @T.prim_func
    def kernel(
        x: T.Tensor((2, 64, 32), "float16"), y: T.Tensor((2, 32, 64), "float16"), z: T.Tensor((64, 64), "float32")
    ):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((2, 64, 32), "float16"), T.alloc_shared((2, 32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(x, a)
            T.copy(y, b)
            T.clear(acc)
            for s in T.serial(2):
                T.gemm(a[s, :, :], b[s, :, :], acc)
            T.copy(acc, z)

    a, b = numbers((2, 64, 32), "float16"), numbers((2, 32, 64), "float16")
    return Case(kernel, [a, b], [(a.float() @ b.float()).sum(0)])


@form("gemm", "accumulator in shared memory")
def _():
    @T.prim_func
    def kernel(x: T.Tensor((64, 32), "float16"), y: T.Tensor((32, 64), "float16"), z: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            acc = T.alloc_shared((64, 64), "float32")
            T.copy(x, a)
            T.copy(y, b)
            T.clear(acc)
            T.gemm(a, b, acc)
            T.copy(acc, z)

    a, b = numbers((64, 32), "float16"), numbers((32, 64), "float16")
    return Case(kernel, [a, b], [a.float() @ b.float()])


@form("wgmma_gemm", "T.wgmma_gemm(A, B, C, clear_accum=True)", ("cpu", *HOPPER))
def _():
    @T.prim_func
    def kernel(x: T.Tensor((64, 64), "float16"), y: T.Tensor((64, 64), "float16"), z: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(x, a)
            T.copy(y, b)
            T.fence_proxy_async()
            T.sync_threads()
            T.wgmma_gemm(a, b, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
            T.wait_wgmma(0)
            T.copy(acc, z)

    a, b = numbers((64, 64), "float16"), numbers((64, 64), "float16")
    return Case(kernel, [a, b], [a.float() @ b.float().T])


# Reductions.


def _bits(kind, x, dim):
    return torch.from_numpy({"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}[kind].reduce(
        x.numpy(), axis=dim))  # fmt: skip


REFERENCES = {
    "sum": lambda x, d: x.sum(d), "max": lambda x, d: x.amax(d), "min": lambda x, d: x.amin(d),
    "abssum": lambda x, d: x.abs().sum(d), "absmax": lambda x, d: x.abs().amax(d),
    "bitand": lambda x, d: _bits("bitand", x, d), "bitor": lambda x, d: _bits("bitor", x, d),
    "bitxor": lambda x, d: _bits("bitxor", x, d),
    "any": lambda x, d: (x != 0).any(d), "all": lambda x, d: (x != 0).all(d),
}  # fmt: skip


def reduction(
    kind,
    shape=(48, 40),
    dim=-1,
    keep=False,
    space="fragment",
    out_space="fragment",
    dtype="float32",
    out=None,
    threads=128,
    seed=None,
    positional=False,
    generic=False,
    low=-9,
    high=9,
    **options,
):
    axis = dim % len(shape)
    result_shape = tuple(1 if d == axis else e for d, e in enumerate(shape)) if keep else (
        tuple(e for d, e in enumerate(shape) if d != axis) or (1,))  # fmt: skip
    x = numbers(shape, dtype, 0 if dtype.startswith("uint") else low, high)
    out = out or dtype
    function = getattr(T, f"reduce_{kind}", None)
    keywords = dict(options) if seed is None else {"clear": False, **options}

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(result_shape, out)):
        with T.Kernel(1, threads=threads) as _:
            tile = T.alloc_fragment(shape, dtype) if space == "fragment" else T.alloc_shared(shape, dtype)
            result = (
                T.alloc_fragment(result_shape, out) if out_space == "fragment" else T.alloc_shared(result_shape, out)
            )
            T.copy(a, tile)
            if seed is not None:
                T.fill(result, seed)
            if generic:
                T.reduce(tile, result, kind, dim, seed is None)
            elif positional:
                function(tile, result, dim, seed is None)
            elif dim == -1:
                function(tile, result, **keywords)
            else:
                function(tile, result, dim=dim, **keywords)
            T.copy(result, b)

    wide = x.double() if x.dtype.is_floating_point else x.to(torch.int64) if kind in ("sum", "abssum") else x
    expected = REFERENCES[kind](wide, axis)
    if seed is not None:
        seeded = torch.full_like(expected, seed).unsqueeze(0)
        expected = REFERENCES[kind](torch.cat([expected.unsqueeze(0), seeded]), 0)
    return Case(kernel, [x], [expected.reshape(result_shape).to(getattr(torch, out))])


for _kind in ("sum", "max", "min", "abssum", "absmax"):
    form(f"reduce_{_kind}", f"T.reduce_{_kind}(x, out)")(lambda k=_kind: reduction(k))
    form(f"reduce_{_kind}", "dim=0")(lambda k=_kind: reduction(k, dim=0))
    form(f"reduce_{_kind}", "dim=1 of three dimensions")(lambda k=_kind: reduction(k, (6, 20, 16), dim=1))
    form(f"reduce_{_kind}", "clear=False")(lambda k=_kind: reduction(k, seed=4))
    form(f"reduce_{_kind}", "from and to shared memory")(
        lambda k=_kind: reduction(k, space="shared", out_space="shared")
    )
    form(f"reduce_{_kind}", "result that keeps the dimension, dim=-2")(lambda k=_kind: reduction(k, dim=-2, keep=True))
    form(f"reduce_{_kind}", "int32")(lambda k=_kind: reduction(k, dtype="int32", dim=0))
    form(f"reduce_{_kind}", "float16 into float32")(lambda k=_kind: reduction(k, dtype="float16", out="float32"))
for _kind in ("bitand", "bitor", "bitxor"):
    form(f"reduce_{_kind}", f"T.reduce_{_kind}(x, out), uint32")(
        lambda k=_kind: reduction(k, dtype="uint32", high=2**31 - 1)
    )
    form(f"reduce_{_kind}", "dim=0, int8")(lambda k=_kind: reduction(k, dtype="int8", dim=0, low=-99, high=99))
    form(f"reduce_{_kind}", "clear=False")(lambda k=_kind: reduction(k, dtype="int32", seed=85))
form("reduce", 'T.reduce(x, out, "max", dim, clear)')(lambda: reduction("max", generic=True, dim=0))
form("reduce_sum", "T.reduce_sum(x, out, 1, False): positional")(
    lambda: reduction("sum", dim=1, seed=7, positional=True)
)
form("reduce_sum", "batch=2")(lambda: reduction("sum", batch=2))
form("reduce_sum", "one dimension into one element")(lambda: reduction("sum", (100,)))
form("reduce_sum", "257 threads' worth of odd sizes")(lambda: reduction("sum", (7, 257), threads=96))
form("reduce_sum", "float64")(lambda: reduction("sum", dtype="float64"))
form("reduce_sum", "bfloat16")(lambda: reduction("sum", (16, 8), dtype="bfloat16", low=-2, high=2))
form("reduce_sum", "uint8 into int32")(lambda: reduction("sum", dtype="uint8", out="int32", high=255))
form("reduce_max", "nan_propagate=False")(lambda: reduction("max", nan_propagate=False))
form("reduce_max", "uint8")(lambda: reduction("max", dtype="uint8", high=255))
form("reduce_max", "four dimensions, dim=2")(lambda: reduction("max", (2, 3, 5, 8), dim=2))
form("reduce_max", "int64")(lambda: reduction("max", dtype="int64"))
for _kind in ("any", "all"):
    form(f"reduce_{_kind}", f"T.reduce_{_kind}(x, out), bool")(
        lambda k=_kind: reduction(k, dtype="bool", low=0, high=1)
    )
    form(f"reduce_{_kind}", "dim=0, int32 into bool")(
        lambda k=_kind: reduction(k, dtype="int32", out="bool", dim=0, low=0, high=3)
    )


def _answer(kind, dtype, density):
    size = 200
    x = torch.from_numpy((generator.random(size) < density).astype("int32")).to(getattr(torch, dtype))
    function = getattr(T, f"{kind}_of")

    @T.prim_func
    def kernel(a: T.Tensor((size,), dtype), b: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((size,), dtype)
            T.copy(a, tile)
            if function(tile):
                b[0] = 1
            else:
                b[0] = 0

    answer = bool((x != 0).any() if kind == "any" else (x != 0).all())
    return Case(kernel, [x], [torch.tensor([int(answer)], dtype=torch.int32)])


form("any_of", "if T.any_of(mask): a shared bool tile")(lambda: _answer("any", "bool", 0.01))
form("any_of", "int32")(lambda: _answer("any", "int32", 0.0))
form("all_of", "if T.all_of(mask): a shared bool tile")(lambda: _answer("all", "bool", 0.99))
form("all_of", "int32")(lambda: _answer("all", "int32", 1.0))


def scan(kind="sum", shape=(20, 24), space="shared", dim=0, reverse=False, in_place=False, dtype="float32", **options):
    x = numbers(shape, dtype)
    function = getattr(T, f"cum{kind}")

    @T.prim_func
    def kernel(a: T.Tensor(shape, dtype), b: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment(shape, dtype) if space == "fragment" else T.alloc_shared(shape, dtype)
            result = tile
            if not in_place:
                result = T.alloc_fragment(shape, dtype) if space == "fragment" else T.alloc_shared(shape, dtype)
            T.copy(a, tile)
            if in_place:
                function(tile, **options)
            else:
                function(tile, result, **options)
            T.copy(result, b)

    d = options.get("dim", 0)
    y = x.flip(d) if options.get("reverse") else x
    y = y.cumsum(d, dtype=x.dtype) if kind == "sum" else y.cummax(d).values
    return Case(kernel, [x], [y.flip(d) if options.get("reverse") else y])


form("cumsum", "T.cumsum(x)")(lambda: scan(in_place=True))
form("cumsum", "T.cumsum(src, dst, dim=1)")(lambda: scan(dim=1))
form("cumsum", "reverse=True")(lambda: scan(reverse=True))
form("cumsum", "fragments, dim=1, reverse=True")(lambda: scan(space="fragment", dim=1, reverse=True))
form("cumsum", "one dimension, int32")(lambda: scan(shape=(100,), dtype="int32"))
form("cummax", "T.cummax(src, dst, dim=1)")(lambda: scan("max", dim=1))

# Atomics.


def atomics(body, dtype="float32", size=64, blocks=4, initial=0, out=None, low=0, high=9, combine=None, space=None):
    x = numbers((blocks, size), dtype, low, high)
    out = out or dtype

    @T.prim_func
    def kernel(a: T.Tensor((blocks, size), dtype), b: T.Tensor((size,), out)):
        with T.Kernel(blocks, threads=64) as block:
            tile = T.alloc_shared((size,), dtype) if space == "shared" else T.alloc_fragment((size,), dtype)
            T.copy(a[block, 0], tile)
            body(b, tile, a, block)

    begin = torch.full((size,), initial, dtype=getattr(torch, out))
    expected = combine(x, begin)
    return Case(kernel, [x], [expected.to(getattr(torch, out))], initial={0: begin})


def _sum(x, begin):
    if x.dtype.is_floating_point:
        return x.sum(0) + begin
    return x.to(torch.int64).sum(0) + begin.to(torch.int64)


@T.macro
def _add_elements(b, tile, a, block):
    for i in T.Parallel(64):
        T.atomic_add(b[i], tile[i])


@T.macro
def _add_tile(b, tile, a, block):
    T.atomic_add(b, tile)


@T.macro
def _add_region(b, tile, a, block):
    T.atomic_add(b[0:64], tile)


@T.macro
def _add_start(b, tile, a, block):
    T.atomic_add(b[0], tile)


@T.macro
def _add_tma(b, tile, a, block):
    T.atomic_add(b[0], tile, use_tma=True)


@T.macro
def _add_ordered(b, tile, a, block):
    for i in T.Parallel(64):
        T.atomic_add(b[i], tile[i], memory_order="release")


@T.macro
def _add_constant(b, tile, a, block):
    T.atomic_add(b, 2)


@T.macro
def _add_two(b, tile, a, block):
    for i in T.Parallel(32):
        T.atomic_addx2(b[i * 2], a[block, i * 2])


@T.macro
def _add_four(b, tile, a, block):
    for i in T.Parallel(16):
        T.atomic_addx4(b[i * 4], a[block, i * 4])


@T.macro
def _add_threads(b, tile, a, block):
    tx = T.get_thread_binding()
    T.atomic_add(b[tx], 1)


for _dtype in ("float32", "float16", "bfloat16", "float64", "int32", "uint32", "int64", "uint64"):
    form("atomic_add", f"elements of {_dtype}")(lambda d=_dtype: atomics(_add_elements, d, combine=_sum))
form("atomic_add", "T.atomic_add(tensor, tile)")(lambda: atomics(_add_tile, combine=_sum))
form("atomic_add", "T.atomic_add(tensor[0:64], tile)")(lambda: atomics(_add_region, combine=_sum))
form("atomic_add", "T.atomic_add(tensor[0], tile in shared memory)")(
    lambda: atomics(_add_start, combine=_sum, space="shared")
)
form("atomic_add", "use_tma=True")(lambda: atomics(_add_tma, combine=_sum, space="shared"))
form("atomic_add", 'memory_order="release"')(lambda: atomics(_add_ordered, combine=_sum))
form("atomic_add", "T.atomic_add(tensor, number)")(
    lambda: atomics(_add_constant, combine=lambda x, begin: begin + 2 * len(x))
)
form("atomic_add", "float16 tile into float32")(lambda: atomics(_add_tile, "float16", out="float32", combine=_sum))
form("atomic_add", "by each thread: b[tx]")(
    lambda: atomics(_add_threads, "int32", combine=lambda x, begin: begin + len(x))
)
form("atomic_addx2", "T.atomic_addx2(b[i], a[i]), float16")(lambda: atomics(_add_two, "float16", combine=_sum))
form("atomic_addx4", "T.atomic_addx4(b[i], a[i]), float32")(lambda: atomics(_add_four, "float32", combine=_sum))


@form("atomic_add", "return_prev=True")
def _():
    count = 96

    @T.prim_func
    def kernel(slots: T.Tensor((count,), "int32"), counter: T.Tensor((1,), "int32")):
        with T.Kernel(3, threads=32) as _:
            old = T.atomic_add(counter[0], 1, return_prev=True)
            slots[old] = 1

    return Case(
        kernel,
        [],
        [torch.ones(count, dtype=torch.int32), torch.tensor([count], dtype=torch.int32)],
        initial={0: torch.zeros(count, dtype=torch.int32), 1: torch.zeros(1, dtype=torch.int32)},
    )


def _extremum(kind, dtype, which):
    @T.macro
    def elements(b, tile, a, block):
        for i in T.Parallel(64):
            if kind == "max":
                T.atomic_max(b[i], tile[i])
            else:
                T.atomic_min(b[i], tile[i])

    @T.macro
    def whole(b, tile, a, block):
        if kind == "max":
            T.atomic_max(b, tile)
        else:
            T.atomic_min(b, tile)

    body = elements if which == "elements" else whole

    def combine(x, begin):
        return torch.maximum(x.amax(0), begin) if kind == "max" else torch.minimum(x.amin(0), begin)

    return atomics(body, dtype, low=-9 if not dtype.startswith("u") else 0, combine=combine, initial=1)


for _kind in ("max", "min"):
    for _dtype in ("float32", "float16", "bfloat16", "int32", "int64"):
        form(f"atomic_{_kind}", f"elements of {_dtype}")(lambda k=_kind, d=_dtype: _extremum(k, d, "elements"))
    form(f"atomic_{_kind}", f"T.atomic_{_kind}(tensor, tile)")(lambda k=_kind: _extremum(k, "float32", "tile"))


@form("atomic_or", "T.atomic_or(b[i], value), uint32")
def _():
    x = numbers((4, 64), "int32", 0, 2**30)

    @T.prim_func
    def kernel(a: T.Tensor((4, 64), "int32"), b: T.Tensor((64,), "int32")):
        with T.Kernel(4, threads=64) as block:
            for i in T.Parallel(64):
                T.atomic_or(b[i], a[block, i])

    return Case(kernel, [x], [_bits("bitor", x, 0)], initial={0: torch.zeros(64, dtype=torch.int32)})


@form("atomic_load", 'T.atomic_load(a[i], "acquire") and T.atomic_store(b[i], value, "release")')
def _():
    x = numbers((64,), "int32")

    @T.prim_func
    def kernel(a: T.Tensor((64,), "int32"), b: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            T.atomic_store(b[tx], T.atomic_load(a[tx], "acquire") + 1, "release")

    return Case(kernel, [x], [x + 1], initial={0: torch.zeros(64, dtype=torch.int32)})
