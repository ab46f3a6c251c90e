"""The console scripts of the native tools: they start with their arguments and forward exit codes."""

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
