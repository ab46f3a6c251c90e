"""Device assertions and prints on the CPU target."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from runtime_support import CLibrary, tensor
from tilemlir import errors
from tilemlir.runtime import LoadedKernel, host_symbols


def _hook_kernel(c_kernels: CLibrary, name: str) -> LoadedKernel:
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [
            tensor("a", [["dim", 0, 0]], "i32", access="readwrite"),
            {"name": "hook", "kind": "pointer"},
        ],
        "launches": [
            {
                "kernel": name,
                "grid": [["dim", 0, 0]],
                "threads": 32,
                "parameters": [{"kind": "pointer", "argument": 0}, {"kind": "pointer", "argument": 1}],
            }
        ],
    }
    return LoadedKernel(plan, {name: c_kernels[name]})


def test_the_table_names_every_hook() -> None:
    assert sorted(host_symbols()) == ["tilemlir_assert_fail", "tilemlir_print"]
    assert all(address > 0 for address in host_symbols().values())


def test_a_failed_assertion_is_raised_and_stops_the_launch(c_kernels: CLibrary) -> None:
    kernel = _hook_kernel(c_kernels, "assert_positive")
    hook = host_symbols()["tilemlir_assert_fail"]
    a = np.zeros(50, np.int32)
    kernel(a, hook)
    assert (a == 100).all()
    a[:] = 0
    a[13] = -1
    with pytest.raises(errors.TileAssertionError) as caught:
        kernel(a, hook)
    assert str(caught.value) == (
        "device assertion failed in kernel 'assert_positive' at kernel.py:12: a must not be negative"
    )
    assert isinstance(caught.value, AssertionError)
    assert a[13] == -1
    # The next call starts clean.
    a[13] = 0
    kernel(a, hook)
    assert (a == 100).all()


def test_many_failures_give_one_error(c_kernels: CLibrary) -> None:
    kernel = _hook_kernel(c_kernels, "assert_positive")
    a = np.full(10_000, -1, np.int32)
    for _ in range(20):
        with pytest.raises(errors.TileAssertionError, match="a must not be negative"):
            kernel(a, host_symbols()["tilemlir_assert_fail"])


def test_prints_go_to_sys_stdout(c_kernels: CLibrary, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = _hook_kernel(c_kernels, "print_values")
    kernel(np.zeros(1, np.int32), host_symbols()["tilemlir_print"])
    assert capsys.readouterr().out.splitlines() == [
        "bytes block=(0, 0, 0) thread=3 int8 [-1, 2]",
        "value float32 0.5",
        "half float16 1.5",
        "brain bfloat16 3.1406",
        "only text",
    ]
    kernel(np.zeros(3000, np.int32), host_symbols()["tilemlir_print"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 * 3000
    assert len({line for line in lines if line.startswith("bytes")}) == 3000


def test_a_print_outside_of_a_launch_goes_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    function = ctypes.CFUNCTYPE(
        None,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_int32),
        ctypes.c_int32,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_int64,
    )(host_symbols()["tilemlir_print"])
    function(b"hello", None, 5, None, None, 0)
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "hello thread=5\n"
