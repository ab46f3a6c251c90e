"""Explicit-state search of small protocols of any form: mbarriers, named barriers, bulk stores, accesses of roles.

Where ring_model is one protocol with parameters, this is a language for protocols without loops. :func:`search` tries
every order; :func:`kernel_text` writes the same protocol as a kernel; :func:`correct` makes random right ones, and
:func:`mutate` changes one step at random. Each role is one warp.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Protocol", "correct", "kernel_text", "mutate", "search"]

WARP = 32
#: A step of a role: its name, and what it needs.
#:   ("wait", barrier, parity), ("arrive", barrier), ("elect", barrier): an arrival of one elected thread
#:   ("sync", id, warps), ("notify", id, warps): named barriers, with and without waiting
#:   ("read", cell), ("write", cell): shared memory
#:   ("store", cell, tensor), ("flush", pending, complete): a bulk store and its group; a wait, of the reads or of all
#:   ("load", tensor): a read of what stores write
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Protocol:
    """What each role does, and how many arrivals the phases of each mbarrier take."""

    roles: tuple[tuple[Step, ...], ...]
    counts: tuple[int, ...] = ()
    name: str = field(default="", compare=False)

    @property
    def cells(self) -> int:
        """Number of shared buffers."""
        return 1 + max((s[1] for role in self.roles for s in role if s[0] in ("read", "write", "store")), default=0)


def _touches(step: Step) -> tuple[str, int, bool] | None:
    """Memory that a step touches, and whether it writes it."""
    if step[0] in ("read", "write", "store"):
        return "cell", step[1], step[0] == "write"
    return ("tensor", step[1], False) if step[0] == "load" else None


def _conflict(positions: tuple[int, ...], stores: tuple[Any, ...], roles: tuple[tuple[Step, ...], ...]) -> str:
    """What is wrong when roles stand in front of these steps: two of them may come next in either order."""
    upcoming = [role[at] if at < len(role) else None for role, at in zip(roles, positions, strict=True)]
    for index, step in enumerate(upcoming):
        here = _touches(step) if step else None
        if not here:
            continue
        for other in upcoming[:index]:
            there = _touches(other) if other else None
            if there and here[:2] == there[:2] and (here[2] or there[2]):
                return "race"
        for flying in stores:
            for cell, tensor, is_read, is_written in flying:
                if here == ("cell", cell, True) and not is_read:
                    return "overwrite under a store"
                if here == ("tensor", tensor, False) and not is_written:
                    return "read before a store is complete"
    return ""


def search(protocol: Protocol) -> str:
    """Explores all orders.

    Args:
        protocol: with few steps.

    Returns:
        "" if every order is right, else what goes wrong in one of them.
    """
    roles = protocol.roles
    # Positions, mbarriers (parity, pending), named barriers (id, warps expected, arrived, waiting roles), stores of
    # each role in order: (cell, tensor, shared memory is read, tensor is written).
    start = ((0,) * len(roles), tuple((0, count) for count in protocol.counts), (), ((),) * len(roles))
    seen, queue = {start}, deque([start])

    def put(items: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
        return (*items[:index], value, *items[index + 1 :])

    while queue:
        positions, barriers, named, stores = queue.popleft()
        if fault := _conflict(positions, stores, roles):
            return fault
        following: list[Any] = []
        for role, flying in enumerate(stores):
            for at, (cell, tensor, is_read, is_written) in enumerate(flying):
                if is_written:
                    continue
                # A store reads its cell, then its writes arrive.
                later = put(flying, at, (cell, tensor, True, is_read))
                following.append((positions, barriers, named, put(stores, role, later)))
        blocked = {role for _, _, _, waiting in named for role in waiting}
        for role, program in enumerate(roles):
            if positions[role] == len(program):
                if any(not is_read for _, _, is_read, _ in stores[role]):
                    return "work left at the end"
                continue
            if role in blocked:
                continue
            kind, *what = program[positions[role]]
            moved = put(positions, role, positions[role] + 1)
            if kind == "wait":
                if barriers[what[0]][0] != what[1]:
                    following.append((moved, barriers, named, stores))
            elif kind in ("arrive", "elect"):
                parity, pending = barriers[what[0]]
                after = (parity, pending - 1) if pending > 1 else (parity ^ 1, protocol.counts[what[0]])
                following.append((moved, put(barriers, what[0], after), named, stores))
            elif kind in ("sync", "notify"):
                number, warps = what
                entry = next((one for one in named if one[0] == number), (number, warps, 0, ()))
                if entry[1] != warps:
                    return "different numbers of threads at one barrier"
                rest = tuple(one for one in named if one[0] != number)
                waiting = (*entry[3], role) if kind == "sync" else entry[3]
                if entry[2] + 1 < warps:
                    later = tuple(sorted((*rest, (number, warps, entry[2] + 1, waiting))))
                    following.append((moved if kind == "notify" else positions, barriers, later, stores))
                else:
                    for one in entry[3]:
                        moved = put(moved, one, positions[one] + 1)
                    following.append((moved, barriers, rest, stores))
            elif kind == "store":
                flying = (*stores[role], (what[0], what[1], False, False))
                following.append((moved, barriers, named, put(stores, role, flying)))
            elif kind == "flush":
                covered = stores[role][: max(0, len(stores[role]) - what[0])]
                if all(is_written if what[1] else is_read for _, _, is_read, is_written in covered):
                    following.append((moved, barriers, named, stores))
            else:
                following.append((moved, barriers, named, stores))
        done = all(at == len(role) for at, role in zip(positions, roles, strict=True))
        if not following and not done:
            return "deadlock"
        for new in following:
            if new not in seen:
                seen.add(new)
                queue.append(new)
    return ""


# Random protocols.


def _ring(choose: random.Random) -> Protocol:
    """A producer fills slots, one or two consumers read them."""
    slots, consumers = choose.choice((1, 2)), choose.choice((1, 2))
    steps = choose.randrange(1, 4) + slots
    arrive = choose.choice(("arrive", "elect"))
    producer: list[Step] = []
    consumer: list[Step] = []
    for k in range(steps):
        slot, lap = k % slots, k // slots
        producer += [("wait", slots + slot, (lap & 1) ^ 1), ("write", slot), (arrive, slot)]
        consumer += [("wait", slot, lap & 1), ("read", slot), (arrive, slots + slot)]
    return Protocol((tuple(producer), *[tuple(consumer)] * consumers), (1,) * slots + (consumers,) * slots, "ring")


def _turns(choose: random.Random) -> Protocol:
    """Two roles alternate on a cell; each gives the turn to the other at a named barrier."""
    rounds, cells = choose.randrange(1, 4), choose.choice((1, 2))
    first: list[Step] = []
    second: list[Step] = []
    for k in range(rounds):
        work: list[Step] = [("read", k % cells), ("write", k % cells)]
        first += [*work, ("notify", 2, 2), ("sync", 1, 2)]
        second += [("sync", 2, 2), *work, ("notify", 1, 2)]
    return Protocol((tuple(first), tuple(second)), (), "turns")


def _meetings(choose: random.Random) -> Protocol:
    """Three roles write and read in turn, and meet in between."""
    roles: list[list[Step]] = [[], [], []]
    for k in range(choose.randrange(2, 5)):
        writer = choose.randrange(3)
        for index, role in enumerate(roles):
            role += [("write" if index == writer else "read", 0)] if index == writer or k % 2 else []
            # A meeting on both sides of the write.
            role += [("sync", 1, 3)]
            role += [] if index == writer else [("read", 0)]
            role += [("sync", 1 + k % 2, 3)]
            if k % 2:
                role[:] = [step for step in role if step != ("read", 0)] if choose.random() < 0 else role
    # Reads beside the write are what the meetings are for: leave those out that come at the same time.
    return Protocol(tuple(tuple(_separate(role)) for role in roles), (), "meetings")


def _separate(role: list[Step]) -> Iterator[Step]:
    """Without reads in the parts between meetings in which some role writes, which are the even ones."""
    part = 0
    for step in role:
        part += step[0] == "sync"
        if step[0] != "read" or part % 2:
            yield step


def _stores(choose: random.Random) -> Protocol:
    """A role stages results in cells and stores them; another one reads what was stored."""
    cells, rounds = choose.choice((1, 2)), choose.randrange(1, 4)
    first: list[Step] = []
    for k in range(rounds):
        if k >= cells:
            first += [("flush", cells - 1, False)]
        first += [("write", k % cells), ("store", k % cells, k % 2)]
    how: Step = ("arrive", 0) if choose.random() < 0.5 else ("notify", 3, 2)
    first += [("flush", 0, True), how]
    second: list[Step] = [("wait", 0, 0) if how[0] == "arrive" else ("sync", 3, 2), ("load", 0), ("load", 1)]
    return Protocol((tuple(first), tuple(second)), (1,), "stores")


def correct(choose: random.Random) -> Protocol:
    """A random protocol without faults."""
    return choose.choice((_ring, _turns, _meetings, _stores))(choose)


def mutate(protocol: Protocol, choose: random.Random) -> Protocol:
    """The protocol with one random change, which need not be a fault."""
    roles = [list(role) for role in protocol.roles]
    role = choose.choice([one for one in roles if one])
    at = choose.randrange(len(role))
    kind, *what = role[at]
    change = choose.randrange(5)
    if change == 0:
        del role[at]
    elif change == 1 and at + 1 < len(role):
        role[at], role[at + 1] = role[at + 1], role[at]
    elif change == 2:
        role.insert(at, role[at])
    elif change == 3 and protocol.counts:
        counts = list(protocol.counts)
        index = choose.randrange(len(counts))
        counts[index] = choose.choice([count for count in (1, 2, 3) if count != counts[index]])
        return replace(protocol, counts=tuple(counts))
    elif kind == "wait":
        role[at] = ("wait", what[0], what[1] ^ 1)
    elif kind in ("sync", "notify"):
        role[at] = (choose.choice(("sync", "notify")), choose.choice((1, 2, 3)), what[1])
    elif kind in ("arrive", "elect"):
        role[at] = (kind, choose.randrange(len(protocol.counts)))
    elif kind == "flush":
        role[at] = ("flush", what[0] + choose.choice((0, 1)), not what[1])
    elif kind in ("read", "write", "store"):
        role[at] = (kind, choose.randrange(protocol.cells), *what[1:])
    return replace(protocol, roles=tuple(tuple(one) for one in roles))


# As a kernel.


def _text_of(step: Step, number: int) -> list[str]:
    """Lines of a step; ``number`` makes names unique."""
    kind, *what = step
    cell, barriers, held = "!tile.buffer<8x8xf16, shared>", "!tile.buffer<{}x!tile.barrier, shared>", "%f"
    fragment = "!tile.buffer<8x8xf16, fragment>"
    if kind == "wait":
        return [f"tile.barrier_wait %bars[%c{what[0]}], %c{what[1]} : BARRIERS"]
    if kind == "arrive":
        return [f"tile.barrier_arrive %bars[%c{what[0]}] single : BARRIERS"]
    if kind == "elect":
        return [
            f"%e{number} = tile.elect {{threads = 32 : i64}} : i1",
            f"scf.if %e{number} {{",
            f"tile.barrier_arrive %bars[%c{what[0]}] thread : BARRIERS",
            "}",
        ]
    if kind == "sync":
        return [f"tile.sync_threads {{id = {what[0]} : i64, count = {WARP * what[1]} : i64}}"]
    if kind == "notify":
        return [f"tile.named_arrive {{id = {what[0]} : i64, count = {WARP * what[1]} : i64}}"]
    if kind == "read":
        return [f"tile.copy %s{what[0]}[%c0, %c0] [8, 8] to {held}[%c0, %c0] [8, 8] : {cell} to {fragment}"]
    if kind == "write":
        return [f"tile.fill %s{what[0]}, %zero : {cell}, f16"]
    if kind == "store":
        return [
            f"tile.copy_async %s{what[0]}[%c0, %c0] [8, 8] to %B{what[1]}[%c0, %c0] [8, 8] "
            f'{{choice = #tile.choice<tma, "">}} : {cell} to memref<8x8xf16>',
            "tile.bulk_commit",
        ]
    if kind == "flush":
        return [f"tile.bulk_wait {{pending = {what[0]} : i64{'' if what[1] else ', read'}}}"]
    assert kind == "load", f"there is no step {kind}; barriers are {barriers}"
    return [f"tile.copy %B{what[0]}[%c0, %c0] [8, 8] to {held}[%c0, %c0] [8, 8] : memref<8x8xf16> to {fragment}"]


def kernel_text(protocol: Protocol, name: str) -> str:
    """The protocol as a function with one kernel; a warp_specialize for each role, as T.ws writes them.

    Args:
        protocol: the protocol.
        name: of the function.
    """
    counts = protocol.counts
    barriers = f"!tile.buffer<{len(counts)}x!tile.barrier, shared>"
    lines = [
        f"func.func @{name}(%B0: memref<8x8xf16>, %B1: memref<8x8xf16>) {{",
        "%one = arith.constant 1 : i32",
        f'tile.kernel "{name}" grid(%one) threads({WARP * len(protocol.roles)}) {{',
        "^bb0(%bx: i32):",
        *(f"%c{value} = arith.constant {value} : i32" for value in range(max(2, len(counts)))),
        "%zero = arith.constant 0.0 : f16",
        *(f'%s{cell} = tile.alloc "s{cell}" : <8x8xf16, shared>' for cell in range(protocol.cells)),
    ]
    if counts:
        lines.append(f'%bars = tile.alloc "bars" : {barriers}')
        small = "!tile.buffer<1x!tile.barrier, shared>"
        for index, count in enumerate(counts):
            lines += [
                f"%v{index} = tile.subview %bars[%c{index}] [1] : {barriers.removeprefix('!tile.buffer')} to {small}",
                f"tile.barrier_init %v{index} {{arrivals = {count} : i64}} : {small}",
            ]
    lines.append("tile.sync_threads")
    for index, role in enumerate(protocol.roles):
        lines += [
            f"tile.warp_specialize [#tile.role<user, first = {index}, warps = 1>] {{",
            '%f = tile.alloc "f" : !tile.buffer<8x8xf16, fragment>',
            *(line.replace("BARRIERS", barriers) for at, step in enumerate(role) for line in _text_of(step, at)),
            "}",
        ]
    return "\n".join([*lines, "}", "return", "}"])
