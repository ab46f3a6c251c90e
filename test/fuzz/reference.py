"""Evaluates a described program with NumPy, block after block, with error bounds (see ``values``)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fuzz import values as v
from fuzz.elements import ELEMENTS, TF32, Element, lowest_bit, round_to, spacing
from fuzz.program import (
    Assign,
    Atomic,
    Binary,
    Cast,
    Compare,
    Const,
    Copy,
    Expr,
    Fill,
    Gemm,
    Guard,
    If,
    Kernel,
    Load,
    Logic,
    Loop,
    Parallel,
    Persistent,
    Program,
    Reduce,
    Region,
    Scan,
    Select,
    Tensor,
    TileAtomic,
    Transpose,
    Unary,
    Var,
    common_type,
    value_of,
)
from fuzz.values import Value

#: Executed statements after which a program is too long to be useful.
LIMIT = 6000


class InvalidProgram(Exception):
    """The description has no meaning: it reads what nobody wrote, a decision hangs on rounding, or blocks race."""


@dataclass
class Memory:
    """A tensor or buffer: values, error bounds (NaN: nobody wrote it), and for tensors what kernels wrote."""

    element: Element
    values: np.ndarray
    errors: np.ndarray
    written: np.ndarray
    is_tensor: bool


class Sharing:
    """Which blocks of a launch touch the elements of a tensor, and how.

    Nothing orders blocks: what several of them touch, all of them only read, or all of them only change atomically.

    Args:
        name: of the tensor.
        shape: of the tensor.
    """

    READ, WRITE, ATOMIC = 1, 2, 4
    _NOBODY, _SEVERAL = -1, -2

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name = name
        self._block = np.full(shape, self._NOBODY, np.int32)
        self._kinds = np.zeros(shape, np.uint8)

    def touch(self, block: int, at: tuple, kind: int) -> None:
        """Notes an access.

        Args:
            block: its number in the launch.
            at: an index of NumPy, inside of the tensor.
            kind: READ, WRITE or ATOMIC.

        Raises:
            InvalidProgram: another block may do something else there at the same time.
        """
        before = self._block[at]
        now = np.where((before == self._NOBODY) | (before == block), block, self._SEVERAL)
        kinds = self._kinds[at] | np.uint8(kind)
        if ((now == self._SEVERAL) & (kinds != self.READ) & (kinds != self.ATOMIC)).any():
            raise InvalidProgram(f"blocks race for {self.name}")
        self._block[at], self._kinds[at] = now, kinds


def fill_values(tensor: Tensor, rng: np.random.Generator) -> np.ndarray:
    """Data of an input tensor."""
    element = ELEMENTS[tensor.dtype]
    shape = tuple(value_of(size) for size in tensor.shape)
    if tensor.data == "flags":
        return rng.integers(0, 2, shape).astype(element.numpy)
    if element.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    low = 0 if element.kind == "uint" else -3
    if tensor.data == "small" or (tensor.data in ("quarters", "normal") and not element.is_float):
        return rng.integers(low, 4, shape).astype(element.numpy)
    if tensor.data == "wide":
        if element.is_float:
            return round_to(rng.integers(-99, 100, shape).astype(np.float64), element)
        bits = min(element.bits, 31)
        return rng.integers(max(element.low, -(1 << bits)), min(element.high, 1 << bits), shape).astype(element.numpy)
    if tensor.data == "quarters":
        return round_to(rng.integers(-16, 17, shape) / 4.0, element)
    return round_to(rng.standard_normal(shape), element)


class Reference:
    """All tensors of a program and the evaluation of its kernels.

    Args:
        program: what to run.

    Attributes:
        inputs: values of the tensors with data, as they were filled.
        memories: tensors by name; after :meth:`run` with the results.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memories: dict[str, Memory] = {}
        self.inputs: dict[str, np.ndarray] = {}
        self.steps = 0
        self._sharing: dict[str, Sharing] = {}
        self._number = 0
        for position, tensor in enumerate(program.tensors):
            element = ELEMENTS[tensor.dtype]
            shape = tuple(value_of(size) for size in tensor.shape)
            if tensor.data:
                values = fill_values(tensor, np.random.default_rng([program.seed, position]))
                self.inputs[tensor.name] = values
                errors = np.zeros(shape)
            else:
                values, errors = np.zeros(shape, element.numpy), np.full(shape, np.nan)
            self.memories[tensor.name] = Memory(element, values.copy(), errors, np.zeros(shape, bool), True)
        self.names: dict[str, Value] = {}
        for scalar in program.scalars:
            element = ELEMENTS[scalar.dtype]
            self.names[scalar.name] = v.exact(element, np.asarray(scalar.value, element.numpy))

    def run(self) -> Mapping[str, Memory]:
        """Evaluates all kernels; returns the memories of all tensors."""
        for kernel in self.program.kernels:
            extents = kernel.extents()
            self._sharing = {name: Sharing(name, one.values.shape) for name, one in self.memories.items()}
            blocks = itertools.product(*(range(extent) for extent in reversed(extents)))
            for self._number, block in enumerate(blocks):
                self._block(kernel, tuple(reversed(block)))
        return self.memories

    def _block(self, kernel: Kernel, block: tuple[int, ...]) -> None:
        for buffer in kernel.buffers:
            element = ELEMENTS[buffer.dtype]
            nothing = np.zeros(buffer.shape, element.numpy)
            self.memories[buffer.name] = Memory(
                element, nothing, np.full(buffer.shape, np.nan), np.zeros(buffer.shape, bool), False
            )
        for name, index in zip(kernel.names, block, strict=True):
            self._bind(name, index)
        self._statements(kernel.body)
        for buffer in kernel.buffers:
            del self.memories[buffer.name]

    def _touch(self, name: str, at: tuple, kind: int) -> None:
        """An access of the current block to a memory; only tensors are shared."""
        if self.memories[name].is_tensor:
            self._sharing[name].touch(self._number, at, kind)

    def _bind(self, name: str, index: int) -> None:
        self.names[name] = v.exact(ELEMENTS["int32"], np.asarray(index, np.int32))

    # Expressions.

    def _evaluate(self, expr: Expr, mask: np.ndarray | None = None) -> Value:
        if isinstance(expr, Const):
            element = ELEMENTS[expr.dtype]
            if expr.type is not None and element.is_float:
                return v.exact(element, round_to(np.asarray(float(expr.value)), element))
            return v.exact(element, np.asarray(expr.value, element.numpy))
        if isinstance(expr, Var):
            return self.names[expr.name]
        if isinstance(expr, Load):
            return self._load(expr, mask)
        if isinstance(expr, (Binary, Compare)):
            op = expr.op
            kind = ELEMENTS[common_type(expr.left, expr.right, op)]
            left, right = (self._operand(one, kind, mask) for one in (expr.left, expr.right))
            return (v.binary if isinstance(expr, Binary) else v.compare)(op, left, right, kind)
        if isinstance(expr, Logic):
            return v.logic(expr.op, self._evaluate(expr.left, mask), self._evaluate(expr.right, mask))
        if isinstance(expr, Unary):
            return v.unary(expr.op, self._evaluate(expr.operand, mask))
        if isinstance(expr, Cast):
            return v.convert(self._evaluate(expr.operand, mask), ELEMENTS[expr.dtype])
        assert isinstance(expr, Select)
        parts = [self._evaluate(one, mask) for one in (expr.condition, expr.then, expr.otherwise)]
        return v.select(*parts)

    def _operand(self, expr: Expr, kind: Element, mask: np.ndarray | None) -> Value:
        if isinstance(expr, Const) and expr.type is None:
            # A Python number takes the type of the operation directly.
            if kind.is_float:
                return v.exact(kind, round_to(np.asarray(float(expr.value)), kind))
            return v.exact(kind, np.asarray(expr.value).astype(kind.numpy))
        return self._evaluate(expr, mask)

    def _places(self, name: str, indices: tuple[Expr, ...], mask: np.ndarray | None):
        """Index arrays inside of the memory, and where they had been inside."""
        memory = self.memories[name]
        arrays = [self._evaluate(index, mask).values.astype(np.int64) for index in indices]
        arrays = np.broadcast_arrays(*arrays)
        inside = np.ones(arrays[0].shape, bool)
        places = []
        for array, extent in zip(arrays, memory.values.shape, strict=True):
            inside &= (array >= 0) & (array < extent)
            places.append(np.clip(array, 0, max(extent - 1, 0)))
        if not memory.is_tensor:
            checked = inside if mask is None else inside | ~np.broadcast_to(mask, np.broadcast_shapes(mask.shape, inside.shape))  # noqa: E501  # fmt: skip
            if not checked.all():
                raise InvalidProgram(f"an index of {name} is outside")
        return tuple(places), inside

    def _load(self, expr: Load, mask: np.ndarray | None) -> Value:
        memory = self.memories[expr.name]
        places, inside = self._places(expr.name, expr.indices, mask)
        if 0 in memory.values.shape:
            return v.exact(memory.element, np.zeros(inside.shape, memory.element.numpy))
        used = inside if mask is None else inside & mask
        self._touch(expr.name, tuple(np.broadcast_to(place, used.shape)[used] for place in places), Sharing.READ)
        values, errors = memory.values[places], memory.errors[places]
        unknown = np.isnan(errors) & inside
        if (unknown if mask is None else unknown & mask).any():
            raise InvalidProgram(f"{expr.name} is read where nobody wrote")
        errors = np.where(np.isnan(errors), np.inf, errors)
        zero = np.zeros((), memory.element.numpy)
        return Value(memory.element, np.where(inside, values, zero), np.where(inside, errors, 0.0))

    def _decide(self, expr: Expr) -> Value:
        """A scalar that control flow depends on."""
        value = self._evaluate(expr)
        if (value.errors > 0).any():
            raise InvalidProgram("control flow depends on rounding")
        return value

    # Statements.

    def _statements(self, body: tuple) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > LIMIT:
                raise InvalidProgram("too long")
            self._statement(statement)

    def _statement(self, statement: object) -> None:
        if isinstance(statement, Copy):
            self._copy(statement)
        elif isinstance(statement, Fill):
            memory = self.memories[statement.name]
            element = memory.element
            value = np.asarray(float(statement.value) if element.is_float else statement.value)
            memory.values[...] = round_to(value, element) if element.is_float else value.astype(element.numpy)
            memory.errors[...] = 0.0
            memory.written[...] = True
        elif isinstance(statement, Gemm):
            self._gemm(statement)
        elif isinstance(statement, Parallel):
            self._parallel(statement)
        elif isinstance(statement, Reduce):
            self._reduce(statement)
        elif isinstance(statement, Scan):
            self._scan(statement)
        elif isinstance(statement, Transpose):
            self._put(statement.dest, Value(self._whole(statement.source).element,
                      self._whole(statement.source).values.T, self._whole(statement.source).errors.T))  # fmt: skip
        elif isinstance(statement, TileAtomic):
            source = self._whole(statement.source)
            grids = np.meshgrid(*(np.arange(extent) for extent in source.values.shape), indexing="ij")
            offsets = self._offsets(statement.dest)
            extents = statement.dest.extents or source.values.shape
            remaining = iter(grids)
            places = [
                np.zeros(source.values.shape, np.int64) + offset if extent is None else next(remaining) + offset
                for offset, extent in zip(offsets or [0] * len(extents), extents, strict=True)
            ]
            self._atomic(statement.op, statement.dest.name, places, source, np.ones(source.values.shape, bool))
        elif isinstance(statement, If):
            condition = self._decide(statement.condition)
            self._statements(statement.then if bool(condition.values) else statement.otherwise)
        elif isinstance(statement, Loop):
            stop = int(self._decide(statement.stop).values)
            for index in range(statement.start, stop):
                self._bind(statement.name, index)
                self._statements(statement.body)
        else:
            assert isinstance(statement, Persistent)
            worker = int(self.names[statement.index].values)
            tiles = list(itertools.product(*(range(extent) for extent in statement.domain)))
            for tile in tiles[worker :: statement.workers]:
                for name, index in zip(statement.names, tile, strict=True):
                    self._bind(name, index)
                self._statements(statement.body)

    def _whole(self, name: str) -> Value:
        memory = self.memories[name]
        if np.isnan(memory.errors).any():
            raise InvalidProgram(f"{name} is read where nobody wrote")
        return Value(memory.element, memory.values, memory.errors)

    def _put(self, name: str, value: Value) -> None:
        memory = self.memories[name]
        value = v.convert(value, memory.element)
        memory.values[...] = value.values
        memory.errors[...] = value.errors
        memory.written[...] = True

    def _offsets(self, region: Region) -> list[int]:
        return [int(self._decide(offset).values) for offset in region.offsets]

    def _window(self, region: Region, other: Region) -> tuple[list[int], list[int]]:
        """Offsets and extents per dimension of one side of a copy."""
        memory = self.memories[region.name]
        if region.form != "whole":
            return self._offsets(region), [1 if extent is None else extent for extent in region.extents]
        extents = list(memory.values.shape)
        if memory.is_tensor and other.form == "whole" and not self.memories[other.name].is_tensor:
            extents = list(self.memories[other.name].values.shape)
        return [0] * len(extents), extents

    def _copy(self, statement: Copy) -> None:
        source, dest = self.memories[statement.source.name], self.memories[statement.dest.name]
        offsets, extents = self._window(statement.source, statement.dest)
        values = np.zeros(extents, source.element.numpy)
        errors = np.zeros(extents)
        inner, outer = _overlap(offsets, extents, source, statement.source.name)
        self._touch(statement.source.name, inner, Sharing.READ)
        values[outer], errors[outer] = source.values[inner], source.errors[inner]
        if np.isnan(errors).any():
            raise InvalidProgram(f"{statement.source.name} is copied where nobody wrote")
        value = v.convert(Value(source.element, values, errors), dest.element)
        offsets, extents = self._window(statement.dest, statement.source)
        inner, outer = _overlap(offsets, extents, dest, statement.dest.name)
        self._touch(statement.dest.name, inner, Sharing.WRITE)
        dest.values[inner] = value.values.reshape(extents)[outer]
        dest.errors[inner] = np.broadcast_to(value.errors, values.shape).reshape(extents)[outer]
        dest.written[inner] = True

    def _gemm(self, statement: Gemm) -> None:
        a, b, c = self._whole(statement.a), self._whole(statement.b), self.memories[statement.c]
        if a.element.name == "float32" and statement.precision == "tf32":
            a, b = (_rounded_operand(one) for one in (a, b))
        if statement.transpose_a:
            a = Value(a.element, a.values.T, a.errors.T)
        if statement.transpose_b:
            b = Value(b.element, b.values.T, b.errors.T)
        old = None if statement.clear else self._whole(statement.c)
        self._put(statement.c, v.product(a, b, old, c.element))

    def _reduce(self, statement: Reduce) -> None:
        source = self._whole(statement.source)
        dest = self.memories[statement.dest]
        kind, axis = statement.kind, statement.dim
        if kind.startswith("abs"):
            source, kind = v.unary("abs", source), kind[3:]
        if kind == "sum":
            # The sum is taken in one of the two types, or in a wider one.
            precision = min(dest.element.precision or 24, source.element.precision or 24, 53)
            wide = dest.element if not source.element.is_float or dest.element.is_float else source.element
            narrow = ELEMENTS["float64"] if wide.is_float else wide
            largest = (
                min(one.largest for one in (dest.element, source.element) if one.is_float) if wide.is_float else 0.0
            )
            result = v.total(source, axis, narrow, precision, largest)
        elif kind in ("max", "min"):
            function = np.fmax if kind == "max" else np.fmin
            result = Value(source.element, function.reduce(source.values, axis=axis), source.errors.max(axis=axis))
        else:
            function = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}[kind]
            lost = np.where((source.errors > 0).any(axis=axis), np.inf, 0.0)
            result = Value(source.element, function.reduce(source.values, axis=axis), lost)
        result = Value(result.element, result.values.reshape(dest.values.shape), result.errors.reshape(dest.values.shape))  # noqa: E501  # fmt: skip
        if not statement.clear:
            old = self._whole(statement.dest)
            if statement.kind == "absmax":
                old = v.unary("abs", old)
            op = {"sum": "+", "bitand": "&", "bitor": "|", "bitxor": "^"}.get(kind, kind)
            result = v.binary(op, v.convert(result, dest.element) if not dest.element.is_float else result, old,
                              ELEMENTS["float64"] if dest.element.is_float else dest.element)  # fmt: skip
            if dest.element.is_float and kind == "sum":
                # Old contents may be added first, last, or rounded in between.
                exact = round_to(result.values, dest.element) == result.values
                room = spacing(result.values, dest.element) + spacing(old.values, dest.element)
                result = Value(result.element, result.values, result.errors + np.where(exact, 0.0, room))
        self._put(statement.dest, result)

    def _scan(self, statement: Scan) -> None:
        source = self._whole(statement.source)
        dest = self.memories[statement.dest or statement.source]
        value = v.convert(source, dest.element)
        values, errors = (np.flip(one, statement.dim) if statement.reverse else one for one in (value.values, value.errors))  # noqa: E501  # fmt: skip
        values, errors = (np.moveaxis(one, statement.dim, 0).copy() for one in (values, errors + np.zeros(values.shape)))  # noqa: E501  # fmt: skip
        for position in range(1, values.shape[0]):
            left = Value(dest.element, values[position - 1], errors[position - 1])
            right = Value(dest.element, values[position], errors[position])
            made = v.binary("+" if statement.kind == "sum" else "max", left, right, dest.element)
            values[position], errors[position] = made.values, made.errors
        values, errors = (np.moveaxis(one, 0, statement.dim) for one in (values, errors))
        if statement.reverse:
            values, errors = np.flip(values, statement.dim), np.flip(errors, statement.dim)
        self._put(statement.dest or statement.source, Value(dest.element, values, errors))

    # Elementwise statements.

    def _parallel(self, statement: Parallel) -> None:
        grids = np.meshgrid(*(np.arange(extent, dtype=np.int32) for extent in statement.extents), indexing="ij")
        for name, grid in zip(statement.names, grids, strict=True):
            self.names[name] = v.exact(ELEMENTS["int32"], grid)
        mask = np.ones(statement.extents, bool)
        for one in statement.body:
            self._elementwise(one, mask, statement.extents)

    def _elementwise(self, statement: Assign | Atomic | Guard, mask: np.ndarray, extents: tuple[int, ...]) -> None:
        if isinstance(statement, Guard):
            condition = self._evaluate(statement.condition, mask)
            unknown = np.broadcast_to(condition.errors > 0, extents) & mask
            if unknown.any():
                raise InvalidProgram("a guard depends on rounding")
            holds = np.broadcast_to(condition.values, extents)
            for one in statement.then:
                self._elementwise(one, mask & holds, extents)
            for one in statement.otherwise:
                self._elementwise(one, mask & ~holds, extents)
            return
        target = statement.target
        memory = self.memories[target.name]
        value = self._evaluate(statement.value, mask)
        places, inside = self._places(target.name, target.indices, mask)
        inside = np.broadcast_to(inside, extents) & mask
        places = [np.broadcast_to(place, extents) for place in places]
        if isinstance(statement, Atomic):
            self._atomic(statement.op, target.name, places, value, inside)
            return
        if statement.op:
            old = self._load(target, mask)
            literal = isinstance(statement.value, Const) and statement.value.type is None
            kind = ELEMENTS[common_type(target, statement.value, statement.op)]
            right = self._operand(statement.value, kind, mask) if literal else value
            value = v.binary(statement.op, old, right, kind)
        value = v.convert(value, memory.element)
        at = tuple(place[inside] for place in places)
        self._touch(target.name, at, Sharing.WRITE)
        memory.values[at] = np.broadcast_to(value.values, extents)[inside]
        memory.errors[at] = np.broadcast_to(value.errors, extents)[inside]
        memory.written[at] = True

    def _atomic(self, op: str, name: str, places: list[np.ndarray], value: Value, mask: np.ndarray) -> None:
        memory = self.memories[name]
        element = memory.element
        value = v.convert(value, element)
        for place, extent in zip(places, memory.values.shape, strict=True):
            mask = mask & (place >= 0) & (place < extent)
        at = tuple(place[mask] for place in places)
        self._touch(name, at, Sharing.ATOMIC)
        values = np.broadcast_to(value.values, mask.shape)[mask]
        errors = np.broadcast_to(value.errors, mask.shape)[mask]
        if np.isnan(memory.errors[at]).any():
            raise InvalidProgram(f"an atomic on {name} where nobody wrote")
        function = {"add": np.add, "max": np.maximum, "min": np.minimum, "or": np.bitwise_or}[op]
        with np.errstate(all="ignore"):
            if element.is_float and op == "add":
                size = np.abs(memory.values)
                np.add.at(size, at, np.abs(values))
                bit = min(lowest_bit(values), lowest_bit(memory.values))
                np.add.at(memory.errors, at, errors + np.where(size[at] <= bit * 2.0**element.precision, 0.0,
                          size[at] * 2.0 ** (1 - element.precision)))  # fmt: skip
            else:
                np.maximum.at(memory.errors, at, errors)
            function.at(memory.values, at, values)
            if element.is_float:
                memory.values[at] = np.where(memory.errors[at] > 0, memory.values[at],
                                             round_to(memory.values[at], element))  # fmt: skip
        memory.written[at] = True


def _rounded_operand(value: Value) -> Value:
    """An operand of a product as tf32; which way a tie goes is left open."""
    rounded = round_to(value.values, TF32)
    return Value(TF32, value.values, value.errors + np.where(rounded != value.values, spacing(value.values, TF32), 0.0))


def _overlap(offsets: list[int], extents: list[int], memory: Memory, name: str):
    """Slices of a memory and of a window on it that lie on each other."""
    inner, outer = [], []
    for offset, extent, size in zip(offsets, extents, memory.values.shape, strict=True):
        low, high = max(offset, 0), min(offset + extent, size)
        high = max(high, low)
        if not memory.is_tensor and (offset < 0 or offset + extent > size):
            raise InvalidProgram(f"a region of {name} is outside")
        if high == low:
            low = high = 0
            inner.append(slice(0, 0))
            outer.append(slice(0, 0))
            continue
        inner.append(slice(low, high))
        outer.append(slice(low - offset, high - offset))
    return tuple(inner), tuple(outer)
