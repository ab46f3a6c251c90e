"""Explicit-state search of rings whose slots two blocks of a cluster fill together, in every order.

The oracle of tile-verify-sync on clusters: each block has a producer and one consumer warp, each producer sends its
half of a tile to both blocks. A protocol is a :class:`ClusterRing`; :func:`search` explores it and
:func:`kernel_text` writes it as a kernel in the `tile` dialect. What the blocks do when they begin and end is not
explored: the kernel meets there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ring_model import Step, change, update

__all__ = ["TILE_BYTES", "ClusterRing", "kernel_text", "search"]

#: Bytes of the tile of one slot; each block sends half of it.
TILE_BYTES = 8192
BLOCKS = 2


@dataclass(frozen=True)
class ClusterRing:
    """Two blocks that share the loads of a ring; the defaults are correct.

    Attributes:
        slots: number of slots.
        steps: tiles that go through the ring.
        second_steps: the same of the second block, if it has another number.
        reaches: whether consumers give slots back to both blocks.
        full_arrivals, empty_arrivals: arrivals of a phase.
        expected: bytes that a producer expects.
        producer_waits, consumer_waits: whether they wait at all.
        release: when consumers give a slot back: "end", or "before" the product.
        skipped: a step in which nothing is loaded; -1 for none.
    """

    slots: int = 2
    steps: int = 3
    second_steps: int = -1
    reaches: bool = True
    full_arrivals: int = 1
    empty_arrivals: int = BLOCKS
    expected: int = TILE_BYTES
    producer_waits: bool = True
    consumer_waits: bool = True
    release: str = "end"
    skipped: int = -1

    def steps_of(self, block: int) -> int:
        """Tiles that go through the ring of ``block``."""
        return self.second_steps if block and self.second_steps >= 0 else self.steps


def _producer(ring: ClusterRing, block: int) -> Iterator[Step]:
    for k in range(ring.steps_of(block)):
        slot, lap = k % ring.slots, k // ring.slots
        if ring.producer_waits:
            yield "wait_empty", slot, (lap & 1) ^ 1
        if k == ring.skipped:
            yield "arrive_full", slot, 0
            continue
        yield "arrive_full", slot, ring.expected
        yield "copy", slot, k


def _consumer(ring: ClusterRing, block: int) -> Iterator[Step]:
    for k in range(ring.steps_of(block)):
        slot, lap = k % ring.slots, k // ring.slots
        if ring.consumer_waits:
            yield "wait_full", slot, lap & 1
        if ring.release == "before":
            yield from (("release", slot, target) for target in _reached(ring, block))
        if k != ring.skipped:
            yield "product", slot, k
        if ring.release == "end":
            yield from (("release", slot, target) for target in _reached(ring, block))


def _reached(ring: ClusterRing, block: int) -> tuple[int, ...]:
    return (0, 1) if ring.reaches else (block,)


def search(ring: ClusterRing) -> str:
    """Explores all orders.

    Args:
        ring: the protocol.

    Returns:
        "" if every order is right, else what goes wrong in one of them.
    """
    programs = [list(_producer(ring, block)) for block in range(BLOCKS)]
    programs += [list(_consumer(ring, block)) for block in range(BLOCKS)]
    full = ((0, ring.full_arrivals, 0),) * (BLOCKS * ring.slots)
    empty = ((0, ring.empty_arrivals, 0),) * (BLOCKS * ring.slots)
    # Positions, barriers, halves of tiles in the slots, halves on their way: (block, slot, half, tile).
    start = ((0,) * len(programs), full, empty, ((-1,) * BLOCKS,) * (BLOCKS * ring.slots), ())
    seen, queue = {start}, deque([start])
    while queue:
        state = queue.popleft()
        positions, full, empty, tiles, copies = state
        following = []
        for index, (block, slot, half, tile) in enumerate(copies):
            place = block * ring.slots + slot
            landed = change(full, place, update(full[place], ring.full_arrivals, 0, -TILE_BYTES // BLOCKS))
            written = change(tiles, place, change(tiles[place], half, tile))
            following.append((positions, landed, empty, written, copies[:index] + copies[index + 1 :]))
        for agent, program in enumerate(programs):
            if positions[agent] == len(program):
                continue
            block = agent % BLOCKS
            name, slot, value = program[positions[agent]]
            place = block * ring.slots + slot
            moved = change(positions, agent, positions[agent] + 1)
            if (name == "wait_empty" and empty[place][0] != value) or (name == "wait_full" and full[place][0] != value):
                following.append((moved, full, empty, tiles, copies))
            elif name == "arrive_full":
                arrived = change(full, place, update(full[place], ring.full_arrivals, 1, value))
                following.append((moved, arrived, empty, tiles, copies))
            elif name == "release":
                target = value * ring.slots + slot
                if empty[target][1] == 0:
                    return "over-arrival"
                arrived = change(empty, target, update(empty[target], ring.empty_arrivals, 1, 0))
                following.append((moved, full, arrived, tiles, copies))
            elif name == "copy":
                started = tuple(sorted((*copies, *((target, slot, block, value) for target in range(BLOCKS)))))
                following.append((moved, full, empty, tiles, started))
            elif name == "product":
                # One step: what it reads must be there, and nothing may be on its way to the slot.
                if tiles[place] != (value,) * BLOCKS or any(copy[:2] == (block, slot) for copy in copies):
                    return "early read or overwrite"
                following.append((moved, full, empty, tiles, copies))
        done = all(position == len(program) for position, program in zip(positions, programs, strict=True))
        if not following and not done:
            return "deadlock"
        for new in following:
            if new not in seen:
                seen.add(new)
                queue.append(new)
    return ""


def kernel_text(ring: ClusterRing, name: str) -> str:
    """The protocol as a function with one kernel.

    Args:
        ring: the protocol.
        name: of the function.
    """
    slots, barriers = ring.slots, f"!tile.buffer<{ring.slots}x!tile.barrier, shared>"
    tile, sum_type = "!tile.buffer<64x64xf16, shared>", "!tile.buffer<64x64xf32, fragment>"
    position = [
        "%slot = arith.remui %k, %slots : i32",
        "%lap = arith.divui %k, %slots : i32",
        "%phase = arith.andi %lap, %one : i32",
        f"%v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <{slots}x64x64xf16, shared> to {tile}",
        "%loads = arith.cmpi ne, %k, %skipped : i32",
    ]
    reach = " {tile.reach = [array<i64: 0>]}" if ring.reaches else ""
    release = f"tile.barrier_arrive %empty[%slot] warp{reach} : {barriers}"
    expects = f"tile.barrier_arrive %full[%slot] single {{expect = {ring.expected} : i64}} : {barriers}"
    copy = (
        f"tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : {barriers} "
        f'{{choice = #tile.choice<tma, "", {{multicast = array<i64: 0>}}>}} : memref<?x64xf16> to {tile}'
    )
    if ring.skipped >= 0:
        expect_bytes = f"tile.barrier_expect_tx %full[%slot] {{bytes = {ring.expected} : i64}} : {barriers}"
        fill = ["scf.if %loads {", expect_bytes, copy, "}", f"tile.barrier_arrive %full[%slot] single : {barriers}"]
    else:
        fill = [expects, copy]
    product = [
        f"tile.gemm_async %v, %v, %acc : {tile}, {tile}, {sum_type}",
        f"tile.mma_wait %acc {{pending = 0 : i64}} : {sum_type}",
    ]
    if ring.skipped >= 0:
        product = ["scf.if %loads {", *product, "}"]
    producer = [
        *position,
        "%free = arith.xori %phase, %one : i32",
        f"tile.barrier_wait %empty[%slot], %free : {barriers}" if ring.producer_waits else "",
        *fill,
    ]
    consumer = [
        *position,
        f"tile.barrier_wait %full[%slot], %phase : {barriers}" if ring.consumer_waits else "",
        *([release] if ring.release == "before" else ()),
        *product,
        *([release] if ring.release == "end" else ()),
    ]
    loop = "scf.for %k = %c0 to %steps step %one : i32 {"
    meet = ["tile.cluster_arrive {relaxed}", "tile.cluster_wait"]
    return "\n".join(
        [
            f"func.func @{name}(%A: memref<?x64xf16>) {{",
            "%c2 = arith.constant 2 : i32",
            f'tile.kernel "{name}" grid(%c2) threads(32) attributes {{cluster = array<i64: 2>}} {{',
            "^bb0(%bx: i32):",
            "%c0 = arith.constant 0 : i32",
            "%one = arith.constant 1 : i32",
            f"%slots = arith.constant {slots} : i32",
            f"%skipped = arith.constant {ring.skipped} : i32",
            f"%steps0 = arith.constant {ring.steps_of(0)} : i32",
            f"%steps1 = arith.constant {ring.steps_of(1)} : i32",
            "%place = arith.remui %bx, %c2 : i32",
            "%first = arith.cmpi eq, %place, %c0 : i32",
            "%steps = arith.select %first, %steps0, %steps1 : i32",
            f'%a = tile.alloc "A_shared" : <{slots}x64x64xf16, shared>',
            f'%acc = tile.alloc "C_local" : {sum_type}',
            f'%full = tile.alloc "full" : {barriers}',
            f'%empty = tile.alloc "empty" : {barriers}',
            f"tile.barrier_init %full {{arrivals = {ring.full_arrivals} : i64}} : {barriers}",
            f"tile.barrier_init %empty {{arrivals = {ring.empty_arrivals} : i64}} : {barriers}",
            *meet,
            "tile.warp_specialize [#tile.role<producer, first = 0, warps = 1, single = true>,",
            "#tile.role<consumer, first = 1, warps = 1>] {",
            loop,
            *producer,
            "}",
            "}, {",
            loop,
            *consumer,
            "}",
            "}",
            *meet,
            "}",
            "return",
            "}",
        ]
    )
