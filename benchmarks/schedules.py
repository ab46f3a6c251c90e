"""Runs the correct kernels of the mutation suite under many schedules of the simulator: no alarm, right results.

python benchmarks/schedules.py [--seeds 200] [--first 0] [--kernel NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "test" / "kernels"))

from mutation_kernels import KERNELS, compiled
from tilemlir.simulator import Settings, simulate


def check(name: str, seeds: range) -> list[str]:
    """What is wrong with a kernel, for each seed where something is.

    Args:
        name: key of KERNELS.
        seeds: of the scheduler; inputs are fresh for each.
    """
    wrong = []
    subject = KERNELS[name]
    for count, seed in enumerate(seeds):
        if sys.stderr.isatty():
            print(f"\r{name} {count}/{len(seeds)} ", end="", file=sys.stderr, flush=True)
        operands = subject.operands()
        result = simulate(compiled(name), *operands, settings=Settings(seed=seed))
        if not result.report.ok:
            wrong.append(f"seed {seed}: {result.report}")
        elif not subject.agrees(result.outputs, operands):
            wrong.append(f"seed {seed}: the result is wrong")
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return wrong


def main() -> int:
    """Runs all kernels; the exit code says whether there was an alarm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--kernel", choices=KERNELS, nargs="*", default=list(KERNELS), help="all by default")
    options = parser.parse_args()
    failed = False
    for name in options.kernel:
        begin = time.perf_counter()
        wrong = check(name, range(options.first, options.first + options.seeds))
        failed |= bool(wrong)
        subject = KERNELS[name]
        print(
            f"{subject.what + ', ' + subject.arch:<64} {options.seeds:>4} seeds, {len(wrong)} alarms, "
            f"{time.perf_counter() - begin:6.0f} s",
            flush=True,
        )
        print("\n".join(wrong[:3]), end="\n" if wrong else "")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
