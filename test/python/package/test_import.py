"""Importing: in any order beside torch and triton, quickly, and without leaking symbols of LLVM."""

import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
import tilemlir

COMPILER = "tilemlir._mlir.ir"
USE = {
    "tilemlir": "import tilemlir.language",
    COMPILER: (
        "from tilemlir._mlir import ir\n"
        "with ir.Context(), ir.Location.unknown():\n"
        "    assert 'tile.sync_threads' in str(ir.Module.parse('module { tile.sync_threads }'))"
    ),
    "torch": "import torch\nassert torch.ones(3).sum().item() == 3",
    "triton": "import triton",
}
PRESENT = [name for name in USE if name == COMPILER or importlib.util.find_spec(name)]


def python(code):
    """Runs code in a fresh interpreter and returns what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("order", list(itertools.permutations(PRESENT)), ids=",".join)
def test_import_order(order):
    code = "\n".join(USE[name] for name in order)
    # Everything is used a second time, after all libraries are loaded.
    assert python(f"{code}\n{code}\nprint('done')") == "done\n"


def test_import_loads_neither_compiler_nor_frameworks():
    """`import tilemlir` stays cheap: the library with LLVM and the frameworks are loaded when they are needed."""
    loaded = json.loads(python("import tilemlir, sys, json; print(json.dumps(sorted(sys.modules)))"))
    heavy = {"tilemlir._mlir", "torch", "jax", "triton", "rich", "typer"}
    assert not heavy & set(loaded)


def test_the_bindings_do_not_import_numpy():
    """It takes longer than all of the bindings; the attribute builders that need it import it when they are called."""
    code = """
import sys
from tilemlir._mlir import ir
assert "numpy" not in sys.modules
with ir.Context() as context:
    for name, text in (("I32ElementsAttr", "i32"), ("I64ElementsAttr", "i64"), ("IndexElementsAttr", "index")):
        made = ir.AttrBuilder.get(name)([1, -2], context=context)
        assert str(made) == f"dense<[1, -2]> : tensor<2x{text}>", made
    assert str(ir.AttrBuilder.get("F64ElementsAttr")([0.5], context=context)).endswith("tensor<1xf64>")
assert "numpy" in sys.modules
"""
    assert python(code) == ""


def test_a_context_imports_no_operation_classes():
    code = """
import sys
from tilemlir._mlir import ir
ir.Context()
print([name for name in sys.modules if name.endswith("_ops_gen")])
"""
    assert python(code) == "[]\n"


def test_only_the_c_api_is_exported():
    """Another copy of LLVM in the process must not be able to take the place of ours, nor ours of theirs."""
    (library,) = (Path(tilemlir.__file__).parent / "_mlir" / "_mlir_libs").glob("libTilemlirCompiler.so")
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    assert "tilemlirRegisterAllDialects" in names
    assert [name for name in names if not name.startswith(("mlir", "tilemlir"))] == []


def test_compiler_library_needs_only_the_system():
    """No shared LLVM, no library of the build machine."""
    package = Path(tilemlir.__file__).parent
    for library in [*package.rglob("*.so"), *package.glob("bin/*")]:
        listed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        needed = {line.split("[")[1].rstrip("]") for line in listed.splitlines() if "(NEEDED)" in line}
        ours = {"libTilemlirCompiler.so", "libnanobind-tilemlir.so", "libMLIRPythonSupport-tilemlir.so"}
        system = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
        system |= {"libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-aarch64.so.1"}
        assert needed <= ours | system, library


def test_runtime_module_has_no_llvm():
    (module,) = Path(tilemlir.__file__).parent.glob("_runtime*.so")
    listed = subprocess.run(["readelf", "-d", module], capture_output=True, text=True, check=True).stdout
    assert "Tilemlir" not in listed
    assert module.stat().st_size < 4 << 20


def test_version_matches_the_library():
    assert python("from tilemlir._mlir._mlir_libs._tilemlir import version; print(version())").strip() == (
        tilemlir.__version__
    )
