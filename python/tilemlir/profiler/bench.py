"""Timing a function on a GPU or on the CPU.

All times are in milliseconds. On a GPU each timed call finds a cold L2 cache unless the backend says otherwise.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tilemlir import errors
from tilemlir.interop import frameworks

__all__ = ["Backend", "ReturnMode", "do_bench"]

Backend = Literal["event", "cudagraph", "cupti", "wall"]
ReturnMode = Literal["mean", "min", "max", "median"]

# Larger than the L2 of any current GPU (B200: 126 MB).
_FLUSH_BYTES = 256 << 20


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: Backend = "event",
    return_mode: ReturnMode = "mean",
    device: Any = None,
) -> float | list[float]:
    """Times `fn()`.

    Args:
        fn: the function; it launches on the current stream.
        warmup: time to spend before timing, in ms.
        rep: time to spend timing, in ms.
        _n_warmup, _n_repeat: fixed numbers of calls instead of the times.
        quantiles: such as ``(0.5, 0.2, 0.8)``; returned instead of `return_mode`'s statistic.
        fast_flush: accepted for compatibility; flushing is always a memset.
        backend: ``"event"`` CUDA events around each call with a cold L2; ``"cudagraph"`` a captured graph of calls in a
            row, L2 as they leave it, no launch cost; ``"cupti"`` the kernels' own time by the profiler, cold L2;
            ``"wall"`` host clock around each call and a synchronisation. Without a GPU it is always the host clock.
        return_mode: ``"mean"``, ``"min"``, ``"max"`` or ``"median"``.
        device: a CUDA device, ``"cpu"`` for a function that uses none, or None for the current one.

    Returns:
        Milliseconds per call: one number, or a list when several `quantiles` are asked.

    Raises:
        TileValueError: for an unknown backend or mode.
    """
    if backend not in ("event", "cudagraph", "cupti", "wall"):
        raise errors.make(
            "bad-option",
            {"option": "backend", "found": repr(backend), "expected": "'event', 'cudagraph', 'cupti' or 'wall'"},
        )
    if return_mode not in ("mean", "min", "max", "median"):
        raise errors.make(
            "bad-option",
            {"option": "return_mode", "found": repr(return_mode), "expected": "'mean', 'min', 'max' or 'median'"},
        )
    torch = frameworks.loaded_torch()
    on_gpu = torch is not None and torch.cuda.is_available() and str(device) != "cpu"
    if not on_gpu:
        times = _bench_host(fn, warmup, rep, _n_warmup, _n_repeat)
    else:
        with torch.cuda.device(device):  # type: ignore[union-attr]
            times = _bench_gpu(torch, fn, warmup, rep, _n_warmup, _n_repeat, backend)
    return summarize(times, quantiles, return_mode)


def summarize(
    times: Sequence[float], quantiles: Sequence[float] | None, return_mode: ReturnMode
) -> float | list[float]:
    """The statistic of `times` that the caller asked for."""
    if quantiles is not None:
        ordered = sorted(times)
        values = [_quantile(ordered, q) for q in quantiles]
        return values[0] if len(values) == 1 else values
    if return_mode == "min":
        return min(times)
    if return_mode == "max":
        return max(times)
    if return_mode == "median":
        return statistics.median(times)
    return statistics.fmean(times)


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics, as numpy.quantile does by default."""
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _counts(estimate: float, warmup: float, rep: float, n_warmup: int, n_repeat: int) -> tuple[int, int]:
    """Numbers of warm-up and timed calls for a call that takes `estimate` ms."""
    estimate = max(estimate, 1e-5)
    return n_warmup or max(1, int(warmup / estimate)), n_repeat or max(1, int(rep / estimate))


def _bench_host(fn: Callable[[], Any], warmup: float, rep: float, n_warmup: int, n_repeat: int) -> list[float]:
    def timed() -> float:
        start = time.perf_counter()
        fn()
        return (time.perf_counter() - start) * 1e3

    fn()
    before, repeats = _counts(timed(), warmup, rep, n_warmup, n_repeat)
    for _ in range(before):
        fn()
    return [timed() for _ in range(repeats)]


def _bench_gpu(
    torch: Any, fn: Callable[[], Any], warmup: float, rep: float, n_warmup: int, n_repeat: int, backend: Backend
) -> list[float]:
    def event() -> Any:
        return torch.cuda.Event(enable_timing=True)

    fn()
    torch.cuda.synchronize()
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
    start, end = event(), event()
    start.record()
    for _ in range(5):
        flush.zero_()
        fn()
    end.record()
    end.synchronize()
    before, repeats = _counts(start.elapsed_time(end) / 5, warmup, rep, n_warmup, n_repeat)
    for _ in range(before):
        fn()
    if backend == "cudagraph":
        return _bench_graph(torch, fn, repeats)
    if backend == "cupti":
        return _bench_profiler(torch, fn, flush, repeats)
    if backend == "wall":
        times = []
        for _ in range(repeats):
            flush.zero_()
            torch.cuda.synchronize()
            began = time.perf_counter()
            fn()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - began) * 1e3)
        return times
    starts, ends = [event() for _ in range(repeats)], [event() for _ in range(repeats)]
    for i in range(repeats):
        flush.zero_()
        starts[i].record()
        fn()
        ends[i].record()
    torch.cuda.synchronize()
    return [first.elapsed_time(last) for first, last in zip(starts, ends, strict=True)]


def _bench_graph(torch: Any, fn: Callable[[], Any], repeats: int) -> list[float]:
    calls = min(repeats, 100)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        fn()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                fn()
        graph.replay()
        times = []
        for _ in range(max(1, repeats // calls)):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / calls)
    torch.cuda.current_stream().wait_stream(stream)
    return times


def _bench_profiler(torch: Any, fn: Callable[[], Any], flush: Any, repeats: int) -> list[float]:
    """Kernel time by torch's profiler; memsets are the flush's and do not count."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(repeats):
            flush.zero_()
            fn()
        torch.cuda.synchronize()
    total = 0.0
    for entry in recorded.events():
        if entry.device_type == torch.autograd.DeviceType.CUDA and "memset" not in entry.name.lower():
            total += entry.device_time
    # The profiler reports microseconds; single calls cannot be told apart, so this is the mean.
    return [total / repeats / 1e3]
