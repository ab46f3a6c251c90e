"""The command `tilemlir`: every subcommand, and the exact text of every refusal."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("typer")

import tilemlir as tile
from tilemlir.compiler.cache import default_cache
from tilemlir.tools import cli, environment
from tilemlir.tools.environment import Check, Status

PROGRAM = '''
"""Kernels in every style that the command accepts."""
import tilemlir as tile
import tilemlir.language as T
from helper_beside_the_program import FACTOR


def scale(n, factor=FACTOR, dtype="float32", raises=False):
    if raises:
        raise RuntimeError("no such luck")
    @T.prim_func
    def scale_kernel(x: T.Tensor((n,), dtype), y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
            for i in T.Parallel(64):
                y[block * 64 + i] = x[block * 64 + i] * factor
    return scale_kernel


def number():
    return 7


WIDTH = 12

if __name__ == "__main__":
    raise SystemExit("the program itself was run")
'''
DECORATED = """
import tilemlir as tile
import tilemlir.language as T


@tile.jit(out_idx=[1], target="sm_90a", pass_configs={"fast_math": True})
def doubled(n=128):
    @T.prim_func
    def double_kernel(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
            for i in T.Parallel(64):
                y[block * 64 + i] = x[block * 64 + i] * 2.0
    return double_kernel


@tile.jit
def shifted(x, offset=1.0):
    n = T.const("n")
    x: T.Tensor[[n], T.float32]
    y = T.empty([n], T.float32)
    with T.Kernel(T.ceildiv(n, 64), threads=64) as block:
        for i in T.Parallel(64):
            y[block * 64 + i] = x[block * 64 + i] + offset
    return y
"""
SINGLE = """
import tilemlir.language as T

@T.prim_func
def negate(x: T.Tensor((100,), "float32"), y: T.Tensor((100,), "float32")):
    with T.Kernel(2, threads=64) as block:
        for i in T.Parallel(64):
            y[block * 64 + i] = -x[block * 64 + i]
"""


@dataclass
class Done:
    """Result of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command in this process, as the console script does."""
    # A program's folder is put on the path; not beyond the test.
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tilemlir", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            status = 0
        except SystemExit as exit:
            status = exit.code or 0
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with the programs above."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "decorated.py").write_text(DECORATED)
    (tmp_path / "single.py").write_text(SINGLE)
    (tmp_path / "helper_beside_the_program.py").write_text("FACTOR = 3.0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(done, text):
    assert (done.status, done.out, done.err) == (1, "", f"error: {text}\n")


def test_compile_shows_resources_and_writes_stages(command, folder):
    done = command("compile", "program.py:scale", "-a", "n=200", "-t", "sm_80", "-o", "out")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "scale_kernel for sm_80"
    assert lines[1] == "  launch        grid 4, blocks of 64 threads"
    assert "  shared memory 0 bytes" in lines
    assert any(line.startswith("  registers ") and line.endswith(" per thread, no spills") for line in lines)
    assert any(line.startswith("compiled in ") for line in lines)
    written = [line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")]
    assert [name.removeprefix("out/scale_kernel/") for name in written][:2] == ["0_tile.mlir", "1_tile_scheduled.mlir"]
    assert all((folder / name).stat().st_size > 0 for name in written)
    assert sorted(map(str, (folder / "out").rglob("*.*"))) == sorted(str(folder / name) for name in written)
    again = command("compile", "program.py:scale", "-a", "n=200", "-t", "sm_80")
    assert again.status == 0
    assert command("compile", "program.py:scale", "--arg", "n=100", "--target", "cpu").out.startswith(
        "scale_kernel for cpu\n"
    )


def test_second_process_takes_the_kernel_from_the_cache(folder):
    arguments = ["compile", "single.py", "--target", "cpu"]
    runs = [
        subprocess.run([sys.executable, "-m", "tilemlir", *arguments], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout.splitlines()[-1].startswith("compiled in ")
    assert runs[1].stdout.splitlines()[-1] == "taken from the cache"


def test_version_and_help(command):
    assert command("--version").out == f"tilemlir {tile.__version__}\n"
    text = command("--help").out
    for name in ("compile", "stages", "explain", "env", "doctor", "cache"):
        assert name in text
        inner = command(name, "--help")
        assert inner.status == 0 and "Usage: tilemlir " in inner.out


@pytest.mark.parametrize(
    ("reference", "arguments", "target", "kernel"),
    [
        ("program.py:scale", ["-a", "n=64", "-a", "dtype=float16", "-a", "factor=2"], "cpu", "scale_kernel"),
        ("single.py", [], "cpu", "negate"),
        ("single.py:negate", ["--out-idx", "1"], "sm_80", "negate"),
        ("decorated.py:doubled", [], "sm_90a", "double_kernel"),
        ("decorated.py:doubled", ["-a", "n=64"], "sm_80", "double_kernel"),
        ("decorated.py:shifted", ["-a", "x=float32[100]", "-a", "offset=0.5"], "cpu", "shifted"),
    ],
)
def test_explain(command, folder, reference, arguments, target, kernel):
    # The target of the decorator serves where none is given.
    chosen = [] if target == "sm_90a" else ["-t", target]
    done = command("explain", reference, *arguments, *chosen)
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == f"{kernel} for {target}"
    report = json.loads(command("explain", reference, *arguments, *chosen, "--json").out)
    assert (report["kernel"], report["target"]) == (kernel, target)
    assert report["kernels"][0]["threads"] == 64


def test_stages_are_listed_and_printed(command, folder):
    listed = command("stages", "single.py", "-t", "sm_80").out.splitlines()
    names = [line.split()[0] for line in listed]
    assert names[:6] == ["tile", "tile_scheduled", "tile_gpu", "nvvm", "llvm", "ptx"]
    kernel = tile.compile(load(folder / "single.py").negate, target="sm_80")
    for line in listed[:6]:
        name, count, unit = line.split()
        assert unit == "lines" and int(count) == len(kernel.asm[name].splitlines())
    ptx = command("stages", "single.py", "ptx", "-t", "sm_80").out
    assert ptx.rstrip("\n") == kernel.asm["ptx"].rstrip("\n")
    assert [line.split()[0] for line in command("stages", "single.py", "-t", "cpu").out.splitlines()] == [
        "tile",
        "llvm",
    ]


def load(path):
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stages_before_machine_code_need_no_assembler(command, folder, monkeypatch):
    def missing():
        raise AssertionError("the assembler was looked for")

    monkeypatch.setattr("tilemlir.compiler.toolchain.find_assembler", missing)
    assert ".target sm_90a" in command("stages", "single.py", "ptx", "-t", "sm_90a").out


def test_options_reach_the_compiler(command, folder):
    text = command("stages", "single.py", "tile", "-t", "sm_80", "-p", "fast_math=True").out
    assert "fast_math = true" in text
    assert "fast_math" not in command("stages", "single.py", "tile", "-t", "sm_80").out
    # Those of the decorator too, unless they are replaced.
    assert "fast_math = true" in command("stages", "decorated.py:doubled", "tile").out
    assert "fast_math" not in command("stages", "decorated.py:doubled", "tile", "-p", "fast_math=False").out
    assert "tile.outputs = array<i64: 1>" in command("stages", "single.py", "tile", "--out-idx", "1").out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nothing.py"], "there is no file 'nothing.py'"),
        (["nothing.py:kernel"], "there is no file 'nothing.py'"),
        (["."], "there is no file '.'"),
        (
            ["notes.mlir"],
            "'notes.mlir' is not a Python file. tile-opt and tile-translate read MLIR files.",
        ),
        (
            ["program.py"],
            "'program.py' defines no kernel: nothing at its top level is decorated with @T.prim_func or @tile.jit. "
            "Name a function that returns a kernel, as in program.py:scale.",
        ),
        (
            ["decorated.py"],
            "'decorated.py' defines 2 kernels: doubled, shifted. Name one, as in decorated.py:doubled.",
        ),
        (["program.py:scala"], "'program.py' has no function 'scala'; did you mean 'scale'?"),
        (["program.py:unrelated"], "'program.py' has no function 'unrelated'"),
        (
            ["program.py:WIDTH"],
            "'WIDTH' in 'program.py' is int 12, expected a function with @T.prim_func or @tile.jit, or one that "
            "returns a @T.prim_func",
        ),
        (
            ["program.py:number"],
            "'number' in 'program.py' is a function that returns int 7, expected a function with @T.prim_func or "
            "@tile.jit, or one that returns a @T.prim_func",
        ),
        (
            ["program.py:scale"],
            "scale(n, factor=..., dtype=..., raises=...) needs n. Pass --arg n=1024 for each, or give it a default.",
        ),
        (
            ["decorated.py:shifted"],
            "shifted(x, offset=...) needs x. Pass --arg x=float16[1024,1024] for each, or give it a default.",
        ),
        (
            ["program.py:scale", "-a", "n=1", "-a", "m=2"],
            "scale(n, factor=..., dtype=..., raises=...) has no parameter 'm'",
        ),
        (
            ["single.py", "-a", "n=2"],
            "kernel function 'negate' has no compile-time parameters, got n. Sizes are part of its declaration; to "
            "choose them, name a function that takes them and returns the kernel.",
        ),
        (
            ["program.py:scale", "-a", "n"],
            "--arg n: expected NAME=VALUE. A value is a Python literal or a word; a tensor is its type, as in "
            "a=float16[1024,512].",
        ),
        (
            ["single.py", "-p", "=3"],
            "--pass-config =3: expected NAME=VALUE. A value is a Python literal or a word; a tensor is its type, as "
            "in a=float16[1024,512].",
        ),
        (
            ["single.py", "-t", "gfx90a"],
            "unknown target 'gfx90a': allowed are 'auto', 'cuda', 'cpu', an architecture such as 'sm_80', 'sm_90a' or "
            "'sm_100a', or a dict such as {'kind': 'cuda', 'arch': 'sm_90a'}",
        ),
        (["single.py", "-p", "fast_maths=True"], "unknown pass_configs key 'fast_maths'; did you mean 'fast_math'?"),
        (["single.py", "--out-idx", "2"], "out_idx 2 is outside of the 2 arguments of kernel 'negate'"),
    ],
)
@pytest.mark.parametrize("subcommand", ["compile", "stages", "explain"])
def test_refusals(command, folder, subcommand, arguments, text):
    (folder / "notes.mlir").write_text("module {}\n")
    refused(command(subcommand, *arguments), text)


def test_unknown_stage(command, folder):
    refused(
        command("stages", "single.py", "cubin", "-t", "sm_80"),
        "there is no stage 'cubin' for sm_80: stages are tile, tile_scheduled, tile_gpu, nvvm, llvm, ptx, sass",
    )
    refused(
        command("stages", "single.py", "ptx", "-t", "cpu"),
        "there is no stage 'ptx' for cpu: stages are tile, llvm",
    )


def test_a_failing_program_shows_its_own_frames(command, folder):
    path = folder / "broken.py"
    path.write_text("def f():\n    return 1 / 0\n\nf()\n")
    done = command("compile", "broken.py")
    assert done.status == 1
    lines = done.err.splitlines()
    assert lines[0] == "error: 'broken.py' raised ZeroDivisionError: division by zero"
    frames = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    assert frames == [f'File "{path}", line 4, in <module>', f'File "{path}", line 2, in f']
    done = command("compile", "program.py:scale", "-a", "n=4", "-a", "raises=True")
    assert done.status == 1
    assert done.err.splitlines()[0] == "error: 'scale' raised RuntimeError: no such luck"
    path.write_text("import sys\nsys.exit('stop')\n")
    assert command("compile", "broken.py").err.startswith("error: 'broken.py' raised SystemExit: stop\n")
    path.write_text("def f(:\n")
    assert command("compile", "broken.py").err.startswith("error: 'broken.py' raised SyntaxError: ")


def test_an_illegal_kernel_is_shown_with_a_caret(command, folder):
    path = folder / "illegal.py"
    path.write_text(SINGLE.replace("block * 64 + i] = -x", "block * 64 + i, 0] = -x"))
    done = command("compile", "illegal.py", "-t", "cpu")
    assert done.status == 1 and "Traceback" not in done.err
    assert f"{path}:8" in done.err and "^" in done.err


def test_wrong_usage(command):
    done = command("compile")
    assert done.status == 2 and "Missing argument 'FILE[:NAME]'" in done.err
    done = command("complie", "x.py")
    assert done.status == 2 and "No such command 'complie'" in done.err


def test_a_fault_of_the_compiler_is_no_traceback(command, folder, monkeypatch):
    from tilemlir.compiler.diagnostics import InternalCompilerError

    def fail(*_):
        raise InternalCompilerError("the compiler failed on a valid program")

    monkeypatch.setattr("tilemlir.compiler.lowering.run_passes", fail)
    refused(command("stages", "single.py", "ptx", "-t", "sm_80"), "the compiler failed on a valid program")


def test_cache(command, tmp_path, monkeypatch):
    directory = tmp_path / "kernels"
    monkeypatch.setenv("TILEMLIR_CACHE_DIR", str(directory))
    monkeypatch.setenv("TILEMLIR_CACHE_SIZE_MB", "5")
    assert command("cache", "info").out == f"{directory}: 0 kernels, 0 bytes, limit 5242880 bytes\n"
    assert default_cache().put("0" * 64, {"a": b"12345"})
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    monkeypatch.setenv("TILEMLIR_CACHE_SIZE_MB", "0")
    assert command("cache", "info").out == f"{directory}: 1 kernel, {size} bytes, no limit\n"
    monkeypatch.setenv("TILEMLIR_DISABLE_CACHE", "1")
    assert command("cache", "info").out == (
        f"{directory}: 1 kernel, {size} bytes, no limit; TILEMLIR_DISABLE_CACHE is set, so compilations do not use it\n"
    )
    assert command("cache", "clear").out == f"{directory}: removed 1 kernel, {size} bytes\n"
    assert command("cache", "info").out.startswith(f"{directory}: 0 kernels, 0 bytes")


def test_env_names_tools_and_settings(command, monkeypatch):
    monkeypatch.setenv("TILEMLIR_NUM_THREADS", "3")
    lines = command("env").out.splitlines()
    rows = dict(line.split(maxsplit=1) for line in lines if not line.startswith(("CPU", "CUDA")))
    assert rows["tilemlir"].startswith(tile.__version__)
    assert rows["TILEMLIR_NUM_THREADS"].startswith("3  (")
    for name in ("Python", "tile-opt", "assembler", "disassembler", "device", "numpy", "torch", "cache"):
        assert rows[name]
    data = json.loads(command("env", "--json").out)
    assert data["tilemlir"].startswith(tile.__version__) and isinstance(data["device"], list)
    # A bad setting is shown, not raised.
    monkeypatch.setenv("TILEMLIR_NUM_THREADS", "many")
    assert "none: environment variable TILEMLIR_NUM_THREADS is 'many', expected a whole number" in command("env").out


def test_doctor_passes_here(command, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEMLIR_CACHE_DIR", str(tmp_path / "new" / "cache"))
    done = command("doctor")
    assert done.status == 0, done.out
    found = dict(line[9:].split(": ", 1) for line in done.out.splitlines())
    assert list(found) == [check.name for check in environment.CHECKS]
    assert found["CPU target"] == "compiles and runs a kernel"
    assert not list((tmp_path / "new" / "cache").iterdir()), "the probe was left behind"


def test_doctor_reports_failures(command, monkeypatch):
    def broken():
        raise OSError("it is gone")

    checks = (
        Check("first", lambda: (Status.OK, "fine")),
        Check("second", broken),
        Check("third", lambda: (Status.WARNING, "missing")),
    )
    monkeypatch.setattr(environment, "CHECKS", checks)
    done = command("doctor")
    assert done.out == "ok       first: fine\nfailed   second: OSError: it is gone\nwarning  third: missing\n"
    assert done.status == 1


def finding(name):
    (check,) = [one for one in environment.CHECKS if one.name == name]
    return check.find()


def test_checks_notice_what_is_wrong(monkeypatch, tmp_path):
    # Set where the whole suite runs.
    monkeypatch.delenv("TILEMLIR_BUILD_DIR", raising=False)
    monkeypatch.setenv("TILEMLIR_PTXAS", str(tmp_path / "ptxas"))
    assert finding("assembler").status is Status.WARNING
    assert "TILEMLIR_PTXAS" in finding("assembler").text
    monkeypatch.setenv("TILEMLIR_CACHEDIR", "x")
    assert finding("settings").status is Status.WARNING
    assert finding("settings").text == "these variables mean nothing to tilemlir: TILEMLIR_CACHEDIR"
    monkeypatch.setenv("TILEMLIR_DISABLE_CACHE", "perhaps")
    assert finding("settings").status is Status.FAILED
    monkeypatch.setenv("TILEMLIR_DISABLE_CACHE", "1")
    assert finding("cache").status is Status.WARNING
    monkeypatch.setenv("TILEMLIR_DISABLE_CACHE", "0")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEMLIR_CACHE_DIR", str(tmp_path / "file"))
    assert finding("cache").status is Status.FAILED


REPOSITORY = Path(__file__).parents[3]
COMMANDS = [
    *re.findall(r"`tilemlir (explain [^`]+)`", (REPOSITORY / "README.md").read_text()),
    *re.findall(r"^    tilemlir (.+)", (REPOSITORY / "docs" / "command.md").read_text(), re.M),
]


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_of_the_documentation(command, monkeypatch, words):
    """What the documentation shows runs in a checkout."""
    monkeypatch.chdir(REPOSITORY)
    done = command(*shlex.split(words))
    assert done.status == 0, done.err
    assert done.out


def test_the_documentation_names_every_command(command):
    text = (REPOSITORY / "docs" / "command.md").read_text()
    assert len(COMMANDS) > 5
    for name in re.findall(r"^  (\w+)  ", command("--help").out.partition("Commands:")[2], re.M):
        assert f"`{name}" in text


def test_module_form():
    done = subprocess.run([sys.executable, "-m", "tilemlir", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tilemlir {tile.__version__}\n"
