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


def project_files():
    """Every file of the project that holds text: what git tracks, or all outside of build folders."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.split("\0")[:-1]
    else:
        skipped = re.compile(r"(^|/)(\.git|build[^/]*|dist|\.venv[^/]*|\.[a-z]+_cache|__pycache__)/")
        found = (path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.rglob("*"))
        names = [name for name in found if not skipped.search(name)]
    for name in names:
        path = REPOSITORY / name
        if path.is_file():
            try:
                yield name, path.read_text()
            except UnicodeDecodeError:
                continue


TEXTS = dict(project_files())


def test_sources_are_found():
    assert len(SOURCES) > 50
    assert {"README.md", "Makefile", "lib/Target/EmitPTX.cpp", ".ci/run"} <= set(TEXTS)


def test_no_file_is_too_long():
    """At most 800 lines; the reference is generated."""
    lengths = {name: len(text.splitlines()) for name, text in TEXTS.items() if not name.startswith("docs/reference/")}
    assert {name: lines for name, lines in lengths.items() if lines > 800} == {}


def test_the_project_speaks_of_itself_only():
    """No paths of a machine it was written on, no addresses of package indexes, no references beyond the tree."""
    forbidden = re.compile(
        r"(?<![\w.}])/(?:work|root|home|tmp/ci|opt/(?:pypi|wheels))\b"
        r"|\.\./shared\b"
        r"|pypi\.org|pythonhosted\.org|--(?:extra-)?index-url|artifactory"
        r"|\b(?:this|next|last|earlier) (?:working )?session\b|\bworkplace\b|\b[Ii]ssue [0-9AB]\b"
    )
    own = Path(__file__).relative_to(REPOSITORY).as_posix()
    found = {
        f"{name}:{number}": line.strip()
        for name, text in TEXTS.items()
        if name != own
        for number, line in enumerate(text.splitlines(), 1)
        if forbidden.search(line)
    }
    assert found == {}
    for line in ("see /work/tree", "from ../shared/x", "in this session", "https://pypi.org/simple", "issue 2"):
        assert forbidden.search(line), line
    for line in ("docs/work/x", "a tmp/ci", "scope='session'", "${HOME}/home"):
        assert not forbidden.search(line), line


def test_no_file_is_called_utils():
    assert [name for name in TEXTS if re.search(r"(^|/)(utils?|helpers?|misc|common)(\.\w+)?$", name, re.I)] == []


@pytest.mark.parametrize("suffix", [".cpp", ".h", ".py", ".td"])
def test_files_say_what_they_hold(suffix):
    starts = {".py": ('"""', "#"), ".cpp": ("//",), ".h": ("//", "/*"), ".td": ("//",)}[suffix]
    silent = [
        str(path)
        for path in SOURCES
        if path.suffix == suffix and path.read_text().strip() and not path.read_text().lstrip().startswith(starts)
    ]
    assert silent == []


def declared_passes():
    """Argument, description and file of every pass that a .td file declares, by the name of its definition."""
    found = {}
    for path in sorted((REPOSITORY / "include").rglob("*.td")):
        for match in re.finditer(r'^def (\w+)\s*:\s*\w*Pass\w*<\s*"([\w-]+)".*?^}', path.read_text(), re.M | re.S):
            found[match[1]] = (match[2], match[0], path)
    return found


PASSES = declared_passes()


def source_of_pass(definition):
    wanted = re.compile(rf"#define GEN_PASS_DEF_{definition.upper()}\n")
    (source,) = [path for path in (REPOSITORY / "lib").rglob("*.cpp") if wanted.search(path.read_text())]
    return source


def test_passes_are_found():
    assert len(PASSES) > 20
    assert PASSES["TileAssignLayouts"][0] == "tile-assign-layouts"


