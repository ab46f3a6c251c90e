"""From PTX to a loadable image: finding an assembler, running it, and reading what it says.

In order of preference: ptxas of the `nvidia-cuda-nvcc` wheel or another ptxas of CUDA 13.3 or newer (13.0.88 has
published reports of wrong code for sm_90a), any other ptxas, nvJitLink, and last the driver's own compiler, which takes
the PTX as it is.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tilemlir import errors
from tilemlir.compiler.knobs import knobs

__all__ = [
    "Assembly",
    "KernelResources",
    "Tool",
    "assemble",
    "disassemble",
    "find_assembler",
    "find_assembler_ahead",
    "find_disassembler",
    "parse_ptxas_log",
]

PREFERRED_VERSION = (13, 3)


@dataclass(frozen=True)
class Tool:
    """An assembler.

    Attributes:
        kind: ``"ptxas"``, ``"nvjitlink"`` or ``"driver"``.
        path: the program or library; empty for the driver.
        version: such as ``(13, 5, 37)``; part of cache keys.
    """

    kind: str
    path: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        number = ".".join(map(str, self.version))
        return f"{self.kind} {number}" + (f" ({self.path})" if self.path else "")


@dataclass(frozen=True)
class KernelResources:
    """What one kernel uses, from the assembler's report.

    Attributes:
        registers: per thread.
        stack_bytes: stack frame per thread.
        spill_store_bytes, spill_load_bytes: per thread.
        shared_bytes: static shared memory per block.
        barriers: named barriers.
        notes: advisories about this kernel, such as serialised wgmma (C7510).
    """

    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    barriers: int = 0
    notes: tuple[str, ...] = ()

    @property
    def spills(self) -> bool:
        """True when registers are spilled to local memory."""
        return self.spill_store_bytes > 0 or self.spill_load_bytes > 0


@dataclass(frozen=True)
class Assembly:
    """An assembled module.

    Attributes:
        image: the cubin, or the PTX text when the driver assembles.
        is_cubin: False for PTX text.
        arch: the architecture assembled for.
        tool: what assembled it.
        resources: per kernel; empty when the driver assembles (the loaded kernel knows then).
        notes: all advisories, each once.
        log: the assembler's full report.
    """

    image: bytes
    is_cubin: bool
    arch: str
    tool: Tool
    resources: dict[str, KernelResources] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log: str = ""


_KERNEL = re.compile(r"(?:Compiling entry function|Function properties for) '?([\w$.]+)'?")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_NOTE = re.compile(r"\((C7\d{3})\)\s*(.*)")
_NOTE_KERNEL = re.compile(r"(?:in|of) (?:the )?function '([\w$.]+)'")


def parse_ptxas_log(log: str) -> tuple[dict[str, KernelResources], tuple[str, ...]]:
    """Reads the report of `ptxas -v` (nvJitLink's is the same).

    Returns:
        Resources by kernel, and the advisories as ``"C7510: text"``, each once.
    """
    values: dict[str, dict[str, int]] = {}
    notes: list[str] = []
    kernel_notes: dict[str, list[str]] = {}
    current = ""
    for line in log.splitlines():
        note = _NOTE.search(line)
        if note:
            text = f"{note[1]}: {note[2].strip()}"
            if text not in notes:
                notes.append(text)
            named = _NOTE_KERNEL.search(note[2])
            kernel_notes.setdefault(named[1] if named else current, []).append(text)
            continue
        if match := _KERNEL.search(line):
            current = match[1]
            values.setdefault(current, {})
            continue
        entry = values.get(current)
        if entry is None:
            continue
        if match := _FRAME.search(line):
            entry["stack_bytes"] = int(match[1])
            entry["spill_store_bytes"] = int(match[2])
            entry["spill_load_bytes"] = int(match[3])
        if match := _REGISTERS.search(line):
            entry["registers"] = int(match[1])
            if match := _BARRIERS.search(line):
                entry["barriers"] = int(match[1])
            if match := _SHARED.search(line):
                entry["shared_bytes"] = int(match[1])
    resources = {
        name: KernelResources(**entry, notes=tuple(dict.fromkeys(kernel_notes.get(name, ()))))
        for name, entry in values.items()
        if "registers" in entry
    }
    return resources, tuple(notes)


def _toolkit_directories() -> Iterator[Path]:
    """Directories that may hold a CUDA toolkit's programs, wheels first."""
    roots = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path])
    for root in roots:
        nvidia = Path(root or ".") / "nvidia"
        for part in ("cu13", "cuda_nvcc", "cu12"):
            yield nvidia / part / "bin"
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin"
    yield Path("/usr/local/cuda/bin")
    for root in roots:
        yield Path(root or ".") / "triton" / "backends" / "nvidia" / "bin"


