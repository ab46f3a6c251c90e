"""The host half of a traced function: arguments, launch-time sizes, outputs, workspaces, kernel launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .._mlir import ir
from ..language.annotations import TensorType, normalize_shape
from ..language.dtypes import DType, int32
from ..language.kernel import DEFAULT_THREADS, KernelFrame
from ..language.symbols import SymbolicExpr
from .builder import DYNAMIC, ConstantPool
from .tiles import Tiles
from .values import RuntimeValue, Scalar, Tensor

#: Promised alignment of tensors in bytes; the launcher checks it.
ALIGNMENT = 16


@dataclass(frozen=True)
class TensorSpec:
    """What is known about a tensor that a call passes, for kernels that specialise on it.

    Attributes:
        shape: extents.
        dtype: element type, or anything that names one.
        strides: in elements, or None for row-major contiguous.
    """

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Argument:
    """One argument of a traced function, in the order of the IR.

    Attributes:
        name: the parameter, or the name of an output.
        kind: ``"tensor"`` or ``"scalar"``.
        dtype: element or scalar type.
        shape: extents, integers or expressions over launch-time symbols. ``T.const`` sizes are integers here.
        strides: in elements, or None for row-major contiguous tensors.
        output: whether the call allocates it (``T.empty``).
        specialized: names of the ``T.const`` symbols per dimension, None elsewhere.
    """

    name: str
    kind: str
    dtype: DType
    shape: tuple[int | SymbolicExpr, ...] = ()
    strides: tuple[int | SymbolicExpr, ...] | None = None
    output: bool = False
    specialized: tuple[str | None, ...] = ()


@dataclass
class ExplicitState:
    """What the explicit layer has traced of a kernel.

    Attributes:
        barrier_sync: the barrier of all threads behind the initialisation of the barriers, once there is one.
        roles: code of warp groups: the operation and the groups, as (first, count).
        used: the first explicit operation, for messages.
        waits: waits for matrix products, whose fragments are found at the end.
        kept_registers: whether no warp may change its registers.
        registers: registers of the roles of the compiler: (producer, consumer).
    """

    barrier_sync: ir.Operation | None = None
    roles: list[tuple[ir.Operation, tuple[int, int]]] = field(default_factory=list)
    used: str = ""
    waits: int = 0
    kept_registers: bool = False
    registers: dict[str, int] = field(default_factory=dict)


@dataclass
class KernelState:
    """The kernel being traced."""

    operation: ir.Operation
    indices: tuple[Scalar, ...]
    extents: tuple[Any, ...]
    thread_shape: tuple[int, ...]
    line: int
    threads: dict[int, Any] = field(default_factory=dict)
    explicit: ExplicitState = field(default_factory=ExplicitState)
    #: Blocks of a cluster per grid dimension.
    cluster: tuple[int, ...] = ()
    #: Counts arrivals at T.sync_grid.
    meeting: Tensor | None = None


class Hosting(Tiles):
    """Arguments and launches."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kernel_state: KernelState | None = None
        self.parallel: ir.Operation | None = None
        self.parallel_line = 0
        self.arguments: list[Argument] = []
        self.argument_types: list[ir.Type] = []
        self.outputs: list[int] = []
        self.output_tensors: list[Tensor] = []
        self.symbol_sources: dict[str, tuple[int, int]] = {}
        self.symbol_values: dict[str, Scalar] = {}
        self.constants_of_call: dict[str, int] = {}
        self.kernel_count = 0
        self.function_name = ""

    # The function.

    def begin_function(self, name: str) -> None:
        """Creates the module and an empty function."""
        self.function_name = name
        place = self.location()
        self.module = ir.Module.create(place)
        self.ip = ir.InsertionPoint(self.module.body)
        self.function = self.emit("func.func", (), (), {
            "sym_name": self.string(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [], context=self.context), context=self.context),
        }, regions=1)  # fmt: skip
        self.entry = self.function.operation.regions[0].blocks.append()
        self.ip = ir.InsertionPoint(self.entry)
        self.function_pool = self.pool = ConstantPool(self.entry)

    def end_function(self) -> None:
        """Gives the function its type and the attributes of its arguments."""
        self.emit("func.return")
        attributes = self.function.operation.attributes
        attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(self.argument_types, [], context=self.context), context=self.context
        )
        entries = [
            ir.DictAttr.get({"tile.argument": self.attribute(_argument_text(argument))}, context=self.context)
            for argument in self.arguments
        ]
        if entries:
            attributes["arg_attrs"] = ir.ArrayAttr.get(entries, context=self.context)
        if self.outputs:
            attributes["tile.outputs"] = self.integers(self.outputs)

    # Arguments.

    def declare_tensor(self, name: str, declared: TensorType, *, output: bool = False) -> Tensor:
        """Adds a tensor argument."""
        shape = tuple(self._resolve(extent) for extent in declared.shape)
        self.check_extents(name, shape)
        strides = None if declared.strides is None else tuple(self._resolve(step) for step in declared.strides)
        specialized = tuple(
            extent.name if isinstance(extent, SymbolicExpr) and extent.specialized and extent.kind == "symbol" else None
            for extent in declared.shape
        )
        extents = "".join("?x" if isinstance(extent, SymbolicExpr) else f"{extent}x" for extent in shape)
        layout = ""
        if strides is not None:
            steps = ", ".join("?" if isinstance(step, SymbolicExpr) else str(step) for step in strides)
            layout = f", strided<[{steps}], offset: 0>"
        kind = self.parse_type(f"memref<{extents}{self.storage_text(declared.dtype)}{layout}>")
        position = len(self.arguments)
        value = self.entry.add_argument(kind, self.location())
        self.arguments.append(Argument(name, "tensor", declared.dtype, shape, strides, output, specialized))
        self.argument_types.append(kind)
        for axis, extent in enumerate(shape):
            if isinstance(extent, SymbolicExpr) and extent.kind == "symbol" and not output:
                self.symbol_sources.setdefault(extent.name, (position, axis))
        if output:
            self.outputs.append(position)
        return Tensor(value, shape, declared.dtype, name, "global")

    def declare_scalar(self, name: str, dtype: DType) -> Scalar:
        """Adds a scalar argument."""
        kind = self.scalar_type(dtype)
        value = self.entry.add_argument(kind, self.location())
        self.arguments.append(Argument(name, "scalar", dtype))
        self.argument_types.append(kind)
        return Scalar(value, dtype, low=0 if dtype.kind == "uint" and dtype.bits < 32 else None, bare=True)

    def is_strided(self, tensor: Tensor) -> bool:
        """Whether a tensor was declared with strides."""
        return any(
            argument.strides is not None and self.entry.arguments[position] == tensor.value
            for position, argument in enumerate(self.arguments)
        )

    def _resolve(self, extent: int | SymbolicExpr) -> int | SymbolicExpr:
        """An extent with the ``T.const`` sizes of this call put in."""
        if not isinstance(extent, SymbolicExpr) or not self.constants_of_call:
            return extent
        if extent.symbols() <= self.constants_of_call.keys():
            return extent.evaluate(self.constants_of_call)
        return extent

    def bind_constants(self, name: str, declared: TensorType, spec: TensorSpec) -> None:
        """Takes the values of ``T.const`` sizes from a tensor of the call, and checks the rest of its declaration."""
        dtype = self.element_type(spec.dtype)
        if dtype.name != declared.dtype.name and {dtype.name, declared.dtype.name} != {"float32", "tfloat32"}:
            self.fail(
                "dtype", f"the argument {name} has the wrong element type",
                found=f"a tensor of {dtype}", allowed=f"{declared.dtype}, as declared here",
            )  # fmt: skip
        if len(spec.shape) != len(declared.shape):
            self.fail(
                "rank", f"the argument {name} has the wrong number of dimensions",
                found=f"a tensor of shape {tuple(spec.shape)}",
                allowed=f"{len(declared.shape)} dimensions, as declared here",
            )  # fmt: skip
        for extent, actual in zip(declared.shape, spec.shape, strict=True):
            if isinstance(extent, SymbolicExpr) and extent.kind == "symbol" and extent.specialized:
                self.constants_of_call.setdefault(extent.name, int(actual))
        for axis, (extent, actual) in enumerate(zip(declared.shape, spec.shape, strict=True)):
            wanted = self._resolve(extent)
            if isinstance(wanted, int) and wanted != actual:
                text = f"{extent} = {wanted}" if isinstance(extent, SymbolicExpr) else str(wanted)
                self.fail(
                    "declaration", f"dimension {axis} of the argument {name} has the wrong extent",
                    found=f"a tensor of shape {tuple(spec.shape)}", allowed=text,
                )  # fmt: skip

    def empty(self, shape: Any, dtype: Any) -> Tensor:
        """``T.empty``: an output argument."""
        if self.kernel_state is not None:
            self.fail(
                "kernel", "T.empty allocates an output and belongs before the kernel", fix="move it above T.Kernel"
            )
        try:
            extents = normalize_shape(shape, "T.empty")
        except (TypeError, ValueError) as error:
            self.fail("argument", str(error))
        name = self.name_hint or f"output{len(self.outputs)}"
        tensor = self.declare_tensor(name, TensorType(extents, self.element_type(dtype)), output=True)
        self.output_tensors.append(tensor)
        return tensor

    # Sizes.

    def lower_size(self, size: SymbolicExpr) -> Any:
        """The value of a launch-time size: a scalar, or an integer once ``T.const`` sizes are known."""
        resolved = self._resolve(size)
        if isinstance(resolved, int):
            return resolved
        if resolved.kind == "constant":
            return resolved.value
        if resolved.kind != "symbol":
            left, right = (self.lower_size(operand) for operand in resolved.operands)
            name = {"mod": "floormod"}.get(resolved.kind, resolved.kind)
            if isinstance(left, int) and isinstance(right, int):
                from ..language.symbols import evaluate

                return evaluate(resolved.kind, left, right)
            if name in ("ceildiv", "min", "max"):
                return self.math(name, (left, right))
            return self.binary(name, left, right)
        found = self.symbol_values.get(resolved.name)
        if found is None:
            found = self.symbol_values[resolved.name] = self._read_symbol(resolved)
        return found

    def _read_symbol(self, symbol: SymbolicExpr) -> Scalar:
        source = self.symbol_sources.get(symbol.name)
        if source is None:
            if symbol.specialized:
                self.fail(
                    "symbolic-size",
                    f"the size {symbol.name} has no value yet",
                    fix=f"declare a tensor of that extent before using it: A: T.Tensor[[{symbol.name}], dtype]",
                )
            self.fail(
                "declaration",
                f"the size {symbol.name} cannot be read from any argument",
                allowed="sizes that are the whole extent of a dimension of a tensor argument",
                fix=f"declare a tensor with {symbol.name} as one of its extents, or pass it: {symbol.name}: T.int32",
            )
        argument, axis = source
        pool, self.pool = self.pool, self.function_pool

        def read() -> ir.Value:
            number = self.value("arith.constant", self.index, (), {"value": ir.IntegerAttr.get(self.index, axis)})
            extent = self.value("memref.dim", self.index, [self.entry.arguments[argument], number])
            return self.value("arith.index_cast", self.i32, [extent])

        try:
            return Scalar(self.at_pool(read), int32, low=0, bare=True)
        finally:
            self.pool = pool

    # Host-level values that may be asked for inside of a kernel.

    @contextmanager
    def on_host(self) -> Iterator[None]:
        """Emits to the host part, before the kernel being traced."""
        state = self.kernel_state
        if state is None:
            yield
            return
        saved = (self.ip, self.pool)
        self.ip, self.pool = ir.InsertionPoint(state.operation), self.function_pool
        try:
            yield
        finally:
            self.ip, self.pool = saved

    def sm_count(self) -> Scalar:
        """``T.num_sms``."""
        with self.on_host():
            return Scalar(self.value("tile.sm_count", self.i32), int32, low=1, bare=True)

    def _size_of_host(self, extent: Any) -> Any:
        """A scalar of the host part as a symbol that stands for it; anything else as it is."""
        if not isinstance(extent, Scalar):
            return extent
        if not extent.dtype.is_integer:
            self.fail("symbolic-size", "the extents of a workspace must be integers", found=self.describe(extent))
        owner: Any = extent.value.owner
        if (owner.owner if isinstance(owner, ir.Block) else owner.parent).operation != self.entry.owner.operation:
            self.fail(
                "symbolic-size",
                "the extents of a workspace must be known at launch",
                found=f"{self.describe(extent)} that is computed in the kernel",
                allowed="integers, T.dynamic sizes, T.num_sms(), scalar arguments, and integer expressions of them",
            )
        with self.on_host():
            size = self.index_value(extent)
        # Not a name that Python allows: no T.dynamic size is called so.
        symbol = SymbolicExpr("symbol", name=f"host size {len(self.symbol_values)}")
        self.symbol_values[symbol.name] = size
        return symbol

    def alloc_global(self, shape: Any, dtype: Any, zero: bool | str) -> Tensor:
        """``T.alloc_global``: a workspace."""
        if not isinstance(zero, bool) and zero != "once":
            self.fail(
                "argument",
                "zero= of T.alloc_global says when the memory is filled with zeros",
                found=repr(zero),
                allowed='True (at every call), "once" (when it is allocated), False',
            )
        kind = self.element_type(dtype)
        if isinstance(shape, (list, tuple)):
            shape = tuple(self._size_of_host(extent) for extent in shape)
        else:
            shape = self._size_of_host(shape)
        try:
            extents = tuple(self._resolve(extent) for extent in normalize_shape(shape, "T.alloc_global"))
        except (TypeError, ValueError) as error:
            self.fail(
                "symbolic-size",
                str(error),
                allowed="integers, T.dynamic sizes, T.num_sms(), scalar arguments, and integer expressions of them",
            )
        name = self.name_hint or "workspace"
        self.check_extents(name, extents)
        with self.on_host():
            sizes = [self.index_value(extent).value for extent in extents if isinstance(extent, SymbolicExpr)]
            text = "".join("?x" if isinstance(extent, SymbolicExpr) else f"{extent}x" for extent in extents)
            attributes: dict[str, ir.Attribute] = {"name": self.string(name)}
            if zero:
                attributes["kept" if zero == "once" else "zero"] = self._unit
            value = self.value(
                "tile.workspace", self.parse_type(f"memref<{text}{self.storage_text(kind)}>"), sizes, attributes
            )
        return Tensor(value, extents, kind, name, "global")

    # Kernels.

    def kernel(self, blocks: Sequence[Any], threads: Any, cluster: Any, prelude: Any) -> KernelFrame:
        """``T.Kernel(...)``, before it is entered."""
        if self.kernel_state is not None:
            self.fail(
                "kernel",
                "kernels cannot be nested",
                found=f"T.Kernel inside of the kernel that begins at line {self.kernel_state.line}",
                fix="write the second T.Kernel after the first one; they run one after the other",
            )
        if prelude:
            self.fail("not-available", "T.Kernel(prelude=...) holds CUDA C++ text, which this compiler does not use")
        blocks = blocks or (1,)
        if len(blocks) > 3:
            self.fail("argument", "T.Kernel takes one to three grid extents", found=f"{len(blocks)} extents")
        grid = []
        for axis, extent in enumerate(blocks):
            value = self.scalar(extent)
            if isinstance(value, Scalar):
                if not value.dtype.is_integer:
                    self.fail("argument", f"grid extent {axis} must be an integer", found=self.describe(value))
            elif isinstance(value, float):
                self.fail(
                    "argument", f"grid extent {axis} must be an integer", found=repr(value),
                    fix="use T.ceildiv(n, block) instead of n / block",
                )  # fmt: skip
            elif value < 0 or value > (1 << 31) - 1:
                self.fail(
                    "argument", f"grid extent {axis} is out of range", found=str(value), allowed="0 to 2147483647"
                )
            grid.append(value)
        shape = self._extents(DEFAULT_THREADS if threads is None else threads, "threads")
        count = 1
        for extent in shape:
            count *= extent
        if not 1 <= count <= 1024:
            self.fail("argument", "a block has 1 to 1024 threads", found=f"threads = {threads} ({count} threads)")
        options: dict[str, Any] = {"threads": count, "shape": shape}
        if cluster is not None:
            options["cluster"] = self._extents(cluster, "cluster_dims")
        return KernelFrame(tuple(grid), options)

    def _extents(self, value: Any, what: str) -> tuple[int, ...]:
        items = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if not 1 <= len(items) <= 3:
            self.fail("argument", f"{what} of T.Kernel takes one to three extents", found=repr(value))
        for item in items:
            if isinstance(item, (RuntimeValue, SymbolicExpr)) or not isinstance(item, int) or item < 1:
                self.fail(
                    "argument",
                    f"{what} of T.Kernel must be positive compile-time integers",
                    found=self.describe(item),
                )
        return items

    @contextmanager
    def launch(self, frame: KernelFrame) -> Iterator[tuple[Scalar, ...]]:
        """Traces the body of a kernel; gives the block indices."""
        name = self.function_name if not self.kernel_count else f"{self.function_name}_{self.kernel_count}"
        self.kernel_count += 1
        operands = [self.index_value(extent).value for extent in frame.grid]
        attributes = {"name": self.string(name), "threads": self.integer(frame.options["threads"])}
        shape = frame.options["shape"]
        if len(shape) > 1:
            attributes["thread_shape"] = self.integers(shape)
        if "cluster" in frame.options:
            attributes["cluster"] = self.integers(frame.options["cluster"])
        operation = self.emit("tile.kernel", (), operands, attributes, regions=1)
        block = self.add_block(operation, 0, len(operands))
        # Grids of clusters are rounded up to whole ones.
        cluster = (*frame.options.get("cluster", ()), 1, 1, 1)

        def highest(axis: int, extent: Any) -> int | None:
            blocks = extent if isinstance(extent, int) else extent.high
            return None if blocks is None else -(-blocks // cluster[axis]) * cluster[axis] - 1

        indices = tuple(
            Scalar(block.arguments[axis], int32, low=0, high=highest(axis, extent), bare=True)
            for axis, extent in enumerate(frame.grid)
        )
        saved = (self.pool, self.global_reads, dict(self.safe_values))
        self.pool = ConstantPool(block)
        self.global_reads = []
        self.kernel_state = KernelState(
            operation.operation, indices, frame.grid, shape, getattr(self.node, "lineno", 0),
            cluster=frame.options.get("cluster", ()),
        )  # fmt: skip
        try:
            with self.inside(block):
                yield indices
            self.finish_kernel(operation.operation)
        finally:
            self.kernel_state = None
            self.pool, self.global_reads, self.safe_values = saved

    def finish_kernel(self, kernel: ir.Operation) -> None:
        """Called at the end of a kernel, whose body has been traced."""

    def require_kernel(self, what: str) -> None:
        """Refuses ``what`` outside of a kernel."""
        if self.kernel_state is None:
            self.fail(
                "kernel",
                f"{what} must be inside of a kernel",
                found="host code, outside of any T.Kernel",
                fix="move it into a block: with T.Kernel(...) as bx:",
            )

    def require_no_parallel(self, what: str) -> None:
        """Refuses the collective operation ``what`` inside of T.Parallel."""
        if self.parallel is not None:
            self.fail(
                "collective-in-parallel",
                f"{what} is done by all threads together and cannot be inside of T.Parallel",
                found=f"the T.Parallel loop that begins at line {self.parallel_line}",
                allowed="element reads, stores, atomics and scalar code",
                fix="move it before or after the loop",
            )

    def parallel_operation(self) -> ir.Operation | None:
        """The T.Parallel loop around the code being traced."""
        return self.parallel

    def _current(self, what: str) -> KernelState:
        self.require_kernel(what)
        assert self.kernel_state is not None
        return self.kernel_state

    def thread_extents(self) -> tuple[int, int, int]:
        """Threads per dimension of the kernel."""
        shape = self._current("T.get_thread_extents").thread_shape
        return (*shape, *([1] * (3 - len(shape))))  # type: ignore[return-value]

    def thread_index(self, dim: int) -> Any:
        """``T.get_thread_binding``."""
        state = self._current("T.get_thread_binding")
        if not isinstance(dim, int) or not 0 <= dim <= 2:
            self.fail("argument", "T.get_thread_binding takes a dimension from 0 to 2", found=repr(dim))
        if dim >= len(state.thread_shape):
            return self.constant(0)
        found = state.threads.get(dim)
        if found is None:
            value = self.at_pool(lambda: self.value("tile.thread_id", self.i32, (), {"axis": self.integer(dim)}))
            found = state.threads[dim] = Scalar(value, int32, low=0, high=state.thread_shape[dim] - 1, bare=True)
        return found

    def linear_thread_index(self) -> Any:
        """Index of the executing thread in its block, x fastest."""
        shape = self._current("a thread index").thread_shape
        result: Any = self.thread_index(0)
        stride = 1
        for dim in range(1, len(shape)):
            stride *= shape[dim - 1]
            result = self.binary("add", result, self.binary("mul", self.thread_index(dim), stride))
        return result

    def thread_indices(self) -> Any:
        """``T.get_thread_bindings``."""
        shape = self._current("T.get_thread_bindings").thread_shape
        return tuple(self.thread_index(dim) for dim in range(len(shape)))

    def block_index(self, dim: int) -> Any:
        """``T.get_block_binding``."""
        indices = self._current("T.get_block_binding").indices
        if not isinstance(dim, int) or not 0 <= dim < len(indices):
            self.fail("argument", f"this kernel has {len(indices)} grid dimensions", found=f"dimension {dim!r}")
        return indices[dim]

    def block_indices(self) -> Any:
        """``T.get_block_bindings``."""
        return self._current("T.get_block_bindings").indices

    def block_extent(self, dim: int) -> Any:
        """``T.get_block_extent``."""
        extents = self._current("T.get_block_extent").extents
        if not isinstance(dim, int) or not 0 <= dim < len(extents):
            self.fail("argument", f"this kernel has {len(extents)} grid dimensions", found=f"dimension {dim!r}")
        return extents[dim]

    def block_rank(self) -> Any:
        """``T.block_rank_in_cluster``: clusters are aligned pieces of the grid."""
        state = self._current("T.block_rank_in_cluster")
        rank: Any = 0
        for index, extent in reversed(list(zip(state.indices, state.cluster, strict=False))):
            place = self.math("floormod", (index, extent)) if extent > 1 else 0
            rank = self.binary("add", self.binary("mul", rank, extent), place)
        return rank

    def use_swizzle(self, panel_size: int, order: str, enable: bool) -> None:
        """``T.use_swizzle``."""
        state = self._current("T.use_swizzle")
        if not enable:
            return
        if isinstance(panel_size, RuntimeValue) or not isinstance(panel_size, int) or panel_size < 1:
            self.fail("argument", "the panel size of T.use_swizzle must be a positive integer", found=repr(panel_size))
        kind = {"row": "row", "column": "column", "col": "column"}.get(order)
        if kind is None:
            self.fail("argument", f"unknown order {order!r} of T.use_swizzle", allowed="'row' or 'column'")
        if len(state.indices) >= 2:
            state.operation.attributes["raster"] = self.attribute(f"#tile.raster<{panel_size}, {kind}>")

    def min_blocks_per_sm(self, count: int) -> None:
        """``T.annotate_min_blocks_per_sm``."""
        state = self._current("T.annotate_min_blocks_per_sm")
        if not isinstance(count, int) or count < 1:
            self.fail("argument", "T.annotate_min_blocks_per_sm takes a positive integer", found=repr(count))
        state.operation.attributes["min_blocks_per_sm"] = self.integer(count)


def _argument_text(argument: Argument) -> str:
    if argument.kind == "scalar":
        return f'#tile.argument<"{argument.name}", scalar>'

    def expressions(extents: Sequence[int | SymbolicExpr] | None) -> str:
        texts = [extent.text() if isinstance(extent, SymbolicExpr) else str(extent) for extent in extents or ()]
        return "[" + ", ".join(f"#tile.expr<{text}>" for text in texts) + "]"

    alignment = ALIGNMENT if argument.strides is None else argument.dtype.bytes
    return (
        f'#tile.argument<"{argument.name}", tensor, shape = {expressions(argument.shape)}, '
        f"strides = {expressions(argument.strides)}, alignment = {alignment}>"
    )


__all__ = ["ALIGNMENT", "DYNAMIC", "Argument", "Hosting", "KernelState", "TensorSpec"]
