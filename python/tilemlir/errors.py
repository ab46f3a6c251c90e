"""The catalogue of everything tilemlir refuses, and the exceptions it raises.

Each entry has a stable code, an exception type, the text of what was found and what is allowed, and how to fix it.
Code, fields and text stay together here: the native runtime raises by code (`make`), Python code too, so one place
decides what a user reads. A test fixes every text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "CATALOGUE",
    "Entry",
    "TileAssertionError",
    "TileCompileError",
    "TileError",
    "TileRuntimeError",
    "TileTypeError",
    "TileValueError",
    "make",
]


class TileError(Exception):
    """Base of all errors raised by tilemlir.

    Attributes:
        code: the stable code of the catalogue entry, such as ``"not-contiguous"``.
        fields: the values that the text was made from.
    """

    code: str = ""
    fields: Mapping[str, object] = {}


class TileTypeError(TileError, TypeError):
    """An argument or option of the wrong kind: number of arguments, element type, Python type."""


class TileValueError(TileError, ValueError):
    """An argument or option with a value that is not allowed: shape, stride, device, size."""


class TileRuntimeError(TileError, RuntimeError):
    """Something outside the program failed: the driver, a tool, the device."""


class TileCompileError(TileError, RuntimeError):
    """A kernel cannot be compiled."""


class TileAssertionError(TileError, AssertionError):
    """A device assertion inside a kernel does not hold."""


class Entry(NamedTuple):
    """One kind of error: its exception, what happened, and how to fix it (empty when there is nothing to do).

    Both texts are `str.format` templates over the error's fields.
    """

    exception: type[TileError]
    text: str
    fix: str = ""


# `{kernel}` is the kernel's name; sizes are in elements and bytes as named.
CATALOGUE: dict[str, Entry] = {
    # Arguments of a launch.
    "argument-count": Entry(
        TileTypeError,
        "kernel '{kernel}' takes {expected} argument(s) ({names}), got {found}",
        "{outputs_hint}",
    ),
    "unknown-argument": Entry(TileTypeError, "kernel '{kernel}' has no argument named '{argument}'"),
    "argument-twice": Entry(TileTypeError, "kernel '{kernel}' got argument '{argument}' by position and by name"),
    "output-passed": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' is an output",
        "Leave it out: the call allocates and returns it.",
    ),
    "not-a-tensor": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' must be a tensor, got {found}",
        "Pass a torch tensor, a NumPy array, or an object with __dlpack__.",
    ),
    "unreadable-tensor": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' is a {type} whose memory cannot be read: {reason}",
        "Pass a dense tensor with plain memory.",
    ),
    "none-argument": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' is None, but the kernel uses it",
        "Pass a tensor.",
    ),
    "dtype": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' has dtype {found}, expected {expected}",
        "Convert it with {argument}.to(torch.{expected}) or {argument}.astype('{expected}').",
    ),
    "rank": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' has {found} dimension(s), shape {shape}, expected {expected}",
        "Reshape it, or index away the extra dimensions.",
    ),
    "shape": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' has shape {shape}: dimension {axis} is {found}, "
        "expected {expected}",
    ),
    "stride": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' has shape {shape} and strides {strides} (elements): "
        "the stride of dimension {axis} is {found}, expected {expected}",
    ),
    "not-contiguous": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' is not contiguous: shape {shape} has strides {found} (elements), "
        "expected {expected}",
        "Pass {argument}.contiguous(), or declare it as T.StridedTensor.",
    ),
    "device": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' is on {found}, but the kernel is compiled for target '{target}' "
        "and needs {expected} memory",
        "Move it with {argument}.to('{expected}'), or compile for the other target.",
    ),
    "device-mismatch": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' is on {found}, but '{first}' is on {expected}",
        "Move all tensors to one device.",
    ),
    "read-only": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' is read-only, but the kernel writes to it",
        "Pass a writable copy.",
    ),
    "misaligned": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' starts at an address that is no multiple of the {bytes} bytes "
        "of a {dtype}",
        "Pass a copy.",
    ),
    "null-data": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' has shape {shape} but no memory",
    ),
    "scalar-type": Entry(
        TileTypeError,
        "argument '{argument}' of kernel '{kernel}' must be a number of type {expected}, got {found}",
        "{scalar_hint}",
    ),
    "scalar-range": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' is {found}, which does not fit {dtype} ({minimum} to {maximum})",
    ),
    "unknown-size": Entry(
        TileValueError,
        "size {symbol} of kernel '{kernel}' is unknown: it is read from '{argument}', which is None",
        "Pass at least one tensor that has this size.",
    ),
    "guard": Entry(TileValueError, "kernel '{kernel}' cannot take these arguments: {message} ({expression})"),
    "no-variant": Entry(
        TileRuntimeError,
        "kernel '{kernel}' was compiled for aligned, non-overlapping arguments (guards {guards} do not hold) and "
        "there is no compiler at hand for another version",
    ),
    "extent-limit": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' has {size} elements along dimension {axis}, allowed are fewer than "
        "2**31",
        "Give the tensor more dimensions: only the number of all elements may be larger.",
    ),
    # Sizes that a launch computes.
    "negative-size": Entry(
        TileValueError,
        "output '{argument}' of kernel '{kernel}' would have size {size} = {expression} along dimension {axis}",
    ),
    "grid-limit": Entry(
        TileValueError,
        "kernel '{kernel}' would launch {extent} = {expression} blocks along grid axis {axis}, allowed are 0 to "
        "{limit}",
        "Use larger tiles, or put the largest axis first.",
    ),
    "parameter-range": Entry(
        TileValueError,
        "kernel '{kernel}' needs {expression} = {value}, which does not fit {dtype}",
        "Sizes along one dimension must stay below 2**31.",
    ),
    "arithmetic": Entry(
        TileValueError,
        "kernel '{kernel}' cannot compute its launch: {operation} of {left} and {right} overflows or divides by zero",
    ),
    # Device and driver.
    "no-cuda-driver": Entry(
        TileRuntimeError,
        "no CUDA driver: {reason}",
        "Install an NVIDIA driver, or compile with target='cpu'.",
    ),
    "no-such-device": Entry(TileValueError, "there is no CUDA device {device}: this machine has {count}"),
    "cuda-error": Entry(TileRuntimeError, "{call} failed{for_kernel}: {error}"),
    "module-load": Entry(
        TileRuntimeError,
        "the driver refused a compiled kernel on {device} (compute capability {compute_capability}, CUDA {driver}): "
        "{error}{log_lines}",
        "Compile for this device's architecture.",
    ),
    "launch-failed": Entry(
        TileRuntimeError,
        "launching '{launch}' failed: {error} (grid {grid}, cluster {cluster}, threads {threads}, "
        "{shared} bytes of dynamic shared memory)",
    ),
    "shared-memory": Entry(
        TileValueError,
        "kernel '{kernel}' needs {bytes} bytes of shared memory, {device} allows {limit} per block",
        "Use smaller tiles or fewer pipeline stages.",
    ),
    "cooperative-too-large": Entry(
        TileValueError,
        "kernel '{launch}' synchronises its whole grid of {blocks} blocks, but only {limit} fit the device at once",
        "Launch at most that many blocks.",
    ),
    "no-clusters": Entry(TileRuntimeError, "kernel '{kernel}' needs thread block clusters, which {device} lacks"),
    "no-cooperative": Entry(TileRuntimeError, "kernel '{kernel}' needs cooperative launches, which {device} lacks"),
    "no-tensor-maps": Entry(
        TileRuntimeError,
        "kernel '{kernel}' needs tensor maps, which the driver (CUDA {driver}) lacks",
        "Install a driver for CUDA 12.0 or newer.",
    ),
    "tensor-map": Entry(
        TileValueError,
        "argument '{argument}' of kernel '{kernel}' cannot be described to the tensor memory accelerator: {error} "
        "({map})",
    ),
    "capture-unsupported": Entry(
        TileRuntimeError,
        "kernel '{kernel}' needs a workspace inside a captured graph, which the driver (CUDA {driver}) cannot keep",
        "Install a driver for CUDA 12.0 or newer.",
    ),
    "bad-plan": Entry(TileRuntimeError, "malformed launch plan{for_kernel}: {detail}"),
    "device-assert": Entry(TileAssertionError, "device assertion failed in kernel '{launch}'{at}: {message}"),
    # Simulation.
    "simulation": Entry(TileRuntimeError, "the simulator found faults in kernel '{kernel}' (seed {seed}):\n{findings}"),
    "simulator-unsupported": Entry(TileRuntimeError, "kernel '{kernel}' cannot be simulated: {what} ({place})"),
    "no-matplotlib": Entry(TileRuntimeError, "{what} needs matplotlib", "pip install tilemlir[plot], or matplotlib."),
    "simulator-target": Entry(
        TileValueError,
        "kernel '{kernel}' is compiled for '{target}', but only CUDA architectures are simulated",
        "Compile it with target='sm_80' or target='sm_90a'.",
    ),
    # Compiling and decorating.
    "not-a-function": Entry(TileTypeError, "{decorator} decorates a function; found {found}"),
    "not-a-factory": Entry(
        TileTypeError,
        "'{function}' opens no kernel and returned {found} instead of a kernel function",
        "Return a function decorated with @T.prim_func, or write 'with T.Kernel(...)' in '{function}' itself.",
    ),
    "out-idx-with-kernel": Entry(
        TileValueError,
        "'{function}' returns its outputs itself, so out_idx has no meaning",
        "Leave out_idx out; every T.empty tensor that is returned is an output.",
    ),
    "out-idx-range": Entry(
        TileValueError, "out_idx {index} is outside of the {count} arguments of kernel '{function}'"
    ),
    "out-idx-scalar": Entry(
        TileValueError, "out_idx {index} of kernel '{function}' names the scalar '{argument}'; outputs are tensors"
    ),
    "out-idx-twice": Entry(TileValueError, "out_idx of kernel '{function}' names argument {index} twice"),
    # Profiling.
    "no-input-value": Entry(
        TileValueError,
        "inputs cannot be made: {what} has no value",
        "Pass dynamic_symbolic_constraints={{name: value}}, or input_tensors.",
    ),
    # Tools.
    "no-ptxas": Entry(
        TileRuntimeError,
        "no assembler for PTX: {tried}",
        "pip install nvidia-cuda-nvcc, or set TILEMLIR_PTXAS to a ptxas program.",
    ),
    "ptxas": Entry(TileCompileError, "{tool} could not assemble the kernel for {arch}:\n{log}"),
    "no-disassembler": Entry(
        TileRuntimeError,
        "no disassembler for cubins: neither nvdisasm nor cuobjdump was found",
        "pip install nvidia-cuda-nvdisasm, or put the CUDA toolkit's bin directory on PATH.",
    ),
    "disassembly": Entry(TileRuntimeError, "{tool} could not disassemble the kernel:\n{log}"),
    # The command `tilemlir`.
    "no-such-file": Entry(TileValueError, "there is no file '{file}'"),
    "not-a-python-file": Entry(
        TileValueError, "'{file}' is not a Python file", "tile-opt and tile-translate read MLIR files."
    ),
    "program-failed": Entry(TileRuntimeError, "{what} raised {type}: {message}\n{traceback}"),
    "no-kernel": Entry(
        TileValueError,
        "'{file}' defines no kernel: nothing at its top level is decorated with @T.prim_func or @tile.jit",
        "Name a function that returns a kernel, as in {file}:{example}.",
    ),
    "several-kernels": Entry(
        TileValueError, "'{file}' defines {count} kernels: {names}", "Name one, as in {file}:{example}."
    ),
    "unknown-kernel": Entry(TileValueError, "'{file}' has no function '{name}'{closest}"),
    "not-a-kernel": Entry(
        TileTypeError,
        "'{name}' in '{file}' is {found}, expected a function with @T.prim_func or @tile.jit, or one that returns "
        "a @T.prim_func",
    ),
    "argument-syntax": Entry(
        TileValueError,
        "--{option} {found}: expected NAME=VALUE",
        "A value is a Python literal or a word; a tensor is its type, as in a=float16[1024,512].",
    ),
    "missing-arguments": Entry(
        TileTypeError, "{signature} needs {names}", "Pass --arg {example} for each, or give it a default."
    ),
    "unknown-parameter": Entry(TileTypeError, "{signature} has no parameter '{argument}'"),
    "no-parameters": Entry(
        TileTypeError,
        "kernel function '{name}' has no compile-time parameters, got {arguments}",
        "Sizes are part of its declaration; to choose them, name a function that takes them and returns the kernel.",
    ),
    "unknown-stage": Entry(TileValueError, "there is no stage '{stage}' for {target}: stages are {stages}"),
    "unknown-explain-size": Entry(
        TileValueError, "kernel '{kernel}' has no dynamic size or scalar argument '{name}': it has {sizes}"
    ),
    # Options.
    "unknown-target": Entry(
        TileValueError,
        "unknown target {target}: allowed are 'auto', 'cuda', 'cpu', an architecture such as 'sm_80', 'sm_90a' or "
        "'sm_100a', or a dict such as {{'kind': 'cuda', 'arch': 'sm_90a'}}",
    ),
    "unknown-pass-config": Entry(
        TileValueError,
        "unknown pass_configs key '{key}'{closest}",
    ),
    "bad-option": Entry(TileValueError, "option {option} is {found}, expected {expected}"),
    "bad-knob": Entry(
        TileValueError,
        "environment variable {variable} is {found}, expected {expected}",
    ),
    "unknown-knob": Entry(TileValueError, "there is no knob named '{name}'{closest}"),
}


def _derived(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields that a text uses and that follow from others."""
    derived: dict[str, object] = {}
    kernel = fields.get("kernel")
    derived["for_kernel"] = f" for kernel '{kernel}'" if kernel else ""
    outputs = fields.get("outputs")
    derived["outputs_hint"] = (
        f"Leave out the outputs ({outputs}): the call allocates and returns them." if outputs else ""
    )
    log = str(fields.get("log", "")).strip()
    derived["log_lines"] = f"\n{log}" if log else ""
    file = fields.get("file")
    derived["at"] = f" at {file}:{fields.get('line')}" if file else ""
    derived["scalar_hint"] = "Read the tensor's value first with .item()." if fields.get("tensor") else ""
    return derived


def make(code: str, fields: Mapping[str, object] | None = None) -> TileError:
    """Makes (does not raise) the error of a catalogue entry.

    Args:
        code: a key of `CATALOGUE`.
        fields: the values its texts name.

    Returns:
        The exception, with `code` and `fields` set.
    """
    values = dict(fields or {})
    entry = CATALOGUE[code]
    texts = {**_derived(values), **values}
    message = entry.text.format_map(texts)
    fix = entry.fix.format_map(texts)
    if fix:
        message = f"{message}. {fix}" if not message.endswith("\n") else message + fix
    error = entry.exception(message)
    error.code = code
    error.fields = values
    return error
