"""The whole pipeline on golden kernels, assembled for every target: no spills, no notes of ptxas."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from kernels import CORPUS, GEMMS, corpus_text, gemm_text

ARCHITECTURES = ("sm_80", "sm_89", "sm_90a", "sm_100a")

#: The matrix instruction that each gemm must contain; None: fused multiply-adds.
INSTRUCTIONS = {
    "f16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "f16_dynamic": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "f16_transposed": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "f16_256_threads": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "f16_accumulator": "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    "f16_96": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "bf16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "f32_ieee": None,
    "f64": None,
    "i8": "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "i8_row_major": "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "f8": "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
}

#: Where the hardware has no products of 8-bit floats by warps.
HALVES = {"f8": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}

#: On sm_90a, where warp groups multiply; the others are as above.
WARP_GROUP_INSTRUCTIONS = {
    "f16": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.f16\.f16 ",
    "f16_dynamic": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.f16\.f16 ",
    "f16_transposed": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.f16\.f16 ",
    "f16_256_threads": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.f16\.f16 ",
    "f16_accumulator": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f16\.f16\.f16 ",
    "bf16": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.bf16\.bf16 ",
    "i8": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k32\.s32\.s8\.s8 ",
    "f8": r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k32\.f32\.e4m3\.e4m3 ",
}


def find_ptxas() -> Path | None:
    """ptxas of the nvidia-cuda-nvcc wheel of this environment."""
    for root in sys.path:
        for path in sorted(Path(root).glob("nvidia/*/bin/ptxas")):
            return path
    return None


def run(command: list[str], text: str = "") -> str:
    """Runs a tool on `text`; its output."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def compile_to_ptx(build_dir: Path, text: str) -> str:
    """PTX of a traced module."""
    module = run([str(build_dir / "bin" / "tile-opt"), "--tile-pipeline=", "-"], text)
    return run([str(build_dir / "bin" / "tile-translate"), "--tile-to-ptx", "-"], module)


def assemble(ptx: str, arch: str, folder: Path) -> None:
    """Assembles; fails on an error, a spill, local memory, or a C75xx note."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas in this environment")
    (folder / "kernel.ptx").write_text(ptx)
    command = [str(ptxas), "-v", f"-arch={arch}", str(folder / "kernel.ptx"), "-o", str(folder / "kernel.cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert not re.search(r"C75\d\d", result.stderr), result.stderr
    stacks = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", result.stderr)
    assert stacks, result.stderr
    assert all(stack == ("0", "0", "0") for stack in stacks), result.stderr


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", GEMMS)
def test_gemm(build_dir: Path, tmp_path: Path, name: str, arch: str) -> None:
    gemm = GEMMS[name]
    ptx = compile_to_ptx(build_dir, gemm_text(gemm, arch))
    instruction = INSTRUCTIONS[name]
    if int(re.sub(r"\D", "", arch)) < gemm.capability:
        instruction = None
    if instruction is None:
        assert "mma.sync" not in ptx
        assert re.search(r"fma\.rn\.f(32|64)", ptx)
    elif arch == "sm_90a" and name in WARP_GROUP_INSTRUCTIONS:
        assert re.search(WARP_GROUP_INSTRUCTIONS[name], ptx)
        assert "mma.sync" not in ptx
    else:
        assert (HALVES.get(name, instruction) if arch == "sm_100a" else instruction) in ptx
    assert "cp.async" in ptx
    assemble(ptx, arch, tmp_path)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("*.mlir")))
def test_corpus(build_dir: Path, tmp_path: Path, name: str, arch: str) -> None:
    assemble(compile_to_ptx(build_dir, corpus_text(name, arch)), arch, tmp_path)


def test_same_text_every_time(build_dir: Path) -> None:
    text = gemm_text(GEMMS["f16"], "sm_80")
    assert compile_to_ptx(build_dir, text) == compile_to_ptx(build_dir, text)
