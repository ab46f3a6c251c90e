"""Stages of a compiled kernel as text, by target."""

import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir.compiler import toolchain
from tilemlir.errors import TileError


@T.prim_func
def doubled(a: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as _:
        for i in T.Parallel(64):
            a[i] *= 2.0


@pytest.mark.parametrize("program", ["nvdisasm", None])
def test_stages_of_the_simulator(monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    """The simulator runs PTX: there is no machine code to show, whether a disassembler is installed or not."""
    monkeypatch.setattr(toolchain, "find_disassembler", lambda: program)
    kernel = tile.compile(doubled, target={"kind": "simulator", "arch": "sm_80"})
    assert list(kernel.asm) == ["tile", "tile_scheduled", "tile_gpu", "nvvm", "llvm", "ptx"]
    assert len(kernel.asm) == 6 and all(dict(kernel.asm).values())
    with pytest.raises(KeyError, match="there is no stage 'sass' for sm_80 in the simulator"):
        kernel.asm["sass"]


def test_stages_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tile.compile(doubled, target="sm_80")
    monkeypatch.setattr(toolchain, "find_disassembler", lambda: "nvdisasm")
    assert list(kernel.asm)[-1] == "sass"
    monkeypatch.setattr(toolchain, "find_disassembler", lambda: None)
    assert list(kernel.asm)[-1] == "ptx"
    with pytest.raises(TileError, match="no disassembler for cubins"):
        kernel.asm["sass"]


def test_stages_of_the_cpu() -> None:
    assert list(tile.compile(doubled, target="cpu").asm) == ["tile", "llvm"]
