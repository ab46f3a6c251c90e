"""Executes `tile` IR on NumPy arrays, and checks the synchronisation of shared memory while doing so.

All threads of a block run the same operations; every collective operation is taken to be spread over them in an unknown
way. Shared memory is one range of bytes in which tile-allocate-memory's offsets are honoured. For every byte the
interpreter knows in which barrier interval it was last read and written, so that an access by another thread without a
barrier in between is found, wherever it happens. Asynchronous copies arrive as late as the program allows, at the wait
that covers their group; until then their destination holds 0xFF bytes (NaN), and touching it is an error.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from generic_ir import Block, Operation, integer_list

__all__ = ["Interpreter", "SynchronisationError", "numpy_dtype"]

_DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "index": np.int64,
}
_DYNAMIC = -(2**63)


class SynchronisationError(Exception):
    """An access to shared memory that is not ordered with one of another thread."""


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy type of an MLIR element type name."""
    dtype: np.dtype = np.dtype(_DTYPES[name])
    return dtype


def _element_type(text: str) -> str:
    """Element type of ``memref<?x4xf16, ...>`` or ``!tile.buffer<4x4xf32, shared>``; scalars give themselves."""
    if "<" not in text:
        return text
    body = text[text.index("<") + 1 : text.rindex(">")]
    return body.split(",")[0].strip().split("x")[-1]


def _shape(text: str) -> list[int]:
    body = text[text.index("<") + 1 : text.rindex(">")].split(",")[0].strip()
    return [int(extent) for extent in body.split("x")[:-1] if extent != "?"]


def _constant(text: str) -> Any:
    value, _, kind = text.rpartition(" : ")
    if not value:
        return text == "true"
    dtype = numpy_dtype(kind.strip())
    value = value.strip()
    if value.startswith("0x"):
        bits = np.array([int(value, 16)], dtype=f"u{dtype.itemsize}")
        return bits.view(dtype)[0]
    return dtype.type(float(value) if dtype.kind not in "ib" else int(value))


@dataclass
class _Allocation:
    """Storage of a buffer. ``base`` is the byte offset in shared memory, or None for other spaces."""

    name: str
    dtype: np.dtype
    base: int | None
    data: np.ndarray | None


@dataclass
class _Handle:
    """A view: the flat element index of each of its elements in the allocation."""

    allocation: _Allocation
    index: np.ndarray


@dataclass
class _AsyncCopy:
    offsets: np.ndarray
    content: np.ndarray
    description: str


@dataclass
class _Shadow:
    """When, and by which thread (-1: unknown), each byte or element was last written and read."""

    size: int
    written: np.ndarray = field(init=False)
    writer: np.ndarray = field(init=False)
    read: np.ndarray = field(init=False)
    reader: np.ndarray = field(init=False)
    in_flight: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.written = np.full(self.size, -1, np.int64)
        self.read = np.full(self.size, -1, np.int64)
        self.writer = np.full(self.size, -1, np.int64)
        self.reader = np.full(self.size, -1, np.int64)
        self.in_flight = np.zeros(self.size, np.bool_)


@dataclass
class _Shared:
    """Shared memory of a block with its shadow state, one entry for each byte."""

    size: int
    memory: np.ndarray = field(init=False)
    shadow: _Shadow = field(init=False)

    def __post_init__(self) -> None:
        self.memory = np.full(self.size, 0xFF, np.uint8)
        self.shadow = _Shadow(self.size)