def _programs(name: str) -> Iterator[str]:
    seen: set[str] = set()
    for directory in _toolkit_directories():
        path = directory / name
        if os.access(path, os.X_OK) and path.is_file():
            resolved = os.path.realpath(path)
            if resolved not in seen:
                seen.add(resolved)
                yield str(path)


@lru_cache(maxsize=32)
def _ptxas_version(path: str) -> tuple[int, ...] | None:
    try:
        result = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"V(\d+)\.(\d+)\.(\d+)", result.stdout)
    return tuple(map(int, match.groups())) if match else None


def _find_ptxas(tried: list[str]) -> Tool | None:
    if knobs.ptxas is not None:
        version = _ptxas_version(str(knobs.ptxas))
        if version is None:
            raise errors.make(
                "bad-knob",
                {"variable": "TILEMLIR_PTXAS", "found": repr(str(knobs.ptxas)), "expected": "a working ptxas program"},
            )
        return Tool("ptxas", str(knobs.ptxas), version)
    best: Tool | None = None
    for path in _programs("ptxas"):
        version = _ptxas_version(path)
        if version is None:
            tried.append(f"{path} does not run")
            continue
        if version >= PREFERRED_VERSION:
            return Tool("ptxas", path, version)
        if best is None or version > best.version:
            best = Tool("ptxas", path, version)
    if best is None and not tried:
        tried.append("ptxas is neither in an nvidia-cuda-nvcc wheel, nor on PATH, nor in CUDA_HOME")
    return best


def _jitlink_names() -> Iterator[str]:
    for root in dict.fromkeys([sysconfig.get_path("purelib"), *sys.path]):
        nvidia = Path(root or ".") / "nvidia"
        yield from map(str, sorted(nvidia.glob("cu13/lib/libnvJitLink.so*")))
        yield from map(str, sorted(nvidia.glob("nvjitlink/lib/libnvJitLink.so*")))
    yield "libnvJitLink.so.13"
    yield "libnvJitLink.so.12"


@lru_cache(maxsize=1)
def _load_jitlink() -> tuple[ctypes.CDLL, str] | None:
    for name in _jitlink_names():
        try:
            return ctypes.CDLL(name), name
        except OSError:
            continue
    return None


def _find_jitlink(tried: list[str]) -> Tool | None:
    loaded = _load_jitlink()
    if loaded is None:
        tried.append("libnvJitLink is not installed")
        return None
    library, path = loaded
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    if library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)) != 0:
        tried.append(f"{path} does not answer")
        return None
    return Tool("nvjitlink", path, (major.value, minor.value))


