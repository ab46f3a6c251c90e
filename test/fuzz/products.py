"""Draws products of matrices, single ones and loops over steps of K."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.elements import ELEMENTS
from fuzz.operands import Bound
from fuzz.program import (
    Assign,
    Binary,
    Buffer,
    Const,
    Copy,
    Fill,
    Gemm,
    If,
    Load,
    Loop,
    Parallel,
    Region,
    Statement,
    Var,
)

if TYPE_CHECKING:
    from fuzz.kernels import KernelDrawer

#: Types of the operands and of the accumulator.
TYPES = (
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float32", "float32"),
    ("float8_e4m3fn", "float32"),
    ("float8_e5m2", "float32"),
    ("int8", "int32"),
    ("float16", "float16"),
    ("uint8", "int32"),
    ("float64", "float64"),
)


class ProductDrawer:
    """Statements around `T.gemm` in the kernel that a drawer makes."""

    def __init__(self, kernel: KernelDrawer) -> None:
        self.kernel = kernel

    def sizes(self) -> tuple[int, int, int]:
        """M, N, K of a product of tiles."""
        k = self.kernel
        if k.chance(12):
            return k.pick([8, 24, 40, 5, 17]), k.pick([7, 12, 33, 8]), k.pick([8, 24, 5, 12])
        m = k.pick([64, 32, 16, 128, 48, 80])
        n = k.pick([32, 64, 8, 16, 24, 48, 72, 96, 128])
        if m * n > 8192:
            n = 32
        return m, n, k.pick([32, 16, 64, 8, 48])

    def gemm(self, a: Buffer, b: Buffer, c: Buffer, transposes: tuple[bool, bool], clear: bool) -> Gemm:
        """A product with a policy and a precision."""
        k = self.kernel
        policy = k.pick(["Square", "Square", "FullRow", "FullCol"])
        precision = "ieee" if a.dtype == "float32" and k.chance(30) else "tf32"
        return Gemm(a.name, b.name, c.name, *transposes, policy, clear, precision)

    def operands(self, m: int, n: int, step: int) -> tuple[Buffer, Buffer, Buffer, tuple[bool, bool]]:
        """New operands, an old or new accumulator, and what is transposed."""
        k = self.kernel
        dtype, sum_type = k.pick(TYPES)
        transposes = (k.chance(25), k.chance(40))
        a = k.new_buffer("fragment" if k.chance(10) else "shared", (step, m) if transposes[0] else (m, step), dtype)
        b = k.new_buffer("shared", (n, step) if transposes[1] else (step, n), dtype)
        options = [one for one in k.buffers if one.space == "fragment" and one.shape == (m, n) and one.dtype == sum_type]  # noqa: E501  # fmt: skip
        c = k.pick(options) if options and k.chance(50) else k.new_buffer("fragment", (m, n), sum_type)
        return a, b, c, transposes

    def single(self) -> list[Statement]:
        """One product of tiles that were computed or loaded."""
        k = self.kernel
        a = b = None
        if k.chance(40):
            a = k.defined_buffer(lambda one: len(one.shape) == 2 and any(one.dtype == kind for kind, _ in TYPES))
        if a is None:
            m, n, step = self.sizes()
            a, b, c, transposes = self.operands(m, n, step)
            before = [*k.define(a), *k.define(b)]
        else:
            transposes = (k.chance(25), k.chance(40))
            m, step = a.shape[::-1] if transposes[0] else a.shape
            n = k.pick([32, 64, 8, 16, 24])
            sum_type = dict(TYPES)[a.dtype]
            b = k.new_buffer("shared", (n, step) if transposes[1] else (step, n), a.dtype)
            c = k.new_buffer("fragment", (m, n), sum_type)
            before = k.define(b)
        clear = k.chance(30)
        if not clear and c.name not in k.defined:
            before += [Fill(c.name, k.pick([0, 0, 1]))]
        k.defined.add(c.name)
        k.stored.discard(c.name)
        return [*before, self.gemm(a, b, c, transposes, clear)]

    def loop(self) -> list[Statement]:
        """A pipelined loop over steps of K, with an epilogue now and then."""
        k = self.kernel
        m, n, step = self.sizes()
        a, b, c, transposes = self.operands(m, n, step)
        stop, most = k.trips("pipelined")
        stages = k.integer(0, 4)
        name = k.fresh("k")
        bound = Bound(name, 0, max(most - 1, 0))
        before: list[Statement] = [Fill(c.name, 0)] if c.name not in k.defined or k.chance(70) else []
        k.defined.add(c.name)
        k.stored.discard(c.name)
        with k.inside(conditional=True):
            k.loops.append(bound)
            body: list[Statement] = [self._step(a, transposes[0], bound), self._step(b, not transposes[1], bound)]
            k.defined |= {a.name, b.name}
            extra = k.integer(0, 9)
            if extra == 7 and ELEMENTS[a.dtype].is_float and a.space == "shared":
                body.append(self._scale(a))
            if extra == 8:
                body += k.statement()
            product: Statement = self.gemm(a, b, c, transposes, False)
            if extra == 9:
                product = If(k.uniform_condition(), (product,))
            body.append(product)
            if extra == 6:
                body += k.statement()
            if extra == 5:
                body = [If(k.uniform_condition(), tuple(body))]
            k.loops.pop()
        made: list[Statement] = [*before, Loop("pipelined", name, 0, stop, tuple(body), stages)]
        if k.chance(30):
            made += k.elementwise.change(c)
        return made

    def _step(self, buffer: Buffer, along_first: bool, bound: Bound) -> Statement:
        """The copy of one step of K: along the first dimension of the tile or the second."""
        k = self.kernel
        if k.chance(15):
            return k.load_into(buffer, [bound, *k.scope])[0]
        others = list(k.unique)
        offsets: list[Binary | Const] = []
        sizes = []
        for axis, extent in enumerate(buffer.shape):
            if (axis == 0) == along_first:
                offsets.append(Binary("*", bound.var, Const(extent)))
                sizes.append((bound.most + 1) * extent)
            elif others and k.chance(70):
                other = k.pick(others)
                offsets.append(Binary("*", other.var, Const(extent)))
                sizes.append((other.most + 1) * extent)
            else:
                offsets.append(Const(0))
                sizes.append(extent)
            if k.chance(25):
                sizes[-1] = max(sizes[-1] - k.integer(1, extent), 1)
        dtype = buffer.dtype
        tensor = k.operands.input(dtype, tuple(k.operands.size(size) for size in sizes), k.pick(["small", "small", "quarters", "normal"]))  # noqa: E501  # fmt: skip
        form = "element" if k.chance(60) else "slice"
        return Copy(Region(tensor.name, form, tuple(offsets), buffer.shape), Region(buffer.name))

    def _scale(self, buffer: Buffer) -> Statement:
        """Doubles a loaded tile in place."""
        names = ("p", "q")
        target = Load(buffer.name, (Var("p"), Var("q")), buffer.dtype)
        return Parallel(names, buffer.shape, (Assign(target, Const(2.0), "*"),))
