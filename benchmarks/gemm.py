"""Half-precision GEMM: tilemlir beside cuBLAS, Triton and TileLang in one run.

All contenders run on the same random inputs, interleaved in random order; each
figure is the median of many launches. ``cool`` rests between launches so that
the chip keeps its boost clock, ``hot`` keeps it busy.

    python benchmarks/gemm.py --target sm_80 --shape 4096x4096x4096 --shape 8192x8192x8192
"""

from __future__ import annotations

import argparse
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

# (block_m, block_n, block_k, num_stages, threads, raster panel)
CONFIGURATIONS = [
    (128, 128, 32, 3, 128, 8),
    (128, 128, 32, 4, 128, 8),
    (128, 256, 32, 3, 256, 8),
    (128, 256, 32, 4, 256, 8),
    (256, 128, 32, 3, 256, 8),
    (128, 128, 64, 3, 128, 8),
]
NAMES = ("block_m", "block_n", "block_k", "num_stages", "threads", "panel")


def measure(function: Callable[[], Any]) -> float:
    """Milliseconds of one call by CUDA events."""
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
    program = peers.load_program("gemm").matmul
    chosen: dict[str, Callable[[], Any]] = {"cuBLAS": lambda: torch.mm(a, b)}
    configurations: dict[str, str] = {"cuBLAS": ""}
    ours, theirs = {}, {}
    for values in CONFIGURATIONS:
        config = dict(zip(NAMES, values, strict=True))
        kernel = tile.compile(program(m, n, k, **config), out_idx=[2], target=target)
        check(f"tilemlir {values}", kernel(a, b), a, b)
        ours[values] = lambda kernel=kernel: kernel(a, b)
        if peers.available("tilelang"):
            peer = peers.tilelang_gemm(m, n, k, **config)
            check(f"TileLang {values}", peer(a, b), a, b)
            theirs[values] = lambda peer=peer: peer(a, b)
    key, function = best(ours)
    configurations["tilemlir"], chosen["tilemlir"] = str(key), function
    if theirs:
        key, function = best(theirs)
        configurations["TileLang"], chosen["TileLang"] = str(key), function
        key = CONFIGURATIONS[0]
        configurations["TileLang, same"], chosen["TileLang, same"] = str(key), theirs[key]
        configurations["tilemlir, same"], chosen["tilemlir, same"] = str(key), ours[key]
    if peers.available("triton"):
        triton_gemm = peers.triton_gemm()
        chosen["Triton"], configurations["Triton"] = (lambda: triton_gemm(a, b)), "autotuned"
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
        Console(width=130).print(table)
        for name in ("cuBLAS", "Triton", "TileLang"):
            if name not in chosen:
                print(f"{name} is not installed here and was left out")


if __name__ == "__main__":
    main()
