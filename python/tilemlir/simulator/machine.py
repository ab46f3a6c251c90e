"""The machine: a grid of blocks, resident clusters of them, and the scheduler that interleaves warps and engines.

The scheduler is seeded. One of its moods is drawn per launch: turns of random length in random order, one warp ahead of
all others for as long as it can, engines that work at once or as late as they may. The same seed gives the same run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tilemlir.simulator.banks import Banks
from tilemlir.simulator.barriers import ClusterBarrier, NamedBarrier, PhaseBarrier
from tilemlir.simulator.clocks import HOST, UNINITIALIZED, Clock, Components
from tilemlir.simulator.memory import PARAM_WINDOW, Buffer, GlobalMemory, Shadow
from tilemlir.simulator.program import LANES, Program
from tilemlir.simulator.ptx_parser import Location
from tilemlir.simulator.report import Fault, Finding
from tilemlir.simulator.warp import Warp
from tilemlir.simulator.warpgroup import Warpgroups

__all__ = ["Block", "Cluster", "Event", "Launch", "Machine"]

#: The shared window of a block begins behind what the system reserves, as on sm_90.
SHARED_BASE = 1024
#: Bits of an address within a block's shared memory; the rank in the cluster stands above them.
RANK_SHIFT = 24

Triple = tuple[int, int, int]


class Launch:
    """One kernel launch.

    Attributes:
        program: the compiled kernel.
        grid, cluster, threads: extents in x, y, z.
        shared_bytes: dynamic shared memory of a block.
        parameters: the bytes of all parameters, by name.
        tensor_maps: tensor maps by parameter name.
    """

    def __init__(
        self,
        program: Program,
        grid: Triple,
        cluster: Triple,
        threads: Triple,
        shared_bytes: int,
        parameters: Mapping[str, bytes],
        tensor_maps: Mapping[str, Any],
    ) -> None:
        self.program = program
        self.grid = grid
        self.cluster = cluster
        self.threads = threads
        self.shared_bytes = shared_bytes
        self.parameters = parameters
        self.tensor_maps = tensor_maps


class Event:
    """Work of an engine that has been started and not done.

    Args:
        run: does it.
        ready: whether it may be done now; always when None.
        what: in words.
    """

    __slots__ = ("ready", "run", "what")

    def __init__(self, run: Callable[[], None], what: str, ready: Callable[[], bool] | None = None) -> None:
        self.run = run
        self.what = what
        self.ready = ready


class Cluster:
    """Blocks that run at the same time and see each other's shared memory."""

    def __init__(self, origin: Triple) -> None:
        self.origin = origin
        self.blocks: list[Block] = []
        self.barrier = ClusterBarrier(self)


