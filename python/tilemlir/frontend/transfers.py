"""Data movement: ``T.copy``, ``T.fill`` and ``T.clear``."""

from __future__ import annotations

import ast
from typing import Any

from .._mlir import ir
from ..language.dtypes import int32
from . import regions
from .storage import StorageAccess
from .values import Buffer, Element, Reference, Region, RuntimeValue, Scalar, Storage, Tensor, Variable

_EVICTION = {"evict_normal", "evict_first", "evict_last"}
_PREFERENCES = {"tma": "tma", "cp_async": "cp_async", "sync": "simt"}


class Transfers(StorageAccess):
    """Copies and fills."""

    def copy(self, src: Any, dst: Any, options: dict[str, Any]) -> None:
        """``T.copy``."""
        self.require_kernel("T.copy")
        for side, value in (("source", src), ("destination", dst)):
            if not isinstance(value, (Storage, Region, Element, Variable)):
                if side == "source" and isinstance(value, (RuntimeValue, int, float)) and isinstance(dst, Reference):
                    continue
                self.fail(
                    "argument",
                    f"the {side} of T.copy must be a tensor, a buffer, a slice or an element",
                    found=self.describe(value),
                    fix="T.fill sets all elements to one value" if side == "source" else "",
                )
        if isinstance(dst, Reference) and isinstance(src, (RuntimeValue, int, float)):
            self.store(dst, src)
            return
        self.require_no_parallel("T.copy")
        if isinstance(src, Variable) or isinstance(dst, Variable):
            self._copy_variable(src, dst)
            return
        source, dest = self.resolve_pair(src, dst, "T.copy")
        attributes = self._copy_attributes(options)
        plain_source, plain_dest = self.base_region(source), self.base_region(dest)
        if plain_source is None or plain_dest is None:
            self._copy_elements(source, dest)
            return
        self._emit_copy(plain_source, plain_dest, attributes)

    def _copy_elements(self, source: Region, dest: Region) -> None:
        """A copy of a view whose rows are not rows of the tensor."""

        def body(indices: tuple[Scalar, ...]) -> None:
            value = self.load(Element(source.storage, self.spread(source, indices)))
            self.store(Element(dest.storage, self.spread(dest, indices)), value)

        self.emit_parallel(_drop_ones(source.sizes) or (1,), body)

    def spread(self, region: Region, indices: tuple[Scalar, ...]) -> tuple[Any, ...]:
        """Indices of the storage for a point of a region, whose dimensions of extent 1 have no index."""
        remaining = list(indices)
        result = []
        for offset, size in zip(region.offsets, region.sizes, strict=True):
            result.append(offset if size == 1 or not remaining else self.binary("add", remaining.pop(0), offset))
        return tuple(result)

    def _copy_variable(self, src: Any, dst: Any) -> None:
        self.fail(
            "copy-shape",
            "a variable holds one scalar, the other side of T.copy is a tile",
            found=f"{self.describe(src)} and {self.describe(dst)}",
            fix="read one element: variable = A[i, j]",
        )

    def _copy_attributes(self, options: dict[str, Any]) -> dict[str, ir.Attribute]:
        attributes: dict[str, ir.Attribute] = {}
        if options.get("loop_layout") is not None:
            self.fail("not-available", "T.copy(loop_layout=...) is not available yet", fix="leave it out")
        width = options.get("coalesced_width")
        if width is not None:
            attributes["coalesced_width"] = self.integer(int(width))
        if options.get("disable_tma"):
            attributes["disable_tma"] = self._unit
        policy = options.get("eviction_policy")
        if policy is not None:
            if policy not in _EVICTION:
                self.fail(
                    "argument",
                    f"unknown eviction policy {policy!r}",
                    allowed=", ".join(sorted(_EVICTION)),
                )
            attributes["eviction_policy"] = self.attribute(f"#tile<eviction_policy {policy}>")
        prefer = options.get("prefer_instruction")
        if prefer is not None:
            if prefer not in _PREFERENCES:
                self.fail(
                    "argument", f"unknown instruction {prefer!r} in T.copy", allowed=", ".join(sorted(_PREFERENCES))
                )
            attributes["prefer"] = self.attribute(f"#tile<path {_PREFERENCES[prefer]}>")
        return attributes

    def _emit_copy(self, source: Region, dest: Region, attributes: dict[str, ir.Attribute]) -> None:
        self.unsafe_operations += 1
        source_offsets = [self.index_value(offset).value for offset in source.offsets]
        dest_offsets = [self.index_value(offset).value for offset in dest.offsets]
        attributes |= self._safe_attribute(source.storage)
        attributes["source_sizes"] = self.integers(source.sizes)  # type: ignore[arg-type]
        attributes["dest_sizes"] = self.integers(dest.sizes)  # type: ignore[arg-type]
        attributes["operandSegmentSizes"] = self.segments([1, len(source_offsets), 1, len(dest_offsets)])
        operation = self.emit(
            "tile.copy", (), [source.storage.value, *source_offsets, dest.storage.value, *dest_offsets], attributes
        )
        if isinstance(source.storage, Tensor):
            self.global_reads.append((source.storage, operation))

    # Regions.

    def resolve_pair(self, src: Any, dst: Any, what: str) -> tuple[Region, Region]:
        """Both sides as regions of known, equal extents."""
        src_tile, dst_tile = self._own_shape(src), self._own_shape(dst)
        if src_tile is None and dst_tile is None:
            if isinstance(src, Tensor) and isinstance(dst, Tensor):
                self.fail(
                    "symbolic-size",
                    f"{what} of whole tensors needs extents that are constants",
                    found=f"{src.describe()} and {dst.describe()}",
                    fix="copy one tile at a time: A[bx * 64, 0] to a buffer of 64 rows",
                )
            return self._element(src), self._element(dst)
        if src_tile is None:
            assert dst_tile is not None
            source = self._region_for(src, dst_tile, dst, what)
            dest = self._region_of(dst)
        elif dst_tile is None:
            source = self._region_of(src)
            dest = self._region_for(dst, src_tile, src, what)
        else:
            source, dest = self._region_of(src), self._region_of(dst)
            source, dest = self._clip_whole_tensor(src, source, dst, dest)
        if _drop_ones(source.sizes) != _drop_ones(dest.sizes):
            self.fail(
                "copy-shape",
                f"the two sides of {what} differ in shape",
                found=f"{_describe_side(source)} and {_describe_side(dest)}",
                allowed="the same extents, apart from dimensions of extent 1",
            )
        return source, dest

    def _own_shape(self, value: Any) -> tuple[int, ...] | None:
        """The extents that a side has by itself, or None when the other side decides."""
        if isinstance(value, Element):
            return None
        shape = value.sizes if isinstance(value, Region) else value.shape
        if any(not isinstance(extent, int) for extent in shape):
            return None
        return tuple(shape)

    def _element(self, value: Any) -> Region:
        if isinstance(value, Element):
            rank = len(value.indices)
            return Region(value.storage, value.indices, (1,) * rank, (True,) * rank)
        return self._region_of(value)

    def _region_of(self, value: Any) -> Region:
        if isinstance(value, Region):
            return value
        assert isinstance(value, Storage)
        rank = value.ndim
        return Region(value, (0,) * rank, tuple(value.shape), (True,) * rank)  # type: ignore[arg-type]

    def _clip_whole_tensor(self, src: Any, source: Region, dst: Any, dest: Region) -> tuple[Region, Region]:
        """A whole tensor that is smaller than the tile on the other side: the tile's extents, checked at its edges."""
        if isinstance(src, Tensor) and isinstance(dst, Buffer):
            sizes = _smaller_or_equal(source.sizes, dest.sizes)
            return (Region(src, source.offsets, sizes, source.kept), dest) if sizes else (source, dest)
        if isinstance(dst, Tensor) and isinstance(src, Buffer):
            sizes = _smaller_or_equal(dest.sizes, source.sizes)
            return (source, Region(dst, dest.offsets, sizes, dest.kept)) if sizes else (source, dest)
        return source, dest

    def _region_for(self, value: Any, tile: tuple[int, ...], other: Any, what: str) -> Region:
        """The region that an element, or a slice with open ends, takes from the shape of the other side."""
        if isinstance(value, Element):
            return self._element_region(value, tile, other, what)
        region = self._region_of(value)
        open_dims = [dim for dim, size in enumerate(region.sizes) if not isinstance(size, int)]
        fixed = [size for size in region.sizes if isinstance(size, int) and size != 1]
        wanted = list(_drop_ones(tile))
        # Fixed extents consume equal extents of the tile in order; open ones take what is between them.
        sizes: list[int] = []
        remaining = list(wanted)
        for dim, size in enumerate(region.sizes):
            if isinstance(size, int):
                if size != 1:
                    if not remaining or remaining[0] != size:
                        self._shape_mismatch(region, tile, other, what)
                    remaining.pop(0)
                sizes.append(size)
                continue
            later_fixed = len([s for s in region.sizes[dim + 1 :] if isinstance(s, int) and s != 1])
            later_open = len([d for d in open_dims if d > dim])
            available = len(remaining) - later_fixed
            if available > later_open:
                sizes.append(remaining.pop(0))
            elif available == later_open + 0 and available >= 0:
                sizes.append(1)
        if remaining or len(fixed) > len(wanted):
            self._shape_mismatch(region, tile, other, what)
        return Region(region.storage, region.offsets, tuple(sizes), region.kept)

    def _shape_mismatch(self, region: Region, tile: tuple[int, ...], other: Any, what: str) -> None:
        self.fail(
            "copy-shape",
            f"the two sides of {what} differ in shape",
            found=f"{_describe_side(region)} and {_describe_side(self._region_of(other))}",
            allowed="the same extents, apart from dimensions of extent 1",
        )

    def _element_region(self, element: Element, tile: tuple[int, ...], other: Any, what: str) -> Region:
        storage = element.storage
        indices = element.indices
        rank = len(indices)
        if len(tile) == rank:
            self._check_inside(storage, indices, tile, what)
            return Region(storage, indices, tile, (True,) * rank)
        needed = _drop_ones(tile)
        if len(needed) == rank:
            self._check_inside(storage, indices, needed, what)
            return Region(storage, indices, needed, (True,) * rank)
        if len(needed) > rank:
            self.fail(
                "rank",
                f"the tile of {what} has more dimensions than {storage.name}",
                found=f"a tile of shape {_shape_text(tile)} and {storage.describe()}",
            )
        found = regions.matches(indices, storage.shape, needed)
        if len(found) != 1:
            self._ambiguous(element, needed, found, other, what)
        sizes = [1] * rank
        for dim, extent in zip(found[0].dims, needed, strict=True):
            sizes[dim] = extent
        self._check_inside(storage, indices, sizes, what)
        return Region(storage, indices, tuple(sizes), (True,) * rank)

    def _check_inside(self, storage: Storage, indices: Any, sizes: Any, what: str) -> None:
        """A region of a buffer must be inside of it; tensors are bounds-checked when the kernel runs."""
        if not isinstance(storage, Buffer):
            return
        for dim, (index, size, extent) in enumerate(zip(indices, sizes, storage.shape, strict=True)):
            start = index if isinstance(index, int) else 0
            if isinstance(extent, int) and start + size > extent:
                self.fail(
                    "copy-shape",
                    f"{what} leaves dimension {dim} of {storage.name}",
                    found=f"{start} to {start + size} of extent {extent}",
                )

    def _ambiguous(
        self, element: Element, tile: tuple[int, ...], found: list[regions.Match], other: Any, what: str
    ) -> None:
        storage = element.storage
        texts = self._index_texts(element)
        # The likeliest is shown: where the run-time multiples are.
        likeliest = max(found, key=lambda match: match.multiples, default=None)
        dims = likeliest.dims if likeliest else tuple(range(len(texts) - len(tile), len(texts)))
        shown = []
        for dim, text in enumerate(texts):
            if dim in dims:
                extent = tile[dims.index(dim)]
                shown.append(f"0:{extent}" if text == "0" else f"{text} : {text} + {extent}")
            else:
                shown.append(text)
        if found:
            ways = " or ".join(str(list(match.dims)) for match in found)
            message = f"it is not clear which dimensions of {storage.name} this {what} means"
            detail = f"a tile of shape {_shape_text(tile)} could lie in dimensions {ways} of {storage.describe()}"
        else:
            message = f"no dimensions of {storage.name} can hold the tile of this {what}"
            detail = (
                f"a tile of shape {_shape_text(tile)} for {storage.describe()}; "
                "every choice puts a tile dimension at a bare index"
            )
        self.fail(
            "ambiguous-copy",
            message,
            found=detail,
            allowed="start indices that are multiples of the tile's extent, such as bx * 64 or 0",
            fix=f"write the region as a slice, for example {storage.name}[{', '.join(shown)}]",
        )

    def _index_texts(self, element: Element) -> list[str]:
        """The indices as the user wrote them, where the call shows them."""
        for node in ast.walk(self.node):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and node.value.id == element.storage.name
            ):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                if len(parts) == len(element.indices):
                    return [ast.unparse(part) for part in parts]
        return [str(index) if isinstance(index, int) else f"i{dim}" for dim, index in enumerate(element.indices)]

    # Fills.

    def fill(self, target: Any, value: Any, what: str) -> None:
        """``T.fill`` and ``T.clear``."""
        self.require_kernel(what)
        if isinstance(target, Reference):
            self.store(target, value)
            return
        if isinstance(value, (Storage, Region)):
            self.fail("argument", f"{what} takes one scalar value", found=self.describe(value), fix="use T.copy")
        storage = target if isinstance(target, Storage) else getattr(target, "storage", None)
        if isinstance(storage, Tensor):
            self._fill_tensor(target, value, what)
            return
        self.require_no_parallel(what)
        self.unsafe_operations += 1
        buffer = self.whole_buffer(target, what)
        scalar = self.as_type(value, buffer.dtype)
        self.emit("tile.fill", (), [buffer.value, scalar.value])

    def _fill_tensor(self, target: Any, value: Any, what: str) -> None:
        region = self._region_of(target)
        extents: list[Any] = []
        for dim, size in enumerate(region.sizes):
            extents.append(size if size is not None else region.storage.shape[dim])
        scalar = self.as_type(value, region.dtype)

        def body(indices: tuple[Scalar, ...]) -> None:
            where = tuple(
                self.binary("add", offset, index) for offset, index in zip(region.offsets, indices, strict=True)
            )
            self.store(Element(region.storage, where), scalar)

        self.emit_parallel(tuple(extents), body)

    def emit_parallel(self, extents: tuple[Any, ...], body: Any) -> None:
        """A ``tile.parallel`` over ``extents`` whose body is traced by ``body(indices)``."""
        raise NotImplementedError


def _drop_ones(sizes: Any) -> tuple[int, ...]:
    return tuple(size for size in sizes if size != 1)


def _smaller_or_equal(tensor: Any, tile: Any) -> tuple[int, ...] | None:
    """Extents of the tile laid over the dimensions of a tensor that is nowhere larger, or None."""
    needed = list(_drop_ones(tile))
    if len(tensor) == len(tile):
        needed = list(tile)
    elif len(needed) != len(tensor):
        return None
    return tuple(needed) if all(have <= want for have, want in zip(tensor, needed, strict=True)) else None


def _shape_text(shape: Any) -> str:
    return "x".join(str(extent) for extent in shape)


def _describe_side(region: Region) -> str:
    sizes = "x".join(str(size) if isinstance(size, int) else "?" for size in region.sizes)
    return f"{region.name} gives {sizes or 'a scalar'}"


__all__ = ["Transfers", "int32"]
