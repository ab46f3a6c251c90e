"""What this installation found on the machine, and checks that each part of it works."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import tilemlir
import tilemlir.language as T
from tilemlir.compiler.cache import default_cache, default_directory
from tilemlir.compiler.knobs import Knobs, knobs
from tilemlir.compiler.toolchain import PREFERRED_VERSION, assemble, find_assembler, find_disassembler
from tilemlir.errors import TileError
from tilemlir.runtime import cuda
from tilemlir.tools.executables import executable_path

__all__ = ["CHECKS", "Check", "Finding", "Status", "describe_devices", "facts", "run_checks"]


def describe_devices() -> list[str]:
    """One line per CUDA device, or one line with the reason why there is none."""
    problem = cuda.driver_problem()
    if problem is not None:
        return [f"none: {problem}"]
    found = []
    for index in range(cuda.device_count()):
        device = cuda.device_properties(index)
        major, minor = device.compute_capability
        found.append(
            f"{index}: {device.name}, sm_{major}{minor}, {device.multiprocessor_count} multiprocessors, "
            f"{device.total_memory_bytes >> 30} GiB"
        )
    return found or ["none: the driver works but sees no device"]


def _or_problem(describe: Callable[[], object]) -> str:
    """The description, or why there is none."""
    try:
        return str(describe())
    except (TileError, FileNotFoundError) as error:
        return f"none: {error}"


def _driver() -> str:
    problem = cuda.driver_problem()
    if problem is not None:
        return f"none: {problem}"
    version = cuda.driver_version()
    return f"CUDA {version // 1000}.{version % 1000 // 10}"


def _cpu() -> str:
    from tilemlir._mlir._mlir_libs import _tilemlir

    # The processor's name; its list of features follows.
    return str(_tilemlir.describe_cpu()).partition(";")[0]


def _cache() -> str:
    disk = default_cache()
    return "disabled" if disk is None else str(disk.directory)


def _framework(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def facts() -> list[tuple[str, str]]:
    """Versions, tools, devices and settings that a compilation would use, by name; names may repeat."""
    rows = [
        ("tilemlir", f"{tilemlir.__version__} ({Path(tilemlir.__file__).parent})"),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("machine", f"{platform.system()} {platform.machine()}"),
        ("CPU target", _or_problem(_cpu)),
        ("tile-opt", _or_problem(lambda: executable_path("tile-opt"))),
        ("assembler", _or_problem(find_assembler)),
        ("disassembler", _or_problem(lambda: find_disassembler() or "none: neither nvdisasm nor cuobjdump was found")),
        ("CUDA driver", _or_problem(_driver)),
    ]
    rows += [("device", line) for line in describe_devices()]
    rows += [(name, _framework(name)) for name in ("numpy", "torch", "ml_dtypes")]
    rows.append(("cache", _or_problem(_cache)))
    for knob in Knobs.all():
        value = _or_problem(partial(getattr, knobs, knob.name))
        rows.append((knob.variable, f"{value}  ({knob.help})"))
    return rows


class Status(Enum):
    """Result of a check."""

    OK = "ok"
    #: Something optional is missing; the text says what does not work without it.
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        name: what was checked.
        status: how it went.
        text: what was found.
    """

    name: str
    status: Status
    text: str


Outcome = tuple[Status, str]


@dataclass(frozen=True)
class Check:
    """A check of one part of the installation.

    Attributes:
        name: what is checked.
        run: does it; a failed part may also raise.
    """

    name: str
    run: Callable[[], Outcome]

    def find(self) -> Finding:
        """Runs the check; an exception is a failure with the exception's text."""
        try:
            status, text = self.run()
        except Exception as error:
            status, text = Status.FAILED, f"{type(error).__name__}: {error}"
        return Finding(self.name, status, text)


def _check_settings() -> Outcome:
    set_here = [knob.variable for knob in Knobs.all() if knob.variable in os.environ]
    for knob in Knobs.all():
        getattr(knobs, knob.name)
    known = {knob.variable for knob in Knobs.all()}
    unknown = [name for name in os.environ if name.startswith("TILEMLIR_") and name not in known]
    if unknown:
        return Status.WARNING, f"these variables mean nothing to tilemlir: {', '.join(sorted(unknown))}"
    return Status.OK, ", ".join(set_here) or "all defaults"


