"""Operations on fragments over ranks, dimensions, sizes, element types and threads: programs, references, cases."""

from __future__ import annotations

import itertools
import math
import random
from typing import NamedTuple

import tilemlir.language as T

REDUCTIONS = {
    "sum": T.reduce_sum, "max": T.reduce_max, "min": T.reduce_min, "abssum": T.reduce_abssum,
    "absmax": T.reduce_absmax, "any": T.reduce_any, "all": T.reduce_all, "bitand": T.reduce_bitand,
    "bitor": T.reduce_bitor, "bitxor": T.reduce_bitxor,
}  # fmt: skip

#: What is done along dimension ``dim``; the suffix says what a flag means.
OPERATIONS = (
    *(f"reduce {name}" for name in REDUCTIONS),
    "cumsum", "cummax", "cut to memory", "cut to fragment", "cut in loop", "paste from memory", "paste from fragment",
    "paste in loop", "fill part", "permute", "mirror", "merge dims", "split dim", "broadcast one", "broadcast others",
    "outer difference", "normalise", "reduce part",
)  # fmt: skip

PARAMETERS = {
    "operation": OPERATIONS,
    "rank": (1, 2, 3, 4),
    "dim": (0, 1, 2, 3),
    "sizes": ("odd", "powers", "mixed"),
    "dtype": ("float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8", "int64"),
    "threads": (32, 64, 96, 128, 256, 384),
    "source": ("copy", "product"),
    "flag": (False, True),
}


class Case(NamedTuple):
    """One operation: shape of the fragment, dimension, element type, threads, where the fragment comes from.

    ``source``: ``copy`` from memory, or ``product``, whose accumulator the fragment shares its layout with.
    ``flag``: reductions keep what the result held (``clear=False``) and keep the dimension as a unit one;
    scans run from the end; other operations are on a tile in shared memory.
    """

    operation: str
    shape: tuple[int, ...]
    dim: int
    dtype: str
    threads: int
    source: str
    flag: bool

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        flag = "-flag" if self.flag else ""
        return (
            f"{self.operation.replace(' ', '_')}-{shape}-dim{self.dim}-{self.dtype}-{self.threads}-{self.source}{flag}"
        )


