"""The programs of test/kernels without a device: they assemble for every architecture, and take the paths that their
tests on a device are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import call_programs as calls
import edge_programs as edges
import kernel_programs as programs
import operation_programs as operations
import pipeline_programs as pipelines
import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir import errors
from tilemlir.compiler import toolchain

KERNELS = Path(programs.__file__).parent

PROGRAMS = {
    "value outside": lambda: edges.filled_outside(60, 60, (64, 64), "float16", -T.infinity("float16"), "shared"),
    "value outside ahead": lambda: edges.filled_outside_in_pipeline(30, 70, 4, "float16", -99.0, 3),
    "odd column": lambda: edges.column_window("int32", 1, True),
    "launch-time column": lambda: edges.column_window("float16", None, False),
    "vector tail": lambda: edges.vector_copy(1001, "float16"),
    "matrix": lambda: edges.matrix_copy(None, None, "uint8"),
    "gather": lambda: edges.gather_rows(50, 40, 7, "float32", "int64"),
    "overlap": lambda: edges.running_product(6),
    "strides": lambda: edges.strided_scale(),
    "strided operands": lambda: edges.strided_gemm(70, 90, 50),
    "planes": lambda: edges.head_planes(2, 50, 3, 24),
    "grouped rows": lambda: edges.grouped_rows(6, 3, 100),
    "weighted rows": lambda: pipelines.weighted_rows(100, 250, 3),
    "gemv": lambda: pipelines.gemv(100, 64, 3),
    "launch-time steps": lambda: pipelines.launch_time_trips(3),
    "persistent": lambda: pipelines.persistent_gemm(256, 192, 320, 5, stages=3),
    "visits": lambda: pipelines.persistent_visits(13, 3, 132, 8),
    "triangular": lambda: pipelines.triangular(5, 3),
    "gated": lambda: pipelines.gated_gemm(8, 3),
    "conditions": lambda: pipelines.two_conditions(3),
    "loop in while": lambda: pipelines.loop_in_while(3),
    "register operand": lambda: operations.register_gemm(128, 64, 64, "b", "bfloat16", 256),
    "chained": lambda: operations.chained_gemms(64),
    "slices": lambda: operations.sliced_operands(64, 64, 128, 32),
    "conversion": lambda: operations.fragment_conversion(64, 64, 32),
    "sums": lambda: operations.row_and_column_sums(48, 96),
    "rounded": lambda: operations.rounded_product(128, 64, 64),
    "widened": lambda: operations.cast_matrix(16, 16, "float8_e5m2", "bfloat16", "shared"),
    "narrowed": lambda: operations.cast_matrix(64, 64, "float16", "float8_e4m3fn", "fragment"),
    "continued": lambda: operations.accumulated_reduction("absmax", "shared", "shared", 5),
    "kept dimension": lambda: operations.kept_dimension(20, 127, "min", 0, 256),
    "extents": lambda: operations.parallel_extents((7, 13)),
    "neighbours": lambda: operations.neighbours(257, 128),
    "vectors": lambda: operations.vectors_along_a_tile(33, 100, "global"),
    "atomics": lambda: operations.atomic_forms(3, 100, "float32", "bfloat16"),
    "extrema": lambda: operations.atomic_extrema(9, 100, "float16"),
    "histogram": lambda: operations.histogram(1000, 200, "float32"),
    "outputs": lambda: calls.product_and_sums(40, 50, True),
    "printing": lambda: calls.printing,
    "asserting": lambda: calls.asserting,
}


def needs_assembler() -> None:
    """The driver knows its own device only, and says nothing about registers."""
    try:
        kind = toolchain.find_assembler().kind
    except errors.TileError as error:
        pytest.skip(str(error))
    if kind != "ptxas":
        pytest.skip("needs ptxas")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_assembles(name: str, arch: str) -> None:
    """With its usual assumptions, and in the version for overlapping and unaligned arguments."""
    needs_assembler()
    for configs in ({}, {"noalias": False, "aligned": False}):
        kernel = tile.compile(PROGRAMS[name](), target=arch, pass_configs=configs)
        for one in kernel.explain().to_dict()["kernels"]:
            assert one["spill_bytes"] == 0
            assert "registers" in one


def paths(program: object, arch: str, op: str) -> list[str]:
    needs_assembler()
    return [one["path"] for one in tile.compile(program, target=arch).explain().operations if one["op"] == op]


def test_paths_of_conversions() -> None:
    assert paths(operations.fragment_conversion(64, 64, 32), "sm_80", "convert") == ["scratch"]
    # By cost: few elements are exchanged by shuffles, many through shared memory.
    assert paths(operations.row_and_column_sums(16, 16, 32), "sm_80", "convert") == ["shuffle", "shuffle"]
    assert paths(operations.row_and_column_sums(48, 96, 32), "sm_80", "convert") == ["scratch", "scratch"]


def test_paths_of_stores_to_shared_memory() -> None:
    assert "stmatrix" in paths(operations.rounded_product(128, 64, 64), "sm_90a", "copy")
    assert "stmatrix" not in paths(operations.rounded_product(128, 64, 64), "sm_80", "copy")


def test_loads_do_not_run_ahead_of_stores_that_may_overlap() -> None:
    needs_assembler()
    program = edges.running_product(6)
    apart = tile.compile(program, target="sm_80")
    overlapping = tile.compile(program, target="sm_80", pass_configs={"noalias": False})
    assert apart.asm["ptx"].count("cp.async.") > 0
    assert [guard["kind"] for guard in apart.launch_plan["guards"]].count("noalias") >= 1
    assert all(guard["kind"] != "noalias" for guard in overlapping.launch_plan.get("guards", ()))


@pytest.mark.parametrize("target", ["sm_75", "sm_70", "sm_52"])
def test_an_architecture_that_is_too_old_is_refused(target: str) -> None:
    with pytest.raises(errors.TileError, match=target) as caught:
        tile.compile(calls.scaled(64, 2), target=target)
    assert "sm_80" in str(caught.value)


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads in /proc")
def test_compilations_leave_no_threads_behind() -> None:
    tile.lower(calls.scaled(64, 1), target="sm_80", stage="ptx")
    before = threads_of_this_process()
    for number in range(200):
        tile.lower(calls.scaled(64, number + 2), target="sm_80", stage="ptx")
    assert threads_of_this_process() < before + 16


FORKS = """
import os, sys
import numpy as np
import tilemlir as tile
import call_programs as calls

def run(factor):
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    tile.compile(calls.scaled(100, factor), target="cpu")(x, y)
    assert (y == x * factor).all()

def child(*factors):
    process = os.fork()
    if process == 0:
        for factor in factors:
            run(factor)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0

child(2)          # right after the import
run(3)
child(3, 4)       # after a compilation and a launch: a known kernel, and a new one
run(5)
print("done")
"""


def test_fork_after_import_and_after_compiling(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(KERNELS), os.environ.get("PYTHONPATH", "")]),
        "TILEMLIR_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
