"""What the benchmarks compare against: cuBLAS through torch, Triton, TileLang.

Every peer is optional: a missing one is reported by name and left out.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"


def available(module: str) -> bool:
    """Whether a Python module can be imported here."""
    return importlib.util.find_spec(module) is not None


def load_program(name: str, dialect: str = "tilemlir") -> ModuleType:
    """Imports ``programs/<name>.py`` for a dialect, changing only its import line.

    Args:
        name: stem of the file.
        dialect: ``tilemlir`` or ``tilelang``.
    """
    text = (PROGRAMS / f"{name}.py").read_text()
    line = "import tilemlir.language as T"
    if text.count(line) != 1:
        raise ValueError(f"programs/{name}.py must contain the line {line!r} exactly once")
    folder = Path(tempfile.mkdtemp(prefix="tilemlir-benchmark-"))
    path = folder / f"{name}_{dialect}.py"
    path.write_text(text.replace(line, f"import {dialect}.language as T"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tilelang_gemm(m: int, n: int, k: int, features: str, **config: Any) -> Callable[[Any, Any, Any], Any]:
    """TileLang's build of ``programs/gemm.py`` for a feature set, with the output as the third argument.

    For ``sm_80``, ``code`` makes it assemble that feature set for the chip at
    hand, so that both compilers use the same instructions; else it takes what
    the chip has.
    """
    import tilelang
    import torch

    target: Any = "cuda"
    if features == "sm_80":
        major, minor = torch.cuda.get_device_capability()
        target = {"kind": "cuda", "arch": "sm_80", "code": [f"sm_{major}{minor}"]}
    program = load_program("gemm", "tilelang").matmul(m, n, k, **config)
    return tilelang.compile(program, target=target)


def triton_gemm() -> Callable[[Any, Any, Any], Any]:
    """A tiled Triton GEMM with grouped rasterisation, autotuned over common configurations.

    The second operand may be a transposed view. Result: a function of both operands and the output.
    """
    import triton
    import triton.language as tl

    configs = [
        triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_stages=stages, num_warps=warps)
        for bm, bn, bk, stages, warps in [
            (128, 128, 32, 4, 4),
            (128, 128, 64, 3, 4),
            (128, 128, 64, 4, 8),
            (128, 256, 64, 3, 8),
            (256, 128, 64, 3, 8),
            (64, 128, 64, 4, 4),
            (64, 64, 128, 4, 4),
            (16, 64, 128, 4, 4),
        ]
    ]

    @triton.autotune(configs=configs, key=["M", "N", "K"])
    @triton.jit
    def kernel(
        a, b, c, M, N, K, b_row, b_column, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
    ):
        program = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        group = program // (GROUP * columns)
        first = group * GROUP
        height = min(rows - first, GROUP)
        row = first + (program % (GROUP * columns)) % height
        column = (program % (GROUP * columns)) // height
        i = (row * BM + tl.arange(0, BM)) % M
        j = (column * BN + tl.arange(0, BN)) % N
        k = tl.arange(0, BK)
        accumulator = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            left = K - step * BK
            x = tl.load(a + i[:, None] * K + (step * BK + k)[None, :], mask=k[None, :] < left, other=0.0)
            y = tl.load(b + (step * BK + k)[:, None] * b_row + j[None, :] * b_column, mask=k[:, None] < left, other=0.0)
            accumulator = tl.dot(x, y, accumulator)
        i = row * BM + tl.arange(0, BM)
        j = column * BN + tl.arange(0, BN)
        tl.store(
            c + i[:, None] * N + j[None, :],
            accumulator.to(c.dtype.element_ty),
            mask=(i[:, None] < M) & (j[None, :] < N),
        )

    def run(x: Any, y: Any, z: Any) -> Any:
        (m, k), n = x.shape, y.shape[1]
        kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](x, y, z, m, n, k, *y.stride())
        return z

    return run


def triton_attention() -> Callable[[Any, Any, Any, Any, bool], Any]:
    """Attention with online softmax in Triton, unmasked tiles first, autotuned over common configurations.

    For lengths that are multiples of 128. Result: a function of q, k, v and the output, all (batch, length, heads,
    dim), and whether the mask is causal.
    """
    import triton
    import triton.language as tl

    configs = [
        triton.Config({"BM": bm, "BN": bn}, num_stages=stages, num_warps=warps)
        for bm, bn, stages, warps in [
            (128, 64, 3, 8),
            (128, 64, 3, 4),
            (128, 128, 2, 8),
            (128, 128, 3, 8),
            (64, 64, 3, 4),
            (128, 32, 4, 4),
        ]
    ]

    @triton.jit
    def steps(
        x, total, top, result, k, v, begin, end, row, i, d, scale, stride, BN: tl.constexpr, MASKED: tl.constexpr
    ):
        for start in range(begin, end, BN):
            j = start + tl.arange(0, BN)
            keys = tl.load(k + d[:, None] + j[None, :] * stride)
            scores = tl.dot(x, keys) * scale
            if MASKED:
                scores = tl.where(i[:, None] >= j[None, :], scores, -float("inf"))
            highest = tl.maximum(top, tl.max(scores, 1))
            weights = tl.exp2(scores - highest[:, None])
            rescale = tl.exp2(top - highest)
            total = total * rescale + tl.sum(weights, 1)
            result = result * rescale[:, None]
            values = tl.load(v + j[:, None] * stride + d[None, :])
            result = tl.dot(weights.to(values.dtype), values, result)
            top = highest
        return total, top, result

    @triton.autotune(configs=configs, key=["length", "D", "CAUSAL"])
    @triton.jit
    def kernel(
        q, k, v, out, scale, heads, length, stride_batch, stride_row, stride_head,
        CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0)
        pair = tl.program_id(1)
        base = (pair // heads).to(tl.int64) * stride_batch + (pair % heads) * stride_head
        i = row * BM + tl.arange(0, BM)
        d = tl.arange(0, D)
        x = tl.load(q + base + i[:, None] * stride_row + d[None, :])
        total = tl.zeros((BM,), tl.float32)
        top = tl.full((BM,), -float("inf"), tl.float32)
        result = tl.zeros((BM, D), tl.float32)
        full = row * BM // BN * BN if CAUSAL else length
        total, top, result = steps(
            x, total, top, result, k + base, v + base, 0, full, row, i, d, scale, stride_row, BN, False
        )
        if CAUSAL:
            total, top, result = steps(
                x, total, top, result, k + base, v + base, full, (row + 1) * BM, row, i, d, scale, stride_row, BN, True
            )
        result = result / total[:, None]
        tl.store(out + base + i[:, None] * stride_row + d[None, :], result.to(out.dtype.element_ty))

    def run(q: Any, k: Any, v: Any, out: Any, causal: bool) -> Any:
        batch, length, heads, dim = q.shape
        scale = dim**-0.5 * 1.44269504
        kernel[lambda meta: (triton.cdiv(length, meta["BM"]), batch * heads)](
            q, k, v, out, scale, heads, length, q.stride(0), q.stride(1), q.stride(2), causal, dim
        )
        return out

    return run