class Interpreter:
    """Runs the kernels of one function.

    Args:
        module: the module in generic form.
        check: find unordered accesses of shared memory; needs IR after tile-insert-sync.
        asynchronous: asynchronous copies arrive at their wait; needs IR after tile-insert-mbarriers.
    """

    def __init__(self, module: Operation, *, check: bool, asynchronous: bool) -> None:
        self.function = next(op for op in module.walk() if op.name == "func.func")
        self.check = check
        self.asynchronous = asynchronous
        self.values: dict[str, Any] = {}
        self.tokens: dict[Any, int] = {}
        #: Barriers that a block has executed; the largest number over all blocks.
        self.barriers = 0
        #: Whether asynchronous copies were ever behind each other in flight.
        self.most_groups_in_flight = 0

    def run(self, *arguments: Any) -> None:
        """Runs the function; tensors are changed in place."""
        block = self.function.regions[0][0]
        for (name, kind), argument in zip(block.arguments, arguments, strict=True):
            self.values[name] = argument if isinstance(argument, np.ndarray) else numpy_dtype(kind).type(argument)
        self._block(block)

    # Control flow

    def _block(self, block: Block) -> list[Any]:
        for op in block.operations:
            if op.name in ("scf.yield", "func.return"):
                return [self.values[name] for name in op.operands]
            if op.name == "scf.condition":
                return [self.values[name] for name in op.operands]
            self._operation(op)
        return []

    def _operation(self, op: Operation) -> None:
        handler: Callable[[Operation], Any] | None = getattr(self, "_" + op.name.replace(".", "_"), None)
        if handler is None:
            raise NotImplementedError(f"the interpreter does not know {op.name}")
        with np.errstate(all="ignore"):
            result = handler(op)
        if op.results:
            results = result if isinstance(result, list) else [result]
            for name, value in zip(op.results, results, strict=True):
                self.values[name] = value

    def _args(self, op: Operation) -> list[Any]:
        return [self.values[name] for name in op.operands]

    def _scf_if(self, op: Operation) -> list[Any]:
        region = op.regions[0] if self._args(op)[0] else op.regions[1]
        return self._block(region[0]) if region else []

    def _scf_for(self, op: Operation) -> list[Any]:
        lower, upper, step, *carried = self._args(op)
        block = op.regions[0][0]
        for position in range(int(lower), int(upper), int(step)):
            names = [name for name, _ in block.arguments]
            self.values.update(zip(names, [type(lower)(position), *carried], strict=True))
            carried = self._block(block)
        return carried

    def _scf_while(self, op: Operation) -> list[Any]:
        carried = self._args(op)
        before, after = op.regions[0][0], op.regions[1][0]
        while True:
            self.values.update(zip([name for name, _ in before.arguments], carried, strict=True))
            condition, *passed = self._block(before)
            if not condition:
                return passed
            self.values.update(zip([name for name, _ in after.arguments], passed, strict=True))
            carried = self._block(after)

    def _tile_pipelined(self, op: Operation) -> None:
        lower, upper = self._args(op)
        block = op.regions[0][0]
        for position in range(int(lower), int(upper)):
            self.values[block.arguments[0][0]] = np.int32(position)
            self._block(block)

    def _tile_kernel(self, op: Operation) -> None:
        grid = [int(extent) for extent in self._args(op)]
        block = op.regions[0][0]
        size = op.integer("tile.shared_bytes", 0)
        for linear in range(math.prod(grid)):
            self.allocated = 0
            self.shared = _Shared(size or 1 << 20)
            self.tensors: dict[int, _Shadow] = {}
            self.epoch = 0
            self.groups: list[list[_AsyncCopy]] = []
            self.open_group: list[_AsyncCopy] = []
            for (name, _), extent in zip(block.arguments, grid, strict=True):
                self.values[name] = np.int32(linear % extent)
                linear //= extent
            self._block(block)
            if self.asynchronous and (self.open_group or any(self.groups)):
                raise SynchronisationError("the kernel ends with copies in flight")
            self.barriers = max(self.barriers, self.epoch)

    # Storage

    def _tile_alloc(self, op: Operation) -> _Handle:
        kind = op.result_types[0]
        shape, dtype = _shape(kind), numpy_dtype(_element_type(kind))
        count = math.prod(shape)
        name = op.attributes.get("name", "?")
        index = np.arange(count).reshape(shape)
        if ", shared" not in kind:
            poison = np.full(count * dtype.itemsize, 0xFF, np.uint8).view(dtype)
            return _Handle(_Allocation(name, dtype, None, poison), index)
        if "tile.shared_offset" in op.attributes:
            base = op.integer("tile.shared_offset")
        else:
            base, self.allocated = self.allocated, self.allocated + count * dtype.itemsize
        return _Handle(_Allocation(name, dtype, base, None), index)

    def _tile_subview(self, op: Operation) -> _Handle:
        source, *offsets = self._args(op)
        sizes = integer_list(op.attributes["sizes"])
        return _Handle(source.allocation, self._box(source, offsets, sizes).reshape(_shape(op.result_types[0])))

    def _tile_reshape(self, op: Operation) -> _Handle:
        (source,) = self._args(op)
        return _Handle(source.allocation, source.index.reshape(_shape(op.result_types[0])))

    @staticmethod
    def _box(handle: _Handle, offsets: Sequence[Any], sizes: Sequence[int]) -> np.ndarray:
        for offset, size, extent in zip(offsets, sizes, handle.index.shape, strict=True):
            if offset < 0 or offset + size > extent:
                raise IndexError(f"{handle.allocation.name}: [{offset}, {offset + size}) of {extent}")
        return handle.index[tuple(slice(int(o), int(o) + s) for o, s in zip(offsets, sizes, strict=True))]

    def _bytes(self, allocation: _Allocation, index: np.ndarray) -> np.ndarray:
        assert allocation.base is not None
        size = allocation.dtype.itemsize
        return allocation.base + index.reshape(-1, 1) * size + np.arange(size)

    def _note_read(self, shadow: _Shadow, offsets: np.ndarray, what: str, thread: np.ndarray | int = -1) -> None:
        if not self.check:
            return
        flat = offsets.ravel()
        threads = np.broadcast_to(np.asarray(thread).reshape(-1, 1), offsets.shape).ravel()
        if shadow.in_flight[flat].any():
            raise SynchronisationError(f"{what} reads data that may not have arrived")
        other = (shadow.writer[flat] != threads) | (threads < 0)
        if ((shadow.written[flat] == self.epoch) & other).any():
            raise SynchronisationError(f"{what} reads what other threads wrote without a barrier in between")
        same = (shadow.read[flat] < self.epoch) | (shadow.reader[flat] == threads)
        shadow.reader[flat] = np.where(same, threads, -1)
        shadow.read[flat] = self.epoch

    def _note_write(
        self,
        shadow: _Shadow,
        offsets: np.ndarray,
        what: str,
        thread: np.ndarray | int = -1,
        *,
        before_barrier: bool = False,
    ) -> None:
        if not self.check:
            return
        flat = offsets.ravel()
        threads = np.broadcast_to(np.asarray(thread).reshape(-1, 1), offsets.shape).ravel()
        if shadow.in_flight[flat].any():
            raise SynchronisationError(f"{what} overwrites memory that an asynchronous copy is writing")
        if ((shadow.written[flat] == self.epoch) & ((shadow.writer[flat] != threads) | (threads < 0))).any():
            raise SynchronisationError(f"{what} overwrites what other threads wrote without a barrier in between")
        if ((shadow.read[flat] == self.epoch) & ((shadow.reader[flat] != threads) | (threads < 0))).any():
            raise SynchronisationError(f"{what} overwrites what other threads read without a barrier in between")
        if not before_barrier:
            shadow.written[flat] = self.epoch
            shadow.writer[flat] = threads

    def _load(self, handle: _Handle, index: np.ndarray, what: str, thread: np.ndarray | int = -1) -> np.ndarray:
        allocation = handle.allocation
        if allocation.base is None:
            assert allocation.data is not None
            return np.asarray(allocation.data[index])
        offsets = self._bytes(allocation, index)
        self._note_read(self.shared.shadow, offsets, what, thread)
        return np.asarray(self.shared.memory[offsets].reshape(-1).view(allocation.dtype).reshape(index.shape))

    def _store(self, handle: _Handle, index: np.ndarray, value: Any, what: str, thread: np.ndarray | int = -1) -> None:
        allocation = handle.allocation
        content = np.broadcast_to(_convert(value, allocation.dtype), index.shape)
        if allocation.base is None:
            assert allocation.data is not None
            allocation.data[index] = content
            return
        offsets = self._bytes(allocation, index)
        self._note_write(self.shared.shadow, offsets, what, thread)
        self.shared.memory[offsets] = np.ascontiguousarray(content).reshape(-1, 1).view(np.uint8)

    # Tensors

    @staticmethod
    def _tensor_positions(tensor: np.ndarray, offsets: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, np.ndarray]:
        """Clipped positions of a box, and which of them are inside of the tensor."""
        inside = np.ones(sizes, np.bool_)
        positions = []
        for dim, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
            along = int(offset) + np.arange(size)
            shape = [-1 if other == dim else 1 for other in range(len(sizes))]
            inside &= ((along >= 0) & (along < tensor.shape[dim])).reshape(shape)
            positions.append(np.clip(along, 0, max(tensor.shape[dim] - 1, 0)))
        return np.ix_(*positions), inside

    def _tensor_shadow(self, tensor: np.ndarray) -> _Shadow:
        return self.tensors.setdefault(id(tensor), _Shadow(tensor.size))

    def _note_tensor(
        self,
        tensor: np.ndarray,
        places: np.ndarray,
        inside: np.ndarray,
        write: bool,
        what: str,
        thread: np.ndarray | int,
    ) -> None:
        """Records an access to the elements with flat indices ``places`` where ``inside``."""
        chosen = places[inside]
        if self.parallel is not None:
            self.parallel.append((write, self._tensor_shadow(tensor), chosen.reshape(-1, 1), self.thread))
            return
        threads = thread if isinstance(thread, int) else thread[inside.ravel()]
        note = self._note_write if write else self._note_read
        note(self._tensor_shadow(tensor), chosen.reshape(-1, 1), what, threads)

    def _read_tensor(
        self,
        tensor: np.ndarray,
        offsets: Sequence[Any],
        sizes: Sequence[int],
        safe: Any,
        what: str,
        thread: np.ndarray | int = -1,
    ) -> np.ndarray:
        positions, inside = self._tensor_positions(tensor, offsets, sizes)
        if not inside.any():
            return np.full(sizes, safe, tensor.dtype)
        places = np.arange(tensor.size).reshape(tensor.shape)[positions]
        self._note_tensor(tensor, places, inside, False, what, thread)
        return np.where(inside, tensor[positions], np.asarray(safe).astype(tensor.dtype))

    def _write_tensor(
        self, tensor: np.ndarray, offsets: Sequence[Any], value: np.ndarray, what: str, thread: np.ndarray | int = -1
    ) -> None:
        positions, inside = self._tensor_positions(tensor, offsets, value.shape)
        if not inside.any():
            return
        places = np.arange(tensor.size).reshape(tensor.shape)[positions]
        self._note_tensor(tensor, places, inside, True, what, thread)
        tensor.reshape(-1)[places[inside]] = value[inside]

    # Tile operations

    def _copy_source(self, op: Operation) -> tuple[np.ndarray, Any, list[Any], list[int], np.ndarray | int]:
        values = self._args(op)
        counts = integer_list(op.attributes["operandSegmentSizes"])
        source, destination = values[0], values[1 + counts[1]]
        source_offsets = values[1 : 1 + counts[1]]
        destination_offsets = values[2 + counts[1] :]
        source_sizes = integer_list(op.attributes["source_sizes"])
        destination_sizes = integer_list(op.attributes["dest_sizes"])
        thread = self._copy_threads(op, destination_sizes)
        if isinstance(source, np.ndarray):
            safe = _constant(op.attributes["safe"]) if "safe" in op.attributes else 0
            content = self._read_tensor(source, source_offsets, source_sizes, safe, op.name, thread)
        else:
            content = self._load(source, self._box(source, source_offsets, source_sizes), op.name, thread)
        return content.reshape(destination_sizes), destination, destination_offsets, destination_sizes, thread

    def _copy_threads(self, op: Operation, sizes: list[int]) -> np.ndarray | int:
        """Thread of every element, when a whole fragment is copied by plain loads and stores."""
        if "choice<simt" not in op.attributes.get("choice", ""):
            return -1
        for kind in op.operand_types:
            found = re.search(r"fragment, (#tile.fragment_layout<.*>)>$", kind)
            if found and _shape(kind) == sizes:
                return self._thread_of(found.group(1), sizes)
        return -1

    def _thread_of(self, layout: str, sizes: Sequence[int]) -> np.ndarray:
        points = np.ndindex(*sizes)
        return np.array([self.tokens.setdefault((layout, point), len(self.tokens)) for point in points])

    def _tile_copy(self, op: Operation) -> None:
        content, destination, offsets, sizes, thread = self._copy_source(op)
        if isinstance(destination, np.ndarray):
            self._write_tensor(destination, offsets, _convert(content, destination.dtype), op.name, thread)
        else:
            self._store(destination, self._box(destination, offsets, sizes), content, op.name, thread)

    def _tile_copy_async(self, op: Operation) -> None:
        content, destination, offsets, sizes, _ = self._copy_source(op)
        index = self._box(destination, offsets, sizes)
        if not self.asynchronous:
            self._store(destination, index, content, op.name)
            return
        places = self._bytes(destination.allocation, index)
        self._note_write(self.shared.shadow, places, op.name, before_barrier=True)
        self.shared.memory[places] = 0xFF
        self.shared.shadow.in_flight[places.ravel()] = True
        data = np.ascontiguousarray(content.astype(destination.allocation.dtype)).reshape(-1, 1).view(np.uint8)
        self.open_group.append(_AsyncCopy(places, data, f"copy to {destination.allocation.name}"))

    def _tile_async_commit(self, op: Operation) -> None:
        del op
        self.groups.append(self.open_group)
        self.open_group = []
        self.most_groups_in_flight = max(self.most_groups_in_flight, sum(1 for group in self.groups if group))

    def _tile_async_wait(self, op: Operation) -> None:
        pending = op.integer("pending")
        while len(self.groups) > pending:
            for copy in self.groups.pop(0):
                self.shared.memory[copy.offsets] = copy.content
                self.shared.shadow.in_flight[copy.offsets.ravel()] = False
                self.shared.shadow.written[copy.offsets.ravel()] = self.epoch
                self.shared.shadow.writer[copy.offsets.ravel()] = -1

    def _tile_sync_threads(self, op: Operation) -> None:
        if "count" not in op.attributes:
            self.epoch += 1

    def _tile_fill(self, op: Operation) -> None:
        destination, value = self._args(op)
        self._store(destination, destination.index, value, op.name)

    def _tile_gemm(self, op: Operation) -> None:
        a, b, c = self._args(op)
        wide = np.int64 if c.allocation.dtype.kind == "i" else np.float64
        left = self._load(a, a.index, op.name).astype(wide)
        right = self._load(b, b.index, op.name).astype(wide)
        product = (left.T if "transpose_a" in op.attributes else left) @ (
            right.T if "transpose_b" in op.attributes else right
        )
        if "clear_accum" not in op.attributes:
            product = product + self._load(c, c.index, op.name).astype(wide)
        self._store(c, c.index, product, op.name)

    def _scratch(self, scratch: _Handle) -> None:
        """Written, a barrier inside of the operation, read."""
        places = self._bytes(scratch.allocation, scratch.index)
        self._note_write(self.shared.shadow, places, "scratch", before_barrier=True)
        self.shared.memory[places] = 0xFF
        if self.check:
            self.shared.shadow.read[places.ravel()] = self.epoch
            self.shared.shadow.reader[places.ravel()] = -1

    def _tile_reduce(self, op: Operation) -> None:
        values = self._args(op)
        source, destination = values[0], values[1]
        content = self._load(source, source.index, op.name)
        for scratch in values[2:]:
            self._scratch(scratch)
        found = re.search(r"reduce_kind[ <](\w+)", op.attributes["kind"])
        assert found, op.attributes["kind"]
        combine, absolute = _REDUCTIONS[found.group(1)]
        wide = content.astype(np.float64) if content.dtype.kind not in "ib" else content.astype(np.int64)
        result = combine.reduce(np.abs(wide) if absolute else wide, axis=op.integer("dim"))
        result = result.reshape(destination.index.shape)
        if "clear" not in op.attributes:
            old = self._load(destination, destination.index, op.name).astype(wide.dtype)
            result = combine(old, result)
        self._store(destination, destination.index, result, op.name)

    def _tile_convert(self, op: Operation) -> None:
        source, destination, *scratches = self._args(op)
        content = self._load(source, source.index, op.name)
        for scratch in scratches:
            self._scratch(scratch)
        self._store(destination, destination.index, content, op.name)

    # Element access

    def _tile_parallel(self, op: Operation) -> None:
        dynamic = iter(self._args(op))
        extents = [
            int(next(dynamic)) if extent == _DYNAMIC else extent
            for extent in integer_list(op.attributes["static_extents"])
        ]
        block = op.regions[0][0]
        layout = op.attributes.get("layout")
        self.parallel = []
        for point in np.ndindex(*extents):
            for (name, _), position in zip(block.arguments, point, strict=True):
                self.values[name] = np.int32(position)
            self.thread = self.tokens.setdefault((layout, point), len(self.tokens)) if layout else -1
            self._block(block)
        # One collective operation: its accesses are checked against those before it, reads first.
        accesses, self.parallel = self.parallel, None
        for _, shadow, offsets, threads in _gather(accesses, write=False):
            kept = shadow.read.copy(), shadow.reader.copy()
            self._note_read(shadow, offsets, op.name, threads)
            shadow.read, shadow.reader = kept
        for _, shadow, offsets, threads in _gather(accesses, write=True):
            self._note_write(shadow, offsets, op.name, threads)
        for _, shadow, offsets, threads in _gather(accesses, write=False):
            self._mark_read(shadow, offsets, threads)

    parallel: list[tuple[bool, _Shadow, np.ndarray, int]] | None = None
    thread = -1

    def _mark_read(self, shadow: _Shadow, offsets: np.ndarray, threads: np.ndarray) -> None:
        for place, thread in zip(offsets, threads, strict=True):
            same = (shadow.read[place] < self.epoch) | (shadow.reader[place] == thread)
            shadow.reader[place] = np.where(same, thread, -1)
            shadow.read[place] = self.epoch

    def _element(self, handle: _Handle, indices: Sequence[Any]) -> np.ndarray:
        return self._box(handle, indices, [1] * len(indices)).reshape(1)

    def _touch(self, handle: _Handle, index: np.ndarray, write: bool, what: str) -> None:
        if handle.allocation.base is None:
            return
        offsets = self._bytes(handle.allocation, index)
        shadow = self.shared.shadow
        if self.parallel is not None:
            self.parallel.append((write, shadow, offsets, self.thread))
        elif write:
            self._note_write(shadow, offsets, what)
        else:
            self._note_read(shadow, offsets, what)

    def _tile_load(self, op: Operation) -> Any:
        source, *indices = self._args(op)
        if isinstance(source, np.ndarray):
            safe = _constant(op.attributes["safe"]) if "safe" in op.attributes else 0
            return self._read_tensor(source, indices, [1] * len(indices), safe, op.name).reshape(-1)[0]
        index = self._element(source, indices)
        self._touch(source, index, False, op.name)
        checking, self.check = self.check, False
        value = self._load(source, index, op.name)[0]
        self.check = checking
        return value

    def _tile_store(self, op: Operation) -> None:
        value, destination, *indices = self._args(op)
        self._put(op, destination, indices, value)

    def _put(self, op: Operation, destination: Any, indices: list[Any], value: Any) -> None:
        if isinstance(destination, np.ndarray):
            content = _convert(np.asarray(value), destination.dtype).reshape([1] * len(indices))
            self._write_tensor(destination, indices, content, op.name)
            return
        index = self._element(destination, indices)
        self._touch(destination, index, True, op.name)
        checking, self.check = self.check, False
        self._store(destination, index, value, op.name)
        self.check = checking

    def _tile_assume(self, op: Operation) -> None:
        if not self._args(op)[0]:
            raise AssertionError("an assumption of the kernel is false")

    # Scalars

    def _memref_dim(self, op: Operation) -> Any:
        tensor, axis = self._args(op)
        return np.int64(tensor.shape[int(axis)])

    def _arith_constant(self, op: Operation) -> Any:
        return _constant(op.attributes["value"])

    def _arith_select(self, op: Operation) -> Any:
        condition, yes, no = self._args(op)
        return yes if condition else no

    def _arith_cmpi(self, op: Operation) -> Any:
        left, right = self._args(op)
        code = op.integer("predicate")
        if code >= 6:
            unsigned = f"u{left.dtype.itemsize}"
            left, right = left.view(unsigned), right.view(unsigned)
        return np.bool_(_COMPARISONS[code if code < 6 else code - 4](left, right))

    def _arith_cmpf(self, op: Operation) -> Any:
        left, right = self._args(op)
        code = op.integer("predicate")
        ordered = not (np.isnan(left) or np.isnan(right))
        compare = {1: operator.eq, 2: operator.gt, 3: operator.ge, 4: operator.lt, 5: operator.le, 6: operator.ne}
        if 1 <= code <= 6:
            return np.bool_(ordered and compare[code](left, right))
        return np.bool_(not ordered or compare[code - 7](left, right))


