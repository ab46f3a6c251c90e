"""Loads and stores of every state space.

Semantics: PTX ISA, "Data Movement and Conversion Instructions": ld, ld.global.nc, st; "State Spaces"; "Generic
Addressing". An access is checked for bounds and for the alignment of its whole vector, and goes through the shadow of
its buffer. Kernel parameters are read-only; local memory belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilemlir.simulator.clocks import GENERIC, UNINITIALIZED
from tilemlir.simulator.memory import PARAM_WINDOW, Buffer, OutsideError
from tilemlir.simulator.moves import LOCAL_WINDOW, SHARED_WINDOW
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Address, Immediate, Instruction, Operand, Sink, Symbol, Vector
from tilemlir.simulator.report import Finding
from tilemlir.simulator.warp import YIELD, Group, Warp

__all__ = ["address_reader", "check_read", "check_write", "locate", "report_write", "resolve"]

Mask = Any

CACHE_WORDS = (
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
    "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last",
    "L2::evict_normal", "L2::cache_hint", "unified",
)  # fmt: skip


def address_reader(p: Program, operand: Operand) -> Callable[[Warp], np.ndarray]:
    """Reads the addresses of `[base + offset]` of all 32 lanes, as int64; those in 32-bit registers wrap around."""
    if not isinstance(operand, Address):
        raise ValueError("expected an address")
    offset = operand.offset
    base = operand.base
    if isinstance(base, Immediate):
        value = np.full(LANES, int(base.value) + offset, np.int64)
        return lambda w: value
    if isinstance(base, Symbol):
        row = p.source(base, "s64")
        return lambda w: w.s64[row] + offset
    bits = getattr(base, "bits", 64)
    row = p.source(base, f"u{bits}")
    if bits == 64:
        if offset == 0:
            return lambda w: w.s64[row]
        return lambda w: w.s64[row] + offset
    return lambda w: (w.u32[row].astype(np.int64) + offset) & 0xFFFFFFFF


def resolve(w: Warp, space: str, address: int, size: int, lane: int, slack: int = 0) -> tuple[Buffer, int]:
    """Buffer and byte offset of one access.

    Args:
        w: who accesses.
        space: `global`, `shared`, `shared::cta`, `shared::cluster`, `const`, or `generic`.
        address: in that space.
        size: bytes; also the alignment that is needed.
        lane: who accesses.
        slack: bytes behind the end of a global allocation that are no fault.

    Raises:
        Fault: outside of every buffer, or misaligned.
    """
    machine = w.machine
    if space == "generic":
        if address >> 40 == SHARED_WINDOW >> 40:
            space, address = "shared::cluster", address - SHARED_WINDOW
        else:
            space = "global"
    if space.startswith("shared"):
        from tilemlir.simulator.barriers import shared_target

        block, offset = shared_target(w, address, size, size, space == "shared::cluster")
        return block.shared, offset
    try:
        buffer = machine.memory.locate(address, size, slack)
    except OutsideError as error:
        raise machine.fault(error.kind, str(error), w, lane) from None
    offset = address - buffer.base
    if address % size:
        raise machine.fault("misaligned", f"{size} bytes at {buffer.where(offset)}", w, lane)
    return buffer, offset


def locate(
    w: Warp, space: str, addresses: np.ndarray, lanes: np.ndarray | None, size: int, slack: int = 0
) -> Iterator[tuple[Buffer, np.ndarray, np.ndarray | None]]:
    """Buffers of the accesses of a warp: (buffer, byte offsets, lanes; None means all 32).

    Args:
        w: who accesses.
        space: as for `resolve`.
        addresses: of the active lanes.
        lanes: their numbers, or None.
        size: bytes of an access; also its alignment.
        slack: as for `resolve`.
    """
    guess: Buffer | None = None
    if space in ("shared", "shared::cta", "shared::cluster"):
        guess = w.block.shared
    else:
        first = int(addresses[0])
        if space == "generic" and first >> 40 == SHARED_WINDOW >> 40:
            guess = w.block.shared
            addresses = addresses - SHARED_WINDOW
            space = "shared::cluster"
        else:
            guess = w.machine.memory.find(first)
    if guess is not None:
        offsets = addresses - guess.base
        low, high = int(offsets.min()), int(offsets.max())
        if low >= guess.start and high <= guess.size - size and (size == 1 or not (offsets & (size - 1)).any()):
            yield guess, offsets, lanes
            return
    numbers = range(LANES) if lanes is None else lanes.tolist()
    places: dict[int, tuple[Buffer, list[int], list[int]]] = {}
    for address, lane in zip(addresses.tolist(), numbers, strict=True):
        buffer, offset = resolve(w, space, address, size, lane, slack)
        entry = places.setdefault(id(buffer), (buffer, [], []))
        entry[1].append(offset)
        entry[2].append(lane)
    for buffer, offset_list, lane_list in places.values():
        yield buffer, np.array(offset_list, np.int64), np.array(lane_list, np.int64)


# Checks ---------------------------------------------------------------------------------------------------------------


def _own(w: Warp, lanes: np.ndarray | None) -> np.ndarray:
    return w.own if lanes is None else w.own[lanes]


def _copies(w: Warp) -> tuple[int, int] | None:
    return None if w.copies is None else (w.copy_component - w.component, w.copies.waited)


def _by_clock(w: Warp, lanes: np.ndarray | None) -> Iterator[tuple[Any, Any]]:
    """(positions among the accesses, clock) of accesses whose lanes know the same."""
    if w.lane_clocks is None:
        yield slice(None), w.clock
        return
    numbers = list(range(LANES)) if lanes is None else lanes.tolist()
    seen: dict[int, list[int]] = {}
    for position, lane in enumerate(numbers):
        seen.setdefault(id(w.lane_clocks[lane]), []).append(position)
    for positions in seen.values():
        yield positions, w.lane_clocks[numbers[positions[0]]]


def report_write(
    w: Warp, buffer: Buffer, lane: int, granule: int, fence: bool, verb: str, poisons: bool = False
) -> Finding | None:
    """Reports the write of a granule that is not ordered before an access.

    Args:
        w: who accesses.
        buffer: what.
        lane: which lane accesses.
        granule: of the buffer.
        fence: only a proxy fence is missing.
        verb: `reads` or `writes`.
        poisons: give a finding of an uninitialised read back: it is a fault only when the value is used.
    """
    shadow, machine = buffer.shadow, w.machine
    assert shadow is not None
    where = buffer.where(granule << shadow.shift)
    writer = int(shadow.writer[granule])
    if writer == UNINITIALIZED:
        found = machine.finding("uninitialised-read", f"{verb} {where}, which nobody wrote", w, lane)
        if poisons:
            return found
        if verb == "reads":
            machine.note(found)
        return None
    step = int(shadow.write_step[granule])
    name = machine.components.describe(writer)
    if fence:
        kind = "missing-proxy-fence"
        what = f"an asynchronous operation {verb} {where}, written by {name} without a proxy fence in between"
    else:
        kind, what = "race", f"{verb} {where}, and nothing orders that behind the write by {name}"
    machine.note(machine.finding(kind, what, w, lane, [(step, "written")]))
    return None


def check_read(
    w: Warp,
    buffer: Buffer,
    index: np.ndarray,
    lanes: np.ndarray | None,
    strong: bool = False,
    proxy: int = GENERIC,
    agent: tuple[int, int, int] | None = None,
    poisons: bool = False,
) -> Finding | None:
    """Checks and records reads.

    Args:
        w: who reads.
        buffer: what is read.
        index: granules, one row per lane.
        lanes: numbers of the lanes; None means all.
        strong: atomic or a strong operation.
        proxy: GENERIC or ASYNC.
        agent: (component, epoch, row of reads) of the asynchronous reader; None: the lanes themselves.
        poisons: give back the finding of an uninitialised read instead of reporting it.
    """
    shadow = buffer.shadow
    if shadow is None:
        return None
    poison = None
    own = _own(w, lanes)
    for positions, clock in _by_clock(w, lanes):
        mine = own[positions]
        found = shadow.find_write(index[positions], mine, clock, proxy, strong, _copies(w))
        if found is not None:
            lane = int(mine[found[0], 0]) - w.component
            poison = report_write(w, buffer, lane, found[1], found[2], "reads", poisons)
    if strong:
        return poison
    if agent is None:
        shadow.note_read(index, own, w.epoch, w.index, w.pc)
    else:
        shadow.note_read(index, agent[0], agent[1], agent[2], w.pc)
    return poison


def check_write(
    w: Warp,
    buffer: Buffer,
    index: np.ndarray,
    lanes: np.ndarray | None,
    strong: bool = False,
    proxy: int = GENERIC,
    agent: tuple[int, int] | None = None,
    copy: tuple[np.ndarray, int] | None = None,
    same: Callable[[], bool] | None = None,
) -> None:
    """Checks and records writes.

    Args:
        w, buffer, index, lanes, strong, proxy: as for `check_read`.
        agent: (component, epoch) of the asynchronous writer.
        copy: components (a column) and number of a cp.async.
        same: whether memory already holds what is written: threads that hold copies of a value may all store it.
    """
    shadow = buffer.shadow
    if not buffer.writable:
        raise w.machine.fault("read-only", f"writes {buffer.name}, which the launch plan says is only read", w)
    if shadow is None:
        return
    own = _own(w, lanes)
    for positions, clock in _by_clock(w, lanes):
        mine = own[positions]
        rows = index[positions]
        found = shadow.find_write(rows, mine, clock, proxy, strong, _copies(w))
        if found is not None and same is not None and same():
            w.machine.count("stores of a value that another thread stores too")
        elif found is not None:
            lane = int(mine[found[0], 0]) - w.component
            report_write(w, buffer, lane, found[1], found[2], "writes")
        late = shadow.find_read(rows, mine, clock, proxy)
        if late is not None:
            access, granule, row, fence = late
            machine = w.machine
            reader = machine.components.describe(int(shadow.reader[row][granule]))
            where = buffer.where(granule << shadow.shift)
            if fence:
                kind = "missing-proxy-fence"
                what = f"an asynchronous operation writes {where}, read by {reader} without a proxy fence in between"
            else:
                kind, what = "race", f"writes {where}, and nothing orders that behind the read by {reader}"
            place = int(mine[access, 0]) - w.component
            machine.note(machine.finding(kind, what, w, place, [(int(shadow.read_step[granule]), "read")]))
    if copy is not None:
        shadow.note_write(index, copy[0], copy[1], w.pc)
    elif agent is None:
        shadow.note_write(index, own, w.epoch, w.pc, strong)
    else:
        shadow.note_write(index, np.int32(agent[0]), agent[1], w.pc, strong, False)


# Synchronising accesses -----------------------------------------------------------------------------------------------


def _publish_at(w: Warp, buffer: Buffer, offset: int, lane: int, release: bool, keeps: bool) -> None:
    """A strong write: what a later acquiring read of the address may rely on."""
    key = (id(buffer), offset)
    table = w.machine.released
    alone = np.zeros(LANES, np.bool_)
    alone[lane] = True
    clock = w.publish(alone) if release else w.state.get(("fenced", lane))
    if keeps and table.get(key) is not None:
        clock = table[key] if clock is None else np.maximum(table[key], clock)
    table[key] = clock


def _observe_at(w: Warp, buffer: Buffer, offset: int, lane: int, acquire: bool) -> None:
    """A strong read: takes over what the write that it sees released, at once or at the next fence."""
    clock = w.machine.released.get((id(buffer), offset))
    if clock is None:
        return
    if acquire:
        alone = np.zeros(LANES, np.bool_)
        alone[lane] = True
        w.acquire(alone, clock)
    else:
        known = w.state.get(("observed", lane))
        w.state["observed", lane] = clock if known is None else np.maximum(known, clock)


# Instructions ---------------------------------------------------------------------------------------------------------


def _shape(one: Instruction, words: Words, data: Operand) -> tuple[str, int, list[Operand]]:
    """(type, elements, element operands) of an access."""
    kind = words.left.pop()
    count = {"v2": 2, "v4": 4, "v8": 8, None: 1}[words.take("v2", "v4", "v8")]
    items: list[Operand] = list(data.items) if isinstance(data, Vector) else [data]
    if len(items) != count:
        raise ValueError("number of elements")
    return kind, count, items


def _space(words: Words) -> str:
    return words.take("global", "shared", "shared::cta", "shared::cluster", "local", "param", "const",
                      "param::entry", "param::func") or "generic"  # fmt: skip


_WIDTHS = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4,
           "f32": 4, "f16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8}  # fmt: skip


def _widen(values: np.ndarray, kind: str, bits: int) -> np.ndarray:
    """Loaded values in the dtype of the destination register; signed types are sign-extended."""
    if values.dtype.itemsize * 8 == bits:
        return values
    if kind[0] == "s":
        return (
            values.view(np.dtype(f"i{values.dtype.itemsize}")).astype(np.dtype(f"i{bits // 8}")).view(f"u{bits // 8}")
        )
    return values.astype(np.dtype(f"u{bits // 8}"))


@opcode("ld", "ldu")
def _ld(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    space = _space(words)
    order = words.take("weak", "volatile", "relaxed", "acquire", "mmio")
    words.take("cta", "cluster", "gpu", "sys")
    kind, count, items = _shape(one, words, one.operands[0])
    while words.take(*CACHE_WORDS):
        pass
    words.finish()
    width = _WIDTHS[kind]
    places = [None if isinstance(item, Sink) else p.register_row(item) for item in items]
    address = one.operands[1]
    if not isinstance(address, Address):
        raise ValueError("expected an address")
    if space.startswith("param"):
        return _ld_param(p, address, kind, width, places)
    read = address_reader(p, address)
    strong = order in ("volatile", "relaxed", "acquire", "mmio")
    acquire = order == "acquire"
    swapped = address.base in p.swapped
    size = width * count
    shift = width.bit_length() - 1
    elements = np.arange(count)
    # Only 32-bit registers are followed.
    poisons = all(place is None or place[0] == 32 for place in places)

    def run(w: Warp, m: Mask) -> None:
        addresses = read(w)
        lanes = None
        if m is not None:
            lanes = np.flatnonzero(m)
            addresses = addresses[lanes]
        first = int(addresses[0])
        if space == "local" or (space == "generic" and first >> 40 == LOCAL_WINDOW >> 40):
            _local(w, addresses, lanes, size, places, kind, width, None)
            return
        if space == "generic" and first >> 40 == PARAM_WINDOW >> 40:
            data = w.machine.param_bytes
            for lane, at in zip(range(LANES) if lanes is None else lanes.tolist(), addresses.tolist(), strict=True):
                for i, place in enumerate(places):
                    if place is not None:
                        start = at - PARAM_WINDOW + i * width
                        value = data[start : start + width].view(np.dtype(f"u{width}"))
                        getattr(w, place[1])[place[2]][lane] = _widen(value, kind, place[0])[0]
            return
        for buffer, offsets, who in locate(w, space, addresses, lanes, size, 3 if swapped else 0):
            if w.machine.checks and buffer.shadow is not None:
                index = buffer.shadow.granules(offsets, size)
                poison = check_read(w, buffer, index, who, strong or swapped, poisons=poisons)
                if poison is not None:
                    w.taint([place[2] for place in places if place is not None], poison)
            if w.machine.banks and buffer is w.block.shared:
                w.machine.banks.count(w, offsets, size)
            index = offsets >> shift
            view = buffer.view(width)
            if count > 1:
                values = view[index[:, None] + elements]
            else:
                values = view[index]
            for i, place in enumerate(places):
                if place is None:
                    continue
                bits, rows, row = place
                column = _widen(np.ascontiguousarray(values[:, i]) if count > 1 else values, kind, bits)
                if who is None:
                    getattr(w, rows)[row][...] = column
                else:
                    getattr(w, rows)[row][who] = column

    if not strong:
        return run

    def ordered(w: Warp, group: Group, mask: Mask) -> int:
        m = group.mask if mask is None else mask
        if acquire or w.machine.checks:
            addresses = read(w)
            for lane in range(LANES) if m is None else np.flatnonzero(m).tolist():
                buffer, offset = resolve(w, space, int(addresses[lane]), size, lane)
                _observe_at(w, buffer, offset, lane, acquire)
        run(w, m)
        return YIELD

    return CONTROL, ordered


def _ld_param(p: Program, address: Address, kind: str, width: int, places: list[Any]) -> Any:
    base = address.base
    if not isinstance(base, Symbol):
        read = address_reader(p, address)

        def indirect(w: Warp, m: Mask) -> None:
            addresses = read(w)
            for lane in range(LANES) if m is None else np.flatnonzero(m).tolist():
                start = int(addresses[lane]) & 0xFFFFFFFF
                for i, (bits, rows, row) in enumerate(places):
                    data = w.machine.param_bytes[start + i * width : start + (i + 1) * width]
                    getattr(w, rows)[row][lane] = _widen(data.view(np.dtype(f"u{width}")), kind, bits)[0]

        return indirect
    name, offset = base.name, address.offset

    def run(w: Warp, m: Mask) -> None:
        machine = w.machine
        for i, (bits, rows, row) in enumerate(places):
            start = offset + i * width
            if name in machine.param_offsets:
                start += machine.param_offsets[name]
                data = machine.param_bytes[start : start + width].copy().view(np.dtype(f"u{width}"))
                value: Any = _widen(data, kind, bits)[0]
            else:  # the result of a call
                column = np.ascontiguousarray(w.parameters[name][:, start : start + width])
                value = _widen(column.view(np.dtype(f"u{width}")).reshape(-1), kind, bits)
            target = getattr(w, rows)[row]
            if m is None:
                target[...] = value
            else:
                np.copyto(target, value, where=m)

    return run


def _local(
    w: Warp,
    addresses: np.ndarray,
    lanes: np.ndarray | None,
    size: int,
    places: list[Any],
    kind: str,
    width: int,
    stored: Any,
) -> None:
    """Loads (stored is None) and stores of local memory, which every thread has for itself."""
    machine = w.machine
    if w.local is None:
        w.local = np.zeros((LANES, machine.local_size + 16), np.uint8)
    offsets = np.where(addresses >> 40 == LOCAL_WINDOW >> 40, addresses - LOCAL_WINDOW, addresses)
    if (offsets < 0).any() or (offsets > machine.local_size - size).any():
        raise machine.fault(
            "out-of-bounds", f"{size} bytes outside of the {machine.local_size} bytes of local memory", w
        )
    if (offsets % size).any():
        raise machine.fault("misaligned", f"{size} bytes of local memory", w)
    who = np.arange(LANES) if lanes is None else lanes
    for i, place in enumerate(places):
        index = (offsets + i * width)[:, None] + np.arange(width)
        if stored is None:
            if place is None:
                continue
            bits, rows, row = place
            values = np.ascontiguousarray(w.local[who[:, None], index]).view(np.dtype(f"u{width}")).reshape(-1)
            getattr(w, rows)[row][who] = _widen(values, kind, bits)
        else:
            values = np.ascontiguousarray(stored(w, i)[who].astype(np.dtype(f"u{width}")))
            w.local[who[:, None], index] = values.view(np.uint8).reshape(-1, width)


@opcode("st")
def _st(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    if words.take("async"):
        raise ValueError("st.async")
    space = _space(words)
    order = words.take("weak", "volatile", "relaxed", "release", "mmio")
    words.take("cta", "cluster", "gpu", "sys")
    kind, count, items = _shape(one, words, one.operands[1])
    while words.take(*CACHE_WORDS):
        pass
    words.finish()
    width = _WIDTHS[kind]
    sources: list[tuple[str, int]] = []
    for item in items:
        if isinstance(item, (Immediate, Symbol)):
            wide = f"f{8 * width}" if isinstance(getattr(item, "value", 0), float) else f"u{max(16, 8 * width)}"
            sources.append((f"u{max(16, 8 * width)}", p.source(item, wide)))
        elif hasattr(item, "index"):
            _, rows, row = p.register_row(item)
            sources.append((rows, row))
        else:
            sources.append((f"u{max(16, 8 * width)}", p.source(item, f"u{max(16, 8 * width)}")))
    address = one.operands[0]
    if not isinstance(address, Address):
        raise ValueError("expected an address")
    dtype = np.dtype(f"u{width}")

    def stored(w: Warp, i: int) -> np.ndarray:
        rows, row = sources[i]
        values: np.ndarray = getattr(w, rows)[row]
        return values

    if space.startswith("param"):
        return _st_param(address, width, stored, len(sources))
    read = address_reader(p, address)
    strong = order in ("volatile", "relaxed", "release", "mmio")
    release = order == "release"
    size = width * count
    shift = width.bit_length() - 1

    def _holds(w: Warp, buffer: Buffer, offsets: np.ndarray, who: np.ndarray | None) -> bool:
        view, index = buffer.view(width), offsets >> shift
        for i in range(count):
            values = stored(w, i) if who is None else stored(w, i)[who]
            if not np.array_equal(view[index + i], values.astype(dtype)):
                return False
        return True

    def run(w: Warp, m: Mask) -> None:
        addresses = read(w)
        lanes = None
        if m is not None:
            lanes = np.flatnonzero(m)
            addresses = addresses[lanes]
        if space == "local" or (space == "generic" and int(addresses[0]) >> 40 == LOCAL_WINDOW >> 40):
            _local(w, addresses, lanes, size, list(sources), kind, width, stored)
            return
        for buffer, offsets, who in locate(w, space, addresses, lanes, size):
            if w.machine.checks:
                shadow = buffer.shadow
                granules = shadow.granules(offsets, size) if shadow is not None else offsets
                check_write(w, buffer, granules, who, strong, same=lambda: _holds(w, buffer, offsets, who))  # noqa: B023
            if w.machine.banks and buffer is w.block.shared:
                w.machine.banks.count(w, offsets, size)
            index = offsets >> shift
            view = buffer.view(width)
            for i in range(count):
                values = stored(w, i)
                if who is not None:
                    values = values[who]
                view[index + i if i else index] = values.astype(dtype) if values.dtype != dtype else values
        w.machine.progress += 1

    if not strong:
        return run

    def ordered(w: Warp, group: Group, mask: Mask) -> int:
        m = group.mask if mask is None else mask
        addresses = read(w)
        for lane in range(LANES) if m is None else np.flatnonzero(m).tolist():
            buffer, offset = resolve(w, space, int(addresses[lane]), size, lane)
            _publish_at(w, buffer, offset, lane, release, False)
        run(w, m)
        return YIELD

    return CONTROL, ordered


def _st_param(address: Address, width: int, stored: Callable[[Warp, int], np.ndarray], count: int) -> Any:
    base = address.base
    if not isinstance(base, Symbol):
        raise ValueError("parameters of calls are addressed by name")
    name, offset = base.name, address.offset
    dtype = np.dtype(f"u{width}")

    def run(w: Warp, m: Mask) -> None:
        block = w.parameters.setdefault(name, np.zeros((LANES, 64), np.uint8))
        for i in range(count):
            values = np.ascontiguousarray(stored(w, i).astype(dtype)).view(np.uint8).reshape(LANES, width)
            block[:, offset + i * width : offset + (i + 1) * width] = values

    return run
