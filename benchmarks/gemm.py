"""Half-precision GEMM: tilemlir beside cuBLAS, Triton and TileLang in one run.

All contenders run on the same random inputs, interleaved in random order; each
figure is the median of many launches. Before each launch 256 MB are written:
that empties the L2 cache, and keeps the GPU busy while the host prepares the
launch, so that only the kernel is timed. ``cool`` rests between launches so
that the chip keeps its boost clock, ``hot`` keeps it busy. ``cuBLAS again`` is
cuBLAS against itself: the noise of the run.

    python benchmarks/gemm.py --target sm_80 --shape 4096x4096x4096 --shape 8192x8192x8192
    python benchmarks/gemm.py --target sm_90a --shape 4096x4096x4096 --shape 8192x8192x8192
"""

from __future__ import annotations

import argparse
import functools
import itertools
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import peers
import tilemlir as tile
import torch
from rich.console import Console
from rich.table import Table

# By the features of a target: program in programs/gemm.py, block_m, block_n, block_k, num_stages, threads, raster.
# The first one is also compiled with TileLang and shown by itself, if TileLang has the program.
CONFIGURATIONS = {
    "sm_80": [
        ("matmul", 128, 128, 32, 3, 128, 8),
        ("matmul", 128, 128, 32, 4, 128, 8),
        ("matmul", 128, 256, 32, 3, 256, 8),
        ("matmul", 128, 256, 32, 4, 256, 8),
        ("matmul", 256, 128, 32, 3, 256, 8),
        ("matmul", 128, 128, 64, 3, 128, 8),
    ],
    "sm_90a": [
        ("matmul", 128, 256, 64, 3, 256, 8),
        ("matmul", 128, 256, 64, 4, 256, 8),
        ("matmul", 128, 128, 64, 4, 128, 8),
        ("matmul", 128, 128, 64, 5, 256, 8),
        ("matmul", 128, 64, 64, 6, 128, 8),
        ("persistent_matmul", 128, 256, 64, 4, 256, 8),
        ("persistent_matmul", 128, 128, 64, 5, 256, 8),
    ],
}
NAMES = ("block_m", "block_n", "block_k", "num_stages", "threads", "panel")
FLUSHED_BYTES = 256 * 2**20


@functools.cache
def flushed() -> torch.Tensor:
    """What is written between measurements."""
    return torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")


def measure(function: Callable[[], Any]) -> float:
    """Milliseconds that one call keeps the GPU busy, from an empty L2 cache."""
    flushed().zero_()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def interleave(contenders: dict[str, Callable[[], Any]], rounds: int, cool: bool) -> dict[str, float]:
    """Median milliseconds of every contender, run in random order round by round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for function in contenders.values():
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    if not cool:
        begin = time.perf_counter()
        for function in itertools.cycle(contenders.values()):
            function()
            if time.perf_counter() - begin > 2.0:
                break
        torch.cuda.synchronize()
    for _ in range(rounds):
        order = list(contenders)
        random.shuffle(order)
        for name in order:
            if cool:
                torch.cuda.synchronize()
                time.sleep(0.004)
            times[name].append(measure(contenders[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def best(candidates: dict[tuple, Callable[[], Any]]) -> tuple[tuple, Callable[[], Any]]:
    """The fastest of several configurations, by the same interleaved measurement."""
    medians = interleave({str(key): function for key, function in candidates.items()}, 15, cool=True)
    key = min(candidates, key=lambda key: medians[str(key)])
    return key, candidates[key]


def check(name: str, result: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Refuses to time a wrong kernel."""
    reference = a.float() @ b.float()
    error = ((result.float() - reference).norm() / reference.norm()).item()
    if not error < 1e-3:
        raise SystemExit(f"{name} is wrong: relative error {error:.2e}")


def contenders(m: int, n: int, k: int, target: str, a: torch.Tensor, b: torch.Tensor) -> tuple[dict, dict]:
    """Callables by name, and the configuration each one ended up with."""
    programs = peers.load_program("gemm")
    out = torch.empty(m, n, device="cuda", dtype=torch.float16)
    blas = lambda: torch.mm(a, b, out=out)  # noqa: E731
    chosen: dict[str, Callable[[], Any]] = {"cuBLAS": blas, "cuBLAS again": blas}
    configurations: dict[str, str] = {"cuBLAS": "", "cuBLAS again": ""}
    ours, theirs = {}, {}
    candidates = CONFIGURATIONS["sm_90a" if target == "sm_90a" else "sm_80"]
    for candidate in candidates:
        name, *values = candidate
        config = dict(zip(NAMES, values, strict=True))
        kernel = tile.compile(getattr(programs, name)(m, n, k, **config), target=target)
        out.fill_(float("nan"))
        kernel(a, b, out)
        check(f"tilemlir {candidate}", out, a, b)
        ours[candidate] = lambda kernel=kernel: kernel(a, b, out)
        if name == "matmul" and peers.available("tilelang"):
            peer = peers.tilelang_gemm(m, n, k, target, **config)
            out.fill_(float("nan"))
            peer(a, b, out)
            check(f"TileLang {candidate}", out, a, b)
            theirs[candidate] = lambda peer=peer: peer(a, b, out)
    key, function = best(ours)
    configurations["tilemlir"], chosen["tilemlir"] = " ".join(map(str, key)), function
    if theirs:
        key, function = best(theirs)
        configurations["TileLang"], chosen["TileLang"] = " ".join(map(str, key)), function
        key = candidates[0]
        configurations["TileLang, same"], chosen["TileLang, same"] = " ".join(map(str, key)), theirs[key]
        configurations["tilemlir, same"], chosen["tilemlir, same"] = " ".join(map(str, key)), ours[key]
    if peers.available("triton"):
        triton_gemm = peers.triton_gemm()
        chosen["Triton"], configurations["Triton"] = (lambda: triton_gemm(a, b, out)), "autotuned"
    return chosen, configurations


def main() -> None:
    """Prints one table per shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--shape", action="append", help="MxNxK; may be repeated")
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    for shape in arguments.shape or ["4096x4096x4096"]:
        m, n, k = (int(extent) for extent in shape.split("x"))
        a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        b = torch.randn(k, n, device="cuda", dtype=torch.float16)
        chosen, configurations = contenders(m, n, k, arguments.target, a, b)
        table = Table(title=f"{m} x {n} x {k}, float16, {torch.cuda.get_device_name()}, ours for {arguments.target}")
        for column in ("", "TFLOP/s cool", "/ cuBLAS", "TFLOP/s hot", "/ cuBLAS", "configuration"):
            table.add_column(column, justify="left" if column in ("", "configuration") else "right")
        cool = interleave(chosen, arguments.rounds, cool=True)
        hot = interleave(chosen, arguments.rounds, cool=False)
        for name in chosen:
            row = [name]
            for medians in (cool, hot):
                row += [f"{2 * m * n * k / medians[name] / 1e9:.1f}", f"{medians['cuBLAS'] / medians[name]:.3f}"]
            table.add_row(*row, configurations[name])
        Console(width=140).print(table)
        for name in ("cuBLAS", "Triton", "TileLang"):
            if name not in chosen:
                print(f"{name} is not installed here and was left out")


if __name__ == "__main__":
    main()
