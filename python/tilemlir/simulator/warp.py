"""A warp: registers of 32 lanes, groups of lanes that run together, and what its lanes know of other threads.

Lanes that took different branches form groups with their own program counters, as with independent thread scheduling
(PTX ISA, "Independent Thread Scheduling"). The group that is behind runs first, and groups that meet become one, which
is where compiled code reconverges. Instructions that need all lanes (`.aligned`), or those of a member mask (`.sync`),
hold a group until the others have come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilemlir.simulator.clocks import ASYNC, GENERIC, Clock, join
from tilemlir.simulator.program import BRANCH, LANES, PLAIN, Program
from tilemlir.simulator.report import Finding

if TYPE_CHECKING:
    from tilemlir.simulator.machine import Block, Machine

__all__ = ["ADVANCE", "ENDED", "NONE_ACTIVE", "STAY", "YIELD", "Group", "Hold", "Warp"]

#: What a CONTROL step answers: go on; stay at this instruction; the group is gone; go on, but let others run first.
ADVANCE, STAY, ENDED, YIELD = 0, 1, 2, 3

ALL_ACTIVE = b"\1" * LANES
NONE_ACTIVE = b"\0" * LANES


class Hold(NamedTuple):
    """Why a register may not be used.

    Attributes:
        kind: `sum` or `operand` of a product in flight, or `poison`: its value was never written.
        number: of the product.
        pc: of the instruction that made it so.
        finding: what to report when a poisoned value is used.
    """

    kind: str
    number: int
    pc: int
    finding: Finding | None = None


class Group:
    """Lanes of a warp with one program counter.

    Attributes:
        pc: index of the next instruction.
        mask: its lanes; None means all 32.
        poll: while it waits: whether it may go on.
        parked: it waits for other lanes of its warp, which may join it.
        reason: while it waits: what for, in words.
        scratch: what an instruction remembers between attempts.
    """

    __slots__ = ("mask", "parked", "pc", "poll", "reason", "scratch")

    def __init__(self, pc: int, mask: np.ndarray | None) -> None:
        self.pc = pc
        self.mask = mask
        self.poll: Callable[[], bool] | None = None
        self.parked = False
        self.reason: str | Callable[[], str] = ""
        self.scratch: Any = None

    def wait(self, poll: Callable[[], bool], reason: str | Callable[[], str]) -> int:
        """Blocks the group until `poll` holds; returns what its instruction answers."""
        self.poll = poll
        self.reason = reason
        return STAY


class Warp:
    """One warp of a resident block.

    Attributes:
        block: its block.
        index: within the block.
        p, u16, s16, f16, u32, s32, f32, u64, s64, f64: rows of registers by type.
        live: lanes that have not exited.
        component: of lane 0 in clocks.
        epoch: stamp of accesses; grows with every release.
        busy: 32-bit registers that need a look before they are named: see `Hold`.
    """

    def __init__(self, machine: Machine, block: Block, index: int, lanes: int, component: int) -> None:
        self.machine = machine
        self.block = block
        self.index = index
        self.component = component
        self.copy_component = 0
        self.copies: Any = None
        self.own = (component + np.arange(LANES, dtype=np.int32))[:, None]
        self.epoch = 1
        self.clock: Clock = machine.initial_clock
        self.lane_clocks: list[Clock] | None = None
        self.live = np.arange(LANES) < lanes
        self.groups = [Group(0, None if lanes == LANES else self.live.copy())]
        self.pc = 0
        self.executed = 0
        self.busy: dict[int, Hold] = {}
        self.local: np.ndarray | None = None
        self.parameters: dict[str, np.ndarray] = {}
        self.priority = 0.0
        self.polls = False
        self.state: dict[Any, Any] = {}
        self._make_rows(machine.program)

    def _make_rows(self, program: Program) -> None:
        constants = machine_constants(program)
        counts = program.counts
        self.p = [*np.zeros((counts[1], LANES), np.bool_), *constants[1]]
        for bits in (16, 32, 64):
            width = bits // 8
            storage = np.zeros((counts[bits], LANES), np.dtype(f"u{width}"))
            if bits == 32:
                self.words = storage
            for kind in "usf":
                dtype = np.dtype({"u": "u", "s": "i", "f": "f"}[kind] + str(width))
                setattr(self, f"{kind}{bits}", [*storage.view(dtype), *constants[bits].view(dtype)])
        for bits in (32, 64):
            rows = getattr(self, f"u{bits}")
            mask = (1 << bits) - 1
            for name, row in program.specials[bits].items():
                value = self.block.special(name, self)
                rows[row][...] = value & mask if isinstance(value, int) else value

    p: list[np.ndarray]
    u16: list[np.ndarray]
    u32: list[np.ndarray]
    s32: list[np.ndarray]
    f32: list[np.ndarray]
    u64: list[np.ndarray]
    s64: list[np.ndarray]
    words: np.ndarray

    @property
    def finished(self) -> bool:
        """Whether all lanes have exited."""
        return not self.groups

    def name(self, lane: int | None = None) -> str:
        """The warp, or one lane of it, in words."""
        text = f"{self.block.name}, warp {self.index}"
        return text if lane is None else f"{text}, lane {lane}"

    # Running ---------------------------------------------------------------------------------------------------------

    def _choose(self) -> Group | None:
        """The group to run: the one that is furthest behind of those that can."""
        best: Group | None = None
        for group in self.groups:
            if group.poll is not None and not group.poll():
                continue
            if best is None or group.pc < best.pc:
                best = group
        if best is not None:
            if best.poll is not None and self.machine.trace is not None:
                self.machine.trace.wait_end(self, best)
            best.poll = None
            best.parked = False
            best.reason = ""
        return best

    def run(self, budget: int) -> int:
        """Runs one group for at most `budget` instructions; returns how many it executed."""
        group = self._choose()
        if group is None:
            return 0
        steps = self.machine.program.steps
        executed = 0
        pc, mask = group.pc, group.mask
        meeting, behind = self._meeting(group)
        p = self.p
        first = pc
        while executed < budget:
            if meeting is not None:
                while meeting is not None and pc in meeting and group.scratch is None:
                    mask = self._merge(group, meeting[pc])
                    group.pc = pc
                    meeting, behind = self._meeting(group)
                if meeting is not None and pc > behind:
                    break
            step = steps[pc]
            self.pc = pc
            executed += 1
            if self.busy and not step.words.isdisjoint(self.busy):
                group.pc = pc
                if self.machine.warpgroups.touch(self, group, step) == STAY:
                    return self._ran(first, executed, group)
            active = mask
            if step.guard >= 0:
                predicate = p[step.guard]
                if step.negated:
                    predicate = ~predicate
                if mask is not None:
                    predicate = predicate & mask
                pattern = predicate.tobytes()
                if pattern == NONE_ACTIVE:
                    pc += 1
                    continue
                if step.kind == BRANCH:
                    if pattern == ALL_ACTIVE or (mask is not None and pattern == mask.tobytes()):
                        pc = step.target
                        continue
                    taken = predicate.copy()
                    rest = ~taken if mask is None else mask & ~taken
                    other = Group(max(pc + 1, step.target), rest if step.target < pc + 1 else taken)
                    group.mask = mask = taken if step.target < pc + 1 else rest
                    group.pc = pc = min(pc + 1, step.target)
                    self.groups.append(other)
                    meeting, behind = self._meeting(group)
                    continue
                active = None if pattern == ALL_ACTIVE else predicate.copy()
            if step.kind == PLAIN:
                step.fn(self, active)
                pc += 1
            elif step.kind == BRANCH:
                pc = step.target
            else:
                group.pc = pc
                answer = step.fn(self, group, active)
                if answer == ADVANCE:
                    pc += 1
                elif answer == STAY:
                    return self._ran(first, executed, group)
                elif answer == ENDED:
                    return self._ran(first, executed, None)
                else:
                    pc += 1
                    self.polls = True
                    break
        group.pc = pc
        return self._ran(first, executed, None)

    def _ran(self, first: int, executed: int, waiting: Group | None) -> int:
        """Accounts for executed instructions that began at a step; `waiting` is a group that has begun to wait."""
        machine = self.machine
        if machine.trace is not None:
            machine.trace.ran(self, first, executed)
            machine.ticks += executed
            if waiting is not None:
                machine.trace.wait_begin(self, waiting)
        self.executed += executed
        return executed

    def _meeting(self, group: Group) -> tuple[dict[int, Group] | None, int]:
        """Groups that this one would join by their program counters, and the least counter of those that can run."""
        if len(self.groups) == 1:
            return None, 0
        meeting: dict[int, Group] = {}
        behind = 1 << 60
        for other in self.groups:
            if other is group:
                continue
            if (other.poll is None or other.parked) and other.scratch is None:
                meeting[other.pc] = other
            if other.poll is None:
                behind = min(behind, other.pc)
        return meeting, behind

    def _merge(self, group: Group, other: Group) -> np.ndarray | None:
        assert group.mask is not None and other.mask is not None
        mask = group.mask | other.mask
        group.mask = None if mask.all() else mask
        group.scratch = None
        self.groups.remove(other)
        return group.mask

    def park(self, group: Group, needed: np.ndarray | None) -> int | None:
        """Holds a group until all `needed` lanes that are alive have come; None when they have.

        Args:
            group: the group at its instruction.
            needed: the lanes; None means all.
        """
        if group.mask is None:
            return None

        def complete() -> bool:
            lanes = self.live if needed is None else needed & self.live
            return group.mask is None or not (lanes & ~group.mask).any()

        if complete():
            return None
        group.parked = True
        return group.wait(complete, "the other lanes of its warp")

    def exit(self, group: Group, mask: np.ndarray | None) -> int:
        """Lanes of a group end."""
        ended = group.mask if mask is None else mask
        if ended is None:
            self.live[...] = False
            self.groups.remove(group)
        else:
            self.live &= ~ended
            left = np.ones(LANES, np.bool_) if group.mask is None else group.mask
            left = left & ~ended
            if left.any():
                group.mask = left
                self.block.thread_exit(self)
                return ADVANCE
            self.groups.remove(group)
        self.block.thread_exit(self)
        return ENDED

    def taint(self, registers: list[int], finding: Finding) -> None:
        """The values of 32-bit registers were never written; using them is the finding."""
        for register in registers:
            self.busy[register] = Hold("poison", 0, self.pc, finding)

    # Clocks ----------------------------------------------------------------------------------------------------------

    def lanes(self, mask: np.ndarray | None) -> np.ndarray:
        """Numbers of the active lanes."""
        return np.arange(LANES) if mask is None else np.flatnonzero(mask)

    def clocks(self, mask: np.ndarray | None) -> Iterator[tuple[np.ndarray | None, Clock]]:
        """Lanes with the same clock, and the clock; a mask of None stands for all of `mask`."""
        if self.lane_clocks is None:
            yield None, self.clock
            return
        seen: dict[int, list[int]] = {}
        active = range(LANES) if mask is None else np.flatnonzero(mask).tolist()
        for lane in active:
            seen.setdefault(id(self.lane_clocks[lane]), []).append(lane)
        for same in seen.values():
            lanes = np.zeros(LANES, np.bool_)
            lanes[same] = True
            yield lanes, self.lane_clocks[same[0]]

    def clock_of(self, lane: int) -> Clock:
        """What one lane knows."""
        return self.clock if self.lane_clocks is None else self.lane_clocks[lane]

    def _covers(self, mask: np.ndarray | None) -> bool:
        return mask is None or not (self.live & ~mask).any()

    def _set_clock(self, mask: np.ndarray | None, clock: Clock) -> None:
        if self._covers(mask):
            self.clock, self.lane_clocks = clock, None
            return
        if self.lane_clocks is None:
            self.lane_clocks = [self.clock] * LANES
        assert mask is not None
        for lane in np.flatnonzero(mask).tolist():
            self.lane_clocks[lane] = clock

    def acquire(self, mask: np.ndarray | None, clock: Clock | None) -> None:
        """What a clock covers is from now on ordered before the active lanes."""
        if clock is None:
            return
        known = list(self.clocks(mask))
        for lanes, own in known:
            made = join(own, clock)
            assert made is not None
            self._set_clock(mask if lanes is None else lanes, made)

    def publish(self, mask: np.ndarray | None) -> Clock:
        """Everything ordered before the active lanes, and what they did themselves: a release."""
        joined: Clock | None = None
        for _, clock in self.clocks(mask):
            joined = join(joined, clock)
        assert joined is not None
        joined = joined.copy()
        rows = joined[GENERIC]
        if mask is None:
            rows[self.component : self.component + LANES] = self.epoch
        else:
            rows[self.component + np.flatnonzero(mask)] = self.epoch
        if self.copies is not None:
            places = self.copy_component + self.lanes(mask)
            rows[places] = np.maximum(rows[places], self.copies.waited)
        self.epoch += 1
        return joined

    def learn(self, mask: np.ndarray | None, component: int, epoch: int) -> None:
        """Asynchronous work up to an epoch of a component is ordered before the active lanes, in both proxies."""
        for lanes, clock in list(self.clocks(mask)):
            if clock[GENERIC][component] >= epoch:
                continue
            made = clock.copy()
            made[:, component] = epoch
            self._set_clock(mask if lanes is None else lanes, made)

    def synchronize(self, mask: np.ndarray | None) -> None:
        """The active lanes wait for each other (bar.warp.sync)."""
        self._set_clock(mask, self.publish(mask))

    def fence_proxy(self, mask: np.ndarray | None) -> None:
        """What is ordered before each active lane becomes visible to the async proxy (fence.proxy.async)."""
        for lanes, clock in list(self.clocks(mask)):
            made = clock.copy()
            np.maximum(made[ASYNC], made[GENERIC], out=made[ASYNC])
            chosen = mask if lanes is None else lanes
            if chosen is None:
                made[ASYNC][self.component : self.component + LANES] = self.epoch
            else:
                made[ASYNC][self.component + np.flatnonzero(chosen)] = self.epoch
            if self.copies is not None:
                places = self.copy_component + self.lanes(chosen)
                made[ASYNC][places] = np.maximum(made[ASYNC][places], self.copies.waited)
            self._set_clock(chosen, made)
        self.epoch += 1


def machine_constants(program: Program) -> dict[int, np.ndarray]:
    """Constant rows of a program by class, made once."""
    found: dict[int, np.ndarray] | None = getattr(program, "_constant_rows", None)
    if found is None:
        found = {bits: program.constant_rows(bits) for bits in (1, 16, 32, 64)}
        program._constant_rows = found  # type: ignore[attr-defined]
    return found
