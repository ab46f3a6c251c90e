"""Emission of operations: locations, types, constants, insertion points, regions."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from .._mlir import ir
from ..language.dtypes import DType, float32, int32
from .errors import FrontendError, FrontendWarning, SourceRange
from .source import FunctionSource
from .values import Scalar

_FLOAT_TYPES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "tfloat32": "f32",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
}

#: How MLIR spells a dynamic extent or stride in attributes.
DYNAMIC = -(1 << 63)


class ConstantPool:
    """Constants of one function or kernel; they are placed at its beginning, so that they dominate every use."""

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.scalars: dict[tuple[str, Any], Scalar] = {}


class Builder:
    """The part of the tracer that talks to MLIR."""

    def __init__(self, context: ir.Context, source: FunctionSource) -> None:
        self.context = context
        self.source = source
        self.node: ast.AST = source.tree
        self.warnings: list[str] = []
        self.ip: Any = None
        self.pool: ConstantPool = None  # type: ignore[assignment]
        #: Locations of the macro calls around the code being traced, innermost last.
        self.call_sites: list[ir.Location] = []
        self.call_ranges: list[tuple[str, SourceRange]] = []
        self._locations: dict[tuple[int, int], ir.Location] = {}
        self._types: dict[Any, ir.Type] = {}
        self._attributes: dict[str, ir.Attribute] = {}
        self._unit = ir.UnitAttr.get(context)
        self.i1 = ir.IntegerType.get_signless(1, context)
        self.i32 = ir.IntegerType.get_signless(32, context)
        self.i64 = ir.IntegerType.get_signless(64, context)
        self.index = ir.IndexType.get(context)

    # Errors and places.

    def here(self) -> SourceRange:
        """The place of the node being traced."""
        return self.source.range(self.node)

    def fail(self, code: str, message: str, *, found: str = "", allowed: str = "", fix: str = "") -> NoReturn:
        """Raises an error at the node being traced."""
        raise self.located(FrontendError(code, message, found=found, allowed=allowed, fix=fix))

    def warn(self, text: str) -> None:
        """Tells the user about something that is legal but probably not meant."""
        self.warnings.append(text)
        warnings.warn(FrontendWarning(text), stacklevel=2)

    def located(self, error: FrontendError) -> FrontendError:
        """Gives an error that has none the place of the node being traced."""
        if error.location is None:
            error.location = self.here()
            for name, place in reversed(self.call_ranges):
                error.add_note_at(f"in the macro {name}, called here", place)
        return error

    def location(self) -> ir.Location:
        """The MLIR location of the node being traced: a file range, inside of its macro call sites."""
        key = (id(self.node), len(self.call_sites))
        if self.call_sites:
            place = self._location_of(self.node)
            return ir.Location.callsite(place, list(reversed(self.call_sites)), self.context)
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = self._location_of(self.node)
        return found

    def _location_of(self, node: ast.AST) -> ir.Location:
        place = self.source.range(node)
        return ir.Location.file(place.file, place.line, place.column, place.end_line, place.end_column, self.context)

    # Operations.

    def emit(
        self,
        name: str,
        results: Sequence[ir.Type] = (),
        operands: Sequence[ir.Value] = (),
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Creates an operation at the insertion point."""
        return ir.Operation.create(
            name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.location(),
            ip=self.ip,
        )

    def value(
        self,
        name: str,
        result: ir.Type,
        operands: Sequence[ir.Value] = (),
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """Creates an operation with one result and returns it."""
        return self.emit(name, [result], operands, attributes).operation.results[0]

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Appends to ``block`` for the time of the context."""
        saved = self.ip
        self.ip = ir.InsertionPoint(block)
        try:
            yield
        finally:
            self.ip = saved

    def add_block(self, operation: ir.Operation, region: int = 0, arguments: int = 0) -> ir.Block:
        """Adds a block with ``arguments`` i32 arguments to a region of an operation."""
        types = [self.i32] * arguments
        return operation.operation.regions[region].blocks.append(
            *types, arg_locs=[self.location()] * arguments if arguments else None
        )

    # Types and attributes.

    def scalar_type(self, dtype: DType) -> ir.Type:
        """The type of a value of ``dtype``: integers are signless."""
        found = self._types.get(dtype.name)
        if found is None:
            text = _FLOAT_TYPES.get(dtype.name) or ("i1" if dtype.kind == "bool" else f"i{dtype.bits}")
            found = self._types[dtype.name] = ir.Type.parse(text, self.context)
        return found

    @staticmethod
    def storage_text(dtype: DType) -> str:
        """The element type in memory: unsigned integers keep their sign."""
        if dtype.kind == "uint":
            return f"ui{dtype.bits}"
        return _FLOAT_TYPES.get(dtype.name) or ("i1" if dtype.kind == "bool" else f"i{dtype.bits}")

    def parse_type(self, text: str) -> ir.Type:
        """A type from its text, parsed once."""
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = ir.Type.parse(text, self.context)
        return found

    def buffer_type(self, shape: Sequence[int], dtype: DType, space: str) -> ir.Type:
        """``!tile.buffer`` of a static shape."""
        extents = "".join(f"{extent}x" for extent in shape)
        return self.parse_type(f"!tile.buffer<{extents}{self.storage_text(dtype)}, {space}>")

    def attribute(self, text: str) -> ir.Attribute:
        """An attribute from its text, parsed once."""
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = ir.Attribute.parse(text, self.context)
        return found

    def integers(self, values: Sequence[int]) -> ir.Attribute:
        """A dense array of i64."""
        return ir.DenseI64ArrayAttr.get(list(values), self.context)

    def segments(self, values: Sequence[int]) -> ir.Attribute:
        """Sizes of operand groups."""
        return ir.DenseI32ArrayAttr.get(list(values), self.context)

    def integer(self, value: int) -> ir.Attribute:
        """An i64 attribute."""
        return ir.IntegerAttr.get(self.i64, value)

    def string(self, value: str) -> ir.Attribute:
        """A string attribute."""
        return ir.StringAttr.get(value, self.context)

    def number_attribute(self, value: int | float, dtype: DType) -> ir.Attribute:
        """A typed number; integers wrap to the width of the type as in two's complement."""
        kind = self.scalar_type(dtype)
        if dtype.kind == "float":
            return ir.FloatAttr.get(kind, float(value), ir.Location.unknown(self.context))
        if dtype.kind == "bool":
            return ir.IntegerAttr.get(kind, int(bool(value)))
        wrapped = int(value) & ((1 << dtype.bits) - 1)
        if wrapped >= 1 << (dtype.bits - 1):
            wrapped -= 1 << dtype.bits
        return ir.IntegerAttr.get(kind, wrapped)

    # Constants.

    def at_pool(self, make: Callable[[], Any]) -> Any:
        """Runs ``make`` with the insertion point at the beginning of the current kernel or function."""
        saved = self.ip
        self.ip = ir.InsertionPoint.at_block_begin(self.pool.block)
        try:
            return make()
        finally:
            self.ip = saved

    def constant(self, value: int | float, dtype: DType = int32) -> Scalar:
        """A constant of the current kernel or function; equal ones are shared."""
        text = repr(value) if isinstance(value, float) else int(value)
        key = (dtype.name, text)
        found = self.pool.scalars.get(key)
        if found is None:
            made = self.at_pool(
                lambda: self.value(
                    "arith.constant", self.scalar_type(dtype), (), {"value": self.number_attribute(value, dtype)}
                )
            )
            if dtype.kind == "float":
                found = Scalar(made, dtype, constant=float(value))
            else:
                number = int(value)
                found = Scalar(
                    made, dtype, low=number, high=number, multiple=abs(number), linear=({}, number), constant=number
                )
            self.pool.scalars[key] = found
        return found

    def check_number(self, value: int | float, dtype: DType) -> None:
        """Refuses a Python number that a type cannot hold."""
        if dtype.kind == "float" or dtype.kind == "bool":
            return
        if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
            self.fail(
                "dtype",
                f"{value} has no value in {dtype}",
                allowed="finite numbers for integer types",
                fix=f"use T.max_value({str(dtype)!r}) or T.min_value({str(dtype)!r})",
            )
        # Bit patterns such as -1 in an unsigned or 0xFFFFFFFF in a signed word are meant; 200 in an int8 hardly is.
        low = -(1 << (dtype.bits - 1))
        high = (1 << dtype.bits) - 1 if dtype.kind == "uint" or dtype.bits >= 32 else (1 << (dtype.bits - 1)) - 1
        if not low <= int(value) <= high:
            self.fail(
                "dtype",
                f"{value} does not fit into {dtype}",
                allowed=f"{0 if dtype.kind == 'uint' else low} to {(1 << (dtype.bits - (dtype.kind == 'int'))) - 1}",
            )


__all__ = ["DYNAMIC", "Builder", "ConstantPool", "float32"]
