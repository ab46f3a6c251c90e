"""Barriers: named barriers, mbarriers, cluster barriers, warp barriers, and fences.

Semantics: PTX ISA, "Parallel Synchronization and Communication Instructions": "bar, barrier", "bar.warp.sync",
"barrier.cluster", "membar, fence", and "mbarrier" with its subsections ("Phase of the mbarrier object", "Tracking
asynchronous operations by the mbarrier object", "Phase Completion of the mbarrier object").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tilemlir.simulator.clocks import ASYNC, GENERIC, Clock, join
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Address, Immediate, Instruction, Operand, Sink
from tilemlir.simulator.warp import ADVANCE, STAY, YIELD, Group, Warp

if TYPE_CHECKING:
    from tilemlir.simulator.machine import Block, Cluster, Machine

__all__ = ["ClusterBarrier", "NamedBarrier", "PhaseBarrier", "find_mbarrier", "shared_target"]

Step = Callable[[Warp, Group, "np.ndarray | None"], int]

#: PTX ISA, "Contents of the mbarrier object": ranges of counts.
MAX_COUNT = (1 << 20) - 1


class NamedBarrier:
    """One of the sixteen barriers of a block.

    Attributes:
        arrived: threads that have come in this generation.
        generation: how often it has completed.
    """

    def __init__(self, block: Block, number: int) -> None:
        self.block = block
        self.number = number
        self.arrived = 0
        self.generation = 0
        self.expected: int | None = None
        self.clock: Clock | None = None
        self.done: Clock | None = None
        self.warps: list[int] = []

    def needed(self) -> int:
        """Threads that complete it: those named by the instruction, else all that have not exited."""
        if self.expected is not None:
            return self.expected
        return sum(int(warp.live.sum()) for warp in self.block.warps)

    def arrive(self, warp: Warp, mask: np.ndarray | None, expected: int | None) -> None:
        """Threads of a warp come; with all of its live lanes the whole warp counts.

        Args:
            warp: whose lanes come.
            mask: which.
            expected: number of threads that the instruction names, or None for all of the block.
        """
        if self.warps and expected != self.expected:
            raise warp.machine.fault(
                "invalid", f"barrier {self.number} is used with {expected} and {self.expected} threads at a time", warp
            )
        if warp.index in self.warps and mask is None:
            raise warp.machine.fault(
                "over-arrival", f"warp {warp.index} comes to barrier {self.number} again before it has completed", warp
            )
        self.expected = expected
        self.warps.append(warp.index)
        lanes = LANES if mask is None else int(mask.sum())
        self.arrived += LANES if expected is not None and lanes == int(warp.live.sum()) else lanes
        self.clock = join(self.clock, warp.publish(mask))
        if self.arrived > self.needed():
            raise warp.machine.fault(
                "over-arrival", f"{self.arrived} threads came to barrier {self.number} of {self.needed()}", warp
            )
        self.poke()

    def poke(self) -> None:
        """Completes it when enough threads have come."""
        if not self.warps or self.arrived < self.needed():
            return
        self.generation += 1
        self.done, self.clock = self.clock, None
        self.arrived = 0
        self.warps = []
        self.block.machine.progress += 1


class ClusterBarrier:
    """The barrier of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.arrived = 0
        self.generation = 0
        self.clock: Clock | None = None
        self.done: Clock | None = None

    def poke(self) -> None:
        """Completes it when all threads of the cluster have come or exited."""
        needed = sum(int(warp.live.sum()) for block in self.cluster.blocks for warp in block.warps)
        if self.arrived and self.arrived >= needed:
            self.generation += 1
            self.done, self.clock = self.clock, None
            self.arrived = 0
            self.cluster.blocks[0].machine.progress += 1


