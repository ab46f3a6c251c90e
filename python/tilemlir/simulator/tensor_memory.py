"""The tensor memory accelerator: copies of boxes and of consecutive bytes between global and shared memory.

Semantics: PTX ISA, "Data Movement and Conversion Instructions: Bulk copy" (cp.async.bulk, cp.reduce.async.bulk,
cp.async.bulk.commit_group, cp.async.bulk.wait_group), "Tensor copy" (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor)
and "Tensors: Tiled Mode, Swizzling Modes, Interleave Layout, Out of bounds". A load counts the bytes of its whole box,
also of the parts outside of the tensor. Every copy is done at any time between its issue and the wait that covers it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilemlir.simulator.atomics import combine
from tilemlir.simulator.barriers import PhaseBarrier, active_lanes, find_mbarrier, shared_target
from tilemlir.simulator.clocks import ASYNC
from tilemlir.simulator.loads_stores import address_reader, check_read, check_write, resolve
from tilemlir.simulator.memory import Buffer, OutsideError
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Address, Immediate, Instruction, Vector
from tilemlir.simulator.small_floats import f32_to_tf32
from tilemlir.simulator.warp import ADVANCE, Group, Warp

__all__ = ["TensorMap", "swizzle"]

#: What `fill="nan"` puts outside of a tensor, in every 16 bits (measured on an H200).
NAN_FILL = 0x7FF7

_ADDRESS_BITS = {0: (0, 0), 32: (1, 7), 64: (3, 7), 128: (7, 7)}


def swizzle(offsets: np.ndarray, span: int) -> np.ndarray:
    """Byte offsets in shared memory after the XOR of a swizzling mode.

    Args:
        offsets: from a place that is a multiple of 1024.
        span: bytes of the mode: 0, 32, 64 or 128. 16-byte pieces are permuted by the bits from 128 upwards.
    """
    mask, shift = _ADDRESS_BITS[span]
    if not mask:
        return offsets
    return offsets ^ (((offsets >> shift) & mask) << 4)


@dataclass
class TensorMap:
    """What a tensor map descriptor says.

    Attributes:
        name: of the tensor, for messages.
        address: of its first element in simulated global memory.
        shape: elements per dimension, fastest first.
        strides: bytes per dimension, fastest first.
        box: elements of a box.
        element_strides: steps between the elements that a box takes.
        element_bytes: bytes of an element.
        dtype: of the launch plan; `tf32` rounds what it loads.
        swizzle: bytes of the swizzling mode.
        fill: `zero` or `nan` for what lies outside.
    """

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    element_bytes: int
    dtype: str = "f16"
    swizzle: int = 0
    fill: str = "zero"
    _patterns: dict[int, np.ndarray] = field(default_factory=dict)

    def problem(self) -> str | None:
        """Why cuTensorMapEncodeTiled would refuse it, or None."""
        if self.address % 16:
            return f"address {self.address:#x} is no multiple of 16"
        for axis, stride in enumerate(self.strides[1:], 1):
            if stride % 16 and self.shape[axis] > 1:
                return f"stride {stride} of dimension {axis} is no multiple of 16 bytes"
        if self.strides[0] != self.element_bytes:
            return "its first dimension is not contiguous"
        if any(not 1 <= extent <= 256 for extent in self.box):
            return f"box {self.box} has extents outside of 1..256"
        inner = self.box[0] * self.element_bytes
        if inner % 16:
            return f"boxes are {inner} bytes wide, no multiple of 16"
        if self.swizzle and inner > self.swizzle:
            return f"boxes are {inner} bytes wide, more than the {self.swizzle} bytes of the swizzle"
        if any(extent <= 0 for extent in self.shape):
            return f"shape {self.shape} is empty"
        return None

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of a box that are copied, per dimension."""
        return tuple(-(-extent // step) for extent, step in zip(self.box, self.element_strides, strict=True))

    @property
    def box_bytes(self) -> int:
        """Bytes of a box."""
        return int(np.prod(self.counts)) * self.element_bytes

    @property
    def extent_bytes(self) -> int:
        """Bytes of shared memory from the first to the last of a box, with gaps; see `places`."""
        row = self.counts[0] * self.element_bytes
        return self.box_bytes // row * max(row, self.swizzle)

    def elements(self, coordinates: tuple[int, ...], stores: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Byte offsets of a box's elements from the tensor's address, and which lie inside; slowest dimension first.

        Stores do not end with a row but with its last 16 bytes (measured on an H200: what the box holds there is
        written).
        """
        offsets = np.zeros((), np.int64)
        inside = np.ones((), np.bool_)
        for start, count, step, extent, stride in zip(
            coordinates, self.counts, self.element_strides, self.shape, self.strides, strict=True
        ):
            index = start + np.arange(count, dtype=np.int64) * step
            if stores and offsets.ndim == 0:
                extent = -(-extent * self.element_bytes // 16) * 16 // self.element_bytes
            valid = (index >= 0) & (index < extent)
            shape = (count,) + (1,) * offsets.ndim
            offsets = offsets + (index * stride).reshape(shape)
            inside = inside & valid.reshape(shape)
        return offsets.reshape(-1), inside.reshape(-1)

    def places(self, offset: int) -> np.ndarray:
        """Byte offsets in shared memory of a box's elements, for a box that begins at a byte offset."""
        low = offset & 1023
        pattern = self._patterns.get(low)
        if pattern is None:
            linear = low + np.arange(int(np.prod(self.counts)), dtype=np.int64) * self.element_bytes
            row = self.counts[0] * self.element_bytes
            if self.swizzle > row:  # rows that are narrower than the swizzle's span lie a span apart (measured)
                linear = linear + (linear - low) // row * (self.swizzle - row)
            pattern = self._patterns[low] = swizzle(linear, self.swizzle)
        return pattern + (offset - low)


def _find_map(w: Warp, address: int) -> TensorMap:
    found: TensorMap | None = w.machine.tensor_maps.get(address)
    if found is None:
        raise w.machine.fault("invalid", f"there is no tensor map at {address:#x}", w)
    problem = found.problem()
    if problem is not None:
        raise w.machine.fault("invalid", f"the tensor map of {found.name} is not allowed: {problem}", w)
    return found


def _alone(lane: int) -> np.ndarray:
    return np.array([lane])


def _box(
    w: Warp, tensor: TensorMap, coordinates: tuple[int, ...], stores: bool = False
) -> tuple[Buffer, np.ndarray, np.ndarray]:
    """Global buffer, byte offsets of the elements in it, and which are inside of the tensor."""
    offsets, inside = tensor.elements(coordinates, stores)
    try:
        buffer = w.machine.memory.locate(tensor.address, tensor.element_bytes)
        if inside.any():
            valid = offsets[inside]
            w.machine.memory.locate(tensor.address + int(valid.min()), tensor.element_bytes)
            last = w.machine.memory.locate(tensor.address + int(valid.max()), tensor.element_bytes)
            if last is not buffer:
                raise OutsideError("out-of-bounds", f"the tensor map of {tensor.name} reaches beyond its allocation")
    except OutsideError as error:
        raise w.machine.fault(error.kind, str(error), w) from None
    return buffer, offsets + (tensor.address - buffer.base), inside


def _granules(buffer: Buffer, offsets: np.ndarray, size: int) -> np.ndarray:
    """Granules of many accesses of one thread, as one row."""
    assert buffer.shadow is not None
    return np.unique(buffer.shadow.granules(offsets, size))[None, :]


# Groups of bulk copies ------------------------------------------------------------------------------------------------


class _Piece:
    """A store on its way: it reads shared memory first, and writes global memory later."""

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None], step: int) -> None:
        self._read, self._write = read, write
        self.data: Any = None
        self.was_read = self.was_written = False
        self.step = step

    def read(self) -> None:
        """Reads its source."""
        if not self.was_read:
            self.was_read = True
            self.data = self._read()

    def write(self) -> None:
        """Writes its destination."""
        self.read()
        if not self.was_written:
            self.was_written = True
            self._write(self.data)
            self.data = None


class _Bulk:
    """The bulk groups of one thread."""

    def __init__(self, w: Warp, lane: int) -> None:
        machine = w.machine
        key = (w.block.slot, w.index, lane)
        self.reads = machine.agent((*key, "bulk reads"), f"the bulk copies of {w.name(lane)}")
        self.writes = machine.agent((*key, "bulk writes"), f"the bulk copies of {w.name(lane)}")
        self.committed = machine.epochs.get(self.reads, 0)
        self.open: list[_Piece] = []
        self.groups: list[tuple[int, list[_Piece]]] = []

    @property
    def epoch(self) -> int:
        """Number of the group that copies issued now will belong to."""
        return self.committed + 1


def _bulk(w: Warp, lane: int) -> _Bulk:
    found: _Bulk | None = w.state.get(("bulk", lane))
    if found is None:
        found = w.state["bulk", lane] = _Bulk(w, lane)
    return found


def _commit(w: Warp, group: Group, mask: Any) -> int:
    for lane in active_lanes(w, group, mask):
        bulk = _bulk(w, lane)
        bulk.committed += 1
        w.machine.epochs[bulk.reads] = w.machine.epochs[bulk.writes] = bulk.committed
        bulk.groups.append((bulk.committed, bulk.open))
        bulk.open = []
    return ADVANCE


def _wait(pending: int, only_read: bool) -> Any:
    def run(w: Warp, group: Group, mask: Any) -> int:
        for lane in active_lanes(w, group, mask):
            bulk = _bulk(w, lane)
            covered = bulk.groups[: len(bulk.groups) - pending] if pending < len(bulk.groups) else []
            for _, pieces in covered:
                for piece in pieces:
                    if only_read:
                        piece.read()
                    else:
                        piece.write()
            if not covered:
                continue
            number = covered[-1][0]
            mask_one = np.arange(LANES) == lane
            w.learn(mask_one, bulk.reads, number)
            left = w.state.setdefault("left", {})
            for done in range(number, 0, -1):
                if left.pop((lane, done), None) is None and done < number - 64:
                    break
            if not only_read:
                w.learn(mask_one, bulk.writes, number)
                bulk.groups = bulk.groups[len(covered) :]
        return ADVANCE

    return run


def _start_store(
    w: Warp, lane: int, read: Callable[[], Any], write: Callable[[Any], None], what: str, size: int
) -> None:
    machine = w.machine
    bulk = _bulk(w, lane)
    piece = _Piece(read, write, w.pc)
    begin = machine.trace.now() if machine.trace is not None else 0
    bulk.open.append(piece)
    epoch = bulk.epoch
    message = f"the block ends without a wait for {what}, which reads its shared memory"
    w.state.setdefault("left", {})[lane, epoch] = (lambda: message, w.pc)
    machine.start(piece.read, what)

    def finish() -> None:
        piece.write()
        if machine.trace is not None:
            machine.trace.copy(w, what, size, begin)

    machine.start(finish, what)


# Instructions ---------------------------------------------------------------------------------------------------------


@opcode("cp.async.bulk.commit_group")
def _commit_group(p: Program, one: Instruction) -> Any:
    return CONTROL, _commit


@opcode("cp.async.bulk.wait_group")
def _wait_group(p: Program, one: Instruction) -> Any:
    amount = one.operands[0]
    if not isinstance(amount, Immediate):
        raise ValueError("a count that is no constant")
    return CONTROL, _wait(int(amount.value), "read" in one.modifiers)


def _load_step(
    p: Program,
    one: Instruction,
    multicast: bool,
    make: Callable[[Warp, int], tuple[int, Any, Any]],
    barrier_operand: Any,
) -> Any:
    """A copy into shared memory that completes on an mbarrier.

    `make(w, lane)` gives the bytes, a function from a destination's offset to element offsets, and a function that
    reads the source: it returns the elements.
    """
    into, barrier_address = address_reader(p, one.operands[0]), address_reader(p, barrier_operand)
    mask_operand = one.operands[3] if multicast else None
    mask_row = None
    if mask_operand is not None:
        _, rows, row = (
            p.register_row(mask_operand)
            if not isinstance(mask_operand, Immediate)
            else (
                32,
                "u32",
                p.source(mask_operand, "u32"),
            )
        )
        mask_row = (rows, row)

    def run(w: Warp, group: Group, mask: Any) -> int:
        machine = w.machine
        for lane in active_lanes(w, group, mask):
            target, barrier_at = int(into(w)[lane]), int(barrier_address(w)[lane])
            size, places, read = make(w, lane)
            block, offset = shared_target(w, target, size, 16, True)
            barrier = find_mbarrier(w, barrier_at, True, lane)
            destinations = [(block, barrier)]
            if mask_row is not None:
                bits_set = int(getattr(w, mask_row[0])[mask_row[1]][lane])
                destinations = []
                for rank in range(16):
                    if not bits_set >> rank & 1:
                        continue
                    if rank >= len(w.block.cluster.blocks):
                        raise machine.fault("invalid", f"multicast to block {rank} of a smaller cluster", w, lane)
                    other = w.block.cluster.blocks[rank]
                    at = other.mbarriers.get(barrier.offset)
                    if at is None:
                        raise machine.fault(
                            "invalid", f"no mbarrier is initialised at byte {barrier.offset} of {other.name}", w, lane
                        )
                    destinations.append((other, at))
            where = places(offset)
            for other, at in destinations:
                if machine.checks and other.shared.shadow is not None:
                    index = _granules(other.shared, where, size // max(len(where), 1))
                    check_write(w, other.shared, index, _alone(lane), proxy=ASYNC, agent=(at.component, at.epoch))
            _start_load(w, destinations, where, read, size, one.name)
        return ADVANCE

    return CONTROL, run


def _start_load(
    w: Warp,
    destinations: list[tuple[Any, PhaseBarrier]],
    where: np.ndarray,
    read: Callable[[], np.ndarray],
    size: int,
    what: str,
) -> None:
    machine = w.machine
    for _, barrier in destinations:
        if not barrier.visible_to_engines:
            barrier.visible_to_engines = True
            found = machine.finding(
                "missing-proxy-fence",
                f"a copy uses {barrier.name}, whose initialisation no fence made visible to it",
                w,
                None,
                [(barrier.pc, "initialised")],
            )
            machine.note(found)
    phases = [barrier.phase for _, barrier in destinations]
    at_issue = machine.finding("invalid", "", w)
    begin = machine.trace.now() if machine.trace is not None else 0

    def finish() -> None:
        values = read()
        for (block, barrier), phase in zip(destinations, phases, strict=True):
            width = values.dtype.itemsize
            block.shared.view(width)[where // width] = values
            if barrier.phase != phase:
                object.__setattr__(
                    at_issue,
                    "message",
                    f"{barrier.name} completed phase {phase} before the copy that was issued in it: "
                    "its number of bytes is wrong",
                )
                machine.note(at_issue)
            barrier.complete_bytes(size)
        if machine.trace is not None:
            machine.trace.copy(w, what, size, begin)

    machine.count("bytes by TMA loads", size * len(destinations))
    machine.start(finish, what)


def _box_operand(p: Program, operand: Any) -> Callable[[Warp, int], tuple[TensorMap, tuple[int, ...]]]:
    if not isinstance(operand, Address) or len(operand.rest) != 1 or not isinstance(operand.rest[0], Vector):
        raise ValueError("expected [map, {coordinates}]")
    base = address_reader(p, Address(operand.base, operand.offset))
    rows = [p.source(item, "s32") for item in operand.rest[0].items]

    def read(w: Warp, lane: int) -> tuple[TensorMap, tuple[int, ...]]:
        tensor = _find_map(w, int(base(w)[lane]))
        coordinates = tuple(int(w.s32[row][lane]) for row in rows)
        if len(coordinates) != len(tensor.box):
            raise w.machine.fault("invalid", f"{len(coordinates)} coordinates for a map of rank {len(tensor.box)}", w)
        return tensor, coordinates

    return read


@opcode("cp.async.bulk.tensor")
def _tensor_copy(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers[4:]))
    if words.take("tile") is None and {"im2col", "im2col_no_offs"} & set(words.left):
        raise ValueError("im2col")
    words.take("L2::cache_hint", "cta_group::1")
    if words.left[0] == "global":
        words.take("global")
        words.take("shared::cta")
        words.take("bulk_group")
        words.finish()
        return _store_box(p, one, None)
    words.take("shared::cluster", "shared::cta")
    words.take("global")
    words.take("mbarrier::complete_tx::bytes")
    multicast = words.take("multicast::cluster") is not None
    words.finish()
    box = _box_operand(p, one.operands[1])

    def make(w: Warp, lane: int) -> tuple[int, Any, Any]:
        tensor, coordinates = box(w, lane)
        if int(address_reader(p, one.operands[0])(w)[lane]) % 128:
            raise w.machine.fault("misaligned", "the destination of a box is no multiple of 128 bytes", w, lane)
        shared_target(w, int(address_reader(p, one.operands[0])(w)[lane]), tensor.extent_bytes, 128, True)
        buffer, offsets, inside = _box(w, tensor, coordinates)
        width = tensor.element_bytes
        if w.machine.checks and buffer.shadow is not None and inside.any():
            index = _granules(buffer, offsets[inside], width)
            check_read(w, buffer, index, _alone(lane), proxy=ASYNC, agent=(0, 0, 0))

        def read() -> np.ndarray:
            values = np.zeros(len(offsets), np.dtype(f"u{width}"))
            if tensor.fill == "nan":
                values.view(np.uint16)[:] = NAN_FILL
            values[inside] = buffer.view(width)[offsets[inside] // width]
            if tensor.dtype == "tf32":
                # To nearest, ties to even; NaN becomes one value (measured on an H200).
                numbers = values.view(np.float32)
                values = np.where(np.isnan(numbers), np.uint32(0x7FFFE000), f32_to_tf32(numbers, "rn"))
            return values

        return tensor.box_bytes, tensor.places, read

    return _load_step(p, one, multicast, make, one.operands[2])


@opcode("cp.reduce.async.bulk.tensor")
def _tensor_reduce(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers[5:]))
    words.take("global")
    words.take("shared::cta")
    how = words.take("add", "min", "max", "inc", "dec", "and", "or", "xor")
    words.take("tile")
    words.take("bulk_group")
    words.take("L2::cache_hint")
    words.finish()
    return _store_box(p, one, how)


def _store_box(p: Program, one: Instruction, how: str | None) -> Any:
    box = _box_operand(p, one.operands[0])
    source = address_reader(p, one.operands[1])

    def run(w: Warp, group: Group, mask: Any) -> int:
        machine = w.machine
        for lane in active_lanes(w, group, mask):
            tensor, coordinates = box(w, lane)
            block, offset = shared_target(w, int(source(w)[lane]), tensor.extent_bytes, 128)
            if min(coordinates) < 0:
                message = f"a store begins at {coordinates}, before {tensor.name}: hardware refuses that"
                raise machine.fault("invalid", message, w, lane)
            buffer, offsets, inside = _box(w, tensor, coordinates, how is None)
            where = tensor.places(offset)
            width = tensor.element_bytes
            _check_store(w, lane, block.shared, where, buffer, offsets[inside], width, how is not None)
            _store(w, lane, block.shared, where[inside], buffer, offsets[inside], width, how, tensor.dtype, one.name)
            machine.count("bytes by TMA stores", tensor.box_bytes)
        return ADVANCE

    return CONTROL, run


def _check_store(
    w: Warp, lane: int, shared: Buffer, where: np.ndarray, buffer: Buffer, offsets: np.ndarray, width: int, strong: bool
) -> None:
    if not w.machine.checks:
        if not buffer.writable:
            check_write(w, buffer, offsets, _alone(lane))
        return
    bulk = _bulk(w, lane)
    alone = _alone(lane)
    if shared.shadow is not None:
        row = len(w.block.warps) + 3
        check_read(w, shared, _granules(shared, where, width), alone, proxy=ASYNC, agent=(bulk.reads, bulk.epoch, row))
    if len(offsets):
        index = _granules(buffer, offsets, width) if buffer.shadow is not None else offsets[None, :]
        check_write(w, buffer, index, alone, strong, ASYNC, agent=(bulk.writes, bulk.epoch))


_KINDS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "tf32": "f32",
    "i32": "s32",
    "u32": "u32",
    "i64": "s64",
    "u64": "u64",
}


def _store(
    w: Warp,
    lane: int,
    shared: Buffer,
    where: np.ndarray,
    buffer: Buffer,
    offsets: np.ndarray,
    width: int,
    how: str | None,
    dtype: str,
    what: str,
) -> None:
    def read() -> np.ndarray:
        values: np.ndarray = shared.view(width)[where // width].copy()
        return values

    def write(values: np.ndarray) -> None:
        view, index = buffer.view(width), offsets // width
        if how is None:
            view[index] = values
        else:
            view[index] = combine(how, _KINDS.get(dtype, dtype), view[index], values)
        w.machine.progress += 1

    _start_store(w, lane, read, write, what, len(where) * width)


@opcode("cp.async.bulk", "cp.reduce.async.bulk")
def _bulk_copy(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    reduces = words.take("reduce") is not None
    words.take("async")
    words.take("bulk")
    if words.take("prefetch"):
        return lambda w, m: None
    words.take("L2::cache_hint")
    first = words.left.pop(0)
    second = words.left.pop(0)
    if first == "global":
        words.take("bulk_group")
        how = words.take("add", "min", "max", "inc", "dec", "and", "or", "xor") if reduces else None
        words.take("noftz")
        kind = words.left.pop() if reduces else "b8"
        words.finish()
        return _store_bytes(p, one, how, kind)
    words.take("mbarrier::complete_tx::bytes")
    multicast = words.take("multicast::cluster") is not None
    words.finish()
    if reduces:
        raise ValueError("reductions into shared memory")
    source = address_reader(p, one.operands[1])
    amount = p.source(one.operands[2], "u32")
    barrier_operand = one.operands[3]
    if multicast:
        one = Instruction(
            one.opcode, one.modifiers, (*one.operands[:2], one.operands[3], one.operands[4]), one.guard,
            one.guard_negated, one.line, one.location,
        )  # fmt: skip

    def make(w: Warp, lane: int) -> tuple[int, Any, Any]:
        size = int(w.u32[amount][lane])
        address = int(source(w)[lane])
        if size % 16 or address % 16:
            raise w.machine.fault(
                "misaligned", f"a bulk copy of {size} bytes from {address:#x}: multiples of 16 needed", w
            )
        if second == "global":
            try:
                buffer = w.machine.memory.locate(address, size)
            except OutsideError as error:
                raise w.machine.fault(error.kind, str(error), w) from None
            offset = address - buffer.base
        else:
            block, offset = shared_target(w, address, size, 16)
            buffer = block.shared
        offsets = offset + np.arange(0, size, 16)
        if w.machine.checks and buffer.shadow is not None:
            check_read(w, buffer, _granules(buffer, offsets, 16), _alone(lane), proxy=ASYNC, agent=(0, 0, 0))
        return (
            size,
            lambda at: at + np.arange(0, size, 4, dtype=np.int64),
            lambda: buffer.data[offset : offset + size].copy().view(np.uint32),
        )

    return _load_step(p, one, multicast, make, barrier_operand)


def _store_bytes(p: Program, one: Instruction, how: str | None, kind: str) -> Any:
    into, source = address_reader(p, one.operands[0]), address_reader(p, one.operands[1])
    amount = p.source(one.operands[2], "u32")
    width = {"16": 2, "32": 4, "64": 8}.get(kind[-2:], 16) if how else 4
    names = {"s32": "i32", "s64": "i64"}

    def run(w: Warp, group: Group, mask: Any) -> int:
        for lane in active_lanes(w, group, mask):
            size, address = int(w.u32[amount][lane]), int(into(w)[lane])
            if size % 16 or address % 16:
                raise w.machine.fault(
                    "misaligned", f"a bulk copy of {size} bytes to {address:#x}: multiples of 16 needed", w
                )
            block, offset = shared_target(w, int(source(w)[lane]), size, 16)
            buffer, start = resolve(w, "global", address, 16, lane)
            if start + size > buffer.size:
                raise w.machine.fault("out-of-bounds", f"{size} bytes, {buffer.where(start)}", w, lane)
            steps = np.arange(0, size, width, dtype=np.int64)
            _check_store(w, lane, block.shared, offset + steps, buffer, start + steps, width, how is not None)
            _store(
                w,
                lane,
                block.shared,
                offset + steps,
                buffer,
                start + steps,
                width,
                how,
                names.get(kind, kind),
                one.name,
            )
            w.machine.count("bytes by bulk stores", size)
        return ADVANCE

    return CONTROL, run
