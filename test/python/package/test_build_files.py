"""The build files agree with each other, and the sources keep to the limits that CONTRIBUTING.md states."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SOURCES = [
    path
    for folder in ("cmake", "docs", "examples", "include", "lib", "python", "test", "tools", "benchmarks")
    for path in sorted((REPOSITORY / folder).rglob("*"))
    if path.suffix in {".cpp", ".h", ".td", ".py", ".cmake", ".mlir"} and "__pycache__" not in path.parts
]


def test_sources_are_found():
    assert len(SOURCES) > 50


def test_no_file_is_too_long():
    generated = {path for path in SOURCES if path.suffix == ".mlir"}
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES if path not in generated}
    assert {str(path): lines for path, lines in lengths.items() if lines > 800} == {}


@pytest.mark.parametrize("suffix", [".cpp", ".h", ".py", ".td"])
def test_files_say_what_they_hold(suffix):
    starts = {".py": ('"""', "#"), ".cpp": ("//",), ".h": ("//", "/*"), ".td": ("//",)}[suffix]
    silent = [
        str(path)
        for path in SOURCES
        if path.suffix == suffix and path.read_text().strip() and not path.read_text().lstrip().startswith(starts)
    ]
    assert silent == []


def test_passes_have_lit_files():
    """A pass source file X.cpp that defines a pass has x.mlir and x-invalid.mlir."""
    missing = []
    for source in sorted((REPOSITORY / "lib").rglob("*.cpp")):
        if "#define GEN_PASS_DEF_" not in source.read_text():
            continue
        stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", source.stem).lower()
        folder = REPOSITORY / "test" / source.parent.relative_to(REPOSITORY / "lib")
        candidates = [folder, folder.parent] if folder.name == "Transforms" else [folder]
        for name in (f"{stem}.mlir", f"{stem}-invalid.mlir"):
            if not any((candidate / name).is_file() for candidate in candidates):
                missing.append(str((folder / name).relative_to(REPOSITORY)))
    assert missing == []


def test_build_requirements_are_printed():
    script = REPOSITORY / "cmake" / "build_requirements.py"
    printed = subprocess.run([sys.executable, script, "test"], capture_output=True, text=True, check=True).stdout
    for package in ("xtc-mlir-dev", "nanobind", "cmake", "ninja", "pytest", "lit", "filecheck", "numpy"):
        assert re.search(rf"^{package}[=<>]", printed, re.MULTILINE), package


def test_lint_requirements_need_no_compiler():
    script = REPOSITORY / "cmake" / "build_requirements.py"
    command = [sys.executable, script, "--no-build", "lint"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for tool in ("clang-format", "mypy", "ruff"):
        assert re.search(rf"^{tool}==", printed, re.MULTILINE), tool
    assert "xtc" not in printed and "cmake" not in printed