def _gather(
    accesses: Sequence[tuple[bool, _Shadow, np.ndarray, int]], *, write: bool
) -> list[tuple[bool, _Shadow, np.ndarray, np.ndarray]]:
    """The reads or writes of a parallel loop, one entry for each kind of element size and shadow."""
    groups: dict[tuple[int, int], list[tuple[bool, _Shadow, np.ndarray, int]]] = {}
    for access in accesses:
        if access[0] == write and access[2].size:
            groups.setdefault((id(access[1]), access[2].shape[1]), []).append(access)
    return [
        (write, group[0][1], np.concatenate([one[2] for one in group]), np.array([one[3] for one in group]))
        for group in groups.values()
    ]


def _convert(value: Any, dtype: np.dtype) -> np.ndarray:
    array = np.asarray(value)
    if dtype.kind in "iub" and array.dtype.kind not in "iub":
        array = np.trunc(np.nan_to_num(array.astype(np.float64)))
    elif array.dtype == np.float64 and dtype.itemsize < 4:
        array = array.astype(np.float32)
    return array.astype(dtype)


_REDUCTIONS: dict[str, tuple[np.ufunc, bool]] = {
    "sum": (np.add, False),
    "max": (np.fmax, False),
    "min": (np.fmin, False),
    "abssum": (np.add, True),
    "absmax": (np.fmax, True),
    "bitand": (np.bitwise_and, False),
    "bitor": (np.bitwise_or, False),
    "bitxor": (np.bitwise_xor, False),
}
_COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def _floor_divide(left: Any, right: Any) -> Any:
    return type(left)(int(left) // int(right))


def _truncating_divide(left: Any, right: Any) -> Any:
    return type(left)(math.trunc(int(left) / int(right)))


_SCALARS: dict[str, Callable[..., Any]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.floordivsi": _floor_divide,
    "arith.divsi": _truncating_divide,
    "arith.ceildivsi": lambda left, right: type(left)(-(-int(left) // int(right))),
    "arith.remsi": lambda left, right: type(left)(math.fmod(int(left), int(right))),
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.negf": operator.neg,
    "math.exp2": np.exp2,
    "math.exp": np.exp,
    "math.log2": np.log2,
    "math.sqrt": np.sqrt,
    "math.absf": np.abs,
}
_CASTS = {
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.trunci",
    "arith.sitofp",
    "arith.fptosi",
    "arith.index_cast",
}


def _scalar(function: Callable[..., Any]) -> Callable[[Interpreter, Operation], Any]:
    def run(interpreter: Interpreter, op: Operation) -> Any:
        result = function(*interpreter._args(op))
        return numpy_dtype(op.result_types[0]).type(result)

    return run


def _cast(interpreter: Interpreter, op: Operation) -> Any:
    return _convert(interpreter._args(op)[0], numpy_dtype(op.result_types[0]))[()]


for _name, _function in _SCALARS.items():
    setattr(Interpreter, "_" + _name.replace(".", "_"), _scalar(_function))
for _name in _CASTS:
    setattr(Interpreter, "_" + _name.replace(".", "_"), _cast)
