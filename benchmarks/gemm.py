"""GEMM: tilemlir beside cuBLAS, Triton and TileLang in one run.

Every problem is computed by tilemlir's frozen configuration for it
(``configuration`` of ``programs/gemm_hopper.py``), by cuBLAS through torch, and by the
best of several configurations of Triton and TileLang; ``plain`` is the same short
program with the same configuration in tilemlir and in TileLang; ``cuBLAS again`` is
cuBLAS against itself, the noise of the run. ``measure.py`` says how time is taken.

    python benchmarks/gemm.py --table large
    python benchmarks/gemm.py --table llm --table few
    python benchmarks/gemm.py --target sm_80 --shape 4096x4096x4096

A problem is MxNxK with ``kn`` (B is K x N) or ``nk`` (B is N x K) and a dtype:
``--shape 4096x4096x4096:nk:bfloat16``. ``--contender FILE`` adds the callables of
a Python file, whose ``contender(problem, a, b, out)`` returns one or None.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import comparison
import measure
import peers
import tilemlir as tile
import torch
from rich.console import Console
from rich.table import Table

# The relative error (Frobenius norms) above which a kernel is not timed; types whose results are coarser than that are
# compared with the error of cuBLAS.
LARGEST_ERROR = 1e-3
LARGEST_ERROR_TO_BLAS = 1.05


@dataclass(frozen=True)
class Problem:
    """C[m, n] = A[m, k] @ B, with B stored as [k, n] ("kn") or as [n, k] ("nk")."""

    m: int
    n: int
    k: int
    layout: str = "kn"
    dtype: str = "float16"

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Reads ``MxNxK[:layout[:dtype]]``."""
        shape, *rest = text.split(":")
        return cls(*(int(extent) for extent in shape.split("x")), *rest)

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k} {self.layout} {self.dtype}"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, n, k)."""
        return self.m, self.n, self.k

    @property
    def flops(self) -> int:
        """Floating-point operations of the product."""
        return 2 * self.m * self.n * self.k

    @property
    def out_dtype(self) -> str:
        """Dtype of C."""
        return "bfloat16" if self.dtype == "bfloat16" else "float16"

    def operands(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Random A and B, and C filled with NaN."""
        dtype = getattr(torch, "float8_e4m3fn" if self.dtype == "float8_e4m3" else self.dtype)
        a = torch.randn(self.m, self.k, device="cuda").to(dtype)
        b = torch.randn(*((self.k, self.n) if self.layout == "kn" else (self.n, self.k)), device="cuda").to(dtype)
        out = torch.full((self.m, self.n), float("nan"), device="cuda", dtype=getattr(torch, self.out_dtype))
        return a, b, out

    def columns(self, b: torch.Tensor) -> torch.Tensor:
        """B as [k, n], whatever its layout."""
        return b if self.layout == "kn" else b.t()


LARGE = [
    *(Problem(size, size, size) for size in (1024, 2048, 4096, 6144, 8192)),
    Problem(16384, 16384, 4096),
    Problem(4096, 4096, 4096, "nk"),
    Problem(8192, 8192, 8192, "nk"),
    Problem(8192, 8192, 8192, "kn", "bfloat16"),
    Problem(4096, 4096, 4096, "nk", "float8_e4m3"),
    Problem(8192, 8192, 8192, "nk", "float8_e4m3"),
]
FEW = [
    Problem(m, n, k, layout)
    for m, n, k in [
        (1024, 1024, 8192),
        (512, 512, 16384),
        (1000, 1000, 1000),
        (4000, 4000, 4000),
        (1096, 2056, 1048),
    ]
    for layout in ("kn", "nk")
]
LLM = [
    Problem(m, n, k, layout)
    for m in (1, 16, 32, 64, 128, 512, 4096)
    for n, k in [(4096, 4096), (11008, 4096), (4096, 11008), (32000, 4096)]
    for layout in ("kn", "nk")
]
TABLES = {"large": LARGE, "few": FEW, "llm": LLM}

# block_m, block_n, block_k, num_stages, threads, panel: what the peers, and ours on the general path, choose from.
GENERAL = [
    (128, 128, 32, 3, 128, 8),
    (128, 128, 32, 4, 128, 8),
    (128, 256, 32, 3, 256, 8),
    (128, 256, 32, 4, 256, 8),
    (256, 128, 32, 3, 256, 8),
    (128, 128, 64, 3, 128, 8),
]
HOPPER = [
    (128, 128, 64, 3, 128, 8),
    (128, 256, 64, 3, 256, 8),
    (128, 128, 64, 4, 256, 8),
    (128, 64, 64, 5, 128, 8),
    (64, 64, 128, 4, 128, 8),
]
NAMES = ("block_m", "block_n", "block_k", "num_stages", "threads", "panel")


def candidates(problem: Problem, target: str) -> list[dict[str, int]]:
    """Configurations of the plain program for a problem."""
    chosen = [dict(zip(NAMES, values, strict=True)) for values in (GENERAL if target == "sm_80" else HOPPER)]
    if target != "sm_80" and problem.m <= 64:
        chosen = [{**config, "block_m": 64, "threads": 128} for config in chosen if config["block_m"] <= 128]
    if problem.dtype.startswith("float8"):
        chosen = [{**config, "block_k": 128} for config in chosen]
    return list({tuple(config.values()): config for config in chosen}.values())


def ours(problem: Problem, target: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Programs of tilemlir with their configurations: the frozen one, or on the general path all candidates."""
    if target == "sm_80":
        return {str(tuple(config.values())): ("matmul", config) for config in candidates(problem, target)}
    name, config = peers.load_program("gemm_hopper").configuration(*problem.shape, problem.layout, problem.dtype)
    return {f"{name} {' '.join(f'{key}={value}' for key, value in config.items())}": (name, config)}


def compile_ours(problem: Problem, target: str, name: str, config: dict[str, Any]) -> Any:
    """The kernel of one program and configuration."""
    program = getattr(peers.load_program("gemm" if name == "matmul" else "gemm_hopper"), name)
    return tile.compile(program(*problem.shape, layout=problem.layout, dtype=problem.dtype, **config), target=target)


def compile_theirs(problem: Problem, target: str, config: dict[str, Any]) -> Any:
    """TileLang's kernel of the plain program."""
    return peers.tilelang_gemm(*problem.shape, target, layout=problem.layout, dtype=problem.dtype, **config)


def job(arguments: tuple[str, Problem, str, tuple]) -> str | None:
    """Compiles one kernel into its disk cache; the text of the error if that fails."""
    kind, problem, target, rest = arguments
    try:
        compile_ours(problem, target, *rest) if kind == "ours" else compile_theirs(problem, target, *rest)
    except Exception as error:
        return f"{kind} {problem} {rest}: {type(error).__name__}: {str(error)[:300]}"
    return None


def prepare(problems: Iterable[Problem], target: str, with_peers: bool) -> None:
    """Compiles what the problems need on all cores, so that the run itself only loads from disk caches."""
    jobs: list[tuple] = []
    for problem in problems:
        jobs += [("ours", problem, target, value) for value in ours(problem, target).values()]
        if with_peers and peers.available("tilelang"):
            jobs += [("tilelang", problem, target, (config,)) for config in candidates(problem, target)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for failure in pool.map(job, jobs):
            if failure:
                print("left out:", failure)


def error_of(result: torch.Tensor, reference: torch.Tensor) -> float:
    """Relative error in the Frobenius norm."""
    return ((result.float() - reference).norm() / reference.norm()).item()


def contenders(
    problem: Problem, target: str, with_peers: bool, more: list[Callable[..., Any]]
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """Callables by name, all of them checked, and the configuration each one ended up with."""
    a, b, out = problem.operands()
    columns = problem.columns(b)
    reference = a.float() @ columns.float()
    if problem.dtype.startswith("float8"):
        one = torch.ones((), device="cuda")
        blas = lambda: torch._scaled_mm(  # noqa: E731
            a, columns, scale_a=one, scale_b=one, out_dtype=out.dtype, use_fast_accum=True
        )
    else:
        blas = lambda: torch.mm(a, columns, out=out)  # noqa: E731
    allowed = max(LARGEST_ERROR, LARGEST_ERROR_TO_BLAS * error_of(blas(), reference))

    def checked(function: Callable[[], Any], name: str) -> bool:
        out.fill_(float("nan"))
        function()
        torch.cuda.synchronize()
        error = error_of(out, reference)
        if not error < allowed:
            print(f"{name} is wrong at {problem}: relative error {error:.2e}")
        return error < allowed

    chosen: dict[str, Callable[[], Any]] = {"cuBLAS": blas, "cuBLAS again": blas}
    settings = {"cuBLAS": "", "cuBLAS again": ""}

    def add(name: str, options: dict[str, Callable[[], Any]]) -> None:
        right = {key: function for key, function in options.items() if checked(function, f"{name} {key}")}
        if right:
            key = next(iter(right)) if len(right) == 1 else measure.fastest(right)
            chosen[name], settings[name] = right[key], key

    options = {}
    for key, (name, config) in ours(problem, target).items():
        kernel = compile_ours(problem, target, name, config)
        options[key] = lambda kernel=kernel: kernel(a, b, out)
    add("tilemlir", options)
    plain = candidates(problem, target)[0]
    same = str(tuple(plain.values()))
    if with_peers and peers.available("tilelang"):
        theirs = {}
        for config in candidates(problem, target):
            try:
                peer = compile_theirs(problem, target, config)
            except Exception as error:
                print(f"TileLang cannot compile {config} for {problem}: {type(error).__name__}")
                continue
            theirs[str(tuple(config.values()))] = lambda peer=peer: peer(a, b, out)
        add("TileLang", theirs)
        if same in theirs:
            kernel = compile_ours(problem, target, "matmul", plain)
            add("tilemlir, plain", {same: lambda: kernel(a, b, out)})
            add("TileLang, plain", {same: theirs[same]})
    if with_peers and peers.available("triton"):
        triton_gemm = peers.triton_gemm()
        add("Triton", {"autotuned": lambda: triton_gemm(a, columns, out)})
    for index, make in enumerate(more):
        function = make(problem, a, b, out)
        if function is not None:
            add(f"contender {index + 1}" if len(more) > 1 else "contender", {"": function})
    return chosen, settings


def main() -> None:
    """Measures every problem, prints one table and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", action="append", default=[], type=Problem.parse, help="MxNxK[:layout[:dtype]]")
    parser.add_argument("--table", action="append", default=[], choices=list(TABLES))
    comparison.add_arguments(parser, "cuBLAS", rounds=40)
    arguments = parser.parse_args()
    problems = [problem for table in arguments.table for problem in TABLES[table]] + arguments.shape
    problems = problems or [Problem(4096, 4096, 4096)]
    regimes = ("cool", "hot") if arguments.regime == "both" else (arguments.regime,)
    more = [comparison.load_contender(path) for path in arguments.contender]
    prepare(problems, arguments.target, not arguments.no_peers)
    records = comparison.run(
        problems,
        lambda problem: contenders(problem, arguments.target, not arguments.no_peers, more),
        "cuBLAS",
        regimes,
        arguments.rounds,
    )
    names = comparison.names_of(records)
    table = Table(title=f"Speed as a fraction of cuBLAS, {torch.cuda.get_device_name()}, ours for {arguments.target}")
    for column in ("problem", "chip", "cuBLAS us", "TFLOP/s", *names[1:], "configuration"):
        table.add_column(column, justify="left" if column in ("problem", "chip", "configuration") else "right")
    for record in records:
        times = record["milliseconds"]
        problem = Problem(*(record[key] for key in ("m", "n", "k", "layout", "dtype")))
        table.add_row(
            str(problem),
            record["regime"],
            f"{times['cuBLAS'] * 1e3:.1f}",
            f"{problem.flops / times['cuBLAS'] / 1e9:.0f}",
            *comparison.ratios(record, "cuBLAS", names[1:]),
            record["settings"].get("tilemlir", ""),
        )
    for regime in regimes:
        means = comparison.means(records, "cuBLAS", names[1:], regime)
        table.add_row("geometric mean", regime, "", "", *means, "")
    Console(width=200).print(table)
    comparison.finish(records, arguments)


if __name__ == "__main__":
    main()