def _find_driver(tried: list[str]) -> Tool | None:
    from tilemlir.runtime import cuda

    problem = cuda.driver_problem()
    if problem is not None:
        tried.append(f"no CUDA driver ({problem})")
        return None
    version = cuda.driver_version()
    return Tool("driver", "", (version // 1000, version % 1000 // 10))


@lru_cache(maxsize=8)
def _find_assembler(ptxas_knob: Path | None) -> Tool:
    tried: list[str] = []
    tool = _find_ptxas(tried) or _find_jitlink(tried) or _find_driver(tried)
    if tool is None:
        raise errors.make("no-ptxas", {"tried": "; ".join(tried)})
    return tool


def find_assembler() -> Tool:
    """The assembler to use; found once per process and `ptxas` knob.

    Raises:
        TileRuntimeError: when there is no ptxas, no nvJitLink and no driver, saying where each was looked for.
    """
    return _find_assembler(knobs.ptxas)


def find_assembler_ahead() -> Callable[[], Tool]:
    """Starts to look for the assembler, and returns a function that waits for it.

    A cold compilation asks programs for their versions, and initialises the CUDA driver, while it imports the bindings
    and traces.

    Returns:
        A function with the result, and the errors, of :func:`find_assembler`.
    """
    if _find_assembler.cache_info().currsize:
        return find_assembler
    from concurrent.futures import ThreadPoolExecutor

    from tilemlir.runtime import cuda

    with_one_thread = ThreadPoolExecutor(1, thread_name_prefix="tilemlir-assembler")
    found = with_one_thread.submit(find_assembler)
    with_one_thread.submit(cuda.driver_problem)
    with_one_thread.shutdown(wait=False)
    return found.result


def assemble(
    ptx: str,
    arch: str,
    *,
    max_registers: int | None = None,
    register_level: int | None = None,
    flags: Sequence[str] = (),
    tool: Tool | None = None,
) -> Assembly:
    """Assembles PTX for one architecture.

    Args:
        ptx: PTX text.
        arch: such as ``"sm_90a"``; it may be newer than the PTX's own target.
        max_registers: limit per thread.
        register_level: ptxas's `--register-usage-level`.
        flags: more flags for ptxas.
        tool: the assembler; None takes `find_assembler()`.

    Raises:
        TileCompileError: when the assembler refuses the PTX, with its report.
    """
    tool = tool or find_assembler()
    options: list[str] = []
    if max_registers is not None:
        # The flag leaves kernels with a declared number of threads alone; the directive holds for them.
        options.append(f"--maxrregcount={max_registers}")
        ptx = re.sub(r"^(\.reqntid .*)$", rf"\1\n.maxnreg {max_registers}", ptx, flags=re.MULTILINE)
    if register_level is not None:
        options.append(f"--register-usage-level={register_level}")
    options += flags
    if tool.kind == "ptxas":
        return _assemble_ptxas(ptx, arch, options, tool)
    if tool.kind == "nvjitlink":
        return _assemble_jitlink(ptx, arch, options, tool)
    return Assembly(ptx.encode() + b"\0", False, arch, tool)


def _assemble_ptxas(ptx: str, arch: str, options: list[str], tool: Tool) -> Assembly:
    # The output goes through a file of our own: ptxas writes no cubin to a pipe. The PTX goes through standard input.
    descriptor, output = tempfile.mkstemp(suffix=".cubin", prefix="tilemlir-")
    os.close(descriptor)
    try:
        command = [tool.path, "-v", f"--gpu-name={arch}", *options, "-", "-o", output]
        result = subprocess.run(command, input=ptx.encode(), capture_output=True, check=False)
        # ptxas names its own copy of standard input.
        log = re.sub(r"\S*_stdin\b", "kernel.ptx", (result.stdout + result.stderr).decode(errors="replace"))
        if result.returncode != 0:
            raise errors.make("ptxas", {"tool": str(tool), "arch": arch, "log": log.strip()})
        image = Path(output).read_bytes()
    finally:
        os.unlink(output)
    resources, notes = parse_ptxas_log(log)
    return Assembly(image, True, arch, tool, resources, notes, log)


def _assemble_jitlink(ptx: str, arch: str, options: list[str], tool: Tool) -> Assembly:
    loaded = _load_jitlink()
    assert loaded is not None
    library = loaded[0]
    words = [f"-arch={arch}", "-verbose", *(f"-Xptxas={option}" for option in options)]
    encoded = [word.encode() for word in words]
    array = (ctypes.c_char_p * len(encoded))(*encoded)
    handle = ctypes.c_void_p()

    def log_of(kind: str) -> str:
        size = ctypes.c_size_t()
        if getattr(library, f"nvJitLinkGet{kind}LogSize")(handle, ctypes.byref(size)) != 0 or size.value == 0:
            return ""
        text = ctypes.create_string_buffer(size.value + 1)
        getattr(library, f"nvJitLinkGet{kind}Log")(handle, text)
        return text.value.decode(errors="replace")

    status = library.nvJitLinkCreate(ctypes.byref(handle), ctypes.c_uint32(len(encoded)), array)
    if status != 0:
        raise errors.make("ptxas", {"tool": str(tool), "arch": arch, "log": f"nvJitLinkCreate returned {status}"})
    try:
        data = ptx.encode() + b"\0"
        ptx_input_type = 2  # NVJITLINK_INPUT_PTX
        status = library.nvJitLinkAddData(
            handle, ctypes.c_int(ptx_input_type), data, ctypes.c_size_t(len(data)), b"kernel.ptx"
        )
        if status == 0:
            status = library.nvJitLinkComplete(handle)
        if status != 0:
            log = log_of("Error").strip() or f"nvJitLink returned {status}"
            raise errors.make("ptxas", {"tool": str(tool), "arch": arch, "log": log})
        size = ctypes.c_size_t()
        library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        if library.nvJitLinkGetLinkedCubin(handle, image) != 0:
            raise errors.make("ptxas", {"tool": str(tool), "arch": arch, "log": "nvJitLink gave no cubin"})
        log = log_of("Info")
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))
    resources, notes = parse_ptxas_log(log)
    return Assembly(image.raw, True, arch, tool, resources, notes, log)


def find_disassembler() -> str | None:
    """The nvdisasm or cuobjdump program, or None."""
    if knobs.nvdisasm is not None:
        return str(knobs.nvdisasm)
    return next(_programs("nvdisasm"), None) or next(_programs("cuobjdump"), None) or shutil.which("nvdisasm")


def disassemble(cubin: bytes) -> str:
    """SASS text of a cubin.

    Raises:
        TileRuntimeError: when no disassembler is installed, or it fails.
    """
    program = find_disassembler()
    if program is None:
        raise errors.make("no-disassembler")
    arguments = ["-sass"] if Path(program).name.startswith("cuobjdump") else ["--print-code"]
    with tempfile.NamedTemporaryFile(suffix=".cubin", prefix="tilemlir-") as file:
        file.write(cubin)
        file.flush()
        result = subprocess.run([program, *arguments, file.name], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise errors.make("disassembly", {"tool": program, "log": (result.stdout + result.stderr).strip()})
    return result.stdout
