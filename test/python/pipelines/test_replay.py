"""tile-opt replays a compilation from its dumped `tile` module: the same PTX, byte for byte."""

import subprocess

import kernel_programs as programs
import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir import errors
from tilemlir.tools.executables import executable_path

PROGRAMS = {
    "gemm": (lambda: programs.gemm(1024, 1024, 512), {"out_idx": [2]}),
    "gemm-uneven": (lambda: programs.gemm(1000, 777, 555, block=(64, 96, 32), stages=4), {}),
    "gemm-transposed": (lambda: programs.gemm(256, 256, 256, transpose_a=True, transpose_b=True), {}),
    "gemm-bfloat16": (lambda: programs.gemm(256, 128, 192, dtype="bfloat16", out="float32", stages=2), {}),
    "gemm-float32": (lambda: programs.gemm(128, 128, 96, block=(64, 64, 32), dtype="float32", out="float32"), {}),
    "gemm-ieee": (
        lambda: programs.gemm(
            64, 64, 64, block=(32, 32, 16), dtype="float32", out="float32", transpose_b=True, precision="ieee"
        ),
        {},
    ),
    "gemm-int8": (
        lambda: programs.gemm(256, 256, 256, dtype="int8", out="int32", accum="int32", transpose_b=True),
        {},
    ),
    "gemm-serial": (lambda: programs.gemm(256, 256, 256, stages=0), {}),
    "gemm-dynamic": (lambda: programs.dynamic_gemm(512, 256), {}),
    "gemm-policy": (lambda: programs.gemm(256, 256, 256, threads=256, policy=T.GemmWarpPolicy.FullRow), {}),
    "attention": (lambda: programs.causal_attention(2, 4, 256, 64), {"out_idx": [3]}),
    "attention-wide": (lambda: programs.causal_attention(1, 2, 256, 128, block_m=128, block_n=64, stages=3), {}),
    "register-operand": (lambda: programs.register_operand(128, 128, 64), {}),
    "conditional-loads": (lambda: programs.gated(8, 3), {}),
}
#: Compile options travel in the module, so a replay needs to know none of them.
OPTIONS = {
    "fast-math": ("attention", {"fast_math": True}),
    "aliasing": ("gemm-uneven", {"noalias": False, "aligned": False}),
    "promised-bounds": ("gemm-uneven", {"disable_bounds_checks": True}),
    "synchronous": ("gemm", {"disable_async_copy": True, "disable_tma": True}),
    "unsynchronised": ("gemm-serial", {"disable_thread_sync": True}),
}


def replay(module: str) -> bytes:
    """PTX that the native tools make of the text of a traced module."""
    lower = [executable_path("tile-opt"), "--tile-pipeline", "-"]
    lowered = subprocess.run(lower, input=module.encode(), capture_output=True, check=False)
    assert lowered.returncode == 0, lowered.stderr.decode()
    translate = [executable_path("tile-translate"), "--tile-to-ptx", "-"]
    translated = subprocess.run(translate, input=lowered.stdout, capture_output=True, check=False)
    assert translated.returncode == 0, translated.stderr.decode()
    return translated.stdout


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_replay_gives_the_same_ptx(name, target):
    make, arguments = PROGRAMS[name]
    kernel = tile.compile(make(), target=target, **arguments)
    assert f".target {target}" in kernel.asm["ptx"]
    assert replay(kernel.asm["tile"]) == kernel.asm["ptx"].encode()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_are_part_of_the_module(options, target):
    program, configs = options
    make = PROGRAMS[program][0]
    if configs.get("disable_thread_sync") and target == "sm_80":
        # The program has no barriers of its own: its asynchronous copies and products would race. By TMA, barriers of
        # the copies themselves order them.
        with pytest.raises(errors.TileError, match=r"early overwrite|phase overrun"):
            tile.compile(make(), target=target, pass_configs=configs)
        return
    plain, changed = (tile.compile(make(), target=target, pass_configs=one) for one in ({}, configs))
    assert replay(changed.asm["tile"]) == changed.asm["ptx"].encode()
    # All barriers of this program are those of its loads by TMA on sm_90a.
    same = configs.get("disable_thread_sync", False) and target == "sm_90a"
    assert (changed.asm["ptx"] == plain.asm["ptx"]) == same, "the option has no effect, so the test says nothing"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_replay_of_the_dump(target, tmp_path):
    """The file in the dump directory is the same module as `kernel.asm['tile']`."""
    function = programs.causal_attention(1, 1, 128, 64)
    kernel = tile.compile(function, target=target, pass_configs={"dump_dir": str(tmp_path)})
    folder = tmp_path / kernel.name
    assert (folder / "0_tile.mlir").read_text() == kernel.asm["tile"]
    (ptx,) = folder.glob("*_ptx.ptx")
    assert replay((folder / "0_tile.mlir").read_text()) == ptx.read_bytes()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_replay_from_a_cached_kernel(target):
    """A kernel that came from the disk cache carries the module that its PTX was made from."""
    from tilemlir.compiler.compile import clear_memory_cache

    function = programs.gemm(128, 128, 64)
    first = tile.compile(function, target=target)
    clear_memory_cache()
    second = tile.compile(function, target=target)
    assert second is not first and not second.milliseconds
    assert replay(second.asm["tile"]) == first.asm["ptx"].encode()
