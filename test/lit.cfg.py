"""lit configuration: which files are tests, and which commands their RUN lines may use.

Substitutions
  tile-opt, tile-translate, tile-lsp-server   the tools of this build
  FileCheck, filecheck                        the `filecheck` package of this Python environment
  %ptxas                                      ptxas, in tests that REQUIRES: ptxas
  %unit                                       directory of the C++ unit test programs
  %python                                     the interpreter, with this build's package importable
Features
  ptxas       an assembler was found (the nvidia-cuda-nvcc wheel or PATH)
"""

import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "tilemlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".ll"]
config.excludes = ["corpus", "kernels", "Inputs", "embed", "python", "gpu"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tilemlir_build_dir, "test")

bin_dir = os.path.join(config.tilemlir_build_dir, "bin")
python_dir = os.path.join(config.tilemlir_build_dir, "python")
config.environment["PYTHONPATH"] = python_dir
config.environment["PATH"] = os.pathsep.join([bin_dir, config.environment.get("PATH", "")])


def find_ptxas():
    """Path of ptxas: the one the package would use for this interpreter's environment, or the one on PATH."""
    probe = (
        "import importlib.util, pathlib\n"
        "spec = importlib.util.find_spec('nvidia')\n"
        "for root in (spec.submodule_search_locations if spec else []):\n"
        "    for path in sorted(pathlib.Path(root).glob('**/bin/ptxas')):\n"
        "        print(path)\n"
    )
    found = subprocess.run(
        [config.python_executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout.split()
    return found[0] if found else shutil.which("ptxas")


# `filecheck` is installed beside the interpreter that runs lit.
filecheck = shutil.which("filecheck", path=os.path.dirname(sys.executable)) or shutil.which("filecheck")
if filecheck is None:
    lit_config.fatal("the `filecheck` package is not installed in this Python environment")

for tool in ("tile-opt", "tile-translate", "tile-lsp-server"):
    config.substitutions.append((rf"(?<![\w./-]){tool}(?![\w./-])", os.path.join(bin_dir, tool)))
config.substitutions.append((r"(?<![\w./-])(FileCheck|filecheck)(?![\w./-])", filecheck))
config.substitutions.append(("%unit", os.path.join(config.tilemlir_build_dir, "test", "unit")))
config.substitutions.append(("%python", config.python_executable))

ptxas = find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
