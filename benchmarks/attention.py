"""Attention: tilemlir beside cuDNN, TileLang and Triton in one run.

``tuned`` is the best of a few configurations of examples/attention_tuned.py, ``plain`` the best of several of
programs/attention.py, TileLang the best of the same configurations of the same file, Triton a kernel
with online softmax, autotuned; ``cuDNN again`` is cuDNN against itself, the noise of the run. ``measure.py`` says how
time is taken. A causal product counts half of the operations.

    python benchmarks/attention.py
    python benchmarks/attention.py --length 4096 --dim 128 --mask causal --no-peers
    python benchmarks/attention.py --rising    # the tuned kernel, too, where the maximum of a row rises in every step

``--contender FILE`` adds the callables of a Python file, whose ``contender(problem, q, k, v, out)`` returns one or
None.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "examples")]

import comparison  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import tilemlir as tile  # noqa: E402
import torch  # noqa: E402
from gemm import error_of  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

#: Batch times length, and heads, of all problems.
ROWS = 16384
HEADS = 16
LENGTHS = (1024, 2048, 4096, 8192, 16384)
#: Relative error (Frobenius norms) to float32 above which a kernel is not timed, by dtype.
LARGEST_ERROR = {"float16": 2e-3, "bfloat16": 1.6e-2}
NAMES = ("block_m", "block_n", "num_stages", "threads")
#: Values of these: what the plain program and TileLang choose from.
CONFIGURATIONS = [
    (128, 128, 2, 256),
    (64, 128, 2, 128),
    (128, 64, 2, 256),
    (128, 64, 2, 128),
    (192, 64, 2, 384),
    (192, 128, 2, 384),
]
#: What the tuned example chooses from, by dim: for long and for short sequences.
TUNED = {
    64: [(192, 128, 2, 384), (128, 128, 2, 256)],
    128: [(192, 80, 2, 384), (128, 128, 2, 256)],
}


@dataclass(frozen=True)
class Problem:
    """Self-attention over ``length`` keys, with as many batches as make 16384 rows."""

    length: int
    dim: int
    causal: bool
    dtype: str = "float16"

    def __str__(self) -> str:
        return f"{self.length} x {self.dim} {'causal' if self.causal else 'full'} {self.dtype}"

    @property
    def sizes(self) -> tuple[int, int, int, int, bool]:
        """(batch, heads, length, dim, causal)."""
        return ROWS // self.length, HEADS, self.length, self.dim, self.causal

    @property
    def flops(self) -> float:
        """Floating-point operations that count."""
        return 4.0 * ROWS * HEADS * self.length * self.dim / (2 if self.causal else 1)

    @property
    def has_tuned(self) -> bool:
        """There are configurations of the tuned example."""
        return self.dim in TUNED

    def operands(self) -> list[torch.Tensor]:
        """Random q, k, v of (batch, length, heads, dim), and an output filled with NaN."""
        batch, heads, length, dim, _ = self.sizes
        kind = getattr(torch, self.dtype)
        tensors = [torch.randn(batch, length, heads, dim, device="cuda").to(kind) for _ in range(3)]
        return [*tensors, torch.full_like(tensors[0], float("nan"))]

    def rising_operands(self, step: int) -> list[torch.Tensor]:
        """The same, with scores of all rows that rise by 10, to the base of 2, over ``step`` keys."""
        q, k, v, out = self.operands()
        slope = 10 / step / (self.dim**-0.5 * math.log2(math.e))
        size = math.sqrt(slope * self.length / self.dim)
        position = torch.arange(self.length, device="cuda").view(1, -1, 1, 1) / self.length
        return [(q * 0.01 + size).to(q.dtype), (k * 0.01 + size * position).to(q.dtype), v, out]


def configurations(problem: Problem) -> list[dict[str, int]]:
    """Configurations of the plain program whose blocks divide the length."""
    chosen = [dict(zip(NAMES, values, strict=True)) for values in CONFIGURATIONS]
    return [one for one in chosen if problem.length % one["block_m"] == 0 and problem.length % one["block_n"] == 0]


def compile_plain(problem: Problem, dialect: str, target: str, config: dict[str, int]) -> Any:
    """The kernel of the plain program in one of the dialects."""
    program = peers.load_program("attention", dialect).attention(*problem.sizes, dtype=problem.dtype, **config)
    if dialect == "tilemlir":
        return tile.compile(program, target=target)
    import tilelang

    return tilelang.compile(program, target="cuda")


def tuned_configurations(problem: Problem) -> list[dict[str, int]]:
    """Configurations of the tuned example."""
    return [dict(zip(NAMES, values, strict=True)) for values in TUNED[problem.dim]] if problem.has_tuned else []


def compile_tuned(problem: Problem, target: str, config: dict[str, int]) -> Any:
    """The tuned example in one configuration."""
    import attention_tuned

    return tile.compile(attention_tuned.attention_tuned(*problem.sizes, dtype=problem.dtype, **config), target=target)


def job(arguments: tuple[str, Problem, str, dict[str, int]]) -> str | None:
    """Compiles one kernel into its disk cache; the text of the error if that fails."""
    kind, problem, target, config = arguments
    try:
        if kind == "tuned":
            compile_tuned(problem, target, config)
        else:
            compile_plain(problem, kind, target, config)
    except Exception as error:
        return f"{kind} {problem} {config}: {type(error).__name__}: {str(error)[:300]}"
    return None


def prepare(problems: Iterable[Problem], target: str, with_peers: bool) -> None:
    """Compiles what the problems need on all cores, so that the run itself only loads from disk caches."""
    jobs: list[tuple[str, Problem, str, dict[str, int]]] = []
    for problem in problems:
        jobs += [("tuned", problem, target, config) for config in tuned_configurations(problem)]
        dialects = ["tilemlir"] + (["tilelang"] if with_peers and peers.available("tilelang") else [])
        jobs += [(dialect, problem, target, config) for dialect in dialects for config in configurations(problem)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for failure in pool.map(job, jobs):
            if failure:
                print("left out:", failure)


def cudnn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Callable[[], torch.Tensor]:
    """cuDNN through torch, on the same memory."""
    queries, keys, values = (x.transpose(1, 2) for x in (q, k, v))

    def call() -> torch.Tensor:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=causal)

    return call


def reference_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """The result for the first and the last batch and head, in float32: (2, length, dim)."""
    results = []
    for batch, head in ((0, 0), (-1, -1)):
        one_q, one_k, one_v = (x[batch, :, head].float() for x in (q, k, v))
        scores = one_q @ one_k.t() * q.shape[-1] ** -0.5
        if causal:
            scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu_(1), -torch.inf)
        results.append(scores.softmax(-1) @ one_v)
    return torch.stack(results)


def contenders(
    problem: Problem, target: str, with_peers: bool, rising: bool, more: list[Callable[..., Any]]
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """Callables by name, all of them checked, and the configuration each one ended up with."""
    q, k, v, out = problem.operands()
    reference = reference_of(q, k, v, problem.causal)
    blas = cudnn(q, k, v, problem.causal)
    chosen: dict[str, Callable[[], Any]] = {"cuDNN": blas, "cuDNN again": blas}
    settings = {"cuDNN": "", "cuDNN again": ""}

    def checked(
        function: Callable[[], Any], name: str, out: torch.Tensor = out, reference: torch.Tensor = reference
    ) -> bool:
        out.fill_(float("nan"))
        function()
        torch.cuda.synchronize()
        error = error_of(torch.stack([out[0, :, 0], out[-1, :, -1]]), reference)
        right = error < LARGEST_ERROR[problem.dtype] and not out.isnan().any().item()
        if not right:
            print(f"{name} is wrong at {problem}: relative error {error:.2e}")
        return right

    def add(name: str, options: dict[str, Callable[[], Any]]) -> None:
        right = {key: function for key, function in options.items() if checked(function, f"{name} {key}")}
        if right:
            key = next(iter(right)) if len(right) == 1 else measure.fastest(right)
            chosen[name], settings[name] = right[key], key

    options = {}
    for config in tuned_configurations(problem):
        kernel = compile_tuned(problem, target, config)
        options[" ".join(map(str, config.values()))] = lambda kernel=kernel: kernel(q, k, v, out)
    add("tuned", options)
    if rising and "tuned" in chosen:
        config = dict(zip(NAMES, map(int, settings["tuned"].split()), strict=True))
        kernel, operands = compile_tuned(problem, target, config), problem.rising_operands(config["block_n"])
        rises = functools.partial(kernel, *operands)
        if checked(rises, "tuned, rising", operands[3], reference_of(*operands[:3], problem.causal)):
            chosen["tuned, rising"], settings["tuned, rising"] = rises, settings["tuned"]
    for dialect, name in (("tilemlir", "plain"), ("tilelang", "TileLang")):
        if dialect == "tilelang" and not (with_peers and peers.available("tilelang")):
            continue
        options = {}
        for config in configurations(problem):
            try:
                kernel = compile_plain(problem, dialect, target, config)
            except Exception as error:
                print(f"{name} cannot compile {config} for {problem}: {type(error).__name__}")
                continue
            options[" ".join(map(str, config.values()))] = lambda kernel=kernel: kernel(q, k, v, out)
        add(name, options)
    if with_peers and peers.available("triton"):
        triton_attention = peers.triton_attention()
        add("Triton", {"autotuned": lambda: triton_attention(q, k, v, out, problem.causal)})
    for index, make in enumerate(more):
        function = make(problem, q, k, v, out)
        if function is not None:
            add(f"contender {index + 1}" if len(more) > 1 else "contender", {"": function})
    return chosen, settings


def main() -> None:
    """Measures every problem, prints one table and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", nargs="+", type=int, default=list(LENGTHS))
    parser.add_argument("--dim", nargs="+", type=int, default=[64, 128])
    parser.add_argument("--mask", nargs="+", choices=("causal", "full"), default=["causal", "full"])
    parser.add_argument("--dtype", nargs="+", choices=list(LARGEST_ERROR), default=["float16"])
    parser.add_argument("--rising", action="store_true", help="the tuned kernel also on maxima that rise in every step")
    comparison.add_arguments(parser, "cuDNN", rounds=30)
    arguments = parser.parse_args()
    problems = [
        Problem(length, dim, mask == "causal", dtype)
        for dtype, dim, mask, length in itertools.product(
            arguments.dtype, arguments.dim, arguments.mask, arguments.length
        )
    ]
    regimes = ("cool", "hot") if arguments.regime == "both" else (arguments.regime,)
    more = [comparison.load_contender(path) for path in arguments.contender]
    prepare(problems, arguments.target, not arguments.no_peers)
    records = comparison.run(
        problems,
        lambda problem: contenders(problem, arguments.target, not arguments.no_peers, arguments.rising, more),
        "cuDNN",
        regimes,
        arguments.rounds,
    )
    names = comparison.names_of(records)
    table = Table(title=f"Speed as a fraction of cuDNN, {torch.cuda.get_device_name()}, ours for {arguments.target}")
    for column in ("length x dim", "chip", "cuDNN TFLOP/s", *names[1:], "tuned by", "plain by"):
        table.add_column(column, justify="left" if column in ("length x dim", "chip") else "right")
    for record, problem in zip(records, [one for one in problems for _ in regimes], strict=True):
        times = record["milliseconds"]
        table.add_row(
            str(problem),
            record["regime"],
            f"{problem.flops / times['cuDNN'] / 1e9:.0f}",
            *comparison.ratios(record, "cuDNN", names[1:]),
            *(record["settings"].get(name, "") for name in ("tuned", "plain")),
        )
    for regime in regimes:
        means = comparison.means(records, "cuDNN", names[1:], regime)
        table.add_row("geometric mean", regime, "", *means, "", "")
    Console(width=180).print(table)
    comparison.finish(records, arguments)


if __name__ == "__main__":
    main()
