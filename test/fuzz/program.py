"""The description of a fuzzed kernel function: expressions, statements, kernels, arguments, as immutable data.

`repr` of a description is Python text that makes it again, so a failure file can hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

from fuzz.elements import ELEMENTS, adapt, promote


@dataclass(frozen=True)
class Dim:
    """A size known at launch: its name, and its value in the run."""

    name: str
    value: int


Size = int | Dim


def value_of(size: Size) -> int:
    """A size as a number."""
    return size.value if isinstance(size, Dim) else size


# ---------------------------------------------------------------------------------------------------------------------
# Expressions


@dataclass(frozen=True)
class Const:
    """A Python number, or with a type ``T.cast(number, type)``."""

    value: int | float
    type: str | None = None

    @property
    def dtype(self) -> str:
        return self.type or ("float32" if isinstance(self.value, float) else "int32")


@dataclass(frozen=True)
class Var:
    """A block index, loop index, variable or scalar argument."""

    name: str
    dtype: str = "int32"


@dataclass(frozen=True)
class Load:
    """An element of a buffer or tensor."""

    name: str
    indices: tuple[Expr, ...]
    dtype: str


@dataclass(frozen=True)
class Binary:
    """``+ - * / // % & | ^ << >> min max``; operands are promoted as the language says."""

    op: str
    left: Expr
    right: Expr

    @property
    def dtype(self) -> str:
        return common_type(self.left, self.right, self.op)


@dataclass(frozen=True)
class Unary:
    """``- abs exp2 sqrt rsqrt floor ceil not``"""

    op: str
    operand: Expr

    @property
    def dtype(self) -> str:
        return "bool" if self.op == "not" else self.operand.dtype


@dataclass(frozen=True)
class Cast:
    """``T.cast``."""

    dtype: str
    operand: Expr


