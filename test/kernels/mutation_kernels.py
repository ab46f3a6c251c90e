"""The kernels that the mutation suite puts faults into, at the smallest sizes at which every part of them runs."""

from __future__ import annotations

import dataclasses
import functools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cluster_programs
import defer_programs
import dynamic_tiles_programs
import explicit_programs
import found_programs
import numpy as np
import tilemlir as tile
import tilemlir.language as T

__all__ = ["KERNELS", "Subject", "compiled"]

REPOSITORY = Path(__file__).parents[2]
HOPPER, AMPERE = "sm_90a", "sm_80"


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel with inputs and their results.

    Attributes:
        what: the kernel in words.
        arch: architecture that it is compiled for.
        make: makes the program.
        operands: makes fresh inputs.
        expected: the result of them.
        tolerance: largest absolute difference.
    """

    what: str
    arch: str
    make: Callable[[], Any]
    operands: Callable[[], tuple[np.ndarray, ...]]
    expected: Callable[..., np.ndarray]
    tolerance: float = 0.0

    def agrees(self, result: np.ndarray, operands: tuple[np.ndarray, ...]) -> bool:
        """Whether a result is right."""
        expected = self.expected(*operands)
        return bool(np.all(np.abs(result.astype(np.float64) - expected.astype(np.float64)) <= self.tolerance))


@functools.cache
def compiled(name: str) -> Any:
    """The unchanged kernel of a subject, with its output made by the call."""
    subject = KERNELS[name]
    return tile.compile(subject.make(), out_idx=-1, target={"kind": "simulator", "arch": subject.arch})


def _gemm(m, n, k, block=(128, 128, 64), stages=5, threads=128):
    """The chapter's matrix product."""
    block_m, block_n, block_k = block

    @T.prim_func
    def gemm_kernel(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (column, row):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(a[row * block_m, step * block_k], a_tile)
                T.copy(b[step * block_k, column * block_n], b_tile)
                T.gemm(a_tile, b_tile, accumulator)
            T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_kernel


def _small(*shape: int) -> np.ndarray:
    """Whole numbers whose products have exact sums."""
    return np.random.default_rng().integers(-3, 4, shape).astype(np.float16)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)


def _gemm_subject(what: str, arch: str, make: Callable[..., Any], shape: tuple[int, int, int]) -> Subject:
    m, n, k = shape
    return Subject(what, arch, lambda: make(m, n, k), lambda: (_small(m, k), _small(k, n)), _product)


def _program(path: str, name: str) -> Callable[..., Any]:
    """A factory of a program of the repository, loaded when it is called."""
    return lambda *sizes, **options: runpy.run_path(str(REPOSITORY / path))[name](*sizes, **options)


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of (1, length, 1, dim), over all keys."""
    q, k, v = (one[0, :, 0].astype(np.float64) for one in (q, k, v))
    scores = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    return (scores / scores.sum(-1, keepdims=True) @ v)[None, :, None]


def _turns(rounds: int) -> Callable[[np.ndarray], np.ndarray]:
    def expected(a: np.ndarray) -> np.ndarray:
        for _ in range(rounds):
            a = (a * 2 + 1) * 3
        return a

    return expected


KERNELS = {
    "gemm": _gemm_subject("GEMM of the chapter", HOPPER, _gemm, (128, 128, 512)),
    "gemm_long": _gemm_subject(
        "GEMM of the chapter, many steps", HOPPER, lambda *s: _gemm(*s, block=(64, 64, 64), stages=2), (64, 64, 1536)
    ),
    "gemm_sm80": _gemm_subject(
        "GEMM of the chapter", AMPERE, lambda *s: _gemm(*s, block=(64, 64, 32), stages=3), (64, 64, 256)
    ),
    "persistent": _gemm_subject(
        "persistent GEMM, deferred stores",
        HOPPER,
        lambda *s: defer_programs.gemm(*s, workers=2, block=(128, 128, 64), stages=3, threads=256),
        (384, 128, 256),
    ),
    "dynamic_tiles": _gemm_subject(
        "persistent GEMM, tiles from a counter",
        HOPPER,
        lambda *s: dynamic_tiles_programs.product(*s, block=(64, 64, 64), workers=2, num_stages=4),
        (384, 64, 64),
    ),
    "cluster": _gemm_subject(
        "GEMM of clusters with multicast",
        HOPPER,
        lambda *s: cluster_programs.gemm(*s, (1, 2), block=(64, 64, 64), stages=2),
        (128, 64, 448),
    ),
    "cp_async_ring": _gemm_subject(
        "GEMM, ring filled by cp.async", HOPPER, lambda *s: _gemm(*s, block=(64, 64, 64)), (64, 60, 448)
    ),
    "multiply_add": Subject(
        "GEMM of f64 by multiply-adds",
        HOPPER,
        lambda: found_programs.loads_in_flight(2, 128),
        lambda: tuple(np.random.default_rng().integers(-3, 4, (rows, 96)).astype(np.float64) for rows in (32, 64)),
        lambda a, b: a @ b.T,
    ),
    "explicit": _gemm_subject(
        "GEMM with T.ws and barriers of the program",
        HOPPER,
        lambda *s: explicit_programs.gemm(*s, stages=2, block=(64, 64, 64)),
        (64, 64, 320),
    ),
    "attention": Subject(
        "attention, 2 steps in flight",
        HOPPER,
        lambda: _program("examples/attention.py", "attention")(1, 1, 256, 64, False, block_m=64, threads=128),
        lambda: tuple(np.random.default_rng().standard_normal((3, 1, 256, 1, 64)).astype(np.float16)),
        _attention,
        tolerance=5e-3,
    ),
    "split_k": _gemm_subject(
        "GEMM, K split among blocks that meet in a workspace",
        HOPPER,
        lambda *s: _program("benchmarks/programs/gemm_hopper.py", "split_matmul")(
            *s, block_m=64, block_n=64, num_stages=2, threads=128
        ),
        (64, 64, 256),
    ),
    "ping_pong": Subject(
        "two groups that alternate at named barriers",
        HOPPER,
        lambda: explicit_programs.ping_pong(128, 3),
        lambda: (np.random.default_rng().integers(-9, 10, 128).astype(np.int32),),
        _turns(3),
    ),
    "softmax": Subject(
        "softmax of a row",
        AMPERE,
        lambda: _program("examples/softmax.py", "softmax")(256),
        lambda: (np.random.default_rng().standard_normal((2, 256)).astype(np.float16),),
        lambda x: np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(-1, keepdims=True),
        tolerance=1e-3,
    ),
}
