"""Runs the cases of fake_driver/ on a recording CUDA driver, and checks what happens without any."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "fake_driver"


def test_cases_on_a_recording_driver(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "the runtime tests need a C compiler"
    library = tmp_path / "libfakecuda.so"
    subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", "-o", library, HERE / "fakecuda.c"], check=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", str(HERE / "cases.py")]
    result = subprocess.run(
        command,
        env={**os.environ, "TILEMLIR_LIBCUDA": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if result.returncode != 0:
        pytest.fail(result.stdout[-8000:] + result.stderr[-4000:])
    assert " passed" in result.stdout


def test_without_a_driver() -> None:
    program = """
import numpy as np
from tilemlir import errors
from tilemlir.compiler import target
from tilemlir.runtime import cuda
assert cuda.device_count() == 0
assert cuda.driver_problem() == "/nowhere/libcuda.so.1: cannot open shared object file: No such file or directory"
assert target.parse().arch == "cpu"
for ask in (lambda: cuda.device_properties(0), lambda: target.parse("cuda")):
    try:
        ask()
    except errors.TileRuntimeError as error:
        assert str(error) == (
            "no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory. "
            "Install an NVIDIA driver, or compile with target='cpu'."
        ), error
    else:
        raise AssertionError
print("ok")
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TILEMLIR_LIBCUDA": "/nowhere/libcuda.so.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "ok\n", result.stderr