class PhaseBarrier:
    """An mbarrier object.

    Attributes:
        expected: arrivals of a phase.
        pending: arrivals that the current phase still needs.
        tx: bytes that it still needs.
        phase: number of phases that have completed.
        component: of the asynchronous work that completes on it.
    """

    def __init__(self, machine: Machine, block: Block, offset: int, count: int, pc: int) -> None:
        self.machine = machine
        self.block = block
        self.offset = offset
        self.expected = self.pending = count
        self.tx = 0
        self.phase = 0
        self.pc = pc
        self.clock: Clock | None = None
        self.done: Clock | None = None
        self.waiting: dict[tuple[int, int], tuple[Warp, int, int]] = {}
        key = (block.slot, "mbarrier", offset)
        self.component = machine.agent(key, f"copies of the mbarrier at {offset} of slot {block.slot}")
        # Epochs go on when another block uses the place.
        self.first_epoch = machine.epochs.get(self.component, 0) + 1
        self.initialized: tuple[int, int] = (0, 0)
        self.visible_to_engines = False
        #: Phase of the cluster's barrier behind which the initialisation is known: fence.mbarrier_init, and a relaxed
        #: arrival of the same thread.
        self.published: int | None = None

    @property
    def epoch(self) -> int:
        """Stamp of asynchronous accesses that the current phase covers."""
        return self.first_epoch + self.phase

    @property
    def name(self) -> str:
        """The barrier in words."""
        return f"the mbarrier at byte {self.offset} of the shared memory of {self.block.name}"

    def state(self) -> str:
        """Its counts in words."""
        return f"phase {self.phase} needs {self.pending} of {self.expected} arrivals and {self.tx} bytes"

    def arrive(self, warp: Warp, count: int, clock: Clock | None) -> None:
        """Arrivals in the current phase, with what their threads did before (None: relaxed)."""
        if count > self.pending:
            raise warp.machine.fault("over-arrival", f"{self.name}: {self.state()}, and {count} more arrive", warp)
        self.pending -= count
        self.clock = join(self.clock, clock)
        self.check()

    def expect(self, warp: Warp, count: int) -> None:
        """The current phase needs more bytes."""
        self.tx += count
        if abs(self.tx) > MAX_COUNT:
            raise warp.machine.fault("invalid", f"{self.name}: {self.tx} bytes are more than it can count", warp)

    def complete_bytes(self, count: int, clock: Clock | None = None) -> None:
        """Bytes of a copy have come."""
        self.tx -= count
        self.clock = join(self.clock, clock)
        self.check()

    def check(self) -> None:
        """Completes the phase when nothing is missing."""
        self.machine.progress += 1
        if self.pending or self.tx:
            return
        epoch = self.epoch
        self.phase += 1
        self.machine.epochs[self.component] = epoch
        done = self.clock.copy() if self.clock is not None else np.zeros_like(self.machine.initial_clock)
        done[:, self.component] = epoch
        self.done, self.clock = done, None
        self.pending = self.expected
        for warp, pc, phase in self.waiting.values():
            if phase < self.phase - 1:
                where = self.machine.finding(
                    "missed-phase",
                    f"{self.name} completes phase {self.phase - 1} while a thread still waits for phase {phase}",
                    warp,
                    pc=pc,
                )
                self.machine.note(where)
        if self.machine.trace is not None:
            self.machine.trace.phase(self.block, f"mbarrier {self.offset}: phase {self.phase - 1}")


# Finding the objects --------------------------------------------------------------------------------------------------


def shared_target(warp: Warp, address: int, size: int, align: int, cluster: bool = False) -> tuple[Block, int]:
    """Block and byte offset of a shared-memory address.

    Args:
        warp: who uses it.
        address: a shared::cta or shared::cluster address, or a generic one.
        size: bytes that are used.
        align: the alignment that these need.
        cluster: whether other blocks of the cluster may be meant.
    """
    machine = warp.machine
    if address >> 40 == 0x70:
        address &= (1 << 40) - 1
    rank, inside = address >> 24, address & 0xFFFFFF
    block = warp.block
    if rank != block.rank:
        if not cluster or rank >= len(block.cluster.blocks):
            raise machine.fault("out-of-bounds", f"shared address {address:#x} is not in this block", warp)
        block = block.cluster.blocks[rank]
        if block.finished:
            raise machine.fault("out-of-bounds", f"shared memory of {block.name}, whose threads have exited", warp)
    offset = inside - (block.shared.base & 0xFFFFFF)
    if offset < 0 or offset + size > block.shared.size:
        raise machine.fault("out-of-bounds", f"{size} bytes, {block.shared.where(offset)}", warp)
    if offset % align:
        raise machine.fault("misaligned", f"{size} bytes at {block.shared.where(offset)}", warp)
    return block, offset


