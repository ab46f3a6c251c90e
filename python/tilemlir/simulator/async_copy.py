"""cp.async: copies of 4, 8 or 16 bytes per thread from global to shared memory, in groups.

Semantics: PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy" and "cp.async.mbarrier.arrive". A copy is
done at any time between its issue and the wait that covers it; its writes are ordered before the issuing thread by that
wait only, and before others by what the thread releases afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilemlir.simulator.barriers import _address, active_lanes, find_mbarrier, merged
from tilemlir.simulator.loads_stores import CACHE_WORDS, address_reader, check_read, check_write, locate
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Immediate, Instruction, Register
from tilemlir.simulator.warp import ADVANCE, Group, Warp

__all__ = ["Copies", "Copy"]


class Copy:
    """One cp.async of a warp.

    Attributes:
        number: of the copy within the warp, from 1.
        done: whether its bytes have been written.
    """

    __slots__ = ("done", "number", "run")

    def __init__(self, number: int, run: Any) -> None:
        self.number = number
        self.run = run
        self.done = False

    def finish(self) -> None:
        """Does the copy if nobody has."""
        if not self.done:
            self.done = True
            self.run()


class Copies:
    """The copies of a warp.

    Attributes:
        issued: number of the last copy.
        groups: per committed group the number of its last copy.
        waited: number of the last copy that a wait has covered.
    """

    def __init__(self, first: int) -> None:
        self.issued = first
        self.groups: list[int] = []
        self.pending: list[Copy] = []
        self.waited = first

    def finish(self, number: int) -> None:
        """Does all copies up to a number."""
        for copy in self.pending:
            if copy.number <= number:
                copy.finish()
        self.pending = [copy for copy in self.pending if not copy.done]


def _copies(w: Warp) -> Copies:
    if w.copies is None:
        w.copies = Copies(w.machine.epochs.get(w.copy_component, 0))
    return w.copies


@opcode("cp.async")
def _cp_async(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    words.take("async")
    if words.take("commit_group"):
        return CONTROL, _commit
    if words.take("wait_group"):
        amount = one.operands[0]
        if not isinstance(amount, Immediate):
            raise ValueError("a count that is no constant")
        return CONTROL, _wait(int(amount.value))
    if words.take("wait_all"):
        return CONTROL, _wait(-1)
    if words.take("mbarrier"):
        return _arrive(p, one, words)
    words.take("ca", "cg")
    words.take("shared", "shared::cta")
    words.take("global")
    while words.take(*CACHE_WORDS):
        pass
    words.finish()
    into, source = address_reader(p, one.operands[0]), address_reader(p, one.operands[1])
    size_operand = one.operands[2]
    if not isinstance(size_operand, Immediate):
        raise ValueError("a size that is no constant")
    size = int(size_operand.value)
    ignored = actual = None
    for operand in one.operands[3:]:
        if isinstance(operand, Register) and operand.bits == 1:
            ignored = operand.index
        elif not (isinstance(operand, Register) and operand.bits == 64):
            actual = p.source(operand, "u32")

    def run(w: Warp, m: Any) -> None:
        machine, copies = w.machine, _copies(w)
        numbers = np.arange(LANES) if m is None else np.flatnonzero(m)
        targets, sources = into(w)[numbers], source(w)[numbers]
        amounts = np.full(LANES, size) if actual is None else w.u32[actual].astype(np.int64)
        if ignored is not None:
            amounts = np.where(w.p[ignored], 0, amounts)
        amounts = amounts[numbers]
        if (amounts > size).any():
            raise machine.fault("invalid", f"cp.async of {size} bytes reads {int(amounts.max())}", w)
        copies.issued += 1
        number = copies.issued
        reads: list[tuple[Any, np.ndarray, np.ndarray]] = []
        # Only as many bytes as are copied must exist.
        for amount in np.unique(amounts).tolist():
            chosen = amounts == amount
            if amount == 0:
                continue
            grain = amount & -amount
            for buffer, offsets, who in locate(w, "global", sources[chosen], numbers[chosen], min(grain, size)):
                assert who is not None
                if (offsets + amount > buffer.size).any():
                    raise machine.fault(
                        "out-of-bounds", f"{amount} bytes, {buffer.where(int(offsets.max()) + amount - 1)}", w
                    )
                if machine.checks and buffer.shadow is not None:
                    check_read(w, buffer, buffer.shadow.granules(offsets, amount), who)
                reads.append((buffer, offsets, np.searchsorted(numbers, who)))
        writes = list(locate(w, "shared", targets, numbers, size))
        if machine.checks:
            for buffer, offsets, who in writes:
                component = (w.copy_component + np.asarray(who, np.int32))[:, None]
                assert buffer.shadow is not None
                check_write(w, buffer, buffer.shadow.granules(offsets, size), who, copy=(component, number))

        def copy() -> None:
            data = np.zeros((len(numbers), size), np.uint8)
            for buffer, offsets, positions in reads:
                amount = int(amounts[positions[0]])
                data[positions, :amount] = buffer.data[offsets[:, None] + np.arange(amount)]
            for buffer, offsets, who in writes:
                assert who is not None
                buffer.data[offsets[:, None] + np.arange(size)] = data[np.searchsorted(numbers, who)]

        made = Copy(number, copy)
        copies.pending.append(made)
        if machine.random.random() >= machine.laziness:
            made.finish()
        machine.count("bytes by cp.async", size * len(numbers))

    return run


def _commit(w: Warp, group: Group, mask: Any) -> int:
    copies = _copies(w)
    copies.groups.append(copies.issued)
    return ADVANCE


def _wait(pending: int) -> Any:
    def run(w: Warp, group: Group, mask: Any) -> int:
        copies = _copies(w)
        if pending < 0:
            covered = copies.issued
        elif len(copies.groups) > pending:
            covered = copies.groups[len(copies.groups) - 1 - pending]
        else:
            return ADVANCE
        copies.finish(covered)
        if covered > copies.waited:
            copies.waited = covered
        return ADVANCE

    return run


def _arrive(p: Program, one: Instruction, words: Words) -> Any:
    """The mbarrier gets an arrival per thread when the thread's earlier copies are done."""
    words.take("arrive")
    counted = words.take("noinc") is not None
    words.take("shared", "shared::cta")
    words.take("b64")
    words.finish()
    address = _address(p, one.operands[0])

    def run(w: Warp, group: Group, mask: Any) -> int:
        copies, machine = _copies(w), w.machine
        number = copies.issued
        addresses = address(w)
        lanes = active_lanes(w, group, mask)
        barriers = [find_mbarrier(w, int(addresses[lane]), lane=lane) for lane in lanes]
        if not counted:
            for barrier in barriers:
                barrier.pending += 1

        def arrive() -> None:
            copies.finish(number)
            clock = np.zeros_like(machine.initial_clock)
            clock[0, w.copy_component + np.array(lanes)] = number
            for barrier in barriers:
                barrier.arrive(w, 1, clock)

        machine.start(arrive, "an arrival of cp.async at an mbarrier")
        _ = merged
        return ADVANCE

    return CONTROL, run
