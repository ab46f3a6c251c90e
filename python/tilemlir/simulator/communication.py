"""What lanes do with each other, with the block and with the system: shuffles, votes, election, calls, exits.

Semantics: PTX ISA: "shfl.sync", "vote.sync", "match.sync", "activemask", "redux.sync", "elect.sync", "mapa",
"getctarank", "setmaxnreg", "griddepcontrol", "Control Flow Instructions".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tilemlir.simulator.barriers import active_lanes, member_mask, merged
from tilemlir.simulator.logic import predicate_reader
from tilemlir.simulator.moves import LOCAL_WINDOW
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Immediate, Instruction, Operand, Pair, Symbol, Vector
from tilemlir.simulator.warp import ADVANCE, Group, Warp

__all__ = ["REGISTER_UNIT"]

#: Registers are handed out in units of 8 per thread (PTX ISA, setmaxnreg).
REGISTER_UNIT = 8

Mask = Any


def _collective(
    members: Callable[[Warp, Group, Any], Any], body: Callable[[Warp, Any, list[int]], None]
) -> tuple[int, Callable[..., int]]:
    """A step that waits for the lanes of its member mask and then acts on them together."""

    def run(w: Warp, group: Group, mask: Mask) -> int:
        needed = members(w, group, mask)
        if (parked := w.park(group, needed)) is not None:
            return parked
        lanes = active_lanes(w, group, mask)
        if needed is not None and any(not needed[lane] for lane in lanes):
            raise w.machine.fault("invalid", "a lane is not in the member mask that it names", w)
        body(w, merged(group, mask), lanes)
        return ADVANCE

    return CONTROL, run


def _write(row: np.ndarray, values: Any, mask: Mask) -> None:
    if mask is None:
        row[...] = values
    else:
        np.copyto(row, values, where=mask, casting="unsafe")


@opcode("shfl.sync")
def _shfl(p: Program, one: Instruction) -> Any:
    mode = one.modifiers[1]
    into = one.operands[0]
    flag = -1
    if isinstance(into, Pair):
        flag = p.destination(into.second, "pred")
        into = into.first
    d = p.destination(into, "b32")
    a, b, c = (p.source(operand, "u32") for operand in one.operands[1:4])
    lane = np.arange(LANES, dtype=np.int64)

    def body(w: Warp, mask: Mask, lanes: list[int]) -> None:
        values = w.u32[a].copy()
        distance = (w.u32[b] & np.uint32(31)).astype(np.int64)
        control = w.u32[c].astype(np.int64)
        clamp, segment = control & 31, (control >> 8) & 31
        highest = (lane & segment) | (clamp & ~segment)
        lowest = lane & segment
        if mode == "up":
            source = lane - distance
            valid = source >= highest
        elif mode == "down":
            source = lane + distance
            valid = source <= highest
        elif mode == "bfly":
            source = lane ^ distance
            valid = source <= highest
        elif mode == "idx":
            source = lowest | (distance & ~segment)
            valid = source <= highest
        else:
            raise w.machine.fault("invalid", f"shfl.{mode}", w)
        source = np.where(valid, source, lane)
        if mask is not None:
            wrong = [x for x in lanes if not mask[source[x]]]
            if wrong:
                raise w.machine.fault(
                    "invalid", f"a shuffle reads lane {source[wrong[0]]}, which takes no part", w, wrong[0]
                )
        _write(w.u32[d], values[source], mask)
        if flag >= 0:
            _write(w.p[flag], valid, mask)

    return _collective(member_mask(p, one.operands[4]), body)


@opcode("vote.sync")
def _vote(p: Program, one: Instruction) -> Any:
    mode, kind = one.modifiers[1:]
    d = p.destination(one.operands[0], kind)
    read = predicate_reader(p, one.operands[1])

    def body(w: Warp, mask: Mask, lanes: list[int]) -> None:
        votes = read(w)[lanes]
        if mode == "ballot":
            value: Any = sum(1 << lane for lane, vote in zip(lanes, votes, strict=True) if vote)
        elif mode == "all":
            value = votes.all()
        elif mode == "any":
            value = votes.any()
        else:
            value = votes.all() or not votes.any()
        _write((w.u32 if kind == "b32" else w.p)[d], value, mask)

    return _collective(member_mask(p, one.operands[2]), body)


@opcode("match")
def _match(p: Program, one: Instruction) -> Any:
    mode, kind = one.modifiers[0], one.modifiers[-1]
    into, flag = one.operands[0], -1
    if isinstance(into, Pair):
        flag = p.destination(into.second, "pred")
        into = into.first
    d = p.destination(into, "b32")
    a = p.source(one.operands[1], kind)
    rows = p.rows(kind)

    def body(w: Warp, mask: Mask, lanes: list[int]) -> None:
        values = getattr(w, rows)[a].tolist()
        same = {lane: sum(1 << x for x in lanes if values[x] == values[lane]) for lane in lanes}
        everyone = sum(1 << x for x in lanes)
        for lane in lanes:
            if mode == "any":
                w.u32[d][lane] = same[lane]
            else:
                w.u32[d][lane] = everyone if same[lane] == everyone else 0
            if flag >= 0:
                w.p[flag][lane] = same[lane] == everyone

    return _collective(member_mask(p, one.operands[2]), body)


@opcode("activemask")
def _activemask(p: Program, one: Instruction) -> Any:
    d = p.destination(one.operands[0], "b32")

    def run(w: Warp, m: Mask) -> None:
        lanes = range(LANES) if m is None else np.flatnonzero(m).tolist()
        _write(w.u32[d], sum(1 << lane for lane in lanes), m)

    return run


@opcode("redux.sync")
def _redux(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers[1:]))
    kind = words.left.pop()
    words.take("abs")
    keeps_nan = words.take("NaN") is not None
    (how,) = words.left
    d, a = p.destination(one.operands[0], kind), p.source(one.operands[1], kind)
    rows = p.rows(kind)
    functions: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: np.add.reduce(x, dtype=x.dtype),
        "min": (np.minimum if keeps_nan or kind != "f32" else np.fmin).reduce,
        "max": (np.maximum if keeps_nan or kind != "f32" else np.fmax).reduce,
        "and": np.bitwise_and.reduce,
        "or": np.bitwise_or.reduce,
        "xor": np.bitwise_xor.reduce,
    }
    function = functions[how]

    def body(w: Warp, mask: Mask, lanes: list[int]) -> None:
        r = getattr(w, rows)
        _write(r[d], function(r[a][lanes]), mask)

    return _collective(member_mask(p, one.operands[2]), body)


@opcode("elect.sync")
def _elect(p: Program, one: Instruction) -> Any:
    into = one.operands[0]
    assert isinstance(into, Pair)
    d, flag = p.destination(into.first, "b32"), p.destination(into.second, "pred")

    def body(w: Warp, mask: Mask, lanes: list[int]) -> None:
        # Which lane is elected is open, but the same for the same mask. Programs see the lowest one of real devices in
        # half of the runs.
        chosen = w.state.setdefault("elected", {})
        key = tuple(lanes)
        leader = chosen.get(key)
        if leader is None:
            leader = chosen[key] = lanes[0] if w.machine.elects_lowest else w.machine.random.choice(lanes)
        if d >= 0:
            _write(w.u32[d], leader, mask)
        _write(w.p[flag], np.arange(LANES) == leader, mask)

    return _collective(member_mask(p, one.operands[1]), body)


@opcode("mapa")
def _mapa(p: Program, one: Instruction) -> Any:
    """mapa.shared::cluster: the same place in the shared memory of another block of the cluster."""
    words = Words(list(one.modifiers))
    kind = words.left.pop()
    if words.take("shared::cluster") is None:
        raise ValueError("generic addresses")
    words.finish()
    rows = p.rows(kind)
    d, a = p.destination(one.operands[0], kind), p.source(one.operands[1], kind)
    rank = p.source(one.operands[2], "u32")

    def run(w: Warp, m: Mask) -> None:
        r = getattr(w, rows)
        dtype = r[d].dtype.type
        _write(r[d], (r[a] & dtype(0xFFFFFF)) | (w.u32[rank].astype(dtype) << dtype(24)), m)

    return run


@opcode("getctarank")
def _getctarank(p: Program, one: Instruction) -> Any:
    d, a = p.destination(one.operands[0], "u32"), p.source(one.operands[1], one.modifiers[-1])
    rows = p.rows(one.modifiers[-1])
    return lambda w, m: _write(w.u32[d], getattr(w, rows)[a] >> 24, m)


@opcode("setmaxnreg")
def _setmaxnreg(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    way = words.take("inc", "dec")
    words.take("sync")
    words.take("aligned")
    words.take("u32")
    words.finish()
    amount = one.operands[0]
    if not isinstance(amount, Immediate):
        raise ValueError("a count that is no constant")
    count = int(amount.value)

    def run(w: Warp, group: Group, mask: Mask) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        machine, block = w.machine, w.block
        if not 24 <= count <= 256 or count % REGISTER_UNIT:
            raise machine.fault("invalid", f"{count} registers are not in 24..256 in steps of 8", w)
        held = w.state.get("registers", machine.registers_per_thread)
        if held is None:
            return ADVANCE
        more = count - held
        if (way == "inc") != (more > 0) and more:
            raise machine.fault("register-pool", f"setmaxnreg.{way} to {count} registers from {held}", w)
        # Registers are counted per warp; increases wait until others have given theirs back.
        if more > 0 and block.registers_left < more:
            return group.wait(
                lambda: block.registers_left >= more,
                lambda: f"{more} more registers per thread; the pool of its block has {block.registers_left}",
            )
        block.registers_left -= more
        w.state["registers"] = count
        machine.progress += 1
        return ADVANCE

    return CONTROL, run


@opcode("griddepcontrol", "createpolicy", "applypriority", "discard")
def _hints(p: Program, one: Instruction) -> Any:
    """Launches run one after the other, so dependencies on earlier grids always hold; policies are opaque."""
    if one.opcode == "createpolicy":
        d = p.destination(one.operands[0], "b64")
        return lambda w, m: _write(w.u64[d], 0, m)
    return lambda w, m: None


@opcode("prefetch.tensormap", "prefetch.param", "prefetch.const", "prefetch.global")
def _prefetch(p: Program, one: Instruction) -> Any:
    return lambda w, m: None


@opcode("ret", "exit")
def _exit(p: Program, one: Instruction) -> Any:
    def run(w: Warp, group: Group, mask: Mask) -> int:
        w.machine.progress += 1
        answer = w.exit(group, mask)
        w.block.cluster.barrier.poke()
        return answer

    return CONTROL, run


@opcode("trap", "brkpt")
def _trap(p: Program, one: Instruction) -> Any:
    def run(w: Warp, group: Group, mask: Mask) -> int:
        raise w.machine.fault("assertion", "the kernel stops itself (trap)", w)

    return CONTROL, run


# Calls ----------------------------------------------------------------------------------------------------------------


def _text(w: Warp, address: int) -> str:
    """The zero-terminated string at a global address."""
    buffer = w.machine.memory.locate(address, 1)
    data = buffer.data[address - buffer.base : buffer.size]
    end = int(np.argmax(data == 0))
    return bytes(data[:end]).decode()


_CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(hh|h|ll|l)?([diouxXcsfFeEgGp]))")


def _format(w: Warp, template: str, data: bytes) -> str:
    """What vprintf makes of its argument buffer: every value aligned to its size (CUDA's ABI)."""
    position = 0

    def one(match: re.Match[str]) -> str:
        nonlocal position
        if match[2] is None:
            return "%"
        size = 8 if match[1] in ("l", "ll") or match[2] in "sfFeEgGp" else 4
        position = -(-position // size) * size
        raw = data[position : position + size]
        position += size
        if match[2] in "fFeEgG":
            return match[0] % struct.unpack("<d", raw)
        if match[2] == "s":
            return _text(w, int.from_bytes(raw, "little"))
        value = int.from_bytes(raw, "little", signed=match[2] in "di")
        form = match[0]
        for prefix in ("ll", "hh"):
            form = form.replace(prefix, "")
        return form.replace("u", "d").replace("p", "x") % value

    return _CONVERSION.sub(one, template)


def _names(operand: Operand) -> list[str]:
    items = operand.items if isinstance(operand, Vector) else ()
    return [item.name for item in items if isinstance(item, Symbol)]


@opcode("call")
def _call(p: Program, one: Instruction) -> Any:
    operands = list(one.operands)
    into = _names(operands.pop(0)) if isinstance(operands[0], Vector) else []
    callee = operands.pop(0)
    names = _names(operands[0]) if operands else []
    if not isinstance(callee, Symbol):
        raise ValueError("calls through pointers")
    if callee.name not in ("vprintf", "__assertfail"):
        raise ValueError(f"the function {callee.name}")

    def run(w: Warp, group: Group, mask: Mask) -> int:
        lanes = active_lanes(w, group, mask)

        def word(name: str, lane: int, size: int) -> int:
            return int.from_bytes(w.parameters[name][lane, :size].tobytes(), "little")

        if callee.name == "__assertfail":
            lane = lanes[0]
            message, file = _text(w, word(names[0], lane, 8)), _text(w, word(names[1], lane, 8))
            raise w.machine.fault("assertion", f"{message} ({file}:{word(names[2], lane, 4)})", w, lane)
        for lane in lanes:
            at = word(names[1], lane, 8)
            data = b""
            if at and w.local is not None:
                data = w.local[lane, at - LOCAL_WINDOW if at >= LOCAL_WINDOW else at :].tobytes()
            w.machine.printed.append(_format(w, _text(w, word(names[0], lane, 8)), data))
        for name in into:
            w.parameters.setdefault(name, np.zeros((LANES, 64), np.uint8))
        w.machine.progress += 1
        return ADVANCE

    return CONTROL, run