@pytest.mark.parametrize("definition", PASSES)
def test_pass_has_a_file_and_lit_tests(definition):
    """A pass has a source file of its own, X.cpp, and x.mlir and x-invalid.mlir that run it."""
    argument = PASSES[definition][0]
    source = source_of_pass(definition)
    assert source.read_text().count("#define GEN_PASS_DEF_") == 1
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", source.stem).lower()
    assert argument.endswith(stem), "the argument of the pass does not end in the name of its file"
    folder = REPOSITORY / "test" / source.parent.relative_to(REPOSITORY / "lib")
    valid, invalid = ((folder / f"{stem}{suffix}.mlir").read_text() for suffix in ("", "-invalid"))
    for text in (valid, invalid):
        runs = "\n".join(line for line in text.splitlines() if "RUN:" in line)
        assert re.search(rf"[-(,]{argument}\b", runs), f"no RUN line runs {argument}"
    assert re.search(r"^\s*// CHECK", valid, re.M) or "--check-prefix" in valid
    # A few passes accept everything; then the file shows what they leave alone.
    assert "-verify-diagnostics" in invalid or "The pass rejects nothing" in invalid


@pytest.mark.parametrize("definition", PASSES)
def test_pass_is_described_with_an_example(definition):
    text = PASSES[definition][1]
    assert "let summary" in text and "let description" in text
    assert "```mlir" in text


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


# A parameter's type, where it is a class; overloads differ in it.
OWN_TYPE = re.compile(r"\b[A-Z]\w+")


def file_scope_names(text):
    """What a C++ file defines for itself alone: static or in anonymous namespaces. Functions with their parameters."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*")', lambda m: "0" if m[1] else "", text, flags=re.DOTALL)
    names, scopes, start = set(), [], 0
    for match in re.finditer(r"[{};]", text):
        head, start = text[start : match.start()].strip(), match.end()
        if match[0] == "}":
            if scopes:
                scopes.pop()
            continue
        at_file_scope = all(scope != "code" for scope in scopes)
        local = "anonymous" in scopes or re.search(r"(^|\s)static\s", head) is not None
        if at_file_scope and local and (variable := re.search(r"(\w+)\s*(?:\[\])?\s*(?:=[^=].*)?$", head, re.DOTALL)):
            if match[0] == ";" and "(" not in head.split("=")[0] and re.search(r"\b(static|constexpr|using)\b", head):
                names.add(re.split(r"\s*(?:\[\])?\s*=", head)[0].split()[-1] if "=" in head else variable[1])
                names.update(re.findall(r",\s*(\w+)\s*=", head))
        if match[0] == ";":
            continue
        opened = re.search(r"namespace(\s+[\w:]+)?$", head)
        record = re.search(r"^(?:template\s*<.*>\s*)?(?:class|struct|enum(?:\s+class)?|union)\s+(\w+)(?!\s*::)", head)
        function = re.search(r"(?<![\w:~])(\w+)\s*\(([^{}]*)\)[^()]*$", head)
        if at_file_scope and local and not opened:
            if record and "(" not in head:
                names.add(record[1])
            elif function:
                names.add(f"{function[1]}({', '.join(re.findall(OWN_TYPE, function[2]))})")
        scopes.append("anonymous" if opened and not opened[1] else "namespace" if opened else "code")
    return names


def test_names_at_file_scope_are_read():
    text = """
    static constexpr int kLimit = 3; // static int kNot = 1;
    static constexpr StringLiteral kName = "a; b {";
    static constexpr int kLow = 1, kHigh = 2;
    namespace { struct Part { static int inner(); }; int count(Part part, int n) { int local = 0; return n; } }
    void Part::outside() {} static bool isOdd(int n) { static int held = 0; return n; } int shared(int n) { return n; }
    """
    assert file_scope_names(text) == {"kLimit", "kName", "kLow", "kHigh", "Part", "count(Part)", "isOdd()"}


@pytest.mark.parametrize("folder", sorted({path.parent for path in SOURCES if "lib" in path.parts and path.suffix == ".cpp"}), ids=lambda path: path.name)  # noqa: E501  # fmt: skip
def test_files_of_a_folder_compile_as_one(folder):
    """The release build compiles files in batches: what is local to a file has a name of its own in its folder."""
    owners: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.cpp")):
        for name in file_scope_names(path.read_text()):
            owners.setdefault(name, []).append(path.name)
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