def _make(choose: random.Random, values: dict) -> Case | None:
    """The case with these values; None where they do not go together."""
    rank, dim, source, operation = values["rank"], values["dim"], values["source"], values["operation"]
    dtype = values["dtype"]
    if dim >= rank or (operation == "merge dims" and dim + 1 >= rank):
        return None
    if operation.startswith("reduce bit") and "int" not in dtype:
        return None
    if source == "product" and (rank == 1 or dtype not in ("float32", "float16", "int32", "int8")):
        return None
    pool = {"odd": (3, 5, 7, 13, 33, 77), "powers": (2, 4, 8, 16, 64, 128), "mixed": (3, 6, 12, 24, 48, 96, 112)}
    most = values["threads"] * (20 if dtype.endswith("64") else 40)
    for _ in range(200):
        shape = [choose.choice(pool[values["sizes"]]) for _ in range(rank)]
        if source == "product":
            shape[-1] = choose.choice((16, 32, 48, 64, 80))
            if math.prod(shape[:-1]) % 16:
                shape[0] *= 16 // math.gcd(16, math.prod(shape[:-1]))
        if operation == "split dim" and shape[dim] % 2 and shape[dim] % 3:
            shape[dim] *= 3
        if rank == 1 and choose.random() < 0.5:
            shape[0] *= choose.choice((2, 3, 5))
        if operation == "outer difference" and shape[dim] ** 2 > most * 2:
            continue
        if max(1, most // 30) <= math.prod(shape) <= most:
            return Case(operation, tuple(shape), dim, dtype, values["threads"], source, values["flag"])
    return None


def cases(seed: int = 7) -> list[Case]:
    """Every pair of values of two parameters that can be together is in one case."""
    choose = random.Random(seed)
    names = list(PARAMETERS)
    missing = {
        (a, x, b, y)
        for a, b in itertools.combinations(names, 2)
        for x in PARAMETERS[a]
        for y in PARAMETERS[b]
        if not (a == "rank" and b == "dim" and y >= x)
    }
    result, failures = [], 0
    while missing and failures < 60:
        # Start from a pair that is still missing, and take the best of some completions.
        start = min(missing, key=lambda pair: (str(pair), choose.random()))
        best, best_gain = None, 0
        for _ in range(60):
            values = {name: choose.choice(PARAMETERS[name]) for name in names}
            values[start[0]], values[start[2]] = start[1], start[3]
            gain = sum((a, values[a], b, values[b]) in missing for a, b in itertools.combinations(names, 2))
            if gain > best_gain and (case := _make(choose, values)) is not None:
                best, best_gain, taken = case, gain, values
        if best is None:
            # The two do not go together.
            missing.discard(start)
            failures += 1
            continue
        for a, b in itertools.combinations(names, 2):
            missing.discard((a, taken[a], b, taken[b]))
        result.append(best)
    return result


def _without(shape, dim):
    return tuple(extent for place, extent in enumerate(shape) if place != dim)


def _replaced(shape, dim, extent):
    return tuple(extent if place == dim else other for place, other in enumerate(shape))


def _indices(index) -> tuple:
    """The loop variables of ``T.Parallel``, which gives a single one as itself."""
    return index if isinstance(index, tuple) else (index,)


def _part(case: Case) -> tuple[int, int]:
    """Begin and extent of a part along the dimension: not at a multiple of anything."""
    size = case.shape[case.dim]
    begin = size // 3
    return begin, max(1, min(size - begin, size // 2))


def result_shape(case: Case) -> tuple[int, ...]:
    """Shape of the output."""
    operation, shape, dim = case.operation, case.shape, case.dim
    if operation.startswith("reduce"):
        return _replaced(shape, dim, 1) if case.flag else _without(shape, dim) or (1,)
    if operation.startswith("cut"):
        return _replaced(shape, dim, _part(case)[1])
    if operation == "permute":
        return shape[dim:] + shape[:dim] if dim else shape[1:] + shape[:1]
    if operation == "merge dims":
        return (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])
    if operation == "split dim":
        factor = 2 if shape[dim] % 2 == 0 else 3
        return (*shape[:dim], factor, shape[dim] // factor, *shape[dim + 1 :])
    if operation == "outer difference":
        return (shape[dim], shape[dim])
    return shape


def other_shape(case: Case) -> tuple[int, ...]:
    """Shape of the second input: what results start from, what is pasted or spread."""
    operation, shape, dim = case.operation, case.shape, case.dim
    if operation.startswith("reduce"):
        return result_shape(case)
    if operation.startswith("paste"):
        return _replaced(shape, dim, _part(case)[1])
    if operation in ("broadcast one", "outer difference"):
        return (shape[dim],)
    if operation == "broadcast others":
        return _without(shape, dim) or (1,)
    return (1,)


def program(case: Case):
    """The kernel: inputs ``x`` (the tile), ``other``, ``unit`` (an identity matrix for products), output ``y``."""
    operation, shape, dim, dtype, threads, source, flag = case
    rank = len(shape)
    begin, extent = _part(case)
    rows, columns = math.prod(shape[:-1]), shape[-1]
    factor_type = "float16" if dtype.startswith("float") else "int8"
    sums = "float32" if dtype.startswith("float") else "int32"
    out_shape, second_shape = result_shape(case), other_shape(case)
    part = tuple(slice(begin, begin + extent) if place == dim else slice(0, size) for place, size in enumerate(shape))
    part_shape = _replaced(shape, dim, extent)
    kind = operation.split()[-1]
    in_shared = flag and not operation.startswith(("reduce", "cum"))
    order = list(range(rank))
    order = order[dim:] + order[:dim] if dim else order[1:] + order[:1]

    @T.prim_func
    def kernel(
        x: T.Tensor(shape if source == "copy" else (rows, columns), dtype if source == "copy" else factor_type),
        other: T.Tensor(second_shape, dtype),
        unit: T.Tensor((columns, columns), factor_type),
        y: T.Tensor(out_shape, dtype),
    ):
        with T.Kernel(1, threads=threads) as _:
            if source == "copy":
                f = T.alloc_shared(shape, dtype) if in_shared else T.alloc_fragment(shape, dtype)
                T.copy(x, f)
            else:
                left = T.alloc_shared((rows, columns), factor_type)
                right = T.alloc_shared((columns, columns), factor_type)
                acc = T.alloc_fragment((rows, columns), sums)
                T.copy(x, left)
                T.copy(unit, right)
                T.gemm(left, right, acc, clear_accum=True)
                if in_shared:
                    f = T.alloc_shared(shape, dtype)
                    T.copy(acc, T.reshape(f, (rows, columns)))
                elif dtype == sums:
                    f = acc if rank == 2 else T.reshape(acc, shape)
                else:
                    held = T.alloc_fragment((rows, columns), dtype)
                    T.copy(acc, held)
                    f = held if rank == 2 else T.reshape(held, shape)

            if operation == "reduce part":
                r = T.alloc_fragment(out_shape, dtype)
                T.copy(other, r)
                T.reduce_sum(f[part], r, dim=dim, clear=not flag)
                T.copy(r, y)
            elif operation.startswith("reduce"):
                r = T.alloc_fragment(out_shape, dtype)
                T.copy(other, r)
                REDUCTIONS[kind](f, r, dim=dim, clear=not flag)
                T.copy(r, y)
            elif operation == "cumsum":
                g = T.alloc_fragment(shape, dtype)
                T.cumsum(f, g, dim=dim, reverse=flag)
                T.copy(g, y)
            elif operation == "cummax":
                T.cummax(f, dim=dim, reverse=flag)
                T.copy(f, y)
            elif operation == "cut to memory":
                T.copy(f[part], y)
            elif operation == "cut to fragment":
                g = T.alloc_fragment(part_shape, dtype)
                T.copy(f[part], g)
                T.copy(g, y)
            elif operation == "cut in loop":
                g = T.alloc_fragment(part_shape, dtype)
                for index in T.Parallel(*part_shape):
                    g[index] = f[tuple(i + begin if place == dim else i for place, i in enumerate(_indices(index)))]
                T.copy(g, y)
            elif operation == "paste from memory":
                T.copy(other, f[part])
                T.copy(f, y)
            elif operation == "paste from fragment":
                g = T.alloc_fragment(part_shape, dtype)
                T.copy(other, g)
                T.copy(g, f[part])
                T.copy(f, y)
            elif operation == "paste in loop":
                g = T.alloc_fragment(part_shape, dtype)
                T.copy(other, g)
                for index in T.Parallel(*part_shape):
                    f[tuple(i + begin if place == dim else i for place, i in enumerate(_indices(index)))] = g[index]
                T.copy(f, y)
            elif operation == "fill part":
                T.fill(f[part], 3)
                T.copy(f, y)
            elif operation == "permute":
                g = T.alloc_fragment(out_shape, dtype)
                for index in T.Parallel(*shape):
                    g[tuple(_indices(index)[place] for place in order)] = f[index]
                T.copy(g, y)
            elif operation == "mirror":
                g = T.alloc_fragment(shape, dtype)
                for index in T.Parallel(*shape):
                    g[index] = f[
                        tuple(shape[dim] - 1 - i if place == dim else i for place, i in enumerate(_indices(index)))
                    ]
                T.copy(g, y)
            elif operation in ("merge dims", "split dim"):
                seen = T.reshape(f, out_shape)
                g = T.alloc_fragment(out_shape, dtype)
                for index in T.Parallel(*out_shape):
                    g[index] = seen[index] + seen[index]
                T.copy(g, y)
            elif operation == "broadcast one":
                v = T.alloc_fragment(second_shape, dtype)
                T.copy(other, v)
                for index in T.Parallel(*shape):
                    f[index] = f[index] - v[_indices(index)[dim]]
                T.copy(f, y)
            elif operation == "broadcast others":
                v = T.alloc_fragment(second_shape, dtype)
                T.copy(other, v)
                for index in T.Parallel(*shape):
                    f[index] = f[index] - v[tuple(i for place, i in enumerate(_indices(index)) if place != dim) or (0,)]
                T.copy(f, y)
            elif operation == "outer difference":
                v = T.alloc_fragment(second_shape, dtype)
                s = T.alloc_fragment(out_shape, dtype)
                T.copy(other, v)
                for i, j in T.Parallel(*out_shape):
                    s[i, j] = v[i] - v[j]
                T.copy(s, y)
            elif operation == "normalise":
                v = T.alloc_fragment(_without(shape, dim) or (1,), dtype)
                if in_shared:
                    h = T.alloc_fragment(shape, dtype)
                    T.copy(f, h)
                    T.reduce_max(h, v, dim=dim)
                else:
                    T.reduce_max(f, v, dim=dim)
                g = T.alloc_fragment(shape, dtype)
                for index in T.Parallel(*shape):
                    g[index] = f[index] - v[tuple(i for place, i in enumerate(_indices(index)) if place != dim) or (0,)]
                T.copy(g, y)

    return kernel


def make_inputs(case: Case):
    """Fresh random inputs: small whole numbers, so that no rounding hides a wrong element."""
    import torch

    high = 2 if "sum" in case.operation or case.dtype in ("float16", "bfloat16") else 9
    high = min(high, max(1, 120 // case.shape[case.dim])) if case.operation in ("cumsum",) else high

    low = 0 if case.dtype == "uint8" else -high

    def numbers(shape):
        return torch.randint(low, high + 1, shape).to(getattr(torch, case.dtype))

    x, other = numbers(case.shape), numbers(other_shape(case))
    columns = case.shape[-1]
    factor = torch.float16 if case.dtype.startswith("float") else torch.int8
    unit = torch.eye(columns).to(factor)
    if case.source == "product":
        return [x.reshape(-1, columns).to(factor), other, unit]
    return [x, other, unit]


def reference(case: Case, inputs):
    """What the kernel has to give, from float64 or int64."""
    import torch

    wide = torch.int64 if "int" in case.dtype else torch.float64
    x, other = inputs[0].reshape(case.shape).to(wide), inputs[1].to(wide)
    operation, shape, dim = case.operation, case.shape, case.dim
    begin, extent = _part(case)
    part = tuple(slice(begin, begin + extent) if place == dim else slice(None) for place in range(len(shape)))
    if operation.startswith("reduce"):
        kind = operation.split()[-1]
        if kind == "part":
            x, kind = x[part], "sum"
        shaped = other.reshape(_without(shape, dim))
        before = [shaped] if case.flag else []

        def fold(combine):
            values = [*before, *x.unbind(dim)]
            result = values[0]
            for value in values[1:]:
                result = combine(result, value)
            return result

        if kind in ("abssum", "absmax"):
            x = x.abs()
        if kind == "absmax":
            before = [one.abs() for one in before]
        if kind in ("any", "all"):
            before = [(one != 0).to(wide) for one in before]
            x = (x != 0).to(wide)
        combine = {
            "sum": torch.add, "abssum": torch.add, "max": torch.maximum, "absmax": torch.maximum,
            "min": torch.minimum, "any": torch.maximum, "all": torch.minimum,
            "bitand": torch.bitwise_and, "bitor": torch.bitwise_or, "bitxor": torch.bitwise_xor,
        }[kind]  # fmt: skip
        return fold(combine).reshape(result_shape(case))
    if operation in ("cumsum", "cummax"):
        turned = x.flip(dim) if case.flag else x
        result = turned.cumsum(dim) if operation == "cumsum" else turned.cummax(dim).values
        return result.flip(dim) if case.flag else result
    if operation.startswith("cut"):
        return x[part]
    if operation.startswith("paste"):
        x[part] = other
        return x
    if operation == "fill part":
        x[part] = 3
        return x
    if operation == "permute":
        order = list(range(len(shape)))
        return x.permute(order[dim:] + order[:dim] if dim else order[1:] + order[:1])
    if operation == "mirror":
        return x.flip(dim)
    if operation in ("merge dims", "split dim"):
        return 2 * x.reshape(result_shape(case))
    if operation == "broadcast one":
        return x - other.reshape([-1 if place == dim else 1 for place in range(len(shape))])
    if operation == "broadcast others":
        return x - other.reshape(_without(shape, dim)).unsqueeze(dim)
    if operation == "outer difference":
        return other[:, None] - other[None, :]
    return x - x.amax(dim, keepdim=True)


def check(kernel, case: Case) -> None:
    """Calls a kernel with random inputs; results are exact, in the element type (integers wrap around)."""
    import torch
    from kernel_programs import run

    dtype = getattr(torch, case.dtype)
    inputs = make_inputs(case)
    expected = reference(case, [value.clone() for value in inputs]).to(dtype)
    (result,) = run(kernel, inputs, [(result_shape(case), dtype)])
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
