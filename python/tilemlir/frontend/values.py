"""Values of the traced world: run-time scalars, variables, element references, regions, buffers and tensors.

Everything else that the evaluator handles is an ordinary Python value. Operators on the classes below are forwarded
to the tracer that is active, so that helper functions in plain Python work on run-time scalars too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from ..language import context
from ..language.dtypes import DType
from ..language.symbols import SymbolicExpr
from .errors import FrontendError

if TYPE_CHECKING:
    from .._mlir import ir


def _forward(name: str) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return context.require("arithmetic on a run-time value").binary(name, self, other)

    return operator


def _forward_reflected(name: str) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return context.require("arithmetic on a run-time value").binary(name, other, self)

    return operator


def _forward_unary(name: str) -> Any:
    def operator(self: Any) -> Any:
        return context.require("arithmetic on a run-time value").unary(name, self)

    return operator


def with_article(name: object) -> str:
    """A type name in a sentence: a float32, an int32."""
    return f"{'an' if str(name)[0] in 'aeio' else 'a'} {name}"


class RuntimeValue:
    """A value that has an element type and is known only when the kernel runs."""

    __slots__ = ()

    dtype: DType

    __add__, __radd__ = _forward("add"), _forward_reflected("add")
    __sub__, __rsub__ = _forward("sub"), _forward_reflected("sub")
    __mul__, __rmul__ = _forward("mul"), _forward_reflected("mul")
    __truediv__, __rtruediv__ = _forward("div"), _forward_reflected("div")
    __floordiv__, __rfloordiv__ = _forward("floordiv"), _forward_reflected("floordiv")
    __mod__, __rmod__ = _forward("floormod"), _forward_reflected("floormod")
    __pow__, __rpow__ = _forward("pow"), _forward_reflected("pow")
    __and__, __rand__ = _forward("and"), _forward_reflected("and")
    __or__, __ror__ = _forward("or"), _forward_reflected("or")
    __xor__, __rxor__ = _forward("xor"), _forward_reflected("xor")
    __lshift__, __rlshift__ = _forward("shl"), _forward_reflected("shl")
    __rshift__, __rrshift__ = _forward("shr"), _forward_reflected("shr")
    __lt__, __le__ = _forward("lt"), _forward("le")
    __gt__, __ge__ = _forward("gt"), _forward("ge")
    __eq__, __ne__ = _forward("eq"), _forward("ne")
    __neg__, __pos__ = _forward_unary("neg"), _forward_unary("pos")
    __invert__, __abs__ = _forward_unary("invert"), _forward_unary("abs")

    def __hash__(self) -> int:
        return id(self)

    def astype(self, dtype: Any) -> Any:
        """The value converted to another type."""
        return context.require("astype").cast(self, dtype)

    def __bool__(self) -> bool:
        raise FrontendError(
            "compile-time-value",
            "a run-time value has no truth value while tracing",
            found=f"{with_article(self.dtype)} that is known only when the kernel runs",
            fix="write the condition in the kernel or in a @T.macro, where it becomes control flow of the kernel",
        )

    def _not_a_constant(self, what: str) -> NoReturn:
        raise FrontendError(
            "compile-time-value",
            f"a run-time value cannot be used as {what}",
            found=f"{with_article(self.dtype)} that is known only when the kernel runs",
            allowed="values that are known while tracing: numbers, closure variables, arguments of the factory",
        )

    def __index__(self) -> int:
        self._not_a_constant("a Python integer")

    def __int__(self) -> int:
        self._not_a_constant("a Python integer")

    def __float__(self) -> float:
        self._not_a_constant("a Python float")

    def __iter__(self) -> Any:
        self._not_a_constant("a sequence")

    def __len__(self) -> int:
        self._not_a_constant("a sequence")

    def __format__(self, specification: str) -> str:
        self._not_a_constant("text; use T.print to print it from the kernel")


class Scalar(RuntimeValue):
    """A run-time scalar, with what its form tells about it.

    Attributes:
        value: the MLIR value, signless.
        dtype: type including signedness.
        low, high: bounds that always hold, or None. For integers only.
        multiple: the largest known constant that divides it; 0 for zero.
        bare: whether it is a plain index (block or thread index, loop variable, loaded value, quotient), not a sum or
            product.
        linear: ``({atom: coefficient}, constant)`` for sums of multiples, or None for an atom.
        factor: ``(scalar, constant)`` when it was made as their product.
        constant: the Python number of a constant, or None.
    """

    __slots__ = ("bare", "constant", "dtype", "factor", "high", "linear", "low", "multiple", "value")

    def __init__(
        self,
        value: ir.Value,
        dtype: DType,
        *,
        low: int | None = None,
        high: int | None = None,
        multiple: int = 1,
        bare: bool = False,
        linear: tuple[dict[Scalar, int], int] | None = None,
        factor: tuple[Scalar, int] | None = None,
        constant: int | float | None = None,
    ) -> None:
        self.value = value
        self.dtype = dtype
        self.low = low
        self.high = high
        self.multiple = multiple
        self.bare = bare
        self.linear = linear
        self.factor = factor
        self.constant = constant

    def terms(self) -> tuple[dict[Scalar, int], int]:
        """The scalar as a sum of multiples of atoms and a constant."""
        return self.linear if self.linear is not None else ({self: 1}, 0)

    @property
    def nonnegative(self) -> bool:
        """Whether it is provably not negative."""
        return self.low is not None and self.low >= 0

    def __repr__(self) -> str:
        return f"<run-time {self.dtype}>"


class Storage:
    """A tensor or buffer that elements can be read from and written to.

    Attributes:
        value: the MLIR value (memref or ``!tile.buffer``).
        shape: extents: integers, or launch-time expressions for tensors.
        dtype: element type.
        name: the user's name for it.
    """

    __slots__ = ("_scope", "dtype", "name", "shape", "value")

    def __init__(
        self, value: ir.Value, shape: tuple[int | SymbolicExpr, ...], dtype: DType, name: str, scope: str
    ) -> None:
        self.value = value
        self.shape = shape
        self.dtype = dtype
        self.name = name
        self._scope = scope

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def data(self) -> Storage:
        """The elements, for ``T.Tensor(shape, dtype, A.data)``."""
        return self

    def scope(self) -> str:
        """``global``, ``shared``, ``fragment`` or ``local``."""
        return self._scope

    def __getitem__(self, key: Any) -> Any:
        return context.require("indexing").subscript(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        builder = context.require("a store")
        builder.store(builder.subscript(self, key), value)

    def __iter__(self) -> Any:
        raise FrontendError(
            "compile-time-value",
            f"{self.name} is a run-time tensor and cannot be iterated while tracing",
            fix="loop over an index: for i in T.serial(n)",
        )

    def __len__(self) -> int:
        extent = self.shape[0]
        if isinstance(extent, int):
            return extent
        raise FrontendError(
            "symbolic-size", f"len({self.name}) is known only at launch", fix=f"use {self.name}.shape[0]"
        )

    def __bool__(self) -> bool:
        return True

    def describe(self) -> str:
        """Name, shape and type, for messages."""
        shape = "x".join(str(extent) for extent in self.shape) or "scalar"
        place = "a fragment" if self._scope == "fragment" else f"{self._scope} memory"
        return f"{self.name}: {shape} {self.dtype} in {place}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


class Tensor(Storage):
    """A tensor in global memory: an argument, an output or a workspace."""

    __slots__ = ()


class TensorView(Tensor):
    """A tensor under another shape.

    Attributes:
        base: the tensor.
        groups: which dimensions of the view and of the tensor belong together; see the module ``views``.
    """

    __slots__ = ("base", "groups")

    def __init__(self, base: Tensor, shape: tuple[int | SymbolicExpr, ...], groups: list[Any]) -> None:
        super().__init__(base.value, shape, base.dtype, base.name, "global")
        self.base = base
        self.groups = groups


class Buffer(Storage):
    """A tile in shared memory, in a fragment or in local memory, or a view of one."""

    __slots__ = ()


class Barriers:
    """A row of mbarriers in shared memory.

    Attributes:
        value: the ``!tile.buffer`` of barriers.
        counts: arrivals that complete a phase, one number per barrier.
        name: the user's name for it.
    """

    __slots__ = ("counts", "name", "value")

    def __init__(self, value: ir.Value, counts: tuple[int, ...], name: str) -> None:
        self.value = value
        self.counts = counts
        self.name = name

    @property
    def shape(self) -> tuple[int, ...]:
        """One extent: the number of barriers."""
        return (len(self.counts),)

    def scope(self) -> str:
        """Always ``shared.barrier``."""
        return "shared.barrier"

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, key: Any) -> Barrier:
        barrier: Barrier = context.require("indexing").barrier(self, key)
        return barrier

    def __repr__(self) -> str:
        return f"{self.name}: {len(self.counts)} barrier{'s' if len(self.counts) != 1 else ''}"


class Barrier:
    """``bars[i]``: one barrier of a row.

    Attributes:
        barriers: the row.
        index: a Python integer or a scalar.
    """

    __slots__ = ("barriers", "index")

    def __init__(self, barriers: Barriers, index: Any) -> None:
        self.barriers = barriers
        self.index = index

    def __repr__(self) -> str:
        return f"a barrier of {self.barriers.name}"


class Reference(RuntimeValue):
    """Something that holds one scalar: it can be read, and assigned to."""

    __slots__ = ()


class Variable(Reference):
    """A scalar variable of each thread.

    Attributes:
        value: rank-0 local buffer.
        dtype: its type.
        name: the user's name for it.
        implicit: whether it stands for a Python name that is rebound under run-time control flow.
        line: where it became one, for messages.
    """

    __slots__ = ("dtype", "implicit", "line", "name", "value")

    def __init__(self, value: ir.Value, dtype: DType, name: str, *, implicit: bool = False, line: int = 0) -> None:
        self.value = value
        self.dtype = dtype
        self.name = name
        self.implicit = implicit
        self.line = line

    @property
    def shape(self) -> tuple[int, ...]:
        """Like a buffer of one element."""
        return (1,)

    def scope(self) -> str:
        """Always ``local.var``."""
        return "local.var"

    def __getitem__(self, key: Any) -> Variable:
        if key != 0 or isinstance(key, RuntimeValue):
            raise FrontendError(
                "index", f"{self.name} is one scalar: only {self.name}[0] exists", found=f"index {key!r}"
            )
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        context.require("a store").store(self[key], value)

    def __repr__(self) -> str:
        return f"<variable {self.name}: {self.dtype}>"


class Element(Reference):
    """``A[i, j]``: one element of a tensor or buffer, read when it is used.

    Attributes:
        storage: the tensor or buffer.
        indices: one per dimension, Python integers or scalars.
    """

    __slots__ = ("indices", "storage")

    def __init__(self, storage: Storage, indices: tuple[Any, ...]) -> None:
        self.storage = storage
        self.indices = indices

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """Element type of the storage."""
        return self.storage.dtype

    def __repr__(self) -> str:
        return f"<element of {self.storage.name}>"


class Region:
    """A rectangular part of a tensor or buffer.

    Attributes:
        storage: the tensor or buffer.
        offsets: one per dimension, Python integers or scalars.
        sizes: one per dimension: constants, or None where the other side of a copy decides.
        kept: per dimension, whether the part keeps it; a plain index drops its dimension.
    """

    __slots__ = ("kept", "offsets", "sizes", "storage")

    def __init__(
        self, storage: Storage, offsets: tuple[Any, ...], sizes: tuple[int | None, ...], kept: tuple[bool, ...]
    ) -> None:
        self.storage = storage
        self.offsets = offsets
        self.sizes = sizes
        self.kept = kept

    @property
    def dtype(self) -> DType:
        """Element type of the storage."""
        return self.storage.dtype

    @property
    def name(self) -> str:
        """Name of the storage."""
        return self.storage.name

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Extents of the dimensions that the part keeps."""
        return tuple(size for size, kept in zip(self.sizes, self.kept, strict=True) if kept)

    def scope(self) -> str:
        """Where the storage lives."""
        return self.storage.scope()

    def __getitem__(self, key: Any) -> Any:
        return context.require("indexing").subscript_region(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        builder = context.require("a store")
        builder.store(builder.subscript_region(self, key), value)

    def __repr__(self) -> str:
        return f"<part of {self.storage.name}>"


def combined_multiple(a: int, b: int) -> int:
    """The largest known divisor of a sum of multiples of ``a`` and ``b``."""
    return math.gcd(a, b)
