"""Fuzzes the compiler: random programs on several targets, compared with NumPy.

    PYTHONPATH=test:build/python python -m fuzz --count 200 --seed 1 --jobs 2 --targets cpu,simulator,passes

Failures become files that run themselves again: ``PYTHONPATH=test:build/python python FILE [targets]``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from fuzz.campaign import Plan, Statistics, run_chunk


def main() -> int:
    """The command; returns 1 when a program failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="programs to draw")
    parser.add_argument("--seed", type=int, default=0, help="of all draws; the same seed gives the same programs")
    parser.add_argument("--jobs", type=int, default=1, help="processes that draw; each has one that compiles and runs")
    parser.add_argument(
        "--targets",
        default="cpu,simulator",
        help="of cpu, simulator[:ARCH], gpu[:ARCH], passes[:ARCH], assemble[:ARCH], compile[:ARCH]; without ARCH, "
        "sm_80 and sm_90a "
        "take turns (gpu: that of the device)",
    )
    parser.add_argument("--output", type=Path, default=Path("fuzz-failures"), help="folder for failures")
    parser.add_argument("--chunk", type=int, default=20, help="programs of one seed of hypothesis")
    parser.add_argument("--shrink-seconds", type=float, default=90, help="per failure; 0: write it as it was drawn")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one program on one target")
    parser.add_argument("--limit", type=float, default=0, help="seconds for everything; 0: none")
    options = parser.parse_args()
    until = time.time() + options.limit if options.limit else 0.0
    plan = Plan(
        tuple(options.targets.split(",")),
        options.seed,
        min(options.chunk, options.count),
        options.output,
        options.shrink_seconds,
        options.timeout,
        until,
    )
    total = Statistics()
    begin = time.time()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        pending = [pool.submit(run_chunk, plan, number) for number in range(-(-options.count // plan.chunk))]
        for done in as_completed(pending):
            total.add(done.result())
            failed = sum(total.failures.values())
            print(f"\r{total.programs} programs, {failed} failures, {time.time() - begin:.0f} s", end="", file=sys.stderr, flush=True)  # noqa: E501  # fmt: skip
    print(file=sys.stderr)
    print(total.text())
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "summary.txt").write_text(total.text() + "\n")
    examples = [f"=== {target}: {reason}\n{text}" for (target, reason), text in sorted(total.examples.items())]
    (options.output / "refusals.txt").write_text("\n\n".join(examples) + "\n")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