def find_mbarrier(warp: Warp, address: int, cluster: bool = False, lane: int | None = None) -> PhaseBarrier:
    """The mbarrier at an address.

    Args:
        warp: who uses it.
        address: of the object.
        cluster: whether other blocks of the cluster may be meant.
        lane: who uses it, to check that the initialisation is visible.
    """
    block, offset = shared_target(warp, address, 8, 8, cluster)
    found = block.mbarriers.get(offset)
    if found is None:
        raise warp.machine.fault("invalid", f"no mbarrier is initialised at {block.shared.where(offset)}", warp)
    if lane is not None:
        component, epoch = found.initialized
        met = warp.state.get(("met", lane), -1)
        if found.published is not None and met >= found.published:
            return found
        if component != warp.component + lane and warp.clock_of(lane)[GENERIC][component] < epoch:
            warp.machine.note(
                warp.machine.finding(
                    "race",
                    f"{found.name} is used by a thread that is not ordered behind its initialisation",
                    warp,
                    lane,
                    [(found.pc, "initialised")],
                )
            )
            found.initialized = (warp.component + lane, 0)
    return found


def _address(p: Program, operand: Operand) -> Callable[[Warp], np.ndarray]:
    """Reads the addresses of `[register + offset]` of all lanes, as uint64; see `loads_stores.address_reader`."""
    if not isinstance(operand, Address):
        raise ValueError("expected an address")
    bits = getattr(operand.base, "bits", 32)
    row = p.source(operand.base, f"u{bits}")
    limit = np.uint64((1 << bits) - 1)
    offset = np.uint64(operand.offset & ((1 << 64) - 1))
    rows = f"u{bits}"
    return lambda w: (getattr(w, rows)[row].astype(np.uint64) + offset) & limit


def _number(p: Program, operand: Operand) -> Callable[[Warp], np.ndarray]:
    """Reads a 32-bit operand of all lanes."""
    row = p.source(operand, "u32")
    return lambda w: w.u32[row]


def active_lanes(warp: Warp, group: Group, mask: np.ndarray | None) -> list[int]:
    """Numbers of the lanes that execute an instruction."""
    lanes = group.mask if mask is None else mask
    return list(range(LANES)) if lanes is None else np.flatnonzero(lanes).tolist()


def merged(group: Group, mask: np.ndarray | None) -> np.ndarray | None:
    """Lanes that execute an instruction, as a mask; None means all 32."""
    return group.mask if mask is None else mask


def _uniform(warp: Warp, values: np.ndarray, lanes: list[int], what: str) -> int:
    first = int(values[lanes[0]])
    if any(int(values[lane]) != first for lane in lanes):
        raise warp.machine.fault("invalid", f"{what} differs among the lanes of a warp", warp)
    return first


# Named barriers -------------------------------------------------------------------------------------------------------