def _check_tools() -> Outcome:
    for name in ("tile-opt", "tile-translate"):
        subprocess.run([executable_path(name), "--version"], capture_output=True, check=True, timeout=120)
    return Status.OK, str(executable_path("tile-opt").parent)


def _check_cache() -> Outcome:
    disk = default_cache()
    if disk is None:
        return Status.WARNING, "disabled: every process compiles anew"
    directory = default_directory()
    directory.mkdir(parents=True, exist_ok=True)
    probe = directory / f".probe-{uuid.uuid4().hex}"
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Status.FAILED, f"{directory} cannot be written: {error.strerror}"
    return Status.OK, str(directory)


@T.prim_func
def _scaled(x: T.Tensor((200,), "float32"), y: T.Tensor((200,), "float32")):  # type: ignore[no-untyped-def,valid-type]
    with T.Kernel(T.ceildiv(200, 64), threads=64) as block:
        for i in T.Parallel(64):
            y[block * 64 + i] = x[block * 64 + i] * 3.0


def _check_cpu() -> Outcome:
    import numpy

    x = numpy.random.default_rng().standard_normal(200, dtype=numpy.float32)
    y = numpy.full_like(x, numpy.nan)
    with knobs.scope(disable_cache=True):
        tilemlir.compile(_scaled, target="cpu")(x, y)
    if not numpy.array_equal(y, x * numpy.float32(3)):
        return Status.FAILED, "a kernel gives wrong results"
    return Status.OK, "compiles and runs a kernel"


def _check_assembler() -> Outcome:
    try:
        tool = find_assembler()
    except TileError as error:
        return Status.WARNING, f"CUDA targets cannot be compiled: {error}"
    for arch in ("sm_80", "sm_90a"):
        assemble(tilemlir.lower(_scaled, target=arch, stage="ptx"), arch, tool=tool)
    if tool.kind == "ptxas" and tool.version < PREFERRED_VERSION:
        wanted = ".".join(map(str, PREFERRED_VERSION))
        return Status.WARNING, f"{tool} has published reports of wrong code for sm_90a; {wanted} or newer is better"
    return Status.OK, str(tool)


def _check_disassembler() -> Outcome:
    program = find_disassembler()
    if program is None:
        return Status.WARNING, "there is no stage 'sass': pip install nvidia-cuda-nvdisasm"
    return Status.OK, program


def _check_devices() -> Outcome:
    lines = describe_devices()
    if cuda.device_count() == 0:
        return Status.WARNING, f"kernels for CUDA can be compiled but not run: {lines[0].removeprefix('none: ')}"
    oldest = min(cuda.device_properties(index).compute_capability for index in range(cuda.device_count()))
    if oldest < (8, 0):
        return Status.WARNING, "; ".join([*lines, "devices older than sm_80 are not supported"])
    return Status.OK, "; ".join(lines)


def _check_gpu() -> Outcome:
    if cuda.device_count() == 0:
        return Status.WARNING, "not run: there is no device"
    try:
        import torch
    except ImportError:
        return Status.WARNING, "not run: torch is not installed"
    if not torch.cuda.is_available():
        return Status.WARNING, "not run: torch sees no device"
    x = torch.randn(200, device="cuda")
    y = torch.full_like(x, float("nan"))
    with knobs.scope(disable_cache=True):
        tilemlir.compile(_scaled, target="cuda")(x, y)
    if not bool((y == x * 3).all()):
        return Status.FAILED, "a kernel gives wrong results"
    return Status.OK, "compiles and runs a kernel"


def _check_torch() -> Outcome:
    version = _framework("torch")
    if version == "not installed":
        return Status.WARNING, "not installed: tensors on a GPU come from torch or CuPy"
    import torch

    built: Any = torch.version.cuda
    return Status.OK, f"{version}, {f'CUDA {built}' if built else 'without CUDA'}"


#: In the order in which they are shown.
CHECKS = (
    Check("settings", _check_settings),
    Check("tools", _check_tools),
    Check("cache", _check_cache),
    Check("CPU target", _check_cpu),
    Check("assembler", _check_assembler),
    Check("disassembler", _check_disassembler),
    Check("CUDA devices", _check_devices),
    Check("torch", _check_torch),
    Check("GPU target", _check_gpu),
)


def run_checks() -> Iterator[Finding]:
    """Runs all checks, one by one; none of them raises."""
    for check in CHECKS:
        yield check.find()
