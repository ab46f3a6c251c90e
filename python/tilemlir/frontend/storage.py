"""Access to tensors, buffers and variables: indexing, loads, stores, allocation, views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._mlir import ir
from ..language.annotations import normalize_shape
from ..language.dtypes import DType, DTypeError, bool_, int32
from ..language.dtypes import dtype as lookup_dtype
from ..language.symbols import SymbolicExpr
from ..language.symbols import binary as symbolic_binary
from .errors import FrontendError
from .values import Buffer, Element, Reference, Region, RuntimeValue, Scalar, Storage, Tensor, TensorView, Variable
from .views import Views


class StorageAccess(Views):
    """Reading, writing and viewing storage."""

    name_hint: str | None = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: Values that reads outside of a tensor give, by tensor.
        self.safe_values: dict[Storage, Any] = {}
        #: Reads of global tensors of the current kernel, for annotations that come later.
        self.global_reads: list[tuple[Storage, ir.Operation]] = []
        self._loaded_variables: dict[Variable, Scalar] | None = None

    # Types of user values.

    def element_type(self, dtype: Any) -> DType:
        """The element type that the user named."""
        try:
            return lookup_dtype(dtype)
        except DTypeError as error:
            code = "not-available" if "not available" in str(error) else "dtype"
            self.fail(code, str(error))

    def static_shape(self, shape: Any, what: str) -> tuple[int, ...]:
        """The shape of a buffer: compile-time extents of at least 1."""
        if isinstance(shape, (list, tuple)):
            for extent in shape:
                if isinstance(extent, (SymbolicExpr, RuntimeValue)):
                    self.fail(
                        "symbolic-size",
                        f"{what} needs extents that are known when the kernel is compiled",
                        found=f"{extent} in the shape of {self.name_hint or 'the buffer'}"
                        if isinstance(extent, SymbolicExpr)
                        else f"a run-time value in the shape of {self.name_hint or 'the buffer'}",
                        allowed="Python integers",
                        fix="use a block size that is an argument of the factory; T.const makes a size a constant",
                    )
        elif isinstance(shape, (SymbolicExpr, RuntimeValue)):
            return self.static_shape((shape,), what)
        try:
            extents = normalize_shape(shape, what)
        except (TypeError, ValueError) as error:
            self.fail("argument", str(error))
        for extent in extents:
            if not isinstance(extent, int) or extent < 1:
                self.fail(
                    "argument",
                    f"{what} needs extents of at least 1",
                    found=f"the shape {tuple(extents)}",
                )
        return tuple(int(extent) for extent in extents if isinstance(extent, int))

    # Allocation.

    def alloc(self, space: str, shape: Any, dtype: Any, what: str) -> Buffer:
        """A new buffer."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        kind = self.element_type(dtype)
        extents = self.static_shape(shape, what)
        name = self.name_hint or f"{space}_buffer"
        return Buffer(self.emit_alloc(self.buffer_type(extents, kind, space), name), extents, kind, name, space)

    def emit_alloc(self, kind: ir.Type, name: str) -> ir.Value:
        """The allocation itself."""
        return self.value("tile.alloc", kind, (), {"name": self.string(name)})

    def alloc_var(self, dtype: Any, init: Any) -> Variable:
        """A new variable of each thread."""
        self.require_kernel("T.alloc_var")
        kind = self.element_type(dtype)
        name = self.name_hint or "variable"
        variable = Variable(
            self._alloc_outside_parallel(self.buffer_type((), kind, "local"), name),
            kind,
            name,
            line=getattr(self.node, "lineno", 0),
        )
        if init is not None:
            self.store(variable, init)
        return variable

    def _alloc_outside_parallel(self, kind: ir.Type, name: str) -> ir.Value:
        """Variables may be declared inside of T.Parallel; their storage is allocated before the loop."""
        anchor = self.parallel_operation()
        if anchor is None:
            return self.emit_alloc(kind, name)
        saved = self.ip
        self.ip = ir.InsertionPoint(anchor)
        try:
            return self.emit_alloc(kind, name)
        finally:
            self.ip = saved

    def view(self, source: Any, shape: Any, dtype: Any, what: str) -> Storage:
        """``T.reshape`` and ``T.view``."""
        if isinstance(source, Tensor) and (dtype is None or self.element_type(dtype).name == source.dtype.name):
            try:
                return self.tensor_view(source, normalize_shape(source.shape if shape is None else shape, what), what)
            except (TypeError, ValueError) as error:
                self.fail("argument", str(error))
        buffer = self.whole_buffer(source, what)
        kind = buffer.dtype if dtype is None else self.element_type(dtype)
        extents = list(buffer.shape)
        value = buffer.value
        if kind.bytes != buffer.dtype.bytes or kind.name != buffer.dtype.name:
            row = int(extents[-1]) * buffer.dtype.bytes if extents else buffer.dtype.bytes
            if row % kind.bytes:
                self.fail(
                    "copy-shape",
                    f"{what} cannot divide a row of {row} bytes into elements of {kind}",
                    found=buffer.describe(),
                )
            extents = [*extents[:-1], row // kind.bytes]
            value = self.value("tile.bitcast", self.buffer_type(extents, kind, buffer.scope()), [value])  # type: ignore[arg-type]
        if shape is not None:
            wanted = self.static_shape(shape, what)
            if _product(wanted) != _product(extents):
                self.fail(
                    "copy-shape",
                    f"{what} keeps the number of elements",
                    found=f"{buffer.name} has {_product(extents)} elements, the shape {wanted} has {_product(wanted)}",
                )
            if tuple(wanted) != tuple(extents):
                value = self.value("tile.reshape", self.buffer_type(wanted, kind, buffer.scope()), [value])
            extents = list(wanted)
        return Buffer(value, tuple(extents), kind, buffer.name, buffer.scope())

    def whole_buffer(self, value: Any, what: str) -> Buffer:
        """A buffer, or a slice of one as a view."""
        if isinstance(value, Buffer):
            return value
        if isinstance(value, Region) and isinstance(value.storage, Buffer):
            return self.subview(value, what)
        if isinstance(value, Element) and isinstance(value.storage, Buffer):
            region = Region(value.storage, value.indices, (1,) * len(value.indices), (True,) * len(value.indices))
            return self.subview(region, what)
        if isinstance(value, Variable):
            return Buffer(
                self.value("tile.reshape", self.buffer_type((1,), value.dtype, "local"), [value.value]),
                (1,),
                value.dtype,
                value.name,
                "local",
            )
        if isinstance(value, (Tensor, Region, Element)):
            self.fail(
                "argument",
                f"{what} needs a buffer of the kernel",
                found=f"{self._storage_of(value).name}, a tensor in global memory",
                fix="copy it to shared memory or to a fragment first",
            )
        self.fail("argument", f"{what} needs a buffer", found=self.describe(value))

    @staticmethod
    def _storage_of(value: Any) -> Storage:
        return value if isinstance(value, Storage) else value.storage

    def subview(self, region: Region, what: str) -> Buffer:
        """A slice of a buffer as a buffer of its own."""
        storage = region.storage
        sizes = []
        for dim, size in enumerate(region.sizes):
            if size is None:
                self.fail(
                    "symbolic-size", f"the extent of dimension {dim} of the slice of {storage.name} is not a constant"
                )
            sizes.append(size)
        offsets = [self.index_value(offset).value for offset in region.offsets]
        shape = tuple(size for size in region.shape if size is not None) or (1,)
        return Buffer(
            self.value(
                "tile.subview",
                self.buffer_type(shape, storage.dtype, storage.scope()),
                [storage.value, *offsets],
                {"sizes": self.integers(sizes)},
            ),
            shape, storage.dtype, storage.name, storage.scope(),
        )  # fmt: skip

    # Indexing.

    def subscript(self, storage: Storage, key: Any) -> Element | Region:
        """``A[...]``: an element when all dimensions have an index, else a region."""
        keys = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            position = next(i for i, k in enumerate(keys) if k is Ellipsis)
            missing = storage.ndim - (len(keys) - 1)
            keys = (*keys[:position], *([slice(None)] * max(0, missing)), *keys[position + 1 :])
        if len(keys) > storage.ndim:
            self.fail(
                "rank",
                f"{storage.name} has {storage.ndim} dimension{'s' if storage.ndim != 1 else ''}, "
                f"but {len(keys)} indices are given",
                found=storage.describe(),
                fix=f"give at most {storage.ndim} ind{'ices' if storage.ndim != 1 else 'ex'}",
            )
        if len(keys) == storage.ndim and not any(isinstance(k, slice) for k in keys):
            return Element(storage, tuple(self._index(storage, dim, k) for dim, k in enumerate(keys)))
        offsets: list[Any] = []
        sizes: list[int | None] = []
        kept: list[bool] = []
        for dim in range(storage.ndim):
            part = keys[dim] if dim < len(keys) else slice(None)
            if isinstance(part, slice):
                offset, size = self._slice(storage, dim, part)
                offsets.append(offset)
                sizes.append(size)
                kept.append(True)
            else:
                offsets.append(self._index(storage, dim, part))
                sizes.append(1)
                kept.append(False)
        return Region(storage, tuple(offsets), tuple(sizes), tuple(kept))

    def subscript_region(self, region: Region, key: Any) -> Element | Region:
        """Indexing a slice again: the indices count from where the slice begins."""
        keys = list(key) if isinstance(key, tuple) else [key]
        inner: list[Any] = []
        for offset, size, kept in zip(region.offsets, region.sizes, region.kept, strict=True):
            if not kept:
                inner.append(offset)
                continue
            part = keys.pop(0) if keys else slice(None)
            if isinstance(part, slice):
                start = 0 if part.start is None else part.start
                stop = size if part.stop is None else part.stop
                inner.append(slice(offset + start, None if stop is None else offset + stop, part.step))
            else:
                inner.append(offset + part)
        if keys:
            self.fail("rank", f"this slice of {region.name} has {len(region.shape)} dimensions", found="more indices")
        return self.subscript(region.storage, tuple(inner))

    def _index(self, storage: Storage, dim: int, key: Any) -> Any:
        extent = storage.shape[dim]
        if isinstance(key, Reference):
            key = self.load(key)
        if isinstance(key, SymbolicExpr):
            key = self.lower_size(key)
        if isinstance(key, Scalar):
            if key.dtype.is_float:
                self.index_value(key)
            return key
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            self.fail(
                "index",
                f"index {dim} of {storage.name} must be an integer or a slice",
                found=self.describe(key),
            )
        number = int(key.__index__())
        if isinstance(extent, int):
            if number >= max(extent, 1) and storage.scope() == "global":
                # Reads give zero, writes are dropped, as for any other index; but such a constant is rarely meant.
                place = self.here()
                self.warn(
                    f"{place.file}:{place.line}: index {number} is always outside of dimension {dim} of "
                    f"{storage.describe()}: reads give zero, writes are dropped"
                )
            elif not -extent <= number < max(extent, 1):
                self.fail(
                    "index",
                    f"index {number} is outside of dimension {dim} of {storage.name}",
                    found=storage.describe(),
                    allowed=f"{-extent} to {extent - 1}" if storage.scope() != "global" else f"{-extent} or more",
                )
            return number + extent if number < 0 else number
        return self.lower_size(symbolic_binary("add", extent, number)) if number < 0 else number

    def _slice(self, storage: Storage, dim: int, part: slice) -> tuple[Any, int | None]:
        extent = storage.shape[dim]
        if part.step not in (None, 1):
            self.fail("index", f"slices of {storage.name} must have step 1", found=f"step {part.step}")
        start = 0 if part.start is None else part.start
        start = self.load(start) if isinstance(start, Reference) else start
        stop = self.load(part.stop) if isinstance(part.stop, Reference) else part.stop
        if isinstance(start, int) and start < 0:
            start = symbolic_binary("add", extent, start)
        if isinstance(stop, int) and stop < 0:
            stop = symbolic_binary("add", extent, stop)
        if stop is None:
            stop = extent
            if isinstance(extent, SymbolicExpr):
                # The other side of a copy decides how much is taken.
                return start, None
        size = self.difference(stop, start)
        if size is None:
            self.fail(
                "symbolic-size",
                f"the extent of dimension {dim} of the slice of {storage.name} is not a constant",
                allowed="slices such as A[i * 64 : (i + 1) * 64], whose ends differ by a constant",
                fix=f"write {storage.name}[start : start + 64] with a compile-time extent",
            )
        inside = not isinstance(start, int) or not isinstance(extent, int) or start + size <= extent
        if size < 1 or (not inside and isinstance(storage, Buffer)):
            self.fail(
                "index",
                f"the slice of dimension {dim} of {storage.name} is " + ("empty" if size < 1 else "partly outside"),
                found=f"{start} to {start + size if isinstance(start, int) else '...'} of extent {extent}",
            )
        return start, size

    def difference(self, stop: Any, start: Any) -> int | None:
        """``stop - start`` when their forms show that it is a constant."""
        if isinstance(stop, int) and isinstance(start, int):
            return stop - start
        if isinstance(stop, SymbolicExpr) or isinstance(start, SymbolicExpr):
            stop, start = self.scalar(stop), self.scalar(start)
        left = stop.terms() if isinstance(stop, Scalar) else ({}, int(stop))
        right = start.terms() if isinstance(start, Scalar) else ({}, int(start))
        if left[0] == right[0] if left[0].keys() == right[0].keys() else False:
            return left[1] - right[1]
        return None

    # Elements.

    def load(self, reference: Reference) -> Scalar:
        """Reads a variable or an element."""
        if isinstance(reference, Variable):
            cache = self._loaded_variables
            if cache is not None and reference in cache:
                return cache[reference]
            made = self.value("tile.load", self.scalar_type(reference.dtype), [reference.value])
            loaded = Scalar(made, reference.dtype, bare=True)
            if cache is not None:
                cache[reference] = loaded
            return loaded
        assert isinstance(reference, Element)
        if isinstance(reference.storage, TensorView):
            return self.load(self.base_element(reference))
        storage = reference.storage
        self.require_kernel(f"reading {storage.name}[...]")
        indices = [self.index_value(index) for index in reference.indices]
        operation = self.emit(
            "tile.load",
            [self.scalar_type(storage.dtype)],
            [storage.value, *(index.value for index in indices)],
            self._safe_attribute(storage),
        )
        if isinstance(storage, Tensor):
            self.global_reads.append((storage, operation))
        elif not self._inside(storage, indices):
            self.unsafe_operations += 1
        dtype = storage.dtype
        low = 0 if dtype.kind == "uint" else None
        high = (1 << dtype.bits) - 1 if dtype.kind == "uint" and dtype.bits <= 16 else None
        return Scalar(operation.operation.results[0], dtype, low=low, high=high, bare=True)

    @staticmethod
    def _inside(storage: Storage, indices: Sequence[Scalar]) -> bool:
        return all(
            index.nonnegative and index.high is not None and isinstance(extent, int) and index.high < extent
            for index, extent in zip(indices, storage.shape, strict=True)
        )

    def _safe_attribute(self, storage: Storage) -> dict[str, ir.Attribute]:
        if storage not in self.safe_values:
            return {}
        return {"safe": self.number_attribute(self.safe_values[storage], storage.dtype)}

    def store(self, target: Any, value: Any) -> None:
        """Writes a variable or an element; the value is converted to its type."""
        if isinstance(target, Region):
            self.fail(
                "rank",
                f"a store needs one index for each of the {target.storage.ndim} dimensions of {target.name}",
                found=target.storage.describe(),
                fix="use T.copy or T.fill to write more than one element",
            )
        if isinstance(value, (Storage, Region)):
            self.fail(
                "argument",
                "a whole tensor or buffer cannot be stored in one element",
                found=self.describe(value),
                fix="use T.copy",
            )
        if not isinstance(target, Reference):
            self.fail("argument", "this is not something that can be assigned to", found=self.describe(target))
        self.unsafe_operations += 1
        stored = self.as_type(value, target.dtype)
        if isinstance(target, Variable):
            self.emit("tile.store", (), [stored.value, target.value])
            return
        assert isinstance(target, Element)
        target = self.base_element(target)
        self.require_kernel(f"writing {target.storage.name}[...]")
        indices = [self.index_value(index).value for index in target.indices]
        self.emit("tile.store", (), [stored.value, target.storage.value, *indices])

    def annotate_safe_value(self, values: Any) -> None:
        """``T.annotate_safe_value``: also for reads that were traced before it."""
        for storage, value in values.items():
            if not isinstance(storage, Tensor):
                self.fail(
                    "argument",
                    "T.annotate_safe_value is for tensors in global memory",
                    found=self.describe(storage),
                    allowed="arguments of the kernel function",
                )
            if isinstance(value, RuntimeValue) or not isinstance(value, (bool, int, float)):
                self.fail(
                    "compile-time-value", "a safe value must be a compile-time number", found=self.describe(value)
                )
            self.check_number(value, storage.dtype)
            self.safe_values[storage] = value
            for read, operation in self.global_reads:
                if read is storage:
                    operation.operation.attributes["safe"] = self.number_attribute(value, storage.dtype)

    # Where the tracer is; decided by the kernel part.

    def require_kernel(self, what: str) -> None:
        """Refuses ``what`` outside of a kernel."""
        raise NotImplementedError

    def require_no_parallel(self, what: str) -> None:
        """Refuses the collective operation ``what`` inside of T.Parallel."""
        raise NotImplementedError

    def parallel_operation(self) -> ir.Operation | None:
        """The T.Parallel loop around the code being traced."""
        raise NotImplementedError


def _product(extents: Sequence[Any]) -> int:
    result = 1
    for extent in extents:
        result *= int(extent)
    return result


__all__ = ["FrontendError", "StorageAccess", "bool_", "int32"]
