"""Tile operations: gemm, reductions, atomics, layouts, hints, printing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._mlir import ir
from ..language.compute import GemmWarpPolicy
from ..language.dtypes import int32
from .transfers import Transfers
from .values import Buffer, Element, Reference, Region, RuntimeValue, Scalar, Storage, Tensor, Variable

if TYPE_CHECKING:
    from ..layout import Layout, SharedLayout

_REDUCTIONS = ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
_ORDERS = {None: "relaxed", "relaxed": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}


class Tiles(Transfers):
    """Collective operations other than copies."""

    # Matrix multiplication.

    def gemm(
        self, a: Any, b: Any, c: Any, transpose_a: Any, transpose_b: Any, policy: Any, clear_accum: Any,
        k_pack: int, mbar: Any, precision: str,
    ) -> None:  # fmt: skip
        """``T.gemm``."""
        self.require_kernel("T.gemm")
        self.require_no_parallel("T.gemm")
        if mbar is not None:
            self.fail(
                "not-available", "T.gemm(mbar=...) is not available yet", fix="leave it out; T.gemm is synchronous"
            )
        if precision not in ("tf32", "ieee"):
            self.fail("argument", f"unknown precision {precision!r} of T.gemm", allowed="'tf32' or 'ieee'")
        operands, attributes = self.gemm_parts(a, b, c, transpose_a, transpose_b, policy, clear_accum, "T.gemm")
        attributes["precision"] = self.attribute(f"#tile<precision {precision}>")
        self.emit("tile.gemm", (), [operand.value for operand in operands], attributes)

    def gemm_parts(
        self, a: Any, b: Any, c: Any, transpose_a: Any, transpose_b: Any, policy: Any, clear_accum: Any, what: str
    ) -> tuple[tuple[Buffer, Buffer, Buffer], dict[str, ir.Attribute]]:
        """Checked operands and attributes of a matrix product."""
        if not isinstance(policy, GemmWarpPolicy):
            self.fail(
                "argument", f"the policy of {what} must be a T.GemmWarpPolicy", found=repr(policy),
                allowed=", ".join(f"T.GemmWarpPolicy.{member.name}" for member in GemmWarpPolicy),
            )  # fmt: skip
        for name, flag in (("transpose_A", transpose_a), ("transpose_B", transpose_b), ("clear_accum", clear_accum)):
            if isinstance(flag, RuntimeValue):
                self.fail(
                    "compile-time-value", f"{name} of {what} must be a compile-time bool", found=self.describe(flag)
                )
        left, right, out = (self.whole_buffer(value, what) for value in (a, b, c))
        self._check_gemm(left, right, out, bool(transpose_a), bool(transpose_b), what)
        self.unsafe_operations += 1
        attributes = {"policy": self.attribute(f"#tile<warp_policy {policy.value}>")}
        for name, flag in (
            ("transpose_a", transpose_a), ("transpose_b", transpose_b), ("clear_accum", clear_accum),
            ("a_unsigned", left.dtype.kind == "uint"), ("b_unsigned", right.dtype.kind == "uint"),
        ):  # fmt: skip
            if flag:
                attributes[name] = self._unit
        return (left, right, out), attributes

    def _check_gemm(self, a: Buffer, b: Buffer, c: Buffer, transpose_a: bool, transpose_b: bool, what: str) -> None:
        shapes = []
        for name, buffer in (("A", a), ("B", b), ("C", c)):
            extents = [extent for extent in buffer.shape if isinstance(extent, int)]
            if len(extents) < 2 or any(extent != 1 for extent in extents[:-2]):
                self.fail(
                    "gemm-operands",
                    f"operand {name} of {what} must be a matrix",
                    found=buffer.describe(),
                    allowed="two dimensions, or leading dimensions of extent 1",
                )
            shapes.append(extents[-2:])
        (m, ka), (kb, n), (cm, cn) = shapes
        if transpose_a:
            m, ka = ka, m
        if transpose_b:
            kb, n = n, kb
        if (m, n) != (cm, cn) or ka != kb:
            wrong = (
                f"A has K = {ka}, B has K = {kb}" if ka != kb
                else f"A and B give {m}x{n}, C is {cm}x{cn}"
            )  # fmt: skip
            marks = (" with transpose_A" if transpose_a else "", " with transpose_B" if transpose_b else "")
            hint = ""
            if ka != kb and ka == n and not transpose_b:
                hint = "B looks like an N x K tile: pass transpose_B=True"
            elif ka != kb and m == kb and not transpose_a:
                hint = "A looks like a K x M tile: pass transpose_A=True"
            self.fail(
                "gemm-operands",
                f"the operands of {what} do not match: {wrong}",
                found=f"A {_shape(a)}{marks[0]} ({a.name}), B {_shape(b)}{marks[1]} ({b.name}), "
                f"C {_shape(c)} ({c.name})",
                allowed="A M x K, B K x N, C M x N; transpose_A takes K x M, transpose_B takes N x K",
                fix=hint,
            )
        kinds = (a.dtype, b.dtype, c.dtype)
        floats = [kind.is_float for kind in kinds]
        same_width = a.dtype.bits == b.dtype.bits
        sixteen = {a.dtype.name, b.dtype.name} == {"float16", "bfloat16"}
        if len(set(floats)) != 1 or not same_width or sixteen or "bool" in (kind.kind for kind in kinds):
            self.fail(
                "dtype",
                f"{what} cannot multiply these element types",
                found=f"A {a.dtype}, B {b.dtype}, C {c.dtype}",
                allowed="A and B of one type (8-bit floats and 8-bit integers may mix among themselves), "
                "C float32, float16 or float64 for floats, int32 for integers",
            )
        if not a.dtype.is_float and c.dtype.bits < 32:
            self.fail(
                "dtype", f"{what} of integers accumulates in int32", found=f"C {c.dtype}", fix="allocate C as int32"
            )
        if c.scope() == "shared" and a.scope() == "local":
            self.fail("argument", f"{what} operands must be shared memory or fragments", found=a.describe())

    # Reductions.

    def reduce(self, kind: str, source: Any, out: Any, dim: int, clear: bool, nan_propagate: bool, what: str) -> None:
        """``T.reduce`` and its short forms."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        if kind in ("any", "all"):
            self.reduce_truth(kind, source, out, dim, clear, what)
            return
        if kind not in _REDUCTIONS:
            self.fail("argument", f"unknown reduction {kind!r}", allowed=", ".join((*_REDUCTIONS, "any", "all")))
        buffer, dest = self.whole_buffer(source, what), self.whole_buffer(out, what)
        axis = self.reduced_axis(buffer, dest, dim, what)
        if kind.startswith("bit") and not buffer.dtype.is_integer:
            self.fail("dtype", f"{what} needs integers", found=buffer.describe())
        if buffer.dtype.is_float != dest.dtype.is_float:
            self.fail("dtype", f"{what} mixes integers and floats", found=f"{buffer.describe()} and {dest.describe()}")
        self.unsafe_operations += 1
        attributes = {"kind": self.attribute(f"#tile<reduce_kind {kind}>"), "dim": self.integer(axis)}
        if clear:
            attributes["clear"] = self._unit
        if nan_propagate:
            attributes["nan_propagate"] = self._unit
        self.emit("tile.reduce", (), [buffer.value, dest.value], attributes)

    def reduced_axis(self, buffer: Buffer, dest: Buffer, dim: Any, what: str) -> int:
        """The dimension that a reduction removes; checks the shape of its result."""
        if isinstance(dim, RuntimeValue) or not isinstance(dim, int):
            self.fail("compile-time-value", f"dim of {what} must be a compile-time integer", found=self.describe(dim))
        rank = buffer.ndim
        if not -rank <= dim < rank:
            self.fail(
                "reduce-shape", f"{what} along dimension {dim}, which {buffer.name} does not have",
                found=buffer.describe(), allowed=f"{-rank} to {rank - 1}",
            )  # fmt: skip
        axis = dim % rank
        dropped = tuple(extent for position, extent in enumerate(buffer.shape) if position != axis)
        kept = tuple(1 if position == axis else extent for position, extent in enumerate(buffer.shape))
        if dest.shape not in (dropped, kept, dropped or (1,)):
            self.fail(
                "reduce-shape",
                f"the output of {what} has the wrong shape",
                found=f"{buffer.name} {_shape(buffer)} along dimension {axis} into {dest.name} {_shape(dest)}",
                allowed=f"{_text(dropped or (1,))} or {_text(kept)}",
            )
        return axis

    def reduce_truth(self, kind: str, source: Any, out: Any, dim: Any, clear: bool, what: str) -> None:
        """``T.reduce_any`` and ``T.reduce_all``."""
        raise NotImplementedError

    # Atomics.

    def atomic(self, kind: str, dst: Any, value: Any, order: str | None, return_prev: bool, what: str) -> Scalar | None:
        """One atomic operation on an element, or on every element of a region."""
        self.require_kernel(what)
        if order not in _ORDERS:
            self.fail(
                "argument", f"memory order {order!r} of {what} is not known",
                allowed=", ".join(sorted(str(name) for name in _ORDERS if name)),
            )  # fmt: skip
        if isinstance(dst, Element) and not isinstance(value, (Storage, Region)):
            return self._atomic_element(kind, dst, self.scalar(value), _ORDERS[order], return_prev, what)
        if isinstance(dst, (Storage, Region, Element)) and isinstance(value, (Storage, Region)):
            if return_prev:
                self.fail("argument", f"{what} of a tile cannot return the old values", fix="loop with T.Parallel")
            self._atomic_tile(kind, dst, value, _ORDERS[order], what)
            return None
        if isinstance(dst, (Storage, Region)):
            if isinstance(dst, Storage) and dst.shape == (1,):
                return self._atomic_element(
                    kind, Element(dst, (0,)), self.scalar(value), _ORDERS[order], return_prev, what
                )
            self._atomic_fill(kind, dst, value, _ORDERS[order], what)
            return None
        self.fail(
            "argument",
            f"the destination of {what} must be an element or a region",
            found=self.describe(dst),
            allowed="elements of tensors and of shared memory",
        )

    def _check_atomic(self, kind: str, storage: Storage, what: str) -> None:
        if storage.scope() not in ("global", "shared"):
            self.fail(
                "argument",
                f"{what} acts on global or shared memory",
                found=storage.describe(),
                fix="a fragment or local buffer has one owner: use an ordinary assignment",
            )
        if kind == "or" and not storage.dtype.is_integer:
            self.fail("dtype", f"{what} needs integers", found=storage.describe())

    def _atomic_element(
        self, kind: str, dst: Element, value: Any, order: str, return_prev: bool, what: str
    ) -> Scalar | None:
        dst = self.base_element(dst)
        storage = dst.storage
        self._check_atomic(kind, storage, what)
        self.unsafe_operations += 1
        operand = self.as_type(value, storage.dtype)
        indices = [self.index_value(index).value for index in dst.indices]
        attributes = {
            "kind": self.attribute(f"#tile<atomic_kind {kind}>"),
            "memory_order": self.attribute(f"#tile<memory_order {order}>"),
        }
        if storage.dtype.kind == "uint":
            attributes["is_unsigned"] = self._unit
        results = [self.scalar_type(storage.dtype)] if return_prev else []
        made = self.emit("tile.atomic", results, [operand.value, storage.value, *indices], attributes)
        return Scalar(made.operation.results[0], storage.dtype, bare=True) if return_prev else None

    def _atomic_tile(self, kind: str, dst: Any, value: Any, order: str, what: str) -> None:
        self.require_no_parallel(f"{what} of a whole tile")
        source, dest = self.resolve_pair(value, dst, what)
        self._check_atomic(kind, dest.storage, what)
        extents = tuple(size for size in source.sizes if size != 1)

        def body(indices: tuple[Scalar, ...]) -> None:
            read = Element(source.storage, self.spread(source, indices))
            self._atomic_element(
                kind, Element(dest.storage, self.spread(dest, indices)), self.load(read), order, False, what
            )

        self.emit_parallel(extents or (1,), body)

    def _atomic_fill(self, kind: str, dst: Any, value: Any, order: str, what: str) -> None:
        self.require_no_parallel(f"{what} of a whole tile")
        region = self._region_of(dst)
        self._check_atomic(kind, region.storage, what)
        scalar = self.as_type(value, region.dtype)
        extents = tuple(
            region.storage.shape[dim] if size is None else size for dim, size in enumerate(region.sizes) if size != 1
        )

        def body(indices: tuple[Scalar, ...]) -> None:
            where = Element(region.storage, self.spread(region, indices))
            self._atomic_element(kind, where, scalar, order, False, what)

        self.emit_parallel(extents or (1,), body)

    def atomic_vector(self, dst: Any, value: Any, count: int, return_prev: bool, what: str) -> None:
        """``T.atomic_addx2`` and ``T.atomic_addx4``: neighbouring elements, each atomic by itself."""
        if not isinstance(dst, Element):
            self.fail("argument", f"the destination of {what} must be an element", found=self.describe(dst))
        if return_prev:
            self.fail("not-available", f"{what}(return_prev=True) is not available yet", fix="use T.atomic_add")
        for offset in range(count):
            operand = value
            if isinstance(value, Element):
                last = self.binary("add", value.indices[-1], offset)
                operand = self.load(Element(value.storage, (*value.indices[:-1], last)))
            elif isinstance(value, (Storage, Region)):
                operand = self.load(self.subscript(self.whole_buffer(value, what), offset))  # type: ignore[arg-type]
            last = self.binary("add", dst.indices[-1], offset)
            self.atomic("add", Element(dst.storage, (*dst.indices[:-1], last)), operand, None, False, what)

    def atomic_load(self, src: Any, order: str) -> Scalar:
        """An atomic read: adding zero, or or-ing zero, gives the old value."""
        if not isinstance(src, Element):
            self.fail("argument", "T.atomic_load reads one element", found=self.describe(src))
        kind = "or" if src.dtype.is_integer else "add"
        made = self.atomic(kind, src, 0, order, True, "T.atomic_load")
        assert made is not None
        return made

    # Layouts and hints.

    def annotate_layout(self, layouts: Mapping[Any, Any]) -> None:
        """``T.annotate_layout``."""
        from ..layout import Layout, SharedLayout

        self.require_kernel("T.annotate_layout")
        for buffer, layout in layouts.items():
            if isinstance(buffer, Tensor):
                self.fail(
                    "layout",
                    "a tensor in global memory keeps the layout that it is passed with",
                    found=buffer.describe(),
                    allowed="buffers of the kernel",
                    fix="write to a permuted shape, or use T.StridedTensor",
                )
            if not isinstance(buffer, Buffer):
                self.fail(
                    "layout", "T.annotate_layout maps buffers to layouts", found=self.describe(buffer),
                    allowed="{A_shared: make_swizzled_layout(A_shared)}",
                )  # fmt: skip
            if isinstance(layout, Layout):
                layout = self._fitted(buffer, layout)
            if not isinstance(layout, SharedLayout):
                self.fail(
                    "layout",
                    f"the layout of {buffer.name} must come from tilemlir.layout",
                    found=self.describe(layout),
                    allowed="make_swizzled_layout(buffer), make_linear_layout(buffer)",
                )
            if buffer.scope() != "shared":
                self.fail("layout", "this layout is one of shared memory", found=buffer.describe())
            if tuple(layout.shape) != tuple(buffer.shape) or layout.element_bits != buffer.dtype.bytes * 8:
                self.fail(
                    "layout",
                    f"the layout was made for another buffer than {buffer.name}",
                    found=f"a layout of {_text(layout.shape)} elements of {layout.element_bits} bits, "
                    f"{buffer.describe()}",
                )
            self.unsafe_operations += 1
            self.emit("tile.annotate_layout", (), [buffer.value], {"layout": self.attribute(layout.attribute_text())})

    def _fitted(self, buffer: Buffer, layout: Layout) -> SharedLayout:
        """A layout given as a function, as what shared memory can be addressed by."""
        from ..layout import fit

        if buffer.scope() != "shared" or tuple(layout.shape) != tuple(buffer.shape):
            self.fail(
                "layout",
                f"T.Layout does not fit the buffer {buffer.name}",
                found=f"a layout of {_text(layout.shape)} elements, {buffer.describe()}",
                allowed="buffers in shared memory, with the shape of the layout",
            )
        try:
            return fit(layout, buffer.dtype.bytes * 8)
        except ValueError as error:
            self.fail(
                "layout",
                f"shared memory cannot be laid out like this: {error}",
                fix="make_swizzled_layout(buffer) gives a layout without bank conflicts",
            )

    def assume(self, condition: Any) -> None:
        """``T.assume``."""
        test = self.boolean(condition)
        if not isinstance(test, Scalar):
            if not test:
                self.fail("argument", "T.assume of a condition that is false")
            return
        self.unsafe_operations += 1
        self.emit("tile.assume", (), [test.value])

    def device_assert(self, condition: Any, message: str) -> None:
        """``T.device_assert``."""
        self.require_kernel("T.device_assert")
        test = self.boolean(condition)
        if not isinstance(test, Scalar):
            if test:
                return
            self.fail("argument", f"T.device_assert fails at compile time: {message or 'the condition is false'}")
        self.unsafe_operations += 1
        place = self.here()
        text = str(message) or f"{place.file}:{place.line}: {place.text.strip()}"
        self.emit("tile.assert", (), [test.value], {"message": self.string(text)})

    def print(self, obj: Any, message: str) -> None:
        """``T.print``."""
        self.require_kernel("T.print")
        self.unsafe_operations += 1
        if isinstance(obj, str):
            self._emit_print(obj if not message else f"{message}{obj}", [], None, False)
        elif isinstance(obj, Buffer) or (isinstance(obj, Region) and isinstance(obj.storage, Buffer)):
            self.require_no_parallel("T.print of a buffer")
            buffer = self.whole_buffer(obj, "T.print")
            self._emit_print(message or f"{buffer.name} = ", [], buffer, buffer.dtype.kind == "uint")
        elif isinstance(obj, (Tensor, Region)):
            self.fail(
                "argument", "T.print prints scalars, buffers and texts", found=self.describe(obj),
                fix="copy a tile of the tensor to a buffer first",
            )  # fmt: skip
        else:
            value = self.scalar(obj)
            if not isinstance(value, Scalar):
                self._emit_print(f"{message}{value}", [], None, False)
                return
            name = obj.name if isinstance(obj, Variable) else self._argument_text()
            self._emit_print(message or f"{name} = ", [value], None, value.dtype.kind == "uint")

    def _argument_text(self) -> str:
        import ast

        node = self.node
        if isinstance(node, ast.Call) and node.args:
            return ast.unparse(node.args[0])
        return "value"

    def _emit_print(self, message: str, scalars: list[Scalar], buffer: Buffer | None, unsigned: bool) -> None:
        attributes = {
            "message": self.string(message),
            "operandSegmentSizes": self.segments([len(scalars), 0 if buffer is None else 1]),
        }
        if unsigned:
            attributes["is_unsigned"] = self._unit
        operands = [scalar.value for scalar in scalars] + ([buffer.value] if buffer is not None else [])
        self.emit("tile.print", (), operands, attributes)

    def sync_threads(self, barrier: int | None, count: int | None) -> None:
        """``T.sync_threads``."""
        self.require_kernel("T.sync_threads")
        self.require_no_parallel("T.sync_threads")
        self.unsafe_operations += 1
        if barrier is None and count is None:
            self.emit("tile.sync_threads")
            return
        if count is None:
            count = self.threads_here()
        self.named_barrier(barrier if barrier is not None else 0, count, True, "T.sync_threads")

    def threads_here(self) -> int:
        """Threads that run the code being traced together."""
        raise NotImplementedError

    def named_barrier(self, number: Any, count: Any, wait: bool, what: str) -> None:
        """A barrier of some threads."""
        raise NotImplementedError


def _text(shape: Any) -> str:
    return "x".join(str(extent) for extent in shape)


def _shape(buffer: Storage) -> str:
    return _text(buffer.shape)


__all__ = ["Reference", "Tiles", "int32"]