class Block:
    """A resident block.

    Attributes:
        index: in the grid.
        rank: in its cluster.
        shared: its shared memory.
        barriers: named barriers by id.
        mbarriers: by byte offset in shared memory.
        registers_left: registers per thread slot that setmaxnreg may hand out.
    """

    def __init__(self, machine: Machine, cluster: Cluster, index: Triple, rank: int, slot: int) -> None:
        launch = machine.launch
        self.machine = machine
        self.cluster = cluster
        self.index = index
        self.rank = rank
        self.slot = slot
        self.name = f"block {index}"
        base = (rank << RANK_SHIFT) + SHARED_BASE
        self.shared = Buffer.of_bytes("the shared memory", base, machine.shared_size, 0xFF)
        self.barriers: dict[int, NamedBarrier] = {}
        self.mbarriers: dict[int, PhaseBarrier] = {}
        threads = launch.threads[0] * launch.threads[1] * launch.threads[2]
        count = -(-threads // LANES)
        if machine.checks:
            self.shared.shadow = Shadow(
                machine.shared_size, machine.shared_granule, min(count + 4, 40) if count else 1, UNINITIALIZED
            )
        self.registers_left = 0
        first = machine.thread_components + slot * machine.slot_threads
        self.warps = [Warp(machine, self, i, min(LANES, threads - i * LANES), first + i * LANES) for i in range(count)]
        for warp in self.warps:
            warp.epoch = machine.epochs.get(warp.component, 0) + 1
            warp.copy_component = machine.copy_components + warp.component - machine.thread_components

    def special(self, name: str, warp: Warp) -> Any:
        """Value of a special register, or address of a variable (`&name`), for the lanes of a warp.

        PTX ISA, chapter "Special Registers".
        """
        machine, launch = self.machine, self.machine.launch
        if name.startswith("&"):
            return machine.address_of(name[1:], self)
        root, _, axis = name.partition(".")
        at = "xyz".index(axis) if axis in ("x", "y", "z") else -1
        threads, grid, cluster = launch.threads, launch.grid, launch.cluster
        thread = warp.index * LANES + np.arange(LANES)
        if root == "tid":
            divisor = (1, threads[0], threads[0] * threads[1])[at]
            return (thread // divisor) % threads[at]
        if root == "laneid":
            return np.arange(LANES)
        if root.startswith("lanemask"):
            lane = [1 << i for i in range(LANES)]
            masks = {"eq": lane, "lt": [x - 1 for x in lane], "le": [2 * x - 1 for x in lane]}
            masks["ge"] = [0xFFFFFFFF & ~x for x in masks["lt"]]
            masks["gt"] = [0xFFFFFFFF & ~x for x in masks["le"]]
            return np.array(masks[root[-2:]], np.uint32)
        size = cluster[0] * cluster[1] * cluster[2]
        values: dict[str, Any] = {
            "ntid": threads, "ctaid": self.index, "nctaid": grid, "cluster_nctaid": cluster,
            "cluster_ctaid": tuple(i % c for i, c in zip(self.index, cluster, strict=True)),
            "clusterid": tuple(i // c for i, c in zip(self.index, cluster, strict=True)),
            "nclusterid": tuple(-(-g // c) for g, c in zip(grid, cluster, strict=True)),
            "cluster_ctarank": self.rank, "cluster_nctarank": size, "is_explicit_cluster": int(size > 1),
            "warpid": warp.index, "nwarpid": machine.slot_threads // LANES,
            "smid": self.slot, "nsmid": machine.sm_count, "gridid": 1,
            "dynamic_smem_size": launch.shared_bytes, "total_smem_size": machine.shared_size,
            "aggr_smem_size": machine.shared_size, "clock": 0, "clock64": 0, "globaltimer": 0,
        }  # fmt: skip
        if root not in values:
            raise Fault(Finding("invalid", f"special register %{name} is not simulated", Location("", 0), 0))
        value = values[root]
        return value[at] if isinstance(value, tuple) else value

    def thread_exit(self, warp: Warp) -> None:
        """Lanes of a warp have ended: whoever waits for all threads of the block waits for fewer."""
        for barrier in self.barriers.values():
            barrier.poke()

    @property
    def finished(self) -> bool:
        """Whether all its threads have ended."""
        return all(warp.finished for warp in self.warps)


class Machine:
    """Executes one launch.

    Args:
        launch: what to run.
        memory: global memory.
        seed: of the scheduler.
        checks: find races, uninitialised reads and the like.
        sm_count: multiprocessors; at least this many blocks (whole clusters) are resident at a time.
        max_findings: stop after this many different ones.
        patience: instructions without any effect on memory or barriers after which the kernel is said to spin.
        trace: receives what happens; see `tilemlir.simulator.trace`.
    """

    def __init__(
        self,
        launch: Launch,
        memory: GlobalMemory,
        seed: int = 0,
        checks: bool = True,
        sm_count: int = 8,
        max_findings: int = 20,
        patience: int = 2_000_000,
        trace: Any = None,
    ) -> None:
        self.launch = launch
        self.program = launch.program
        self.memory = memory
        self.random = random.Random(seed)
        self.checks = checks
        self.sm_count = sm_count
        self.max_findings = max_findings
        self.patience = patience
        self.trace = trace
        self.findings: dict[Any, Finding] = {}
        self.counts: dict[str, int] = {}
        self.conflicts: dict[int, list[int]] = {}
        self.printed: list[str] = []
        self.banks: Banks | None = None
        self.released: dict[tuple[int, int], Any] = {}
        self.on_progress: Callable[[int, int], None] | None = None
        self.events: list[Event] = []
        self.progress = 0
        self.ticks = 0
        self.executed = 0
        self.warpgroups = Warpgroups(self)
        self.epochs: dict[int, int] = {}
        self._place_variables()
        self._prepare_components()
        self._choose_mood()
        if trace is not None:
            trace.start(self)

    # Set-up ----------------------------------------------------------------------------------------------------------

    def _place_variables(self) -> None:
        module, function = self.program.module, self.program.function
        self.shared_offsets: dict[str, int] = {}
        size = 0
        opened: list[str] = []
        for variable in [*module.variables, *function.variables]:
            if variable.space == "shared":
                if variable.size == 0:
                    opened.append(variable.name)
                    continue
                size = -(-size // max(variable.align, 1)) * max(variable.align, 1)
                self.shared_offsets[variable.name] = size
                size += variable.size
        size = -(-size // 1024) * 1024 if opened else size
        for name in opened:
            self.shared_offsets[name] = size
        self.shared_size = size + self.launch.shared_bytes
        self.local_offsets: dict[str, int] = {}
        local = 0
        for variable in function.variables:
            if variable.space == "local":
                local = -(-local // max(variable.align, 1)) * max(variable.align, 1)
                self.local_offsets[variable.name] = local
                local += variable.size
        self.local_size = local
        self.param_offsets: dict[str, int] = {}
        blob = bytearray()
        for parameter in function.parameters:
            blob += bytes(-len(blob) % max(parameter.align, 1))
            self.param_offsets[parameter.name] = len(blob)
            blob += self.launch.parameters[parameter.name].ljust(parameter.size, b"\0")
        self.param_bytes = np.frombuffer(bytes(blob) + bytes(64), np.uint8)
        self.tensor_maps = {
            PARAM_WINDOW + self.param_offsets[name]: one for name, one in self.launch.tensor_maps.items()
        }
        self.global_variables: dict[str, Buffer] = {}
        for variable in module.variables:
            if variable.space in ("global", "const"):
                buffer = self.memory.allocate(f"variable {variable.name}", variable.size)
                if variable.data is not None:
                    buffer.data[: variable.size] = np.frombuffer(variable.data, np.uint8)
                self.global_variables[variable.name] = buffer
        narrow = {"b8", "u8", "s8"} & self.program.uses
        half = {"b16", "u16", "s16", "f16", "bf16"} & self.program.uses
        self.shared_granule = self.global_granule = 1 if narrow else 2 if half else 4

    def address_of(self, name: str, block: Block) -> int:
        """Address of a variable within its state space, as a block sees it."""
        if name in self.shared_offsets:
            return block.shared.base + self.shared_offsets[name]
        if name in self.param_offsets:
            return PARAM_WINDOW + self.param_offsets[name]
        if name in self.global_variables:
            return self.global_variables[name].base
        if name in self.local_offsets:
            return self.local_offsets[name]
        return 0  # functions, and parameters of calls

    def _prepare_components(self) -> None:
        launch = self.launch
        per_cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
        threads = launch.threads[0] * launch.threads[1] * launch.threads[2]
        self.slot_threads = -(-threads // LANES) * LANES
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        wanted = blocks if launch.grid[0] * launch.grid[1] * launch.grid[2] <= self.sm_count else self.sm_count
        self.slots = max(-(-wanted // per_cluster), 1) * per_cluster
        kinds = 2 if "cp.async" in " ".join(self.program.uses) else 1
        total = self.slots * self.slot_threads
        self.components = Components(kinds * total, 160 * self.slots)
        self.thread_components = self.components.allocate(total, self._thread_name)
        self.copy_components = (
            self.components.allocate(total, lambda i: "cp.async of " + self._thread_name(i)) if kinds == 2 else 0
        )
        self.initial_clock: Clock = self.components.initial()
        self._resident: dict[int, Block] = {}
        self._agents: dict[Any, int] = {}

    def _thread_name(self, position: int) -> str:
        slot, thread = divmod(position, self.slot_threads)
        block = self._resident.get(slot)
        name = block.name if block is not None else f"slot {slot}"
        return f"{name}, warp {thread // LANES}, lane {thread % LANES}"

    def agent(self, key: Any, name: str) -> int:
        """Component of something asynchronous; `key` begins with the slot of its block, which blocks share in turn."""
        found = self._agents.get(key)
        if found is None:
            found = self._agents[key] = self.components.allocate(1, lambda _: name)
        return found

    def _choose_mood(self) -> None:
        rng = self.random
        self.order = rng.choice(["random", "random", "priority", "rounds"])
        self.slice = rng.choice([5, 30, 200, 1000])
        self.laziness = rng.choice([0.0, 0.3, 0.9, 1.0])
        self.elects_lowest = rng.random() < 0.5
        self.registers_per_thread = self._launch_registers()

    def _launch_registers(self) -> int | None:
        """Registers per thread that a block starts with when setmaxnreg moves them; None when nothing says how many.

        As many as fit when the blocks that the kernel asks for share a multiprocessor.
        """
        directives = self.program.function.directives
        if "setmaxnreg" not in self.program.uses:
            return None
        if "maxnreg" in directives:
            return directives["maxnreg"][0]
        threads = self.slot_threads * directives.get("minnctapersm", (1,))[0]
        return min(65536 // threads // 8 * 8, 255)

    def start(self, run: Callable[[], None], what: str, ready: Callable[[], bool] | None = None) -> Event:
        """Starts asynchronous work; see `Event`."""
        event = Event(run, what, ready)
        self.events.append(event)
        return event

    # Findings --------------------------------------------------------------------------------------------------------

    def finding(
        self,
        kind: str,
        message: str,
        warp: Warp | None,
        lane: int | None = None,
        others: Sequence[tuple[int, str]] = (),
        pc: int | None = None,
    ) -> Finding:
        """A finding at the instruction that a warp is executing.

        Args:
            kind: see `Finding`.
            message: in words.
            warp: who did it.
            lane: which of its lanes.
            others: further steps of the program with the reason why they are named.
            pc: the step, when it is not the warp's current one.
        """
        steps = self.program.steps
        at = pc if pc is not None else warp.pc if warp is not None else 0
        instruction = steps[at].instruction
        places = tuple((steps[i].instruction.location, steps[i].instruction.line, why) for i, why in others)
        thread = warp.name(lane) if warp is not None else ""
        return Finding(kind, message, instruction.location, instruction.line, thread, instruction.name, places)

    def fault(self, kind: str, message: str, warp: Warp, lane: int | None = None) -> Fault:
        """A finding after which the run cannot go on; raise what this returns."""
        return Fault(self.finding(kind, message, warp, lane))

    def note(self, found: Finding) -> None:
        """Keeps a finding, once per pair of places."""
        key = (found.kind, found.ptx_line, tuple(line for _, line, _ in found.others))
        known = self.findings.get(key)
        if known is not None:
            object.__setattr__(known, "count", known.count + 1)
            return
        self.findings[key] = found
        if len(self.findings) >= self.max_findings:
            raise Fault(found)

    def count(self, what: str, amount: int = 1) -> None:
        """Adds to a total of the report."""
        self.counts[what] = self.counts.get(what, 0) + amount

    # Running ---------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Executes the whole grid.

        Raises:
            Fault: for what makes going on impossible; also kept in `findings`.
        """
        with np.errstate(all="ignore"):
            try:
                self._run()
            except Fault as fault:
                if all(fault.finding is not one for one in self.findings.values()):
                    self.findings[("fatal", id(fault))] = fault.finding
                raise

    def _clusters(self) -> Iterable[list[Triple]]:
        """Blocks of each cluster, clusters in the order of their ids, blocks in the order of their ranks."""
        gx, gy, gz = self.launch.grid
        cx, cy, cz = self.launch.cluster
        for z in range(0, gz, cz):
            for y in range(0, gy, cy):
                for x in range(0, gx, cx):
                    yield [(x + i, y + j, z + k) for k in range(cz) for j in range(cy) for i in range(cx)]

    def _run(self) -> None:
        waiting = list(self._clusters())
        if self.random.random() < 0.5:
            # Blocks start in any order.
            self.random.shuffle(waiting)
        free = list(range(self.slots))
        running: list[Cluster] = []
        warps: list[Warp] = []
        idle = 0
        while waiting or running:
            while waiting and len(free) >= len(waiting[0]):
                cluster = self._start(waiting.pop(0), free)
                running.append(cluster)
                warps += [warp for block in cluster.blocks for warp in block.warps]
                for warp in warps:
                    warp.priority = self.random.random()
            before = self.progress
            executed = self._turn(warps)
            self.executed += executed
            idle = 0 if self.progress != before else idle + executed
            if executed == 0 and self.progress == before and not self._advance_engines(True):
                if not self._time_out(warps):
                    raise Fault(self._deadlock(warps))
                idle += 1000
            if idle > 500 and self.events:
                # Threads ask in loops for what engines have to bring.
                self._advance_engines(True)
            if idle > self.patience:
                raise Fault(self._livelock(warps))
            if any(warp.finished for warp in warps):
                warps = [warp for warp in warps if not warp.finished]
                for cluster in [one for one in running if all(block.finished for block in one.blocks)]:
                    running.remove(cluster)
                    for block in cluster.blocks:
                        self._end(block)
                        free.append(block.slot)
        while self.events:
            if not self._advance_engines(True):
                raise Fault(Finding("work-left-at-exit", self.events[0].what, Location("", 0), 0))

    def _start(self, indices: list[Triple], free: list[int]) -> Cluster:
        cluster = Cluster(indices[0])
        for rank, index in enumerate(indices):
            slot = free.pop(0)
            block = Block(self, cluster, index, rank, slot)
            self._resident[slot] = block
            cluster.blocks.append(block)
        self.count("blocks", len(indices))
        if self.on_progress is not None:
            grid = self.launch.grid
            self.on_progress(self.counts["blocks"], grid[0] * grid[1] * grid[2])
        return cluster

    def _end(self, block: Block) -> None:
        from tilemlir.simulator import checks

        checks.at_exit(self, block)
        for warp in block.warps:
            self.epochs[warp.component] = warp.epoch
            if warp.copies is not None:
                self.epochs[warp.copy_component] = warp.copies.issued

    def _turn(self, warps: list[Warp]) -> int:
        """Every warp may run once, in the order of the mood; returns the instructions executed."""
        rng = self.random
        order = list(warps)
        if self.order == "random":
            rng.shuffle(order)
        elif self.order == "priority":
            order.sort(key=lambda warp: warp.priority)
            if order and rng.random() < 0.05:
                rng.choice(order).priority = rng.random()
        executed = 0
        for warp in order:
            if not warp.finished:
                warp.polls = False
                executed += warp.run(rng.randint(1, self.slice))
                if executed and self.order == "priority":
                    if not warp.polls:
                        break
                    # It asks for what others have to do.
                    warp.priority = 1 + rng.random()
            if self.events and rng.random() >= self.laziness:
                self._advance_engines(False)
        return executed

    def _advance_engines(self, forced: bool) -> bool:
        """Does one piece of asynchronous work that is ready; whether there was one."""
        candidates = [one for one in self.events if one.ready is None or one.ready()]
        if not candidates:
            return False
        event = self.random.choice(candidates)
        self.events.remove(event)
        event.run()
        self.progress += 1
        return True

    def _time_out(self, warps: list[Warp]) -> bool:
        """Ends waits that have a time limit (mbarrier.try_wait), each once per progress; whether there was one."""
        ended = False
        for warp in warps:
            for group in warp.groups:
                if isinstance(group.scratch, dict) and group.scratch.get("expires") not in (None, self.progress):
                    group.scratch["expires"] = self.progress
                    group.scratch["expired"] = True
                    group.poll = None
                    ended = True
        return ended

    def _waiting(self, warps: list[Warp]) -> Finding:
        others = []
        lines: dict[tuple[int, str], list[str]] = {}
        for warp in warps:
            for group in warp.groups:
                reason = group.reason() if callable(group.reason) else group.reason
                if group.poll is None:
                    reason = reason or "running"
                lanes = "" if group.mask is None else f" ({int(group.mask.sum())} lanes)"
                lines.setdefault((group.pc, reason), []).append(f"{warp.name()}{lanes}")
        for (pc, reason), who in lines.items():
            names = "; ".join(who[:4]) + (f"; and {len(who) - 4} more warps" if len(who) > 4 else "")
            others.append((pc, f"{names}: waits for {reason},"))
        first = others[0][0] if others else 0
        return self.finding("deadlock", "", None, None, others, first)

    def _deadlock(self, warps: list[Warp]) -> Finding:
        found = self._waiting(warps)
        object.__setattr__(found, "message", "no thread can go on, and no asynchronous work is left")
        return found

    def _livelock(self, warps: list[Warp]) -> Finding:
        found = self._waiting(warps)
        object.__setattr__(found, "kind", "livelock")
        object.__setattr__(found, "message", f"{self.patience} instructions changed nothing that threads can see")
        return found


_ = HOST