@dataclass(frozen=True)
class Compare:
    """``< <= > >= == !=``"""

    op: str
    left: Expr
    right: Expr

    @property
    def dtype(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Logic:
    """``and``, ``or`` of truth values."""

    op: str
    left: Expr
    right: Expr

    @property
    def dtype(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Select:
    """``T.if_then_else``, or a ternary. Both sides have one type."""

    condition: Expr
    then: Expr
    otherwise: Expr
    ternary: bool = False

    @property
    def dtype(self) -> str:
        return self.then.dtype


Expr = Const | Var | Load | Binary | Unary | Cast | Compare | Logic | Select


def is_number(expr: Expr) -> bool:
    """Whether an expression is a Python number in the source."""
    return isinstance(expr, Const) and expr.type is None


def common_type(left: Expr, right: Expr, op: str = "+") -> str:
    """The type in which an operation of two expressions is done."""
    if is_number(right):
        kind = adapt(right.value, left.dtype)
    elif is_number(left):
        kind = adapt(left.value, right.dtype)
    else:
        kind = promote(left.dtype, right.dtype)
    if op == "/" and not ELEMENTS[kind].is_float:
        return "float32"
    return kind


# ---------------------------------------------------------------------------------------------------------------------
# Arguments and buffers


@dataclass(frozen=True)
class Tensor:
    """A tensor argument.

    Attributes:
        name: of the argument.
        dtype: element type.
        shape: sizes.
        data: how it is filled: small, wide, quarters, normal, flags; "" for outputs, which begin as all ones bits.
        strides: of a `T.StridedTensor`, in elements; None: contiguous.
        workspace: made by `T.alloc_global` instead of being an argument.
        shift: elements that the tensor begins behind an aligned address.
    """

    name: str
    dtype: str
    shape: tuple[Size, ...]
    data: str = ""
    strides: tuple[int, ...] | None = None
    workspace: bool = False
    shift: int = 0


@dataclass(frozen=True)
class Scalar:
    """A scalar argument and its value in the run."""

    name: str
    dtype: str
    value: int | float


@dataclass(frozen=True)
class Buffer:
    """A tile: ``space`` is shared or fragment."""

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str


# ---------------------------------------------------------------------------------------------------------------------
# Statements


@dataclass(frozen=True)
class Region:
    """One side of a copy.

    Attributes:
        name: tensor or buffer.
        form: whole, slice or element.
        offsets: first index per dimension.
        extents: elements per dimension; None: an index that drops the dimension.
    """

    name: str
    form: str = "whole"
    offsets: tuple[Expr, ...] = ()
    extents: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Copy:
    source: Region
    dest: Region


@dataclass(frozen=True)
class Fill:
    """``T.fill``, or ``T.clear`` for zero."""

    name: str
    value: int | float


@dataclass(frozen=True)
class Gemm:
    a: str
    b: str
    c: str
    transpose_a: bool = False
    transpose_b: bool = False
    policy: str = "Square"
    clear: bool = False
    precision: str = "tf32"


@dataclass(frozen=True)
class Assign:
    """``target = value`` of an element; ``op`` makes it ``target op= value``."""

    target: Load
    value: Expr
    op: str = ""


@dataclass(frozen=True)
class Atomic:
    """``T.atomic_add/max/min/or`` of an element, in a parallel loop."""

    op: str
    target: Load
    value: Expr


@dataclass(frozen=True)
class Guard:
    """A condition on elements, in a parallel loop."""

    condition: Expr
    then: tuple[Assign | Atomic | Guard, ...]
    otherwise: tuple[Assign | Atomic | Guard, ...] = ()


@dataclass(frozen=True)
class Parallel:
    names: tuple[str, ...]
    extents: tuple[int, ...]
    body: tuple[Assign | Atomic | Guard, ...]


@dataclass(frozen=True)
class Reduce:
    kind: str
    source: str
    dest: str
    dim: int
    clear: bool = True


@dataclass(frozen=True)
class Scan:
    """``T.cumsum``, ``T.cummax``."""

    kind: str
    source: str
    dest: str | None
    dim: int
    reverse: bool = False


@dataclass(frozen=True)
class Transpose:
    source: str
    dest: str


@dataclass(frozen=True)
class TileAtomic:
    """``T.atomic_add(region, buffer)``."""

    op: str
    dest: Region
    source: str


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Loop:
    """``kind`` is serial, unroll or pipelined."""

    kind: str
    name: str
    start: int
    stop: Expr
    body: tuple[Statement, ...]
    stages: int = 0


@dataclass(frozen=True)
class Persistent:
    """``T.Persistent`` over a domain; the kernel's grid is its workers."""

    names: tuple[str, ...]
    domain: tuple[int, ...]
    workers: int
    index: str
    group: int
    body: tuple[Statement, ...]


Statement = Copy | Fill | Gemm | Parallel | Reduce | Scan | Transpose | TileAtomic | If | Loop | Persistent


@dataclass(frozen=True)
class Kernel:
    """One ``T.Kernel`` block. A grid extent is a size, or (size, block): that many blocks to cover the size.

    ``clusters`` has the blocks of a cluster per dimension of the grid; empty: no clusters.
    """

    names: tuple[str, ...]
    grid: tuple[Size | tuple[Size, int], ...]
    threads: int
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    swizzle: int = 0
    clusters: tuple[int, ...] = ()

    def extents(self) -> tuple[int, ...]:
        """The grid in the run."""
        return tuple(-(-value_of(e[0]) // e[1]) if isinstance(e, tuple) else value_of(e) for e in self.grid)


@dataclass(frozen=True)
class Program:
    """A kernel function with the data of one run.

    Attributes:
        tensors: arguments and workspaces.
        scalars: scalar arguments, which follow the tensors.
        kernels: one after the other.
        seed: of the data.
        schedule: seed of the simulator's scheduler.
    """

    tensors: tuple[Tensor, ...]
    scalars: tuple[Scalar, ...]
    kernels: tuple[Kernel, ...]
    seed: int = 0
    schedule: int = 0


def walk(node: object) -> Iterator[object]:
    """All parts of a description, from the outside in."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif is_dataclass(node):
        yield node
        for field in fields(node):
            yield from walk(getattr(node, field.name))


def features(program: Program) -> set[str]:
    """Names of what a program uses, for statistics."""
    found: set[str] = set()
    dtypes = {one.name: one.dtype for kernel in program.kernels for one in kernel.buffers}
    spaces = {one.name: one.space for kernel in program.kernels for one in kernel.buffers}
    for tensor in program.tensors:
        found.add(f"dtype {tensor.dtype}")
        if tensor.strides is not None:
            found.add("strided tensor")
        if tensor.workspace:
            found.add("workspace")
        if tensor.shift:
            found.add("misaligned base")
        if tensor.strides is not None and not tensor.data:
            found.add("strided output")
        dtypes[tensor.name], spaces[tensor.name] = tensor.dtype, "tensor"
    for scalar in program.scalars:
        found.add(f"scalar {scalar.dtype}")
    if len(program.kernels) > 1:
        found.add("several kernels")
    for kernel in program.kernels:
        found.add(f"threads {kernel.threads}")
        if kernel.swizzle:
            found.add("raster")
        if kernel.clusters:
            found.add("clusters")
    for node in walk(program):
        if isinstance(node, Dim):
            found.add("dynamic size")
        elif isinstance(node, Copy):
            if node.source.name[0] in "RW":
                found.add("read of an earlier kernel's result")
            found.add(f"copy {spaces[node.source.name]} to {spaces[node.dest.name]}")
            found |= {f"copy {side.form}" for side in (node.source, node.dest)}
            if dtypes[node.source.name] != dtypes[node.dest.name]:
                found.add("copy with cast")
        elif isinstance(node, Gemm):
            found |= {f"gemm {dtypes[node.a]}", f"gemm {node.policy}", f"gemm A in {spaces[node.a]}"}
            if node.transpose_a or node.transpose_b:
                found.add("gemm transposed")
            if node.precision == "ieee":
                found.add("gemm ieee")
        elif isinstance(node, Loop):
            found.add(f"{node.kind} loop" + (f" {node.stages} stages" if node.kind == "pipelined" else ""))
            if not isinstance(node.stop, Const):
                found.add("loop with run-time bound")
            if any(isinstance(one, If) for one in node.body):
                found.add("loop with condition")
            if any(isinstance(one, Loop) for part in node.body for one in walk(part)):
                found.add("nested loop")
        elif isinstance(node, Reduce):
            found |= {f"reduce {node.kind}", "reduce clear" if node.clear else "reduce accumulate"}
        elif isinstance(node, (Binary, Unary)):
            found.add(f"operator {node.op}")
        elif isinstance(node, (Atomic, TileAtomic)):
            found.add(f"atomic {node.op}")
        elif isinstance(node, (Fill, Scan, Transpose, If, Persistent, Parallel, Guard, Select, Cast, Compare)):
            found.add(type(node).__name__.lower())
    return found
