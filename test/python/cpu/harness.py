"""Runs ``tile`` IR text on the CPU target, without the front end and without the package's launcher.

A compiled module is called with NumPy arrays (bf16 and fp8 as their bits in uint16 and uint8 arrays) and scalars. The
launch plan's expressions are evaluated here, and the entry points are called through ctypes.
"""

import ctypes
import itertools
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from tilemlir import _runtime
from tilemlir._mlir import ir, passmanager
from tilemlir._mlir._mlir_libs import _tilemlir

GUARD_BYTES = 256
GUARD_PATTERN = 0xA5

SCALARS = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_uint8,
    "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "f8e4m3fn": ctypes.c_uint8, "f8e5m2": ctypes.c_uint8,
}  # fmt: skip


def floor_division(a: int, b: int) -> int:
    return a // b


OPERATORS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": floor_division,
    "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b, "min": min, "max": max,
}  # fmt: skip


def guarded(shape: Sequence[int], dtype: Any, fill: int | None = None) -> np.ndarray:
    """An array with guard bytes on both sides. ``fill`` sets every byte (0xff is a NaN in all float formats)."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.full(size + 2 * GUARD_BYTES, GUARD_PATTERN, np.uint8)
    array = memory[GUARD_BYTES : GUARD_BYTES + size].view(dtype).reshape(shape)
    if fill is not None and size:
        array.reshape(-1).view(np.uint8)[:] = fill
    return array


def check_guards(array: np.ndarray) -> None:
    """Fails when the bytes around an array of :func:`guarded` have changed."""
    memory = array
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    assert (memory[:GUARD_BYTES] == GUARD_PATTERN).all(), "bytes before an output were written"
    assert (memory[-GUARD_BYTES:] == GUARD_PATTERN).all(), "bytes after an output were written"


class Kernel:
    """A module compiled for the CPU.

    Args:
        text: a module, or one function, of the tile dialect.
        passes: passes of ``tile-opt`` to run before the CPU pipeline.
        options: options of ``tile-cpu-pipeline``.
    """

    def __init__(self, text: str, passes: Sequence[str] = (), options: str = "") -> None:
        with ir.Context():
            module = ir.Module.parse(text)
            pipeline = ",".join([*passes, f"tile-cpu-pipeline{{{options}}}"])
            passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
            self.lowered = str(module)
            self.plan = json.loads(_tilemlir.launch_plan(module))
            self.object = _tilemlir.compile_cpu(module)
        self.image = _tilemlir.CpuImage(self.object, _runtime.host_symbols())
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.entries = [prototype(self.image.entry(launch["kernel"])) for launch in self.plan["launches"]]

    def __call__(self, *arguments: Any, workers: int = 1) -> None:
        """Runs all launches. ``workers`` threads share the blocks of each."""
        plan = self.plan
        assert len(arguments) == len(plan["arguments"])
        symbols = [self.evaluate(symbol["source"], arguments, []) for symbol in plan["symbols"]]

        def value_of(expression: Any) -> int:
            return self.evaluate(expression, arguments, symbols)

        for argument, declared in zip(arguments, plan["arguments"], strict=True):
            if declared["kind"] == "tensor":
                assert list(argument.shape) == [value_of(size) for size in declared["shape"]]
        workspaces = []
        for workspace in plan["workspaces"]:
            memory = np.full(max(value_of(workspace["bytes"]), 1), 0 if workspace["zero"] else 0xFF, np.uint8)
            workspaces.append(memory)
        for launch, entry in zip(plan["launches"], self.entries, strict=True):
            grid = [value_of(extent) for extent in launch["grid"]]
            blocks = int(np.prod(grid, dtype=np.int64))
            if blocks == 0:
                continue
            values: list[Any] = []
            for parameter in launch["parameters"]:
                kind = parameter["kind"]
                if kind == "pointer":
                    values.append(ctypes.c_void_p(arguments[parameter["argument"]].ctypes.data))
                elif kind == "workspace":
                    values.append(ctypes.c_void_p(workspaces[parameter["index"]].ctypes.data))
                elif kind == "scalar":
                    dtype = plan["arguments"][parameter["argument"]]["dtype"]
                    values.append(SCALARS[dtype](arguments[parameter["argument"]]))
                else:
                    values.append(SCALARS[parameter["dtype"]](value_of(parameter["value"])))
            pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
            extents = (ctypes.c_int32 * 3)(*grid)
            bounds = [blocks * i // workers for i in range(workers + 1)]
            if workers == 1:
                entry(ctypes.addressof(pointers), ctypes.addressof(extents), 0, blocks)
                continue
            with ThreadPoolExecutor(workers) as pool:
                calls = [
                    pool.submit(entry, ctypes.addressof(pointers), ctypes.addressof(extents), first, last)
                    for first, last in itertools.pairwise(bounds)
                ]
                for call in calls:
                    call.result()

    @staticmethod
    def evaluate(expression: Any, arguments: Sequence[Any], symbols: Sequence[int]) -> int:
        if isinstance(expression, int):
            return expression
        name, *operands = expression
        if name == "dim":
            return int(arguments[operands[0]].shape[operands[1]])
        if name == "stride":
            array = arguments[operands[0]]
            return int(array.strides[operands[1]] // array.itemsize)
        if name == "symbol":
            return symbols[operands[0]]
        if name == "scalar":
            return int(arguments[operands[0]])
        if name == "sm_count":
            return 1
        return OPERATORS[name](*(Kernel.evaluate(operand, arguments, symbols) for operand in operands))


# ---------------------------------------------------------------------------------------------------------------------
# Reference conversions, written from the formats' definitions.


def decode(bits: np.ndarray, exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> np.ndarray:
    """Values of small floats given as unsigned integers, in float64.

    ``finite_only``: the largest exponent holds numbers, and only the pattern of all ones is NaN (f8e4m3fn).
    """
    bits = bits.astype(np.int64)
    bias = 2 ** (exponent_bits - 1) - 1
    sign = np.where(bits >> (exponent_bits + mantissa_bits) & 1, -1.0, 1.0)
    exponent = bits >> mantissa_bits & (2**exponent_bits - 1)
    mantissa = bits & (2**mantissa_bits - 1)
    normal = (1 + mantissa / 2**mantissa_bits) * np.exp2((exponent - bias).astype(np.float64))
    subnormal = mantissa / 2**mantissa_bits * 2.0 ** (1 - bias)
    value = np.where(exponent == 0, subnormal, normal)
    top = exponent == 2**exponent_bits - 1
    if finite_only:
        value = np.where(top & (mantissa == 2**mantissa_bits - 1), np.nan, value)
    else:
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    return sign * value


FORMATS = {
    "f16": (16, 5, 10, False),
    "bf16": (16, 8, 7, False),
    "f8E4M3FN": (8, 4, 3, True),
    "f8E5M2": (8, 5, 2, False),
}


def decode_as(bits: np.ndarray, dtype: str) -> np.ndarray:
    """Values of an array of bits of an MLIR float type, in float64."""
    _, exponent_bits, mantissa_bits, finite_only = FORMATS[dtype]
    return decode(bits, exponent_bits, mantissa_bits, finite_only)


def encode_as(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bits of float64 values rounded to nearest even; 8-bit formats saturate; NaN becomes some NaN pattern.

    Found by search among all patterns, so that it shares nothing with the compiler.
    """
    width, *_ = FORMATS[dtype]
    patterns = np.arange(2 ** (width - 1), dtype=np.int64)
    table = decode_as(patterns, dtype)
    finite = patterns[np.isfinite(table)]
    table = table[finite]
    values = np.asarray(values, np.float64)
    magnitude = np.abs(values)
    upper = np.searchsorted(table, magnitude, side="left").clip(0, len(table) - 1)
    lower = np.where(table[upper] == magnitude, upper, (upper - 1).clip(0))
    middle = (table[lower] + table[upper]) / 2
    pick = np.where(
        magnitude > middle, upper, np.where(magnitude < middle, lower, np.where(lower % 2 == 0, lower, upper))
    )
    result = finite[pick]
    # Past the middle between the largest finite value and what would be the next.
    last = len(table) - 1
    limit = table[last] + (table[last] - table[last - 1]) / 2
    overflow = last if width == 8 else last + 1
    result = np.where(magnitude > table[last], np.where(magnitude >= limit, overflow, last), result)
    result = np.where(np.isnan(values), 2 ** (width - 1) - 1, result)
    return (result | (np.signbit(values).astype(np.int64) << (width - 1))).astype(
        np.uint16 if width == 16 else np.uint8
    )


def random_bits(rng: np.random.Generator, shape: Sequence[int], dtype: str, scale: float = 1.0) -> np.ndarray:
    """Normally distributed values rounded to a small float format, as bits."""
    return encode_as(rng.standard_normal(shape) * scale, dtype)
