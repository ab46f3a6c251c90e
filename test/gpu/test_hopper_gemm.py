"""A hand-written warp-specialised GEMM of `tile_gpu` on sm_90: tensor maps, mbarriers, wgmma, stmatrix, TMA stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tilemlir.compiler import toolchain
from tilemlir.compiler.lowering import run_passes
from tilemlir.runtime import LoadedKernel

torch = pytest.importorskip("torch")

MODULE = Path(__file__).parents[1] / "Conversion" / "TileGPUToNVVM" / "hopper-gemm.mlir"


@pytest.fixture(scope="module")
def gemm() -> LoadedKernel:
    """C = A B^T of any sizes whose rows are multiples of 16 bytes."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs sm_90")
    return build(MODULE.read_text())


def build(text: str) -> LoadedKernel:
    """Outlines, lowers, assembles and loads a module of `tile_gpu`."""
    from tilemlir._mlir import ir
    from tilemlir._mlir._mlir_libs import _tilemlir

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, "builtin.module(tile-pipeline{from=tile-outline-kernels})")
        plan: dict[str, Any] = json.loads(_tilemlir.launch_plan(module))
        # The caller brings the output, inside of guards.
        plan["outputs"] = []
        ptx = str(_tilemlir.ptx(module))
    image = toolchain.assemble(ptx, "sm_90a").image
    return LoadedKernel(plan, {launch["kernel"]: image for launch in plan["launches"]})


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (128, 128, 64),
        (128, 128, 256),
        (256, 384, 320),
        (1024, 1024, 1024),
        (200, 136, 72),
        (1, 8, 8),
        (1096, 2056, 1048),
    ],
)
def test_gemm(gemm: LoadedKernel, m: int, n: int, k: int) -> None:
    a, b = (torch.randn(rows, k, device="cuda").half() for rows in (m, n))
    expected = a.double() @ b.double().T
    guarded = torch.full((m * n + 2048,), float("nan"), device="cuda", dtype=torch.float16)
    # An odd number of 16-byte steps from the start of an allocation.
    c = guarded[1032 : 1032 + m * n].view(m, n)
    for _ in range(3):
        guarded.fill_(float("nan"))
        gemm(a, b, c)
        assert guarded[:1032].isnan().all() and guarded[1032 + m * n :].isnan().all()
        error = (c.double() - expected).norm() / expected.norm()
        assert error < 1e-3, f"relative error {error:.2e}"


def test_rows_that_no_descriptor_takes(gemm: LoadedKernel) -> None:
    """Rows of 66 bytes: refused with a message, not computed wrongly."""
    from tilemlir import errors

    a, b = (torch.randn(64, 33, device="cuda").half() for _ in range(2))
    with pytest.raises(errors.TileError):
        gemm(a, b, torch.empty(64, 64, device="cuda", dtype=torch.float16))
