"""Draws one kernel: grid, threads, buffers, and statements that move tiles and compute with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fuzz.elements import ELEMENTS, INTEGERS
from fuzz.elementwise import ElementwiseDrawer
from fuzz.expressions import Choices
from fuzz.operands import Bound, Operands
from fuzz.products import ProductDrawer
from fuzz.program import (
    Binary,
    Buffer,
    Compare,
    Const,
    Copy,
    Dim,
    Expr,
    Fill,
    If,
    Kernel,
    Load,
    Logic,
    Loop,
    Persistent,
    Reduce,
    Region,
    Scan,
    Size,
    Statement,
    TileAtomic,
    Transpose,
    Var,
    value_of,
)

#: Extents of tiles; odd ones too.
EXTENTS = (32, 16, 64, 8, 1, 4, 48, 24, 40, 3, 5, 7, 17, 33, 96, 100, 65, 128)
SHARED_BYTES = 96 * 1024
REGISTER_BYTES = 384


class KernelDrawer(Choices):
    """Draws a kernel.

    Args:
        draw: of hypothesis.
        operands: arguments of the function, to which the kernel adds.
        number: of the kernel in the function, for names.

    Attributes:
        buffers: what is allocated.
        defined: names of buffers that have been written at this point of the program.
        unique: integers that tell blocks apart.
        loops: indices of the loops around this point.
        depth: of conditions and loops around this point.
        conditional: whether this point may not be reached.
    """

    def __init__(self, draw: Callable[[Any], Any], operands: Operands, number: int) -> None:
        super().__init__(draw)
        self.operands = operands
        self.number = number
        self.buffers: list[Buffer] = []
        self.defined: set[str] = set()
        self.unique: list[Bound] = []
        self.loops: list[Bound] = []
        self.depth = 0
        self.conditional = False
        self.stored: set[str] = set()
        self.names = 0
        self.outputs = 0
        self.threads = 128
        self.elementwise = ElementwiseDrawer(self)
        self.products = ProductDrawer(self)

    @property
    def scope(self) -> list[Bound]:
        """Integers that are the same for all threads."""
        return [*self.unique, *self.loops]

    # The kernel.

    def kernel(self) -> Kernel:
        """A kernel with at least one store."""
        self.threads = self.pick([128, 128, 64, 256, 32, 384, 96])
        prefix = f"k{self.number}" if self.number else ""
        if self.chance(7):
            return self._persistent(prefix)
        rank = self.pick([1, 1, 2, 2, 3])
        names = tuple(f"{prefix}b{axis}" for axis in "xyz"[:rank])
        grid: list[Size | tuple[Size, int]] = []
        for name in names:
            extent = self.pick([1, 2, 3])
            self.unique.append(Bound(name, 0, extent - 1))
            if self.chance(10):
                grid.append(self._dynamic_extent(extent))
            else:
                grid.append(extent)
        swizzle = self.pick([1, 2, 4]) if rank > 1 and self.chance(8) else 0
        # Blocks that complete a cluster have indices beyond the grid, which buffers must not be indexed by.
        extents = [bound.most + 1 for bound in self.unique]
        clusters = tuple(self.pick([2, 1]) if extent % 2 == 0 else 1 for extent in extents) if self.chance(15) else ()
        body = self._body()
        return Kernel(names, tuple(grid), self.threads, tuple(self.buffers), body, swizzle, clusters)

    def _dynamic_extent(self, extent: int) -> tuple[Size, int]:
        """A launch-time size and the block that covers it in so many blocks."""
        block = self.pick([16, 1, 32, 8])
        self.operands.dims += 1
        size = Dim(f"n{self.operands.dims}", extent * block - self.integer(0, block - 1))
        self.operands.input("float32", (size,))
        return size, block

    def _persistent(self, prefix: str) -> Kernel:
        worker = f"{prefix}worker"
        workers = self.integer(1, 4)
        domain = (self.integer(1, 3), self.integer(1, 3))
        names = (f"{prefix}ty", f"{prefix}tx")
        self.unique = [Bound(name, 0, extent - 1) for name, extent in zip(names, domain, strict=True)]
        self.depth += 1
        body = self._body()
        loop = Persistent(names, domain, workers, worker, self.pick([8, 1, 2]), body)
        return Kernel((worker,), (workers,), self.threads, tuple(self.buffers), (loop,))

    def _body(self) -> tuple[Statement, ...]:
        body = self.statements(1, 5)
        pending = [one for one in self.buffers if one.name in self.defined and one.name not in self.stored]
        for buffer in pending[-3:] or [one for one in self.buffers if one.name in self.defined][-1:]:
            body += self.store(buffer)
        if not any(name[0] in "RCW" for name in self._written(body)):
            buffer = self.buffer()
            body += [*self.define(buffer), *self.store(buffer)]
        return tuple(body)

    def _written(self, body: Sequence[Statement]) -> Iterator[str]:
        for one in body:
            if isinstance(one, Copy):
                yield one.dest.name
            elif isinstance(one, TileAtomic):
                yield one.dest.name
            elif isinstance(one, If):
                yield from self._written((*one.then, *one.otherwise))
            elif isinstance(one, Loop):
                yield from self._written(one.body)

    # Buffers.

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.names += 1
        return f"{prefix}{self.number if self.number else ''}_{self.names}"

    def shape(self) -> tuple[int, ...]:
        """Extents of a tile of one to three dimensions."""
        rank = self.pick([2, 1, 2, 2, 3])
        extents: list[int] = []
        room = 4096
        for _ in range(rank):
            options = [extent for extent in EXTENTS if extent <= room]
            extents.append(self.pick(options))
            room = room // extents[-1]
        return tuple(extents)

    def fits(self, space: str, shape: Sequence[int], dtype: str) -> bool:
        """Whether a buffer fits beside those that there are."""
        size = ELEMENTS[dtype].bits // 8
        for extent in shape:
            size *= extent
        used = size + sum(self._bytes(one) for one in self.buffers if one.space == space)
        return used <= (SHARED_BYTES if space == "shared" else REGISTER_BYTES * self.threads)

    @staticmethod
    def _bytes(buffer: Buffer) -> int:
        size = ELEMENTS[buffer.dtype].bits // 8
        for extent in buffer.shape:
            size *= extent
        return size

    def new_buffer(self, space: str, shape: Sequence[int], dtype: str) -> Buffer:
        """Allocates a buffer; in shared memory when the registers are full."""
        if not self.fits(space, shape, dtype):
            space = "shared"
        made = Buffer(self.fresh("s" if space == "shared" else "f"), space, tuple(shape), dtype)
        self.buffers.append(made)
        return made

    def buffer(self) -> Buffer:
        """A buffer, old or new."""
        if self.buffers and self.chance(35 + 10 * len(self.buffers)):
            return self.pick(self.buffers)
        return self.new_buffer(self.pick(["fragment", "shared"]), self.shape(), self.operands.dtype())

    def defined_buffer(self, accept: Callable[[Buffer], bool] = lambda _: True) -> Buffer | None:
        """A buffer with contents that meets a condition, if there is one."""
        options = [one for one in self.buffers if one.name in self.defined and accept(one)]
        return self.pick(options) if options else None

    # Statements.

    def statements(self, least: int, most: int) -> list[Statement]:
        """Some statements, one after the other."""
        body: list[Statement] = []
        count = self.integer(least, most)
        for _ in range(count):
            body += self.statement()
        return body

    def statement(self) -> list[Statement]:
        """A statement with what it needs in front of it."""
        makers = [
            (12, self.load),
            (3, self.fill),
            (16, self.elementwise.statement),
            (7, self.store_some),
            (7, self.move),
            (9, self.reduce),
            (3, self.scan),
            (2, self.transpose),
            (3, self.tile_atomic),
            (9, self.products.single),
        ]
        if self.depth < 2:
            makers += [(7, self.condition), (14, self.loop), (12, self.products.loop)]
        weight = self.integer(0, sum(one for one, _ in makers) - 1)
        for share, make in makers:
            if weight < share:
                return make()
            weight -= share
        raise AssertionError

    def define(self, buffer: Buffer) -> list[Statement]:
        """Gives a buffer contents, from memory or of one value."""
        if self.chance(20):
            return self.fill_buffer(buffer)
        return self.load_into(buffer)

    def defined_or_new(self, buffer: Buffer) -> list[Statement]:
        """Nothing for a buffer with contents, else what gives it some."""
        return [] if buffer.name in self.defined else self.define(buffer)

    def load(self) -> list[Statement]:
        """A copy from a tensor."""
        if self.operands.complete and self.chance(40):
            return self._load_result()
        return self.load_into(self.buffer())

    def _load_result(self) -> list[Statement]:
        """A copy of what an earlier kernel has made, to a buffer of its type."""
        tensor = self.operands.tensor(self.pick(self.operands.complete))
        sizes = [value_of(size) for size in tensor.shape]
        extents, room = [], 4096
        for size in sizes:
            extents.append(self.pick([min(size, room), *(one for one in EXTENTS if one <= room)]))
            room //= max(extents[-1], 1)
        if len(extents) > 3 or 0 in extents:
            return self.load_into(self.buffer())
        buffer = self.new_buffer(self.pick(["shared", "fragment"]), extents, tensor.dtype)
        source = self.operands.source(buffer.shape, buffer.dtype, self.scope, tensor)
        self.defined.add(buffer.name)
        return [Copy(source, Region(buffer.name))]

    def load_into(self, buffer: Buffer, scope: Sequence[Bound] | None = None) -> list[Statement]:
        """A copy from a tensor to a buffer."""
        dtype = buffer.dtype
        if self.chance(20):
            dtype = self.compatible(buffer.dtype)
        source = self.operands.source(buffer.shape, dtype, self.scope if scope is None else scope)
        self.defined.add(buffer.name)
        self.stored.discard(buffer.name)
        return [Copy(source, Region(buffer.name))]

    def compatible(self, dtype: str) -> str:
        """A type whose small values fit into ``dtype``, or into which those of ``dtype`` fit."""
        element = ELEMENTS[dtype]
        if element.is_float:
            return self.pick(["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float64", "int32", "int8"])  # noqa: E501  # fmt: skip
        if element.kind == "int":
            return self.pick(["int32", "int8", "int16", "int64", "float32", "float16"])
        return self.pick(["uint8", "uint16", "uint32", "uint64"])

    def fill(self) -> list[Statement]:
        """All elements the same."""
        return self.fill_buffer(self.buffer())

    def fill_buffer(self, buffer: Buffer) -> list[Statement]:
        """All elements of a buffer the same."""
        element = ELEMENTS[buffer.dtype]
        value: int | float = self.pick([0, 1, 3, 7]) if element.kind != "bool" else self.pick([0, 1])
        if element.is_float and self.chance(50):
            value = self.pick([0.5, -1.5, 2.0])
        self.defined.add(buffer.name)
        self.stored.discard(buffer.name)
        return [Fill(buffer.name, value)]

    def store_some(self) -> list[Statement]:
        """A copy to a tensor."""
        buffer = self.defined_buffer() or self.buffer()
        return [*self.defined_or_new(buffer), *self.store(buffer)]

    def store(self, buffer: Buffer) -> list[Statement]:
        """A copy of a buffer to a tensor, to a place of its own in every block."""
        self.outputs += 1
        if self.outputs > 5:
            return []
        dtype = buffer.dtype
        if self.chance(20) and ELEMENTS[dtype].is_float:
            dtype = self.pick(["float32", "float16", "bfloat16", "float64", "float8_e4m3fn", "float8_e5m2"])
        elif self.chance(15) and ELEMENTS[dtype].is_integer:
            dtype = self.pick(["float32", *INTEGERS])
        self.stored.add(buffer.name)
        dest = self.operands.destination(buffer.shape, dtype, self.unique, self.loops, not self.conditional)
        return [Copy(Region(buffer.name), dest)]

    def move(self) -> list[Statement]:
        """A copy between buffers: whole, with a cast, or of a part."""
        source = self.defined_buffer() or self.buffer()
        before = self.defined_or_new(source)
        if self.chance(25) and all(extent > 1 for extent in source.shape):
            return before + self._move_part(source)
        dest = None
        options = [one for one in self.buffers if one.shape == source.shape and one != source]
        if options and self.chance(50):
            dest = self.pick(options)
        if dest is None or not self._converts(source.dtype, dest.dtype):
            dtype = source.dtype
            if self.chance(40):
                dtype = self.compatible(dtype)
            dest = self.new_buffer(self.pick(["shared", "fragment"]), source.shape, dtype)
        self.defined.add(dest.name)
        self.stored.discard(dest.name)
        return [*before, Copy(Region(source.name), Region(dest.name))]

    @staticmethod
    def _converts(source: str, dest: str) -> bool:
        """Whether values of one type mostly survive in the other."""
        return ELEMENTS[dest].is_float or ELEMENTS[source].kind == ELEMENTS[dest].kind

    def _move_part(self, source: Buffer) -> list[Statement]:
        """A part of a shared tile to or from a tile of its own."""
        if source.space != "shared":
            return []
        extents = tuple(self.integer(1, extent) for extent in source.shape)
        offsets = tuple(
            Const(self.integer(0, extent - part)) for extent, part in zip(source.shape, extents, strict=True)
        )
        part = Region(source.name, "slice", offsets, extents)
        other = self.new_buffer(self.pick(["shared", "fragment"]), extents, source.dtype)
        if self.chance(50):
            self.defined.add(other.name)
            return [Copy(part, Region(other.name))]
        before = self.define(other)
        self.stored.discard(source.name)
        return [*before, Copy(Region(other.name), part)]

    def reduce(self) -> list[Statement]:
        """A reduction along any dimension."""
        source = self.defined_buffer(lambda one: one.dtype != "bool") or self.buffer()
        if source.dtype == "bool":
            return []
        before = self.defined_or_new(source)
        element = ELEMENTS[source.dtype]
        kinds = ["sum", "max", "min", "absmax", "abssum"] if element.kind != "uint" else ["sum", "max", "min"]
        if element.is_integer and self.chance(40):
            kinds = ["bitand", "bitor", "bitxor"]
        kind = self.pick(kinds)
        dim = self.integer(0, len(source.shape) - 1)
        rest = source.shape[:dim] + source.shape[dim + 1 :]
        shape = (*source.shape[:dim], 1, *source.shape[dim + 1 :]) if not rest or self.chance(15) else rest
        dtype = source.dtype
        if element.is_float and element.bits < 32 and self.chance(60):
            dtype = "float32"
        elif element.is_integer and element.bits < 32 and kind == "sum" and self.chance(60):
            dtype = "int32"
        dest = None
        options = [one for one in self.buffers if one.shape == shape and one.dtype == dtype and one != source]
        if options and self.chance(60):
            dest = self.pick(options)
        if dest is None:
            dest = self.new_buffer(self.pick(["fragment", "shared"]), shape, dtype)
        clear = not self.chance(40)
        if not clear:
            before += [] if dest.name in self.defined else self.fill_buffer(dest)
        self.defined.add(dest.name)
        self.stored.discard(dest.name)
        return [*before, Reduce(kind, source.name, dest.name, dim, clear)]

    def scan(self) -> list[Statement]:
        """A running sum or maximum."""
        source = self.defined_buffer(lambda one: one.dtype != "bool") or self.buffer()
        if source.dtype == "bool":
            return []
        before = self.defined_or_new(source)
        dest = None
        if self.chance(50):
            made = self.new_buffer(self.pick(["shared", "fragment"]), source.shape, source.dtype)
            dest = made.name
        self.defined.add(dest or source.name)
        self.stored.discard(dest or source.name)
        dim = self.integer(0, len(source.shape) - 1)
        kind = "sum" if self.chance(70) else "max"
        return [*before, Scan(kind, source.name, dest, dim, self.chance(30))]

    def transpose(self) -> list[Statement]:
        """``T.transpose`` of a matrix in shared memory."""
        source = self.defined_buffer(lambda one: one.space == "shared" and len(one.shape) == 2)
        if source is None:
            return self.load()
        dest = self.new_buffer("shared", source.shape[::-1], source.dtype)
        self.defined.add(dest.name)
        return [Transpose(source.name, dest.name)]

    def tile_atomic(self) -> list[Statement]:
        """A tile added to a tensor, by all blocks to the same place or to several."""
        source = self.defined_buffer(lambda one: ELEMENTS[one.dtype].is_integer and ELEMENTS[one.dtype].bits >= 32)
        before: list[Statement] = []
        if source is None:
            source = self.new_buffer("fragment", self.shape(), "int32")
            before = self.define(source)
        tensor = self.operands.accumulator(source.dtype, source.shape)
        self.outputs += 1
        return [*before, TileAtomic(self.pick(["add", "max", "min"]), Region(tensor.name), source.name)]

    # Control flow.

    @contextmanager
    def inside(self, conditional: bool) -> Iterator[None]:
        """Statements that may not be reached, or more than once: what they define is not defined behind them."""
        defined, before = set(self.defined), self.conditional
        self.depth += 1
        self.conditional = self.conditional or conditional
        yield
        self.depth -= 1
        self.conditional = before
        self.defined = defined

    def uniform_condition(self) -> Expr:
        """A condition that is the same for all threads of a block."""
        choice = self.integer(0, 4)
        scope = self.scope
        if choice <= 1 and scope:
            bound = self.pick(scope)
            return Compare(self.pick(["<", ">", "==", "!=", ">="]), bound.var, Const(self.integer(0, max(bound.most, 1))))  # noqa: E501  # fmt: skip
        if choice == 2 and scope:
            bound = self.pick(scope)
            return Compare("==", Binary("%", bound.var, Const(2)), Const(self.integer(0, 1)))
        if choice == 3 and scope:
            bound = self.pick(scope)
            flags = self.operands.input("int32", (bound.most + 1,), "flags")
            return Compare("!=", Load(flags.name, (bound.var,), "int32"), Const(0))
        scalar = self.operands.scalar("int32", self.integer(0, 3))
        left = Compare(self.pick([">", "<", "=="]), Var(scalar.name), Const(self.integer(0, 3)))
        if scope and self.chance(30):
            return Logic(self.pick(["and", "or"]), left, Compare("<=", self.pick(scope).var, Const(1)))
        return left

    def condition(self) -> list[Statement]:
        """A condition of the block around some statements."""
        test = self.uniform_condition()
        with self.inside(conditional=True):
            then = self.statements(1, 2)
        otherwise: list[Statement] = []
        if self.chance(35):
            with self.inside(conditional=True):
                otherwise = self.statements(1, 2)
        return [If(test, tuple(then), tuple(otherwise))] if then else []

    def trips(self, kind: str) -> tuple[Expr, int]:
        """The end of a loop, and the greatest that it can be."""
        choice = self.integer(0, 5)
        if kind != "unroll" and choice == 4:
            value = self.integer(0, 5)
            return Var(self.operands.scalar("int32", value).name), value
        if kind != "unroll" and choice == 5 and self.scope:
            bound = self.pick(self.scope)
            extra = self.integer(0, 2)
            stop = Binary("+", bound.var, Const(extra)) if extra else bound.var
            return stop, bound.most + extra
        count = self.pick([2, 3, 1, 4, 5, 0])
        return Const(count), count

    def loop(self) -> list[Statement]:
        """A loop around some statements; buffers that it carries have contents before it."""
        kind = self.pick(["serial", "pipelined", "pipelined", "unroll"])
        stages = self.integer(1, 4) if kind == "pipelined" else 0
        stop, most = self.trips(kind)
        name = self.fresh("i")
        before: list[Statement] = []
        for buffer in self.buffers[-2:]:
            if self.chance(50):
                before += self.defined_or_new(buffer)
        bound = Bound(name, 0, max(most - 1, 0))
        with self.inside(conditional=True):
            self.loops.append(bound)
            body: list[Statement] = []
            if self.chance(70):
                body += self.load_into(self.buffer(), [bound, *self.scope])
            body += self.statements(1, 3)
            self.loops.pop()
        if not body:
            return before
        return [*before, Loop(kind, name, 0, stop, tuple(body), stages)]
