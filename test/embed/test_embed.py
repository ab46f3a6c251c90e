"""Embedding: installs the component `dev`, builds an out-of-tree project against it, and round-trips `tile` IR."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MODULE = """\
func.func @doubles(%a: memref<128xf32>, %b: memref<128xf32>) {
  %one = arith.constant 1 : i32
  tile.kernel "doubles" grid(%one) threads(128) {
  ^bb0(%bx: i32):
    %x = tile.alloc "x" : !tile.buffer<128xf32, fragment>
  }
  return
}
"""


def run(*command, **arguments):
    """Runs a command and returns its standard output; a failure shows both streams."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **arguments)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def cache_value(build_dir, name):
    """A variable of the build folder's CMake cache."""
    for line in (build_dir / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition("=")[2]
    raise KeyError(name)


@pytest.fixture(scope="module")
def embedded(build_dir, tmp_path_factory):
    """Folder of the programs of the out-of-tree project, built against a fresh install."""
    cmake = cache_value(build_dir, "CMAKE_COMMAND")
    prefix = tmp_path_factory.mktemp("install")
    project = tmp_path_factory.mktemp("embed")
    # Archives that no other target needs are not part of a partial build: build what is installed first.
    run(cmake, "--build", build_dir, "--target", "tilemlir-dev")
    run(cmake, "--install", build_dir, "--component", "dev", "--prefix", prefix)
    run(
        cmake,
        "-G", cache_value(build_dir, "CMAKE_GENERATOR"),
        f"-DCMAKE_MAKE_PROGRAM={cache_value(build_dir, 'CMAKE_MAKE_PROGRAM')}",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DMLIR_DIR={cache_value(build_dir, 'MLIR_DIR')}",
        f"-DLLVM_DIR={cache_value(build_dir, 'LLVM_DIR')}",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
        "-B", project, "-S", Path(__file__).parent,
    )  # fmt: skip
    run(cmake, "--build", project)
    return project


def test_cpp_program_round_trips(embedded):
    once = run(embedded / "embed-cpp", input=MODULE)
    assert once.startswith("// kernels: 1\n")
    assert 'tile.kernel "doubles"' in once
    assert run(embedded / "embed-cpp", input=once) == once


def test_cpp_program_runs_passes(embedded):
    unused = MODULE.replace("  %one", "  %unused = arith.constant 7 : i32\n  %one")
    assert "7 : i32" in run(embedded / "embed-cpp", input=unused)
    assert "7 : i32" not in run(embedded / "embed-cpp", "canonicalize", input=unused)


def test_cpp_program_reports_invalid_input(embedded):
    done = subprocess.run([embedded / "embed-cpp"], input="tile.nonsense\n", capture_output=True, text=True)
    assert done.returncode == 1
    assert "nonsense" in done.stderr


def test_c_program_round_trips(embedded):
    once = run(embedded / "embed-c", input=MODULE)
    assert '"tile.kernel"' in once
    assert once.splitlines()[0].startswith("// tilemlir ")
    assert run(embedded / "embed-c", input=once) == once


def test_layout_library_needs_no_mlir(embedded):
    assert run(embedded / "embed-layout") == "32 threads x 4 registers\n"
    needed = run(shutil.which("readelf") or "readelf", "-d", embedded / "embed-layout")
    assert "LLVM" not in needed and "MLIR" not in needed
