"""Cold compile time of a GEMM and of attention, from the Python call to the cubin, beside TileLang.

Every sample is a fresh process with the compilers' caches off, the contenders taking turns in random order. Python's
bytecode is cached for both alike, as an installed package has it, and one process of each goes first untimed, so that
no sample reads a file that the next one finds in memory. The import is timed apart.

    python benchmarks/compile_time.py --targets sm_80 sm_90a --samples 5

Both packages must be importable by this Python. A build tree and TileLang in an environment of its own go together with
``PYTHONPATH=build/python``; the extension modules must have been built for the same version of Python.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import peers

CHILD = """
import json, resource, sys, time
sys.path.insert(0, {here!r})
import peers
begin = time.perf_counter()
import {dialect}
imported = time.perf_counter()
program = getattr(peers.load_program({program!r}, {dialect!r}), {function!r})
def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
used = processor_seconds()
begin_compile = time.perf_counter()
kernel = {dialect}.compile(program(*{sizes!r}, **{config!r}), out_idx=[{output}], target={target!r})
end = time.perf_counter()
figures = {{"import": imported - begin, "compile": end - begin_compile, "processor": processor_seconds() - used}}
phases = getattr(kernel, "milliseconds", {{}})
print(json.dumps({{**figures, **{{name: value / 1e3 for name, value in phases.items()}}}}))
"""

#: Function of a file in programs/, sizes, configuration, number of the output.
PROGRAMS: dict[str, dict[str, Any]] = {
    "gemm": {"function": "matmul", "sizes": (4096, 4096, 4096), "config": {"block_k": 64}, "output": 2},
    "attention": {
        "function": "attention",
        "sizes": (4, 16, 4096, 128, True),
        "config": {"block_m": 128, "block_n": 64},
        "output": 3,
    },
}


def sample(program: str, dialect: str, arch: str, bytecode: str) -> dict[str, float]:
    """Seconds of one cold import and compile in a process of its own.

    Args:
        program: of ``PROGRAMS``.
        dialect: ``tilemlir`` or ``tilelang``.
        arch: such as ``"sm_90a"``.
        bytecode: directory for Python's compiled files.

    Returns:
        ``import``, ``compile`` and ``processor`` (time of all processors during the compile, of child processes too);
        ours also has its phases.
    """
    target = {"kind": "cuda", "arch": arch}
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(
            os.environ,
            TILEMLIR_CACHE_DIR=cache,
            TILEMLIR_DISABLE_CACHE="1",
            TILELANG_CACHE_DIR=cache,
            TILELANG_DISABLE_CACHE="1",
            PYTHONPYCACHEPREFIX=bytecode,
        )
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        code = CHILD.format(
            here=str(Path(__file__).parent), dialect=dialect, target=target, program=program, **PROGRAMS[program]
        )
        output = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True
        )
        if output.returncode != 0:
            raise SystemExit(f"{dialect} failed:\n{output.stderr}")
    result: dict[str, float] = json.loads(output.stdout.strip().splitlines()[-1])
    return result


def measure(program: str, dialects: list[str], arch: str, samples: int, bytecode: str) -> dict[str, dict[str, float]]:
    """Medians of every figure, by dialect."""
    for dialect in dialects:
        sample(program, dialect, arch, bytecode)
    times: dict[str, list[dict[str, float]]] = {dialect: [] for dialect in dialects}
    for _ in range(samples):
        for dialect in random.sample(dialects, len(dialects)):
            times[dialect].append(sample(program, dialect, arch, bytecode))
    return {
        dialect: {key: statistics.median(one[key] for one in found) for key in found[0]}
        for dialect, found in times.items()
    }


def installed_version(dialect: str) -> str:
    """The version of a contender."""
    try:
        return version(dialect)
    except PackageNotFoundError:  # a build tree on the path
        return "from a build tree"


def main() -> None:
    """Prints medians of both compilers and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--samples", type=int, default=5)
    arguments = parser.parse_args()
    dialects = ["tilemlir"] + (["tilelang"] if peers.available("tilelang") else [])
    print(f"{os.cpu_count()} processors; " + ", ".join(f"{one} {installed_version(one)}" for one in dialects))
    with tempfile.TemporaryDirectory() as bytecode:
        for program, arch in itertools.product(arguments.programs, arguments.targets):
            medians = measure(program, dialects, arch, arguments.samples, bytecode)
            print(f"{program} for {arch}, median of {arguments.samples} processes each:")
            for dialect, figures in medians.items():
                print("  " + f"{dialect:10}" + "  ".join(f"{key} {value:.3f} s" for key, value in figures.items()))
            if "tilelang" in medians:
                for key in ("import", "compile", "processor"):
                    print(f"  {key}: {medians['tilemlir'][key] / medians['tilelang'][key]:.3f} of TileLang's")
    if "tilelang" not in dialects:
        print("tilelang is not installed here and was left out")


if __name__ == "__main__":
    main()