@opcode("bar", "barrier")
def _bar(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    if words.take("warp"):
        words.take("sync")
        words.finish()
        return CONTROL, _warp_sync(p, one)
    if words.take("cluster"):
        return CONTROL, _cluster(p, one, words)
    words.take("cta")
    aligned = one.opcode == "bar" or words.take("aligned") is not None
    what = words.take("sync", "arrive")
    words.finish()
    if what is None:
        raise ValueError("reductions of barriers")
    number = _number(p, one.operands[0])
    count = _number(p, one.operands[1]) if len(one.operands) > 1 else None

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        if aligned and (parked := w.park(group, None)) is not None:
            return parked
        lanes = active_lanes(w, group, mask)
        who = merged(group, mask)
        if group.scratch is None:
            index = _uniform(w, number(w), lanes, "the number of a barrier")
            if not 0 <= index < 16:
                raise w.machine.fault("invalid", f"there is no barrier {index}", w)
            barrier = w.block.barriers.get(index)
            if barrier is None:
                barrier = w.block.barriers[index] = NamedBarrier(w.block, index)
            expected = None
            if count is not None:
                expected = _uniform(w, count(w), lanes, "the number of threads of a barrier")
                if expected % LANES or expected == 0:
                    raise w.machine.fault("invalid", f"{expected} threads of a barrier are no whole warps", w)
            generation = barrier.generation
            barrier.arrive(w, who, expected)
            if what == "arrive":
                return ADVANCE
            group.scratch = (barrier, generation)
        barrier, generation = group.scratch
        if barrier.generation == generation:
            return group.wait(
                lambda: barrier.generation != generation,
                lambda: f"barrier {barrier.number}, where {barrier.arrived} of {barrier.needed()} threads have come",
            )
        group.scratch = None
        w.acquire(who, barrier.done)
        return ADVANCE

    return CONTROL, run


def _warp_sync(p: Program, one: Instruction) -> Step:
    members = member_mask(p, one.operands[0])

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        needed = members(w, group, mask)
        if (parked := w.park(group, needed)) is not None:
            return parked
        w.synchronize(merged(group, mask))
        return ADVANCE

    return run


def member_mask(p: Program, operand: Operand) -> Callable[[Warp, Group, Any], np.ndarray | None]:
    """Reads a member mask; None means all lanes."""
    if isinstance(operand, Immediate) and int(operand.value) & 0xFFFFFFFF == 0xFFFFFFFF:
        return lambda w, group, mask: None
    value = _number(p, operand)

    def read(w: Warp, group: Group, mask: np.ndarray | None) -> np.ndarray | None:
        lanes = active_lanes(w, group, mask)
        bits = int(value(w)[lanes[0]])
        members = (bits >> np.arange(LANES)) & 1 == 1
        return None if members.all() else members

    return read


def _cluster(p: Program, one: Instruction, words: Words) -> Step:
    arrives = words.take("arrive") is not None
    words.take("wait")
    relaxed = words.take("relaxed") is not None
    words.take("release", "acquire")
    aligned = words.take("aligned") is not None
    words.finish()

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        if aligned and (parked := w.park(group, None)) is not None:
            return parked
        who = merged(group, mask)
        barrier = w.block.cluster.barrier
        arrived = w.state.setdefault("cluster", {})
        lanes = active_lanes(w, group, mask)
        if arrives:
            if any(lane in arrived for lane in lanes):
                raise w.machine.fault("over-arrival", "a thread comes to the cluster barrier again without a wait", w)
            for lane in lanes:
                arrived[lane] = barrier.generation
            barrier.arrived += len(lanes)
            if not relaxed:
                barrier.clock = join(barrier.clock, w.publish(who))
            for made in w.block.mbarriers.values():
                fenced = made.visible_to_engines and made.initialized[0] - w.component in lanes
                if fenced and made.published is None:
                    made.published = barrier.generation
            barrier.poke()
            return ADVANCE
        if any(lane not in arrived for lane in lanes):
            raise w.machine.fault("invalid", "a thread waits at the cluster barrier without having come to it", w)
        generation = arrived[lanes[0]]
        if barrier.generation == generation:
            return group.wait(lambda: barrier.generation != generation, "the other blocks of its cluster")
        for lane in lanes:
            del arrived[lane]
            w.state["met", lane] = generation
        w.acquire(who, barrier.done)
        return ADVANCE

    return run


# mbarriers ------------------------------------------------------------------------------------------------------------


@opcode("mbarrier.init")
def _init(p: Program, one: Instruction) -> Any:
    address, count = _address(p, one.operands[0]), _number(p, one.operands[1])

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        for lane in active_lanes(w, group, mask):
            block, offset = shared_target(w, int(address(w)[lane]), 8, 8)
            wanted = int(count(w)[lane])
            if not 1 <= wanted <= MAX_COUNT:
                raise w.machine.fault("invalid", f"an mbarrier cannot count {wanted} arrivals", w, lane)
            if offset in block.mbarriers:
                raise w.machine.fault("invalid", f"{block.mbarriers[offset].name} is initialised twice", w, lane)
            made = PhaseBarrier(w.machine, block, offset, wanted, w.pc)
            made.initialized = (w.component + lane, w.epoch)
            block.mbarriers[offset] = made
        w.machine.progress += 1
        return ADVANCE

    return CONTROL, run


@opcode("mbarrier.inval")
def _inval(p: Program, one: Instruction) -> Any:
    address = _address(p, one.operands[0])

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        for lane in active_lanes(w, group, mask):
            barrier = find_mbarrier(w, int(address(w)[lane]), lane=lane)
            del barrier.block.mbarriers[barrier.offset]
        return ADVANCE

    return CONTROL, run


@opcode("mbarrier.arrive", "mbarrier.arrive_drop", "mbarrier.expect_tx", "mbarrier.complete_tx")
def _arrive(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    verb = words.take("arrive", "arrive_drop", "expect_tx", "complete_tx")
    with_bytes = verb == "arrive" and words.take("expect_tx") is not None
    words.take("noComplete")
    relaxed = words.take("relaxed") is not None
    words.take("release")
    words.take("cta", "cluster")
    cluster = words.take("shared::cluster") is not None
    words.take("shared::cta", "shared")
    words.take("b64")
    words.finish()
    operands = list(one.operands)
    state = None
    if verb in ("arrive", "arrive_drop") and not isinstance(operands[0], Address):
        first = operands.pop(0)
        state = None if isinstance(first, Sink) else p.destination(first, "b64")
    address = _address(p, operands[0])
    number = _number(p, operands[1]) if len(operands) > 1 else None

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        addresses = address(w)
        for lane in active_lanes(w, group, mask):
            barrier = find_mbarrier(w, int(addresses[lane]), cluster, lane)
            amount = 1 if number is None else int(number(w)[lane])
            alone = np.zeros(LANES, np.bool_)
            alone[lane] = True
            if verb == "expect_tx":
                barrier.expect(w, amount)
                w.machine.progress += 1
                continue
            if verb == "complete_tx":
                barrier.complete_bytes(amount)
                continue
            if state is not None:
                w.u64[state][lane] = barrier.phase
            clock = None if relaxed else w.publish(alone)
            if with_bytes:
                barrier.expect(w, amount)
                amount = 1
            if verb == "arrive_drop":
                barrier.expected -= amount
            barrier.arrive(w, amount, clock)
        return ADVANCE

    return CONTROL, run


@opcode("mbarrier.try_wait", "mbarrier.test_wait")
def _wait(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    verb = words.take("try_wait", "test_wait")
    by_parity = words.take("parity") is not None
    relaxed = words.take("relaxed") is not None
    words.take("acquire")
    words.take("cta", "cluster")
    words.take("shared::cta", "shared")
    words.take("b64")
    words.finish()
    into = p.destination(one.operands[0], "pred")
    address = _address(p, one.operands[1])
    if by_parity:
        parity = _number(p, one.operands[2])
    else:
        row = p.source(one.operands[2], "b64")
        parity = lambda w: w.u64[row]  # noqa: E731

    def done(barrier: PhaseBarrier, wanted: int) -> bool:
        # A parity names the current phase or the one before; a state names its phase.
        return barrier.phase & 1 != wanted & 1 if by_parity else barrier.phase > wanted

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        lanes = active_lanes(w, group, mask)
        addresses, wanted = address(w), parity(w)
        barriers = [find_mbarrier(w, int(addresses[lane]), lane=lane) for lane in lanes[:1]]
        if len(lanes) > 1:
            same = addresses[lanes] == addresses[lanes[0]]
            if not same.all() or not (wanted[lanes] == wanted[lanes[0]]).all():
                barriers = [find_mbarrier(w, int(addresses[lane]), lane=lane) for lane in lanes]
        first = barriers[0]
        if len(barriers) > 1:
            # Lanes with different barriers: each gets the answer of the moment.
            for lane, barrier in zip(lanes, barriers, strict=True):
                w.p[into][lane] = done(barrier, int(wanted[lane]))
                if w.p[into][lane] and not relaxed:
                    alone = np.zeros(LANES, np.bool_)
                    alone[lane] = True
                    w.acquire(alone, barrier.done)
            return YIELD
        who = merged(group, mask)
        target = int(wanted[lanes[0]])
        key = (id(w), lanes[0])
        if done(first, target):
            if first.waiting:
                for lane in lanes:
                    first.waiting.pop((id(w), lane), None)
            group.scratch = None
            w.p[into][lanes] = True
            if not relaxed:
                w.acquire(who, first.done)
            return ADVANCE
        if verb == "test_wait":
            w.p[into][lanes] = False
            return YIELD
        machine = w.machine
        ended = ("ended", w.pc)
        if group.scratch is None:
            if key not in first.waiting:
                first.waiting[key] = (w, w.pc, first.phase)
                if machine.random.random() < 0.1:
                    # The time limit of a wait is the implementation's choice: at times it ends at once.
                    w.p[into][lanes] = False
                    return YIELD
            group.scratch = {"expires": w.state.get(ended, -1), "expired": False}
        elif group.scratch["expired"]:
            w.state[ended] = group.scratch["expires"]
            group.scratch = None
            w.p[into][lanes] = False
            return YIELD
        return group.wait(lambda: done(first, target), lambda: f"{first.name}: {first.state()}")

    return CONTROL, run


@opcode("mbarrier.pending_count")
def _pending(p: Program, one: Instruction) -> Any:
    raise ValueError("the opaque state of mbarriers")


# Fences ---------------------------------------------------------------------------------------------------------------


@opcode("fence", "membar")
def _fence(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    if words.take("mbarrier_init"):
        return CONTROL, _fence_init
    if words.take("proxy"):
        if words.take("async"):
            words.take("shared::cta", "shared::cluster", "global")
            words.finish()

            def proxy(w: Warp, group: Group, mask: np.ndarray | None) -> int:
                w.fence_proxy(merged(group, mask))
                return _fence_init(w, group, mask)

            return CONTROL, proxy
        if words.take("tensormap::generic", "alias"):
            return lambda w, m: None
        raise ValueError("kind of proxy fence")
    words.take("sc", "acq_rel", "acquire", "release", "sync_restrict::shared::cta", "sync_restrict::shared::cluster")
    words.take("cta", "cluster", "gpu", "gl", "sys")
    words.finish()

    def run(w: Warp, group: Group, mask: np.ndarray | None) -> int:
        """Releases through later relaxed writes, and acquires what earlier relaxed reads saw."""
        who = merged(group, mask)
        for lane in active_lanes(w, group, mask):
            seen = w.state.get(("observed", lane))
            if seen is not None:
                alone = np.zeros(LANES, np.bool_)
                alone[lane] = True
                w.acquire(alone, seen)
        clock = w.publish(who)
        for lane in active_lanes(w, group, mask):
            w.state["fenced", lane] = _of_lane(w, clock, lane)
        return ADVANCE

    return CONTROL, run


def _of_lane(w: Warp, clock: Clock, lane: int) -> Clock:
    """What one lane releases: its own knowledge and accesses, not those of its warp."""
    made = w.clock_of(lane).copy()
    made[GENERIC][w.component + lane] = clock[GENERIC][w.component + lane]
    return made


def _fence_init(w: Warp, group: Group, mask: np.ndarray | None) -> int:
    """fence.mbarrier_init: initialisations become visible to engines and to the cluster."""
    lanes = active_lanes(w, group, mask)
    for barrier in w.block.mbarriers.values():
        if barrier.initialized[0] - w.component in lanes:
            barrier.visible_to_engines = True
    return ADVANCE


_ = (ASYNC, STAY)
