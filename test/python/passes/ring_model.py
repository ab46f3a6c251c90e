"""Explicit-state search of ring protocols: every order in which a producer, two consumer warps and copies can run.

The oracle of tile-verify-sync on small cases: it knows nothing of vector clocks, it tries everything. A protocol is a
:class:`Ring`; :func:`search` explores it and :func:`kernel_text` writes it as a kernel in the `tile` dialect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["TILE_BYTES", "Barrier", "Ring", "Step", "change", "kernel_text", "search", "update"]

#: Bytes of the tile of one slot.
TILE_BYTES = 8192
CONSUMER_WARPS = 2

#: An operation of one agent: name, barrier or slot, and what it needs.
Step = tuple[str, int, int]
#: Parity of the current phase, pending arrivals, pending bytes.
Barrier = tuple[int, int, int]


@dataclass(frozen=True)
class Ring:
    """A producer and consumers on a ring of slots; the defaults are correct.

    Attributes:
        slots: number of slots.
        steps: tiles that go through the ring in one iteration of the outer loop.
        outer: iterations of the outer loop; slots and phases go on from one to the next.
        lag: iterations for which products stay in flight, and slots are kept.
        pending: products that the wait in the loop leaves in flight.
        release: when consumers give a slot back: "end", "before" the product, or between it and its "wait".
        shift: added to the slot that they give back, modulo the number of slots.
        producer_parity: flips the parity of the producer's waits when 0.
        producer_flips, consumer_flips: whether their phases flip at every wrap.
        full_arrivals, empty_arrivals: arrivals of a phase.
        expected: bytes that the producer expects.
        producer_waits, consumer_waits: whether they wait at all.
    """

    slots: int = 2
    steps: int = 7
    outer: int = 1
    lag: int = 0
    pending: int = 0
    release: str = "end"
    shift: int = 0
    producer_parity: int = 1
    producer_flips: bool = True
    consumer_flips: bool = True
    full_arrivals: int = 1
    empty_arrivals: int = CONSUMER_WARPS
    expected: int = TILE_BYTES
    producer_waits: bool = True
    consumer_waits: bool = True


def _producer(ring: Ring) -> Iterator[Step]:
    for k in range(ring.steps * ring.outer):
        slot, lap = k % ring.slots, k // ring.slots
        if ring.producer_waits:
            yield "wait_empty", slot, (lap & ring.producer_flips) ^ ring.producer_parity
        yield "arrive_full", slot, ring.expected
        yield "copy", slot, k


def _consumer(ring: Ring) -> Iterator[Step]:
    for k in range(ring.steps * ring.outer):
        slot, lap = k % ring.slots, k // ring.slots
        if ring.consumer_waits:
            yield "wait_full", slot, lap & ring.consumer_flips
        if ring.release == "before":
            yield "arrive_empty", (slot + ring.shift) % ring.slots, 0
        yield "product", slot, k
        if ring.release == "wait":
            yield "arrive_empty", (slot + ring.shift) % ring.slots, 0
        yield "wait_products", 0, ring.pending
        if ring.release == "end" and k >= ring.lag:
            yield "arrive_empty", (k - ring.lag + ring.shift) % ring.slots, 0
    yield "wait_products", 0, 0


def change(items: tuple, index: int, value: object) -> tuple:
    """``items`` with another value at ``index``."""
    return (*items[:index], value, *items[index + 1 :])


def update(barrier: Barrier, count: int, arrivals: int, expected: int) -> Barrier:
    """A barrier of ``count`` arrivals after some of them, and with more bytes expected (landed: fewer)."""
    parity, pending, size = barrier
    pending, size = pending - arrivals, size + expected
    return (parity ^ 1, count, 0) if pending == 0 and size == 0 else (parity, pending, size)


def search(ring: Ring) -> str:
    """Explores all orders.

    Args:
        ring: the protocol.

    Returns:
        "" if every order is right, else what goes wrong in one of them.
    """
    programs = [list(_producer(ring)), *(list(_consumer(ring)) for _ in range(CONSUMER_WARPS))]
    full = ((0, ring.full_arrivals, 0),) * ring.slots
    empty = ((0, ring.empty_arrivals, 0),) * ring.slots
    # Positions, barriers, tiles in the slots, copies on their way (slot, tile), products in flight of each consumer.
    start = ((0,) * len(programs), full, empty, (-1,) * ring.slots, (), ((),) * CONSUMER_WARPS)
    seen, queue = {start}, deque([start])
    while queue:
        state = queue.popleft()
        positions, full, empty, tiles, copies, products = state
        following = []
        for index, copy in enumerate(copies):
            slot, tile = copy
            landed = change(full, slot, update(full[slot], ring.full_arrivals, 0, -TILE_BYTES))
            rest = copies[:index] + copies[index + 1 :]
            following.append((positions, landed, empty, change(tiles, slot, tile), rest, products))
        for consumer, flying in enumerate(products):
            if flying:
                following.append((positions, full, empty, tiles, copies, change(products, consumer, flying[1:])))
        for agent, program in enumerate(programs):
            if positions[agent] == len(program):
                continue
            name, slot, value = program[positions[agent]]
            moved = change(positions, agent, positions[agent] + 1)
            if (name == "wait_empty" and empty[slot][0] != value) or (name == "wait_full" and full[slot][0] != value):
                following.append((moved, full, empty, tiles, copies, products))
            elif name == "arrive_full":
                arrived = change(full, slot, update(full[slot], ring.full_arrivals, 1, value))
                following.append((moved, arrived, empty, tiles, copies, products))
            elif name == "arrive_empty":
                arrived = change(empty, slot, update(empty[slot], ring.empty_arrivals, 1, 0))
                following.append((moved, full, arrived, tiles, copies, products))
            elif name == "copy":
                if any(slot in flying for flying in products):
                    return "early overwrite"
                started = tuple(sorted((*copies, (slot, value))))
                following.append((moved, full, empty, tiles, started, products))
            elif name == "product":
                if tiles[slot] != value or any(slot == other for other, _ in copies):
                    return "early read"
                flying = change(products, agent - 1, (*products[agent - 1], slot))
                following.append((moved, full, empty, tiles, copies, flying))
            elif name == "wait_products" and len(products[agent - 1]) <= value:
                following.append((moved, full, empty, tiles, copies, products))
        done = all(position == len(program) for position, program in zip(positions, programs, strict=True))
        if not following and not done:
            return "deadlock"
        for new in following:
            if new not in seen:
                seen.add(new)
                queue.append(new)
    return ""


def kernel_text(ring: Ring, name: str, symbolic: bool = False) -> str:
    """The protocol as a function with one kernel.

    Args:
        ring: the protocol.
        name: of the function.
        symbolic: the trip counts of both loops are arguments instead of constants.
    """
    slots, barriers = ring.slots, f"!tile.buffer<{ring.slots}x!tile.barrier, shared>"
    tile, sum_type = "!tile.buffer<64x64xf16, shared>", "!tile.buffer<64x64xf32, fragment>"

    def position(flips: bool) -> list[str]:
        return [
            "%slot = arith.remui %k, %slots : i32",
            "%lap = arith.divui %k, %slots : i32",
            f"%phase = arith.andi %lap, {'%one' if flips else '%c0'} : i32",
            f"%v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <{slots}x64x64xf16, shared> to {tile}",
        ]

    release = [
        f"%back = arith.constant {(ring.shift - ring.lag) % slots} : i32",
        "%moved = arith.addi %slot, %back : i32",
        "%given = arith.remui %moved, %slots : i32",
        f"%lag = arith.constant {ring.lag if ring.release == 'end' else 0} : i32",
        "%later = arith.cmpi sge, %k, %lag : i32",
        "scf.if %later {",
        f"tile.barrier_arrive %empty[%given] warp : {barriers}",
        "}",
    ]
    producer = [
        *position(ring.producer_flips),
        f"%parity = arith.xori %phase, {'%one' if ring.producer_parity else '%c0'} : i32",
        f"tile.barrier_wait %empty[%slot], %parity : {barriers}" if ring.producer_waits else "",
        f"tile.barrier_arrive %full[%slot] single {{expect = {ring.expected} : i64}} : {barriers}",
        f"tile.copy_async %A[%k, %c0] [64, 64] to %v[%c0, %c0] [64, 64] barrier %full[%slot] : {barriers} "
        f'{{choice = #tile.choice<tma, "">}} : memref<?x64xf16> to {tile}',
    ]
    consumer = [
        *position(ring.consumer_flips),
        f"tile.barrier_wait %full[%slot], %phase : {barriers}" if ring.consumer_waits else "",
        *(release if ring.release == "before" else ()),
        f"tile.gemm_async %v, %v, %acc : {tile}, {tile}, {sum_type}",
        *(release if ring.release == "wait" else ()),
        f"tile.mma_wait {{pending = {ring.pending} : i64}}",
        *(release if ring.release == "end" else ()),
    ]
    loop = [
        "scf.for %t = %c0 to %outer step %one : i32 {",
        "scf.for %i = %c0 to %steps step %one : i32 {",
        "%first = arith.muli %t, %steps : i32",
        "%k = arith.addi %first, %i : i32",
    ]
    return "\n".join(
        [
            f"func.func @{name}(%A: memref<?x64xf16>{', %steps: i32, %outer: i32' if symbolic else ''}) {{",
            "%c1 = arith.constant 1 : i32",
            f'tile.kernel "{name}" grid(%c1) threads(64) {{',
            "^bb0(%bx: i32):",
            "%c0 = arith.constant 0 : i32",
            "%one = arith.constant 1 : i32",
            f"%slots = arith.constant {slots} : i32",
            "" if symbolic else f"%steps = arith.constant {ring.steps} : i32",
            "" if symbolic else f"%outer = arith.constant {ring.outer} : i32",
            f'%a = tile.alloc "A_shared" : <{slots}x64x64xf16, shared>',
            f'%acc = tile.alloc "C_local" : {sum_type}',
            f'%full = tile.alloc "full" : {barriers}',
            f'%empty = tile.alloc "empty" : {barriers}',
            f"tile.barrier_init %full {{arrivals = {ring.full_arrivals} : i64}} : {barriers}",
            f"tile.barrier_init %empty {{arrivals = {ring.empty_arrivals} : i64}} : {barriers}",
            "tile.sync_threads",
            "tile.warp_specialize [#tile.role<producer, first = 0, warps = 1, single = true>,",
            f"#tile.role<consumer, first = 1, warps = {CONSUMER_WARPS}>] {{",
            *loop,
            *producer,
            "}",
            "}",
            "}, {",
            *loop,
            *consumer,
            "}",
            "}",
            f"tile.mma_wait %acc {{pending = 0 : i64}} : {sum_type}",
            "}",
            "}",
            "return",
            "}",
        ]
    )
