"""The console scripts: native tools start with their arguments, and `tilemlir` reports and clears."""

import os
import subprocess
import sys

import pytest
from tilemlir.tools.executables import executable_path


def call(module_call, *arguments, **environment):
    """Runs a console script's function in a fresh interpreter, as pip's wrapper does."""
    code = f"import sys; sys.argv[0] = 'script'; from {module_call[0]} import {module_call[1]} as main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_tile_opt_runs_and_forwards_its_exit_code(tmp_path):
    module = tmp_path / "module.mlir"
    module.write_text("func.func @f() { return }\n")
    done = call(("tilemlir.tools.executables", "tile_opt"), str(module), "--canonicalize")
    assert done.returncode == 0, done.stderr
    assert "func.func @f()" in done.stdout
    assert call(("tilemlir.tools.executables", "tile_opt"), "--no-such-option").returncode != 0


@pytest.mark.parametrize("tool", ["tile-opt", "tile-translate", "tile-lsp-server"])
def test_tools_are_small_and_describe_themselves(tool):
    path = executable_path(tool)
    assert path.stat().st_size < 1 << 20
    assert "OVERVIEW" in subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout


def test_unknown_tool_is_named():
    with pytest.raises(FileNotFoundError, match="tile-nothing is not part of this installation"):
        executable_path("tile-nothing")


def test_info_names_tools_and_settings():
    pytest.importorskip("typer")
    done = call(("tilemlir.tools.cli", "main"), "info", COLUMNS="300")
    assert done.returncode == 0, done.stderr
    for word in ("tilemlir", "assembler", "device", "TILEMLIR_CACHE_DIR"):
        assert word in done.stdout


def test_cache_is_shown_and_cleared(tmp_path):
    pytest.importorskip("typer")
    entry = [sys.executable, "-c"]
    code = "from tilemlir.compiler.cache import default_cache; default_cache().put('0' * 64, {'a': b'12345'})"
    environment = {**os.environ, "TILEMLIR_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([*entry, code], check=True, env=environment)
    command = ("tilemlir.tools.cli", "main")
    assert "holds 1 kernels" in call(command, "cache", **environment).stdout
    assert "removed 1 kernels" in call(command, "cache", "--clear", **environment).stdout
    assert "holds 0 kernels" in call(command, "cache", **environment).stdout
