"""The GEMM programs that the benchmarks time (benchmarks/programs/gemm_hopper.py), checked against float64.

Imported by test/python/api (CPU) and test/gpu, which give ``target`` and ``device``.
"""

import importlib.util
from pathlib import Path

import pytest
import tilemlir as tile
import torch

PATH = Path(__file__).parents[2] / "benchmarks" / "programs" / "gemm_hopper.py"
_spec = importlib.util.spec_from_file_location("gemm_hopper", PATH)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

#: Relative error (Frobenius norm) that rounding the output and adding in float32 may cause.
TOLERANCE = {"float16": 1e-3, "bfloat16": 4e-3, "float8_e4m3fn": 1e-3}
#: Elements around the output that must stay as they were.
GUARD = 1024


def check(name, m, n, k, layout, dtype, config, target, device, calls=3):
    """Compiles and runs a program ``calls`` times, with outputs that begin as NaN between guards."""
    element = getattr(torch, dtype)
    program = getattr(programs, name)(m, n, k, layout=layout, dtype=dtype, **config)
    kernel = tile.compile(program, target=target)
    a_shape, b_shape = programs.operand_shapes(m, n, k, layout)
    a = torch.randn(a_shape, device=device).to(element)
    b = torch.randn(b_shape, device=device).to(element)
    expected = a.double() @ (b.double() if layout == "kn" else b.double().T)
    out_element = getattr(torch, programs.result_type(dtype, config.get("out_dtype")))
    first = None
    for _ in range(calls):
        guarded = torch.full((m * n + 2 * GUARD,), float("nan"), device=device, dtype=out_element)
        c = guarded[GUARD : GUARD + m * n].view(m, n)
        kernel(a, b, c)
        error = (c.double() - expected).norm() / expected.norm()
        assert error < TOLERANCE[str(out_element).removeprefix("torch.")], f"{name} {config}: {error:.2e}"
        assert guarded[:GUARD].isnan().all() and guarded[GUARD + m * n :].isnan().all()
        if first is None:
            first = c
        assert torch.equal(c, first), "the same call gave another result"
    return kernel


SWAPPED = [
    {"block_m": 8, "block_n": 64, "block_k": 128, "num_stages": 4, "threads": 128},
    {
        "block_m": 24,
        "block_n": 64,
        "block_k": 128,
        "num_stages": 3,
        "threads": 128,
        "blocks_per_sm": 2,
        "evict_b": "evict_first",
    },
    {"block_m": 144, "block_n": 64, "num_stages": 4, "threads": 128},
    {"block_m": 96, "block_n": 192, "num_stages": 4, "threads": 384, "rows_first": False},
    {"block_m": 64, "block_n": 192, "num_stages": 7, "threads": 384},
    {"block_m": 176, "block_n": 256, "num_stages": 4, "threads": 256},
]
PLAIN = [
    {"block_m": 64, "block_n": 128, "num_stages": 9, "threads": 128},
    {"block_m": 128, "block_n": 64, "num_stages": 9, "threads": 256, "rows_first": False},
    {"block_m": 192, "block_n": 128, "num_stages": 5, "threads": 384},
]


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("config", SWAPPED)
@pytest.mark.parametrize("shape", [(200, 264, 200), (1, 72, 136), (96, 384, 256)])
def test_swapped(shape, config, layout, target, device):
    check("tile_matmul", *shape, layout, "float16", dict(config, swap=True), target, device, calls=1)


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("config", PLAIN)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_plain(dtype, config, layout, target, device):
    check("tile_matmul", 200, 264, 328, layout, dtype, config, target, device, calls=1)


@pytest.mark.parametrize(("dtype", "out_dtype"), [("float16", None), ("bfloat16", None), ("float8_e4m3fn", "float16"),
                                                  ("float8_e4m3fn", "bfloat16")])  # fmt: skip
def test_persistent(dtype, out_dtype, target, device):
    config = {"block_k": 128 if dtype == "float8_e4m3fn" else 64, "out_dtype": out_dtype}
    for layout in ("nk",) if dtype == "float8_e4m3fn" else ("kn", "nk"):
        check("persistent_matmul", 520, 1040, 400, layout, dtype, config, target, device, calls=1)


def test_fp8_tiles(target, device):
    config = {"block_m": 16, "block_n": 64, "block_k": 256, "num_stages": 4, "threads": 128, "swap": True}
    check("tile_matmul", 13, 200, 1040, "nk", "float8_e4m3fn", config, target, device, calls=1)
