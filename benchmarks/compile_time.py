"""Cold compile time of a GEMM, from the Python call to the cubin, beside TileLang.

Every sample is a fresh process with caches off. The import is timed apart.

    python benchmarks/compile_time.py --target sm_90a --samples 5
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

CHILD = """
import json, sys, time
sys.path.insert(0, {here!r})
import peers
begin = time.perf_counter()
import {dialect}
imported = time.perf_counter()
program = peers.load_program("gemm", {dialect!r}).matmul
begin_compile = time.perf_counter()
{dialect}.compile(program(4096, 4096, 4096, block_k=64), out_idx=[2], target={target!r})
end = time.perf_counter()
print(json.dumps({{"import": imported - begin, "compile": end - begin_compile}}))
"""


def sample(dialect: str, arch: str) -> dict[str, float]:
    """Seconds of one cold import and compile in a process of its own."""
    target = {"kind": "cuda", "arch": arch}
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(
            os.environ,
            TILEMLIR_CACHE_DIR=cache,
            TILELANG_CACHE_DIR=cache,
            TILELANG_DISABLE_CACHE="1",
        )
        code = CHILD.format(here=str(Path(__file__).parent), dialect=dialect, target=target)
        output = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True
        )
        if output.returncode != 0:
            raise SystemExit(f"{dialect} failed:\n{output.stderr}")
    return json.loads(output.stdout.strip().splitlines()[-1])


def main() -> None:
    """Prints medians of both compilers and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--samples", type=int, default=5)
    arguments = parser.parse_args()
    dialects = ["tilemlir"] + (["tilelang"] if peers.available("tilelang") else [])
    times: dict[str, list[dict[str, float]]] = {dialect: [] for dialect in dialects}
    for _ in range(arguments.samples):
        for dialect in random.sample(dialects, len(dialects)):
            times[dialect].append(sample(dialect, arguments.target))
    medians = {
        dialect: {key: statistics.median(one[key] for one in samples) for key in ("import", "compile")}
        for dialect, samples in times.items()
    }
    for dialect, figures in medians.items():
        print(f"{dialect:10} import {figures['import']:.3f} s   cold compile {figures['compile']:.3f} s")
    if "tilelang" in medians:
        for key in ("import", "compile"):
            print(f"{key}: {medians['tilemlir'][key] / medians['tilelang'][key]:.3f} of TileLang's")
    else:
        print("tilelang is not installed here and was left out")


if __name__ == "__main__":
    main()
