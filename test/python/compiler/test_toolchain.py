"""Finding and running assemblers, and reading their reports."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tilemlir import errors
from tilemlir.compiler import toolchain
from tilemlir.compiler.knobs import knobs
from tilemlir.compiler.toolchain import KernelResources, Tool

VECTOR_ADD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 a, .param .u64 c)
{{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  .shared .align 4 .b8 tile[512];
  mov.u32 %r1, %tid.x;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [c];
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d1, %d1, %d3;
  add.s64 %d2, %d2, %d3;
  ld.global.u32 %r2, [%d1];
  mov.u32 %r3, tile;
  st.shared.u32 [%r3], %r2;
  bar.sync 0;
  ld.shared.u32 %r2, [%r3+4];
  st.global.u32 [%d2], %r2;
  ret;
}}
"""


def _spilling_kernel(values: int = 64) -> str:
    """Keeps `values` loaded numbers alive over a barrier, so that a small register limit spills."""
    loads = "\n".join(f"  ld.volatile.global.f32 %f{i}, [%d1+{4 * i}];" for i in range(values))
    stores = "\n".join(f"  st.volatile.global.f32 [%d1+{4 * i}], %f{values - 1 - i};" for i in range(values))
    return (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry spilling(.param .u64 a)\n{\n"
        f"  .reg .f32 %f<{values}>;\n  .reg .b64 %d<2>;\n  ld.param.u64 %d1, [a];\n{loads}\n  bar.sync 0;\n{stores}\n"
        "  ret;\n}\n"
    )


@pytest.fixture(scope="module")
def ptxas() -> Tool:
    tried: list[str] = []
    tool = toolchain._find_ptxas(tried)
    if tool is None:
        pytest.skip(f"no ptxas here: {'; '.join(tried)}")
    return tool


def test_looking_ahead_finds_the_same(ptxas: Tool) -> None:
    toolchain._find_assembler.cache_clear()
    wait = toolchain.find_assembler_ahead()
    assert wait() == toolchain.find_assembler() and wait() == wait()
    assert toolchain.find_assembler_ahead()() == toolchain.find_assembler()


def test_looking_ahead_reports_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for search in ("_find_ptxas", "_find_jitlink", "_find_driver"):
        monkeypatch.setattr(toolchain, search, lambda tried, name=search: tried.append(name))
    toolchain._find_assembler.cache_clear()
    wait = toolchain.find_assembler_ahead()
    with pytest.raises(errors.TileRuntimeError) as caught:
        wait()
    assert caught.value.code == "no-ptxas" and "_find_ptxas; _find_jitlink; _find_driver" in str(caught.value)


def test_assembling_reports_resources(ptxas: Tool) -> None:
    found = toolchain.assemble(VECTOR_ADD.format(name="my_kernel"), "sm_80", tool=ptxas)
    assert found.is_cubin and found.image[:4] == b"\x7fELF" and found.arch == "sm_80" and found.tool == ptxas
    resources = found.resources["my_kernel"]
    assert list(found.resources) == ["my_kernel"]
    assert 0 < resources.registers < 64 and resources.shared_bytes == 512 and resources.barriers == 1
    assert not resources.spills and resources.stack_bytes == 0 and found.notes == ()


def test_the_same_ptx_is_assembled_for_a_newer_architecture(ptxas: Tool) -> None:
    found = toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_90", tool=ptxas)
    assert "for 'sm_90'" in found.log


def test_spills_are_seen(ptxas: Tool) -> None:
    roomy = toolchain.assemble(_spilling_kernel(), "sm_80", tool=ptxas).resources["spilling"]
    tight = toolchain.assemble(_spilling_kernel(), "sm_80", max_registers=32, tool=ptxas).resources["spilling"]
    assert not roomy.spills
    assert tight.spills and tight.spill_store_bytes > 0 and tight.spill_load_bytes > 0 and tight.registers <= 32


def test_flags_reach_the_assembler(ptxas: Tool) -> None:
    toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_80", register_level=10, flags=["-O1"], tool=ptxas)
    with pytest.raises(errors.TileCompileError, match="no-such-flag"):
        toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_80", flags=["--no-such-flag"], tool=ptxas)


def test_refused_ptx_names_tool_architecture_and_line(ptxas: Tool) -> None:
    broken = VECTOR_ADD.format(name="k").replace("mov.u32 %r1, %tid.x", "mov.u32 %q1, %tid.x")
    with pytest.raises(errors.TileCompileError) as caught:
        toolchain.assemble(broken, "sm_80", tool=ptxas)
    text = str(caught.value)
    assert caught.value.code == "ptxas"
    assert text.startswith(
        f"ptxas {'.'.join(map(str, ptxas.version))} ({ptxas.path}) could not assemble the kernel for sm_80:\n"
    )
    assert "kernel.ptx, line 10; error   : Unknown symbol '%q1'" in text and "_stdin" not in text


def test_nothing_is_left_behind(ptxas: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_80", tool=ptxas)
    with pytest.raises(errors.TileCompileError):
        toolchain.assemble("nonsense", "sm_80", tool=ptxas)
    assert list(tmp_path.iterdir()) == []


LOG = """\
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient \
register resources for the wgmma pipeline in the function 'gemm'
ptxas info    : Used 168 registers, used 3 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 2.955 ms
ptxas info    : Compiling entry function 'tail' for 'sm_90a'
ptxas info    : Function properties for tail
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers
"""


def test_reading_a_report() -> None:
    resources, notes = toolchain.parse_ptxas_log(LOG)
    serialized = (
        "C7510: Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register "
        "resources for the wgmma pipeline in the function 'gemm'"
    )
    assert resources == {
        "gemm": KernelResources(168, 16, 24, 32, 1024, 3, (serialized,)),
        "tail": KernelResources(12),
    }
    assert notes == (
        "C7508: Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.",
        serialized,
    )
    assert resources["gemm"].spills and not resources["tail"].spills
    assert toolchain.parse_ptxas_log("") == ({}, ())


def _fake_ptxas(directory: Path, version: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "ptxas"
    program.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release 0, V{version}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def _search(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> None:
    monkeypatch.setattr(toolchain, "_toolkit_directories", lambda: iter(directories))
    monkeypatch.setattr(toolchain, "_jitlink_names", lambda: iter(()))
    toolchain._load_jitlink.cache_clear()
    toolchain._find_assembler.cache_clear()


@pytest.fixture(autouse=True)
def _fresh_search() -> object:
    yield
    toolchain._load_jitlink.cache_clear()
    toolchain._find_assembler.cache_clear()


def test_a_new_enough_ptxas_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, newer, good = (
        _fake_ptxas(tmp_path / name, version).parent
        for name, version in (("a", "12.4.99"), ("b", "13.0.88"), ("c", "13.3.10"))
    )
    _search(monkeypatch, old, newer, good)
    assert toolchain.find_assembler() == Tool("ptxas", str(good / "ptxas"), (13, 3, 10))
    _search(monkeypatch, old, newer)
    assert toolchain.find_assembler().version == (13, 0, 88)
    with knobs.scope(ptxas=old / "ptxas"):
        assert toolchain.find_assembler().version == (12, 4, 99)


def test_the_knob_must_name_a_program(tmp_path: Path) -> None:
    with knobs.scope(ptxas=tmp_path / "nothing"), pytest.raises(errors.TileValueError) as caught:
        toolchain.find_assembler()
    assert str(caught.value) == (
        f"environment variable TILEMLIR_PTXAS is '{tmp_path / 'nothing'}', expected a working ptxas program"
    )


def test_no_assembler_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilemlir.runtime import cuda

    monkeypatch.setattr(cuda, "driver_problem", lambda: "libcuda.so.1 not found")
    _search(monkeypatch, tmp_path)
    with pytest.raises(errors.TileRuntimeError) as caught:
        toolchain.find_assembler()
    assert str(caught.value) == (
        "no assembler for PTX: ptxas is neither in an nvidia-cuda-nvcc wheel, nor on PATH, nor in CUDA_HOME; "
        "libnvJitLink is not installed; no CUDA driver (libcuda.so.1 not found). "
        "pip install nvidia-cuda-nvcc, or set TILEMLIR_PTXAS to a ptxas program."
    )


def test_the_driver_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilemlir.runtime import cuda

    monkeypatch.setattr(cuda, "driver_problem", lambda: None)
    monkeypatch.setattr(cuda, "driver_version", lambda: 13010)
    _search(monkeypatch, tmp_path)
    tool = toolchain.find_assembler()
    assert tool == Tool("driver", "", (13, 1)) and str(tool) == "driver 13.1"
    found = toolchain.assemble("ptx text", "sm_90", tool=tool)
    assert not found.is_cubin and found.image == b"ptx text\0"


def test_nvjitlink_when_it_is_installed() -> None:
    tool = toolchain._find_jitlink([])
    if tool is None:
        pytest.skip("libnvJitLink is not installed")
    found = toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_90", max_registers=40, tool=tool)
    assert found.image[:4] == b"\x7fELF" and found.resources["k"].shared_bytes == 512
    with pytest.raises(errors.TileCompileError, match="could not assemble the kernel for sm_90"):
        toolchain.assemble("nonsense", "sm_90", tool=tool)


def test_disassembly(ptxas: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cubin = toolchain.assemble(VECTOR_ADD.format(name="k"), "sm_80", tool=ptxas).image
    if toolchain.find_disassembler() is not None:
        assert "STG" in toolchain.disassemble(cubin)
        with pytest.raises(errors.TileRuntimeError, match="could not disassemble the kernel"):
            toolchain.disassemble(b"not a cubin")
    _search(monkeypatch, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.TileRuntimeError) as caught:
        toolchain.disassemble(cubin)
    assert str(caught.value) == (
        "no disassembler for cubins: neither nvdisasm nor cuobjdump was found. "
        "pip install nvidia-cuda-nvdisasm, or put the CUDA toolkit's bin directory on PATH."
    )
    assert os.environ["PATH"] == str(tmp_path)
