"""The kernels of test/corpus with fresh random inputs and NumPy results."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from generic_ir import Operation, parse

__all__ = ["ALL_PASSES", "CASES", "CORPUS", "PASSES", "Case", "run_each_pass", "run_passes", "source_text"]

CORPUS = Path(__file__).parents[2] / "corpus"
#: The passes that pipeline, allocate and synchronise, for modules whose instructions the corpus gives.
PASSES = (
    "tile-plan-pipeline",
    "tile-multibuffer",
    "tile-insert-mbarriers",
    "tile-allocate-memory",
    "tile-insert-sync",
)

#: From the traced module to the end of the tile-level passes.
ALL_PASSES = (
    "tile-canonicalize-kernel",
    "tile-map-blocks",
    "tile-raise-loops",
    "tile-analyze-bounds",
    "tile-verify-uniformity",
    "tile-select-instructions",
    "tile-assign-layouts",
    "tile-optimize-conversions",
    *PASSES,
)

Arrays = tuple[np.ndarray | int, ...]


@dataclass(frozen=True)
class Case:
    """One kernel with one set of sizes.

    Attributes:
        name: file stem in the corpus.
        make: from the trip count and a generator to arguments; outputs are filled with NaN or a pattern.
        reference: from the arguments to the expected values of each output, by position.
        tolerance: absolute and relative, of floating-point outputs.
    """

    name: str
    make: Callable[[int, np.random.Generator], Arrays]
    reference: Callable[[Arrays], dict[int, np.ndarray]]
    tolerance: float = 1e-5


def source_text(case: Case, stages: int, *, choices: bool = True) -> str:
    """The file of the corpus with another number of stages in every loop that has three.

    Args:
        case: the kernel.
        stages: the new number.
        choices: keep the instructions that the file gives to copies; else the compiler chooses.
    """
    text = (CORPUS / f"{case.name}.mlir").read_text()
    if not choices:
        text = re.sub(r" \{choice = #tile\.choice<[^>]*>\}", "", text)
    if case.name == "scheduled":
        return text
    return re.sub(r"stages\(3\)", f"stages({stages})", text)


def run_passes(tool: Path, text: str, passes: tuple[str, ...]) -> Operation:
    """Runs passes with tile-opt and reads the result."""
    command = [str(tool), "-mlir-print-op-generic", *(f"-{name}" for name in passes), "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return parse(result.stdout)


def run_each_pass(tool: Path, text: str, passes: tuple[str, ...]) -> list[tuple[str, Operation]]:
    """The module before each pass, and each pass run inside of one, with the name of the pass; then the result.

    All from one run of tile-opt.
    """
    options = ["-mlir-print-op-generic", "-mlir-print-ir-before-all", "-mlir-print-ir-module-scope"]
    command = [str(tool), *options, "-mlir-disable-threading", *(f"-{name}" for name in passes), "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    parts = re.split(r"^// -----// IR Dump Before \w+ \(([\w-]+).*$", result.stderr, flags=re.MULTILINE)[1:]
    modules = [(name, parse(dump)) for name, dump in zip(parts[::2], parts[1::2], strict=True)]
    assert [name for name, _ in modules if name in passes] == list(passes)
    return [*modules, ("end", parse(result.stdout))]


def _half(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float16)


def _empty(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.full(shape, np.nan, dtype)


def _gemm(n: int, rng: np.random.Generator) -> Arrays:
    # 13 x 11: the second tile of each dimension is partial; the last K step has one column too few.
    k = max(4 * n - 1, 0)
    return _half(rng, 13, k), _half(rng, k, 11), _empty(13, 11, dtype=np.float16), n


def _gemm_result(args: Arrays) -> dict[int, np.ndarray]:
    a, b, c, _ = args
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and isinstance(c, np.ndarray)
    return {2: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(np.float16)}


def _attention(n: int, rng: np.random.Generator) -> Arrays:
    return _half(rng, 8, 4), _half(rng, 8 * n, 4), _half(rng, 8 * n, 4), _empty(8, 4), n


def _attention_result(args: Arrays) -> dict[int, np.ndarray]:
    q, k, v, _, n = args
    assert isinstance(q, np.ndarray) and isinstance(k, np.ndarray) and isinstance(v, np.ndarray)
    if n == 0:
        return {3: _empty(8, 4)}
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return {3: (weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)).astype(np.float32)}


def _conditional(flags: Callable[[int], list[int]]) -> Callable[[int, np.random.Generator], Arrays]:
    def make(n: int, rng: np.random.Generator) -> Arrays:
        return _half(rng, 8 * n, 8), np.array(flags(n), np.int32), _empty(8, 8), n

    return make


def _conditional_result(args: Arrays) -> dict[int, np.ndarray]:
    a, flags, _, n = args
    assert isinstance(a, np.ndarray) and isinstance(flags, np.ndarray) and isinstance(n, int)
    total = np.zeros((8, 8))
    for k in range(n):
        if flags[k]:
            tile = a[8 * k : 8 * k + 8].astype(np.float64)
            total += tile @ tile.T
    return {2: total.astype(np.float32)}


def _persistent(n: int, rng: np.random.Generator) -> Arrays:
    return _half(rng, 24, 4 * n), _half(rng, 4 * n, 8), _empty(24, 8), n, 3


def _persistent_result(args: Arrays) -> dict[int, np.ndarray]:
    a, b = args[0], args[1]
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return {2: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)}


def _last_tile(n: int, rng: np.random.Generator) -> Arrays:
    return rng.standard_normal(8 * n).astype(np.float32), _empty(8), _empty(8), n


def _last_tile_result(args: Arrays) -> dict[int, np.ndarray]:
    a, n = args[0], args[3]
    assert isinstance(a, np.ndarray) and isinstance(n, int)
    last = a[-8:] if n else np.full(8, 7, np.float32)
    return {1: last, 2: a.reshape(n, 8).sum(axis=0).astype(np.float32)}


def _variables(n: int, rng: np.random.Generator) -> Arrays:
    steps = rng.integers(-2, 5, n).astype(np.int32)
    values = rng.standard_normal(8 * n + 16).astype(np.float32)
    return values, steps, _empty(8 * n), np.full(n, -1, np.int32), n


def _variables_result(args: Arrays) -> dict[int, np.ndarray]:
    a, steps, _, _, n = args
    assert isinstance(a, np.ndarray) and isinstance(steps, np.ndarray) and isinstance(n, int)
    places = np.cumsum(np.maximum(steps, 0))
    tiles = [a[place : place + 8] for place in places]
    tiles = [np.pad(tile, (0, 8 - len(tile))) for tile in tiles]
    return {2: np.concatenate([np.empty(0, np.float32), *tiles]), 3: places.astype(np.int32)}


def _two_loops(n: int, rng: np.random.Generator) -> Arrays:
    return rng.standard_normal(8 * n).astype(np.float32), _half(rng, 8 * (n + 1)), _empty(8), n, n + 1


def _two_loops_result(args: Arrays) -> dict[int, np.ndarray]:
    a, b = args[0], args[1]
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    up = a.reshape(-1, 8).astype(np.float64).sum(axis=0)
    return {2: (up - b.reshape(-1, 8)[:, ::-1].astype(np.float64).sum(axis=0)).astype(np.float32)}


def _reductions(n: int, rng: np.random.Generator) -> Arrays:
    a = rng.standard_normal((8 * n, 8)).astype(np.float32)
    return a, _empty(8 * n), _empty(8 * n), _empty(8 * n, 8), n


def _reductions_result(args: Arrays) -> dict[int, np.ndarray]:
    a = args[0]
    assert isinstance(a, np.ndarray)
    tiles = a.reshape(-1, 8, 8)
    return {1: a.sum(axis=1), 2: tiles.max(axis=1).reshape(-1), 3: tiles.transpose(0, 2, 1).reshape(-1, 8)}


def _while_loop(n: int, rng: np.random.Generator) -> Arrays:
    return rng.standard_normal(8 * n).astype(np.float32), _empty(8 * n), n


def _while_loop_result(args: Arrays) -> dict[int, np.ndarray]:
    a, _, n = args
    assert isinstance(a, np.ndarray) and isinstance(n, int)
    tiles = a.reshape(n, 8).astype(np.float64)
    before = [tiles[:k].sum(axis=0) for k in range(n)]
    return {1: np.concatenate([np.empty(0), *before]).astype(np.float32)}


def _scheduled(n: int, rng: np.random.Generator) -> Arrays:
    return _half(rng, 8 * n, 8), _half(rng, 8 * n, 8), _empty(8, 8), n


def _scheduled_result(args: Arrays) -> dict[int, np.ndarray]:
    a, b, _, n = args
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and isinstance(n, int)
    total = np.zeros((8, 8))
    for left, right in zip(a.reshape(n, 8, 8).astype(np.float64), b.reshape(n, 8, 8).astype(np.float64), strict=True):
        total += left @ left + left @ right.T
    return {2: total.astype(np.float32)}


def _workspace(n: int, rng: np.random.Generator) -> Arrays:
    return rng.standard_normal((8 * n, 8)).astype(np.float32), _empty(8, 8), _empty(8 * n, 8), n


def _workspace_result(args: Arrays) -> dict[int, np.ndarray]:
    a = args[0]
    assert isinstance(a, np.ndarray)
    return {2: a.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 8)}


CASES = {
    "gemm": Case("gemm", _gemm, _gemm_result, 2e-3),
    "attention": Case("attention", _attention, _attention_result, 5e-3),
    "conditional-all": Case("conditional", _conditional(lambda n: [1] * n), _conditional_result),
    "conditional-none": Case("conditional", _conditional(lambda n: [0] * n), _conditional_result),
    "conditional-alternating": Case(
        "conditional", _conditional(lambda n: [k % 2 for k in range(n)]), _conditional_result
    ),
    "conditional-first": Case(
        "conditional", _conditional(lambda n: [int(k == 0) for k in range(n)]), _conditional_result
    ),
    "conditional-last": Case(
        "conditional", _conditional(lambda n: [int(k == n - 1) for k in range(n)]), _conditional_result
    ),
    "persistent": Case("persistent", _persistent, _persistent_result),
    "last_tile": Case("last_tile", _last_tile, _last_tile_result),
    "variables": Case("variables", _variables, _variables_result),
    "two_loops": Case("two_loops", _two_loops, _two_loops_result),
    "reductions": Case("reductions", _reductions, _reductions_result),
    "while_loop": Case("while_loop", _while_loop, _while_loop_result),
    "workspace": Case("workspace", _workspace, _workspace_result),
    "scheduled": Case("scheduled", _scheduled, _scheduled_result),
}
