"""A slow, plain interpreter of traced modules on NumPy arrays, to test what traced programs mean.

Blocks run one after the other with one thread each. It follows the written semantics of the dialect and shares no code
with the front end or with any back end.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
from tilemlir._mlir import ir

_FLOATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def numpy_type(kind: Any) -> Any:
    """The NumPy type of an MLIR scalar or element type; signless integers are signed."""
    text = str(kind)
    if text in _FLOATS:
        return np.dtype(_FLOATS[text])
    if text in ("i1",):
        return np.dtype(np.bool_)
    if text == "index":
        return np.dtype(np.int64)
    return np.dtype(f"{'uint' if text.startswith('u') else 'int'}{text.lstrip('ui')}")


def _unsigned(value: Any) -> Any:
    return value.view(f"uint{8 * value.dtype.itemsize}") if value.dtype.kind == "i" else value


class Storage:
    """An array, and a window of it."""

    def __init__(self, array: np.ndarray, is_global: bool) -> None:
        self.array = array
        self.is_global = is_global


class Interpreter:
    """Runs one traced function."""

    def __init__(self, module: Any) -> None:
        self.function = next(op for op in module.body.operations if op.operation.name == "func.func").operation
        self.values: dict[Any, Any] = {}
        self.printed: list[str] = []

    def run(self, *arguments: Any) -> None:
        """Runs on NumPy arrays (written in place) and numbers."""
        block = self.function.regions[0].blocks[0]
        for parameter, argument in zip(block.arguments, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                self.set(parameter, Storage(argument, True))
            else:
                self.set(parameter, numpy_type(parameter.type).type(argument))
        self.block(block)

    def get(self, value: Any) -> Any:
        return self.values[value]

    def set(self, value: Any, content: Any) -> None:
        self.values[value] = content

    def block(self, block: Any) -> list[Any]:
        """Runs the operations; gives the operands of the terminator."""
        for operation in block.operations:
            operation = operation.operation
            if operation.name in ("scf.yield", "scf.condition", "func.return"):
                return [self.get(operand) for operand in operation.operands]
            dialect, name = operation.name.split(".", 1)
            results = getattr(self, f"{dialect}_{name}", None)
            if results is not None:
                made = results(operation)
            elif dialect == "arith":
                made = self.arithmetic(operation, name)
            elif dialect == "math":
                made = self.mathematics(operation, name)
            else:
                raise NotImplementedError(operation.name)
            if len(operation.results):
                self.set(operation.results[0], made)
        return []

    # Scalars.

    def arith_constant(self, op: Any) -> Any:
        kind = op.results[0].type
        value = op.attributes["value"]
        if str(kind) == "i1":
            return np.bool_(str(value) == "true")
        return numpy_type(kind).type(float(value.value) if numpy_type(kind).kind in "fV" else value.value)

    def arithmetic(self, op: Any, name: str) -> Any:
        values = [self.get(operand) for operand in op.operands]
        kind = numpy_type(op.results[0].type)
        a = values[0]
        b = values[1] if len(values) > 1 else None
        with np.errstate(all="ignore"):
            if name == "select":
                return values[1] if a else values[2]
            if name in ("cmpi", "cmpf"):
                return self.compare(name, op.attributes["predicate"].value, a, b)
            if name in (
                "extf",
                "truncf",
                "fptosi",
                "sitofp",
                "extsi",
                "trunci",
                "index_cast",
                "bitcast",
                "fptoui",
                "uitofp",
                "extui",
            ):
                if name == "bitcast":
                    return np.asarray(a).view(kind)[()]
                if name in ("uitofp", "extui"):
                    a = _unsigned(a)
                if name == "fptoui":
                    return np.asarray(int(a) & (1 << 8 * kind.itemsize) - 1, f"uint{8 * kind.itemsize}").view(kind)[()]
                return np.asarray(a).astype(kind)[()]
            if name in ("divui", "remui", "shrui", "maxui", "minui", "ceildivui"):
                x, y = int(_unsigned(a)), int(_unsigned(b))
                result = {
                    "divui": lambda: x // y, "remui": lambda: x % y, "shrui": lambda: x >> y,
                    "maxui": lambda: max(x, y), "minui": lambda: min(x, y), "ceildivui": lambda: -(-x // y),
                }[name]()  # fmt: skip
                return np.asarray(result, f"uint{8 * kind.itemsize}").view(kind)[()]
            functions = {
                "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
                "xori": np.bitwise_xor, "shli": np.left_shift, "shrsi": np.right_shift, "maxsi": np.maximum,
                "minsi": np.minimum, "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
                "maxnumf": np.fmax, "minnumf": np.fmin, "remf": np.fmod, "negf": np.negative,
                "floordivsi": np.floor_divide, "ceildivsi": lambda x, y: -((-x) // y),
                "divsi": lambda x, y: math.trunc(int(x) / int(y)),
                "remsi": lambda x, y: int(math.fmod(int(x), int(y))),
            }  # fmt: skip
            return kind.type(functions[name](*values))

    @staticmethod
    def compare(name: str, predicate: int, a: Any, b: Any) -> Any:
        if name == "cmpf":
            function = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}[predicate]
        else:
            function = ["eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge"][predicate]
            if predicate >= 6:
                a, b = _unsigned(a), _unsigned(b)
        return np.bool_(
            getattr(
                np,
                {
                    "eq": "equal",
                    "ne": "not_equal",
                    "lt": "less",
                    "le": "less_equal",
                    "gt": "greater",
                    "ge": "greater_equal",
                }[function],
            )(a, b)
        )

    def mathematics(self, op: Any, name: str) -> Any:
        values = [self.get(operand) for operand in op.operands]
        kind = numpy_type(op.results[0].type)
        functions = {
            "rsqrt": lambda x: 1 / np.sqrt(x), "absf": np.abs, "absi": np.abs, "powf": np.power, "ipowi": np.power,
            "roundeven": np.rint, "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "erf": math.erf,
            "ctpop": lambda x: bin(int(_unsigned(x))).count("1"), "isfinite": np.isfinite,
        }  # fmt: skip
        with np.errstate(all="ignore"):
            return kind.type(functions.get(name, getattr(np, name, None))(*values))

    def memref_dim(self, op: Any) -> Any:
        return np.int64(self.get(op.operands[0]).array.shape[int(self.get(op.operands[1]))])

    # Control flow.

    def scf_if(self, op: Any) -> Any:
        region = op.regions[0] if self.get(op.operands[0]) else op.regions[1]
        results = [self.block(block) for block in region.blocks]
        return results[0][0] if results and results[0] else None

    def scf_for(self, op: Any) -> None:
        start, stop, step = (int(self.get(operand)) for operand in op.operands)
        body = op.regions[0].blocks[0]
        for index in range(start, stop, step):
            self.set(body.arguments[0], np.int32(index))
            self.block(body)

    def scf_while(self, op: Any) -> None:
        while self.block(op.regions[0].blocks[0])[0]:
            self.block(op.regions[1].blocks[0])

    def tile_pipelined(self, op: Any) -> None:
        body = op.regions[0].blocks[0]
        for index in range(*(int(self.get(operand)) for operand in op.operands)):
            self.set(body.arguments[0], np.int32(index))
            self.block(body)

    def tile_parallel(self, op: Any) -> None:
        dynamic = iter([int(self.get(operand)) for operand in op.operands])
        extents = [next(dynamic) if extent < 0 else extent for extent in op.attributes["static_extents"]]
        self.iterate(op.regions[0].blocks[0], extents)

    def tile_kernel(self, op: Any) -> None:
        extents = [int(self.get(operand)) for operand in op.operands]
        self.iterate(op.regions[0].blocks[0], extents)

    def iterate(self, body: Any, extents: list[int]) -> None:
        for point in itertools.product(*(range(extent) for extent in extents)):
            for argument, index in zip(body.arguments, point, strict=True):
                self.set(argument, np.int32(index))
            self.block(body)

    def tile_thread_id(self, op: Any) -> Any:
        return np.int32(0)

    def tile_sm_count(self, op: Any) -> Any:
        return np.int32(1)

    # Storage.

    @staticmethod
    def shape_of(kind: Any) -> tuple[list[int], Any]:
        text = str(kind).removeprefix("!tile.buffer<").removeprefix("memref<").split(",")[0].rstrip(">")
        *extents, element = text.split("x")
        return [int(extent) for extent in extents], numpy_type(element)

    def tile_alloc(self, op: Any) -> Storage:
        shape, element = self.shape_of(op.results[0].type)
        array = np.empty(shape, element)
        array.fill(np.nan if element.kind in "fV" else 85 % 2 if element.kind == "b" else 85)
        return Storage(array, False)

    def tile_workspace(self, op: Any) -> Storage:
        text = str(op.results[0].type)
        for operand in op.operands:
            text = text.replace("?", str(int(self.get(operand))), 1)
        shape, element = self.shape_of(text)
        return Storage(np.zeros(shape, element), True)

    def tile_reshape(self, op: Any) -> Storage:
        shape, _ = self.shape_of(op.results[0].type)
        return Storage(self.get(op.operands[0]).array.reshape(shape), False)

    def tile_subview(self, op: Any) -> Storage:
        source = self.get(op.operands[0]).array
        offsets = [int(self.get(operand)) for operand in list(op.operands)[1:]]
        window = source[tuple(slice(o, o + s) for o, s in zip(offsets, op.attributes["sizes"], strict=True))]
        return Storage(window.reshape(self.shape_of(op.results[0].type)[0]), False)

    def region(self, storage: Storage, offsets: list[int], sizes: list[int], safe: Any) -> np.ndarray:
        result = np.full(sizes, safe, storage.array.dtype)
        for point in np.ndindex(*sizes):
            place = tuple(o + p for o, p in zip(offsets, point, strict=True))
            if all(0 <= p < extent for p, extent in zip(place, storage.array.shape, strict=True)):
                result[point] = storage.array[place]
            else:
                assert storage.is_global, "a buffer access is outside"
        return result

    def tile_copy(self, op: Any) -> None:
        segments = list(op.attributes["operandSegmentSizes"])
        operands = [self.get(operand) for operand in op.operands]
        source, dest = operands[0], operands[1 + segments[1]]
        source_offsets = [int(o) for o in operands[1 : 1 + segments[1]]]
        dest_offsets = [int(o) for o in operands[2 + segments[1] :]]
        source_sizes, dest_sizes = list(op.attributes["source_sizes"]), list(op.attributes["dest_sizes"])
        safe = op.attributes["safe"].value if "safe" in op.attributes else 0
        data = self.region(source, source_offsets, source_sizes, safe).reshape(dest_sizes).astype(dest.array.dtype)
        for point in np.ndindex(*dest_sizes):
            place = tuple(o + p for o, p in zip(dest_offsets, point, strict=True))
            if all(0 <= p < extent for p, extent in zip(place, dest.array.shape, strict=True)):
                dest.array[place] = data[point]
            else:
                assert dest.is_global, "a buffer access is outside"

    def tile_fill(self, op: Any) -> None:
        self.get(op.operands[0]).array[...] = self.get(op.operands[1])

    def tile_load(self, op: Any) -> Any:
        storage = self.get(op.operands[0])
        place = tuple(int(self.get(operand)) for operand in list(op.operands)[1:])
        kind = numpy_type(op.results[0].type)
        if not all(0 <= p < extent for p, extent in zip(place, storage.array.shape, strict=True)):
            assert storage.is_global, "a buffer access is outside"
            return kind.type(op.attributes["safe"].value if "safe" in op.attributes else 0)
        return np.asarray(storage.array[place]).view(kind)[()]

    def tile_store(self, op: Any) -> None:
        value, storage = self.get(op.operands[0]), self.get(op.operands[1])
        place = tuple(int(self.get(operand)) for operand in list(op.operands)[2:])
        if not all(0 <= p < extent for p, extent in zip(place, storage.array.shape, strict=True)):
            assert storage.is_global, "a buffer access is outside"
            return
        storage.array[place] = np.asarray(value).view(storage.array.dtype)

    def tile_atomic(self, op: Any) -> Any:
        value, storage = self.get(op.operands[0]), self.get(op.operands[1])
        place = tuple(int(self.get(operand)) for operand in list(op.operands)[2:])
        old = np.asarray(storage.array[place]).copy()
        kind = str(op.attributes["kind"]).split()[-1].rstrip(">")
        new = np.asarray(value).view(storage.array.dtype)
        function = {
            "add": np.add,
            "max": np.maximum,
            "min": np.minimum,
            "or": np.bitwise_or,
            "exchange": lambda x, y: y,
        }[kind]
        storage.array[place] = function(old, new)
        return old.view(value.dtype)[()]

    def tile_gemm(self, op: Any) -> None:
        a, b, c = (self.get(operand).array for operand in op.operands)
        left, right = (x.astype(np.float64).reshape(x.shape[-2:]) for x in (a, b))
        left = left.T if "transpose_a" in op.attributes else left
        right = right.T if "transpose_b" in op.attributes else right
        start = 0 if "clear_accum" in op.attributes else c.astype(np.float64)
        c[...] = (start + (left @ right).reshape(c.shape)).astype(c.dtype)

    def tile_reduce(self, op: Any) -> None:
        source, dest = (self.get(operand).array for operand in op.operands)
        kind, dim = str(op.attributes["kind"]).split()[-1].rstrip(">"), op.attributes["dim"].value
        wide = source.astype(np.float64) if source.dtype.kind in "fV" else source
        if kind.startswith("abs"):
            wide, kind = np.abs(wide), kind[3:]
        function = {
            "sum": np.add,
            "max": np.fmax,
            "min": np.fmin,
            "bitand": np.bitwise_and,
            "bitor": np.bitwise_or,
            "bitxor": np.bitwise_xor,
        }[kind]
        result = function.reduce(wide, axis=dim).reshape(dest.shape)
        if "clear" not in op.attributes:
            result = function(result, dest.astype(result.dtype))
        dest[...] = result.astype(dest.dtype)

    def tile_annotate_layout(self, op: Any) -> None:
        return None

    tile_assume = tile_sync_threads = tile_annotate_layout

    def tile_assert(self, op: Any) -> None:
        assert self.get(op.operands[0]), op.attributes["message"].value

    def tile_print(self, op: Any) -> None:
        self.printed.append(
            op.attributes["message"].value + " ".join(str(self.get(operand)) for operand in op.operands)
        )


def interpret(traced: Any, *arguments: Any) -> Interpreter:
    """Runs a traced function on arrays; they are written in place."""
    interpreter = Interpreter(traced.module)
    interpreter.run(*arguments)
    return interpreter


__all__ = ["Interpreter", "interpret", "ir"]
