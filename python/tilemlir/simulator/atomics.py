"""Atomic operations on memory: atom and red, scalar, packed and vector.

Semantics: PTX ISA, "atom" and "red". Lanes act one after the other, in an order that the scheduler draws. Orderings
other than relaxed release what the lane did and acquire what earlier releases at the address cover.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilemlir.simulator.loads_stores import (
    CACHE_WORDS,
    _observe_at,
    _publish_at,
    address_reader,
    check_read,
    check_write,
    resolve,
)
from tilemlir.simulator.memory import GLOBAL_BASE
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Instruction, Sink, Vector
from tilemlir.simulator.small_floats import bf16_to_f32, f32_to_bf16
from tilemlir.simulator.warp import ADVANCE, YIELD, Group, Warp

__all__ = ["combine"]

_VIEWS = {"f16": np.float16, "f16x2": np.float16, "f32": np.float32, "f64": np.float64}


def combine(how: str, kind: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The values that an atomic operation leaves.

    Args:
        how: `add`, `min`, `max`, `and`, `or`, `xor`, `inc`, `dec` or `exch`.
        kind: PTX type.
        old, new: unsigned integers with the bits of memory and operand.
    """
    dtype = old.dtype
    if how == "exch":
        return new
    if kind in ("bf16", "bf16x2"):
        x, y = bf16_to_f32(old.view(np.uint16)), bf16_to_f32(new.view(np.uint16))
        functions: dict[str, Callable[..., Any]] = {"add": np.add, "min": np.fmin, "max": np.fmax}
        return f32_to_bf16(functions[how](x, y)).view(dtype)
    view = _VIEWS.get(kind, np.dtype(("i" if kind[0] == "s" else "u") + str(dtype.itemsize)))
    x, y = old.view(view), new.view(view)
    if how == "inc":
        return np.where(x >= y, 0, x + 1).astype(dtype)
    if how == "dec":
        return np.where((x == 0) | (x > y), y, x - 1).astype(dtype)
    floating = np.dtype(view).kind == "f"
    table: dict[str, Callable[..., Any]] = {
        "add": np.add, "min": np.fmin if floating else np.minimum, "max": np.fmax if floating else np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    result: np.ndarray = np.asarray(table[how](x, y)).view(dtype)
    return result


def flush_bits(bits: np.ndarray) -> np.ndarray:
    """Denormal float32 bits to zero of the same sign: what additions to global memory do (PTX ISA, atom)."""
    flushed: np.ndarray = np.where(bits & 0x7F800000, bits, bits & 0x80000000).astype(bits.dtype)
    return flushed


@opcode("atom", "red")
def _atomic(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    if words.take("async"):
        raise ValueError("red.async")
    order = words.take("relaxed", "acquire", "release", "acq_rel")
    words.take("cta", "cluster", "gpu", "sys")
    space = words.take("global", "shared", "shared::cta", "shared::cluster") or "generic"
    how = words.take("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas")
    words.take("noftz")
    while words.take(*CACHE_WORDS):
        pass
    count = {"v2": 2, "v4": 4, "v8": 8, None: 1}[words.take("v2", "v4", "v8")]
    kind = words.left.pop()
    words.finish()
    if how is None:
        raise ValueError("kind of atomic operation")
    flushes = how == "add" and kind == "f32"
    operands = list(one.operands)
    result = operands.pop(0) if one.opcode == "atom" else Sink()
    address = address_reader(p, operands.pop(0))
    width = {"16": 2, "32": 4, "64": 8, "x2": 4}[kind[-2:]]
    items = operands[0].items if isinstance(operands[0], Vector) else (operands[0],)
    outputs = result.items if isinstance(result, Vector) else (result,)
    if len(items) != count:
        raise ValueError("number of elements")
    bits = 8 * width
    rows = f"u{bits}"
    read_kind = kind if kind in ("f32", "f64", "f16") else f"b{bits}"
    sources = [p.source(item, read_kind) for item in items]
    exchanged = p.source(operands[1], f"b{bits}") if how == "cas" else -1
    places = [-1 if isinstance(item, Sink) else p.destination(item, f"b{bits}") for item in outputs]
    size = width * count

    def run(w: Warp, group: Group, mask: Any) -> int:
        machine = w.machine
        m = group.mask if mask is None else mask
        lanes = list(range(LANES)) if m is None else np.flatnonzero(m).tolist()
        machine.random.shuffle(lanes)
        addresses = address(w)
        r = getattr(w, rows)
        operand_values = [r[source].copy() for source in sources]
        swap = r[exchanged].copy() if how == "cas" else None
        for lane in lanes:
            # Compare-and-swap of a word stands for atomics on its halves; allocations end with whole words.
            buffer, offset = resolve(w, space, int(addresses[lane]), size, lane, 3 if how == "cas" else 0)
            who = np.array([lane])
            if machine.checks:
                shadow = buffer.shadow
                index = shadow.granules(np.array([offset]), size) if shadow is not None else who
                if shadow is not None:
                    check_read(w, buffer, index, who, True)
                check_write(w, buffer, index, who, True)
            view = buffer.view(width)
            if order in ("acquire", "acq_rel"):
                _observe_at(w, buffer, offset, lane, True)
            elif one.opcode == "atom":
                _observe_at(w, buffer, offset, lane, False)
            _publish_at(w, buffer, offset, lane, order in ("release", "acq_rel"), True)
            for i in range(count):
                at = offset // width + i
                old = view[at : at + 1].copy()
                if how == "cas":
                    assert swap is not None
                    if old[0] == operand_values[i][lane]:
                        view[at] = swap[lane]
                else:
                    new = operand_values[i][lane : lane + 1]
                    if flushes and buffer.base >= GLOBAL_BASE:
                        view[at] = flush_bits(combine(how, kind, flush_bits(old), flush_bits(new)))[0]
                    else:
                        view[at] = combine(how, kind, old, new)[0]
                if i < len(places) and places[i] >= 0:
                    r[places[i]][lane] = old[0]
        machine.progress += 1
        return YIELD if one.opcode == "atom" else ADVANCE

    return CONTROL, run
