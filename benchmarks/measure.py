"""How the benchmarks measure: interleaved contenders, an emptied L2 cache, a cool and a hot chip.

All contenders run in random order round by round; one after the other misleads
by up to 15 %, because the chip's clock follows its temperature and its power.
Before each launch 256 MB are written several times: that empties the L2 cache,
and keeps the GPU busy while the host, which may just have woken up, prepares the
launch, so that only the kernel is timed.
"""

from __future__ import annotations

import functools
import itertools
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

FLUSHED_BYTES = 256 * 2**20
# About 70 us each on an H200; a host that has slept needs up to 150 us for a launch.
FLUSHES = 5
# A cool chip rests before every launch; a hot one is kept busy for so long first.
REST_SECONDS = 0.004
HEAT_SECONDS = 2.0


@functools.cache
def flushed() -> torch.Tensor:
    """What is written between measurements."""
    return torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")


def empty_cache(written: float | None = None) -> None:
    """Empties the L2 cache of what a call may read.

    The lines that do so are dirty: whoever needs their place waits until they are written back, which costs a kernel
    that only reads as much as 50 MB more. ``written``, the bytes that the call writes itself, leaves as many dirty
    lines as the call will: as if calls on other data followed each other, each pays for its own traffic.
    """
    for _ in range(FLUSHES):
        flushed().zero_()
    if written is not None:
        flushed().view(torch.float32).sum()
        cache = torch.cuda.get_device_properties(flushed().device).L2_cache_size
        flushed()[: min(int(written), cache)].zero_()


def launch_time(function: Callable[[], Any], written: float | None = None) -> float:
    """Milliseconds that one call keeps the GPU busy; from which L2 cache, says ``empty_cache``."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    empty_cache(written)
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def typical(times: list[float]) -> float:
    """Mean of the fastest 95 %: event times come in steps of 0.5 us, which a median of short launches would keep."""
    ordered = sorted(times)
    return statistics.fmean(ordered[: max(1, len(ordered) * 95 // 100)])


def interleave(
    contenders: Mapping[str, Callable[[], Any]], rounds: int, cool: bool, written: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Typical milliseconds of every contender, run in random order round by round.

    ``written`` has the bytes that contenders write, see ``empty_cache``.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for function in contenders.values():
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    if not cool:
        begin = time.perf_counter()
        for function in itertools.cycle(contenders.values()):
            flushed().zero_()
            function()
            if time.perf_counter() - begin > HEAT_SECONDS:
                break
        torch.cuda.synchronize()
    for _ in range(rounds):
        for name in random.sample(list(contenders), len(contenders)):
            if cool:
                torch.cuda.synchronize()
                time.sleep(REST_SECONDS)
            times[name].append(launch_time(contenders[name], (written or {}).get(name)))
    return {name: typical(values) for name, values in times.items()}


def fastest(candidates: Mapping[str, Callable[[], Any]], rounds: int = 12, written: float | None = None) -> str:
    """Name of the fastest candidate by a short interleaved measurement; all write ``written`` bytes."""
    each = None if written is None else dict.fromkeys(candidates, written)
    times = interleave(candidates, rounds, cool=True, written=each)
    return min(times, key=lambda name: times[name])
